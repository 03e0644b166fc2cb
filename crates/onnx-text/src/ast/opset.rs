//! Operator sets in files of their own.

use super::{Attr, Field, Function, List, Name, Node, Notes, Type, ValueInfo};
use onnx_ir::diag::Span;

/// `operator_set <…>`, operators, functions.
#[derive(Clone, Debug, Default)]
pub struct OperatorSet {
    /// Annotations before the header.
    pub notes: Notes,
    /// The word `operator_set`.
    pub keyword: Span,
    /// `<ir_version: 10, …>`
    pub header: List<Field>,
    /// The items of the set.
    pub items: Vec<OpsetItem>,
}

/// An item of an [`OperatorSet`].
#[derive(Clone, Debug)]
pub enum OpsetItem {
    /// An operator, with or without a body.
    Operator(Box<Operator>),
    /// A separate function.
    Function(Box<Function>),
}

/// `<since_version: 2, …> operator name signature <values> { nodes }`
#[derive(Clone, Debug)]
pub struct Operator {
    /// Annotations and documentation.
    pub notes: Notes,
    /// `<since_version: 2, …>`
    pub header: Option<List<Field>>,
    /// The word `operator`.
    pub keyword: Span,
    /// The name.
    pub name: Name,
    /// Its signature.
    pub signature: Option<Signature>,
    /// Value infos of the body.
    pub values: Option<List<ValueInfo>>,
    /// The body, if one defines it.
    pub body: Option<OperatorBody>,
    /// From the header to the end.
    pub span: Span,
}

/// `{ nodes }`
#[derive(Clone, Debug)]
pub struct OperatorBody {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The body with its braces.
    pub span: Span,
}

/// `<attributes> (inputs) => (outputs) where T: {…}`
#[derive(Clone, Debug)]
pub struct Signature {
    /// Attributes.
    pub attrs: Option<List<AttrParam>>,
    /// Inputs.
    pub inputs: List<Formal>,
    /// Outputs.
    pub outputs: List<Formal>,
    /// The types of type variables.
    pub variables: Option<WhereClause>,
}

/// `name: type? = default`
#[derive(Clone, Debug)]
pub struct AttrParam {
    /// The name, the type and the default.
    pub attr: Attr,
    /// The question mark: it may be omitted.
    pub optional: Option<Span>,
}

/// `each T...0 name`
#[derive(Clone, Debug)]
pub struct Formal {
    /// Annotations and documentation.
    pub notes: Notes,
    /// The word `each`.
    pub each: Option<Span>,
    /// A type, or the name of a variable, which reads as one.
    pub ty: Type,
    /// The number of values.
    pub count: FormalCount,
    /// The name.
    pub name: Option<Name>,
    /// From the type to the name.
    pub span: Span,
}

/// The number of values of a [`Formal`].
#[derive(Clone, Copy, Debug)]
pub enum FormalCount {
    /// One.
    One,
    /// `?`
    Optional(Span),
    /// `...` followed by the least number.
    Variadic(Span, Option<Span>),
}

/// `where T: {float, double}, I: {int64}`
#[derive(Clone, Debug)]
pub struct WhereClause {
    /// The word `where`.
    pub keyword: Span,
    /// The variables.
    pub variables: Vec<Variable>,
}

/// `T: {float, double}`
#[derive(Clone, Debug)]
pub struct Variable {
    /// Annotations and documentation.
    pub notes: Notes,
    /// The name.
    pub name: Name,
    /// The allowed types.
    pub types: List<Type>,
}

impl OperatorSet {
    /// The operators in order.
    pub fn operators(&self) -> impl Iterator<Item = &Operator> {
        self.items.iter().filter_map(|item| match item {
            OpsetItem::Operator(operator) => Some(&**operator),
            OpsetItem::Function(_) => None,
        })
    }
}

impl Operator {
    /// The function of its body, if it has one: with the names of its formals, and the fields of the header that `is_of_function`
    /// selects.
    pub fn function(&self, is_of_function: impl Fn(&Field) -> bool) -> Option<Function> {
        let body = self.body.as_ref()?;
        let (mut attrs, mut inputs, mut outputs) = (None, List::default(), List::default());
        if let Some(signature) = &self.signature {
            attrs = signature.attrs.as_ref().map(|list| List {
                items: list.items.iter().map(AttrParam::of_function).collect(),
                span: list.span,
            });
            inputs = named(&signature.inputs);
            outputs = named(&signature.outputs);
        }
        let header = self.header.as_ref().map(|header| {
            let items = header.items.iter().filter(|field| is_of_function(field)).cloned().collect();
            List { items, span: header.span }
        });
        Some(Function {
            notes: Notes::default(),
            header,
            name: self.name,
            attrs,
            inputs,
            outputs,
            values: self.values.clone(),
            body: body.nodes.clone(),
            body_span: body.span,
            span: self.span,
        })
    }
}

impl AttrParam {
    /// A parameter of a function without a default has no type.
    fn of_function(&self) -> Attr {
        let attr = self.attr.clone();
        if attr.value.is_some() { attr } else { Attr { notes: Notes::default(), ty: None, ..attr } }
    }
}

fn named(formals: &List<Formal>) -> List<ValueInfo> {
    let value_info = |formal: &Formal| ValueInfo {
        notes: Notes::default(),
        ty: None,
        name: formal.name.unwrap_or(Span::at(formal.span.end)),
        data: None,
        span: formal.span,
    };
    List { items: formals.items.iter().map(value_info).collect(), span: formals.span }
}
