//! Loads operator sets as schemas.

use super::types::{set, spelling};
use crate::schema::set::LoadedSet;
use crate::schema::{AttrParam, BodyKind, Default, Param, ParamKind, Schema, Str, TypeSet, TypeVariable};
use onnx_ir::diag::{Diagnostic, Level};
use onnx_ir::{
    AttrType, AttrValue, BodyId, Formal, FormalAttr, FormalKind, FormalType, Model, Name, OperatorSet,
    OperatorStatus, Presence, Signature, Trait, VerifyOptions, verify_operator_set,
};
use onnx_text::RaiseOptions;
use std::borrow::Cow;
use std::sync::Arc;

/// Loads a set. A set with errors should not be used, because it may not mean what its author intended.
///
/// ```
/// use onnx_ops::opset::load;
/// use onnx_ops::schema::{Lookup, Registry};
///
/// let source = r#"
///     operator_set <ir_version: 10, domain: "com.acme", opset_version: 1>
///     <since_version: 1> operator Scale <axis: int = -1> (T x, T? scale) => (T y) where T: {float, float16}"#;
/// let loaded = load(onnx_text::read_operator_set(source).value);
/// assert!(loaded.diagnostics.is_empty());
/// let registry = Registry::with_sets([&loaded]);
/// assert!(matches!(registry.lookup("com.acme", "Scale", 1), Lookup::Found(_)));
/// ```
#[must_use]
pub fn load(set: OperatorSet) -> LoadedSet {
    let (signatures, mut diagnostics) = onnx_text::signatures(&set).into_parts();
    let options = VerifyOptions { level: Level::Spec, payloads: true };
    diagnostics.extend(verify_operator_set(&set, &signatures, &options));
    let (mut schemas, mut bodies, mut docs) = (Vec::new(), Vec::new(), Vec::new());
    let mut unsigned = Vec::new();
    let parts = set.operators.iter().zip(set.definitions()).zip(&signatures.list);
    for (i, ((operator, definition), signature)) in parts.enumerate() {
        if let (Some(name), None) = (operator.name, signature) {
            unsigned.push((set.domain().to_owned(), set.model.names[name].to_owned()));
        }
        let since =
            operator.since_version.and_then(|since| u32::try_from(since).ok()).filter(|&since| since > 0);
        let (Some(name), Some(since), Some(signature)) = (operator.name, since, signature) else { continue };
        let mut schema = Reader { model: &signatures.model }.schema(signature);
        schema.domain = owned(set.domain());
        schema.name = owned(&set.model.names[name]);
        schema.since = since;
        // A missing value reads as the first one in every protobuf implementation.
        schema.experimental =
            operator.status.unwrap_or(OperatorStatus::EXPERIMENTAL) == OperatorStatus::EXPERIMENTAL;
        if definition.function.is_some() {
            schema.body = BodyKind::Fixed;
        }
        schemas.push(schema);
        bodies.push(definition.function);
        docs.push(onnx_text::description(&set, i).map(str::to_owned));
    }
    let version = set.opset_version.map(|version| (set.domain().to_owned(), version));
    LoadedSet { version, schemas, bodies, docs, unsigned, model: Arc::new(set.model), diagnostics }
}

/// The schemas of a set, and its findings; see [`load`].
#[must_use]
pub fn schemas(set: &OperatorSet) -> (Vec<Schema>, Vec<Diagnostic>) {
    let loaded = load(set.clone());
    (loaded.schemas, loaded.diagnostics)
}

fn owned(text: &str) -> Str {
    Cow::Owned(text.to_owned())
}

/// Reads signatures whose names and types are those of a model.
struct Reader<'m> {
    model: &'m Model,
}

