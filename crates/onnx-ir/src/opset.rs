//! Operator sets in separate files (`OperatorSetProto`): operators, and functions that define some of them.
//!
//! In text (see `grammar/opsets.md`):
//!
//! ```text
//! operator_set <ir_version: 10, domain: "com.acme", opset_version: 2>
//!
//! <since_version: 2, opset_import: ["": 21]>
//! operator Scale <axis: int = -1> (T x, T scale) => (T y)
//! where T: {float, float16}
//! {
//!     y = Mul(x, scale)
//! }
//! ```
//!
//! On the wire an operator has a name, a version, a status and documentation. Its [`Signature`] is text at the start of the
//! documentation, which a reader of the syntax can parse.

use crate::attr::Attr;
use crate::ids::{BodyId, FunctionId, TypeId};
use crate::model::{Model, normalize_domain};
use crate::names::Name;
use std::collections::HashMap;

/// The magic of a file with an operator set.
pub const OPSET_MAGIC: &str = "ONNXOPSET";

/// An operator set as a file has it, right or wrong.
#[derive(Clone, Debug, Default)]
pub struct OperatorSet {
    /// Strings, types, and the functions with their bodies. The header fields `ir_version`, `domain` and `doc` are those of the
    /// set; others are unused, and it has no main graph.
    pub model: Model,
    /// [`OPSET_MAGIC`], if all is well.
    pub magic: Option<Name>,
    /// The pre-release suffix of the IR version.
    pub ir_version_prerelease: Option<Name>,
    /// About the build that made the file.
    pub ir_build_metadata: Option<Name>,
    /// The version of the set.
    pub opset_version: Option<i64>,
    /// The operators in order.
    pub operators: Vec<Operator>,
}

/// An operator of a set.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Operator {
    /// The name that nodes have as `op_type`.
    pub name: Option<Name>,
    /// The first version of the set that has it in this form.
    pub since_version: Option<i64>,
    /// Whether it is here to stay.
    pub status: Option<OperatorStatus>,
    /// Its signature, as text, and documentation.
    pub doc: Option<Name>,
}

/// `OperatorStatus` as a number, because files may contain any.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OperatorStatus(pub i32);

impl OperatorStatus {
    /// It may change without a new version.
    pub const EXPERIMENTAL: OperatorStatus = OperatorStatus(0);
    /// It stays as it is.
    pub const STABLE: OperatorStatus = OperatorStatus(1);

    /// The word for it in ONNX text.
    pub const fn name(self) -> Option<&'static str> {
        match self.0 {
            0 => Some("experimental"),
            1 => Some("stable"),
            _ => None,
        }
    }

    /// The status of this name in ONNX text.
    pub fn from_name(name: &str) -> Option<OperatorStatus> {
        [Self::EXPERIMENTAL, Self::STABLE].into_iter().find(|s| s.name() == Some(name))
    }
}

/// The signature of an operator.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    /// Attributes in order.
    pub attributes: Vec<FormalAttr>,
    /// Inputs in order.
    pub inputs: Vec<Formal>,
    /// Outputs in order.
    pub outputs: Vec<Formal>,
    /// The types of type variables.
    pub variables: Vec<TypeVariable>,
    /// Further properties, sorted, without duplicates.
    pub traits: Vec<Trait>,
    /// The numbers of inputs that are allowed, where not all that the inputs suggest are.
    pub input_counts: Vec<i64>,
    /// The possible numbers of outputs, in the same way.
    pub output_counts: Vec<i64>,
    /// The body of tensors and graphs in defaults.
    pub body: BodyId,
}

/// An attribute of a signature.
#[derive(Clone, PartialEq, Debug)]
pub struct FormalAttr {
    /// Name, type, documentation, and the default.
    pub attr: Attr,
    /// Whether a node must have it.
    pub presence: Presence,
}

/// Whether a node must have an attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// `mode: string`
    Required,
    /// `mode: string?`: it may be left out.
    Optional,
    /// `mode: string = "nearest"`: the default. An empty list is an absent value of the [`Attr`].
    Default,
}

/// An input or output of a signature.
#[derive(Clone, PartialEq, Debug)]
pub struct Formal {
    /// The name in the documentation.
    pub name: Option<Name>,
    /// The type.
    pub ty: FormalType,
    /// The number of values.
    pub kind: FormalKind,
    /// Documentation.
    pub doc: Option<Name>,
}

/// The type of an input or output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormalType {
    /// `T`: one of the types of a variable, the same wherever it occurs.
    Variable(Name),
    /// `int64`, `seq(float)`: this one. Types of signatures have no shapes.
    Type(TypeId),
}

/// The number of values of an input or output in a signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormalKind {
    /// `T x`: one.
    Single,
    /// `T? x`: one that may be left out.
    Optional,
    /// `T... x`: this many at least.
    Variadic {
        /// The least number.
        min: u32,
        /// `each T... x`: whether each has a type of its own.
        is_mixed: bool,
    },
}

/// A type variable of a signature.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeVariable {
    /// `T`
    pub name: Name,
    /// The allowed types, in order.
    pub types: Vec<TypeId>,
    /// Documentation.
    pub doc: Option<Name>,
}

/// A property of an operator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Trait {
    /// It is deprecated from this version on.
    Deprecated,
    /// Equal inputs may yield different outputs.
    Nondeterministic,
    /// A function body defines it, here or elsewhere.
    Function,
    /// A function body defines it that depends on the node.
    ContextDependentFunction,
}

impl Trait {
    /// All of them, in order.
    pub const ALL: [Trait; 4] =
        [Trait::Deprecated, Trait::Nondeterministic, Trait::Function, Trait::ContextDependentFunction];

    /// The word for it in ONNX text.
    pub const fn name(self) -> &'static str {
        match self {
            Trait::Deprecated => "deprecated",
            Trait::Nondeterministic => "nondeterministic",
            Trait::Function => "function",
            Trait::ContextDependentFunction => "context_dependent_function",
        }
    }
}

/// The signatures of a set, in the order of its operators.
#[derive(Clone, Debug, Default)]
pub struct Signatures {
    /// Names, types and bodies of the signatures.
    pub model: Model,
    /// A signature for each operator that has one.
    pub list: Vec<Option<Signature>>,
}

/// The relation of an operator to the function that defines it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Definition {
    /// The version that the function has as its overload. `None`: the operator is the newest of its name, whose
    /// function has no overload.
    pub overload: Option<i64>,
    /// The function; of two that fit the first.
    pub function: Option<FunctionId>,
}

impl OperatorSet {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The domain of the set, `""` for ai.onnx.
    pub fn domain(&self) -> &str {
        normalize_domain(self.model.text(self.model.header.domain))
    }

    /// The functions that define the operators, in the order of the operators. A function belongs to the newest
    /// operator of its name; one that defines an older version has that version as its overload.
    pub fn definitions(&self) -> Vec<Definition> {
        let name = |operator: &Operator| operator.name.unwrap_or(Name::empty());
        let since = |operator: &Operator| operator.since_version.unwrap_or(0);
        let mut newest: HashMap<Name, i64> = HashMap::new();
        for operator in &self.operators {
            let version = newest.entry(name(operator)).or_insert(i64::MIN);
            *version = since(operator).max(*version);
        }
        let mut functions: HashMap<(Name, &str), FunctionId> = HashMap::new();
        for (id, function) in self.model.functions.iter() {
            if normalize_domain(self.model.text(function.domain)) == self.domain() {
                let key = (function.name.unwrap_or(Name::empty()), self.model.text(function.overload));
                functions.entry(key).or_insert(id);
            }
        }
        let definition = |operator: &Operator| {
            let is_newest = newest.get(&name(operator)) == Some(&since(operator));
            let overload = (!is_newest).then(|| since(operator));
            let text = overload.map_or(String::new(), |version| version.to_string());
            Definition { overload, function: functions.get(&(name(operator), text.as_str())).copied() }
        };
        self.operators.iter().map(definition).collect()
    }
}

impl Signature {
    /// A signature without anything, whose defaults go into `body`.
    pub fn new(body: BodyId) -> Self {
        Signature {
            attributes: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            variables: Vec::new(),
            traits: Vec::new(),
            input_counts: Vec::new(),
            output_counts: Vec::new(),
            body,
        }
    }

    /// Whether the operator is of this kind.
    pub fn is(&self, what: Trait) -> bool {
        self.traits.contains(&what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::BodyBuilder;
    use crate::model::Function;

    fn function(set: &mut OperatorSet, name: &str, domain: &str, overload: Option<&str>) -> FunctionId {
        let body = BodyBuilder::new(&mut set.model).finish();
        let mut intern = |text: &str| Some(set.model.names.intern(text));
        let (name, domain, overload) = (intern(name), intern(domain), overload.and_then(&mut intern));
        set.model.functions.push(Function {
            name,
            domain,
            overload,
            attributes: vec![],
            attribute_defaults: vec![],
            opset_imports: vec![],
            doc: None,
            metadata: vec![],
            body,
        })
    }

    #[test]
    fn functions_belong_to_versions_of_operators() {
        let mut set = OperatorSet::new();
        set.model.header.domain = Some(set.model.names.intern("d"));
        for (name, since) in [("A", 1), ("A", 3), ("B", 1), ("A", 2)] {
            let name = Some(set.model.names.intern(name));
            set.operators.push(Operator { name, since_version: Some(since), ..Operator::default() });
        }
        let newest = function(&mut set, "A", "d", Some(""));
        let _elsewhere = function(&mut set, "B", "e", None);
        let first = function(&mut set, "A", "d", Some("1"));
        let expected = [(Some(1), Some(first)), (None, Some(newest)), (None, None), (Some(2), None)];
        let expected = expected.map(|(overload, function)| Definition { overload, function });
        assert_eq!(set.definitions(), expected);
    }

    #[test]
    fn states_have_words() {
        assert_eq!(OperatorStatus::from_name("stable"), Some(OperatorStatus::STABLE));
        assert_eq!((OperatorStatus(7).name(), OperatorStatus::from_name("old")), (None, None));
    }
}