impl Reader<'_> {
    fn schema(&self, signature: &Signature) -> Schema {
        let params = |formals: &[Formal]| -> Vec<Param> {
            formals.iter().map(|formal| self.param(formal, signature)).collect()
        };
        let mut attrs: Vec<_> =
            signature.attributes.iter().filter_map(|attr| self.attr(attr, signature.body)).collect();
        attrs.sort_by(|a, b| a.name.cmp(&b.name));
        let mut variables: Vec<_> = signature
            .variables
            .iter()
            .map(|variable| TypeVariable {
                name: self.text(Some(variable.name)),
                types: set(self.model, &variable.types),
            })
            .collect();
        variables.sort_by(|a, b| a.name.cmp(&b.name));
        Schema {
            domain: Cow::Borrowed(""),
            name: Cow::Borrowed(""),
            since: 0,
            inputs: Cow::Owned(params(&signature.inputs)),
            outputs: Cow::Owned(params(&signature.outputs)),
            attrs: Cow::Owned(attrs),
            variables: Cow::Owned(variables),
            input_counts: Cow::Owned(counts(&signature.input_counts)),
            output_counts: Cow::Owned(counts(&signature.output_counts)),
            deprecated: signature.is(Trait::Deprecated),
            experimental: false,
            random: signature.is(Trait::Nondeterministic),
            body: match () {
                () if signature.is(Trait::ContextDependentFunction) => BodyKind::PerNode,
                () if signature.is(Trait::Function) => BodyKind::Fixed,
                () => BodyKind::None,
            },
        }
    }

    fn text(&self, name: Option<Name>) -> Str {
        owned(self.model.text(name))
    }

    fn param(&self, formal: &Formal, signature: &Signature) -> Param {
        let (ty, types) = match formal.ty {
            FormalType::Variable(name) => {
                let variable = signature.variables.iter().find(|variable| variable.name == name);
                let types = variable.map_or_else(TypeSet::default, |v| set(self.model, &v.types));
                (self.text(Some(name)), types)
            }
            FormalType::Type(ty) => (Cow::Owned(spelling(self.model, ty)), set(self.model, &[ty])),
        };
        let kind = match formal.kind {
            FormalKind::Single => ParamKind::Single,
            FormalKind::Optional => ParamKind::Optional,
            FormalKind::Variadic { min, is_mixed } => ParamKind::Variadic { min, homogeneous: !is_mixed },
        };
        Param { name: self.text(formal.name), kind, ty, types }
    }

    fn attr(&self, formal: &FormalAttr, body: BodyId) -> Option<AttrParam> {
        let attr = &formal.attr;
        let ty = attr.ty?;
        let default = match formal.presence {
            Presence::Required | Presence::Optional => None,
            Presence::Default => Some(match attr.values.first() {
                Some(value) => self.default(value).unwrap_or_else(|| self.other(formal, body)),
                None => empty(ty),
            }),
        };
        Some(AttrParam {
            name: self.text(attr.name),
            ty,
            required: formal.presence == Presence::Required,
            default,
        })
    }

    fn default(&self, value: &AttrValue) -> Option<Default> {
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(owned);
        Some(match value {
            AttrValue::Float(x) => Default::Float(*x),
            AttrValue::Int(i) => Default::Int(*i),
            AttrValue::String(s) => Default::String(text(s)?),
            AttrValue::Floats(all) => Default::Floats(Cow::Owned(all.to_vec())),
            AttrValue::Ints(all) => Default::Ints(Cow::Owned(all.to_vec())),
            AttrValue::Strings(all) => {
                Default::Strings(Cow::Owned(all.iter().map(|s| text(s)).collect::<Option<Vec<_>>>()?))
            }
            AttrValue::Tensor(_)
            | AttrValue::Graph(_)
            | AttrValue::Tensors(_)
            | AttrValue::Graphs(_)
            | AttrValue::Type(_)
            | AttrValue::Types(_)
            | AttrValue::SparseTensor(_)
            | AttrValue::SparseTensors(_) => return None,
        })
    }

    /// The text of a value, without its annotations.
    fn other(&self, formal: &FormalAttr, body: BodyId) -> Default {
        let options = RaiseOptions { metadata: false, ..RaiseOptions::default() };
        let text = onnx_text::print_attribute(self.model, body, &formal.attr, &options);
        let lines = text.lines().skip_while(|line| line.starts_with('#'));
        let text = lines.collect::<Vec<_>>().join("\n");
        Default::Other(owned(text.split_once(" = ").map_or("", |(_, value)| value)))
    }
}

/// The default of a list that is empty.
fn empty(ty: AttrType) -> Default {
    match ty {
        AttrType::FLOATS => Default::Floats(Cow::Borrowed(&[])),
        AttrType::INTS => Default::Ints(Cow::Borrowed(&[])),
        AttrType::STRINGS => Default::Strings(Cow::Borrowed(&[])),
        _ => Default::Other(Cow::Borrowed("[]")),
    }
}

fn counts(counts: &[i64]) -> Vec<u32> {
    let mut counts: Vec<_> = counts.iter().filter_map(|&count| u32::try_from(count).ok()).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}
