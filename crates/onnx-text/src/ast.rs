//! The syntax tree. It holds spans, not strings: names and literals keep the spelling of the source.
//!
//! The source is a parsed file, or a buffer that [`raise`](crate::raise()) wrote for a model. The spans of a tree ascend in
//! document order, so comments can be inserted by position alone.

mod opset;
mod sugar;
mod value;

pub use opset::{
    AttrParam, Formal, FormalCount, Operator, OperatorBody, OperatorSet, OpsetItem, Signature, Variable,
    WhereClause,
};
pub use sugar::{Operand, Range, Subscript, Sugar, SugarForm};
pub use value::{Content, MapPart, MapPartValue, Value, ValueHead, ValueKind};

use bytes::Bytes;
use onnx_ir::diag::Span;
use onnx_ir::{ElemType, Field as TensorField};
use smallvec::SmallVec;

/// An identifier or a quoted name, quotes included. An empty span is a name left out (`Op(a, , b)`).
pub type Name = Span;

/// A bracketed, comma-separated list.
#[derive(Clone, Debug)]
pub struct List<T> {
    /// Its items.
    pub items: Vec<T>,
    /// From the opening to the closing bracket, both included.
    pub span: Span,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List { items: Vec::new(), span: Span::default() }
    }
}

/// A whole file: a model, or functions alone.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// Annotations before the header.
    pub notes: Notes,
    /// `<ir_version: 10, …>`
    pub header: Option<List<Field>>,
    /// The main graph.
    pub graph: Option<Graph>,
    /// Model-local functions.
    pub functions: Vec<Function>,
}

/// Prefixes of an item that the reference parser ignores: `##` documentation and `#@` annotations.
#[derive(Clone, Debug, Default)]
pub struct Notes(pub Option<Box<NoteLines>>);

/// The lines of [`Notes`].
#[derive(Clone, Debug, Default)]
pub struct NoteLines {
    /// The `##` lines, markers included.
    pub docs: Vec<Span>,
    /// The `#@` lines, in order.
    pub lines: Vec<NoteLine>,
}

/// One `#@` line.
#[derive(Clone, Debug)]
pub struct NoteLine {
    /// From `#@` to the end of the last field.
    pub span: Span,
    /// Its fields.
    pub fields: Vec<Field>,
}

impl Notes {
    /// The `##` lines.
    pub fn docs(&self) -> &[Span] {
        self.0.as_ref().map_or(&[], |n| &n.docs)
    }

    /// The `#@` lines.
    pub fn lines(&self) -> &[NoteLine] {
        self.0.as_ref().map_or(&[], |n| &n.lines)
    }

    /// All fields of the `#@` lines.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.lines().iter().flat_map(|l| &l.fields)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The first byte, if there are any.
    pub fn start(&self) -> Option<u32> {
        let docs = self.docs().first().map(|d| d.start);
        let lines = self.lines().first().map(|l| l.span.start);
        docs.into_iter().chain(lines).min()
    }
}

/// `key: value`, in headers, annotations and records.
#[derive(Clone, Debug)]
pub struct Field {
    /// The key.
    pub key: Name,
    /// The value.
    pub value: FieldValue,
}

/// The value of a [`Field`].
#[derive(Clone, Debug)]
pub enum FieldValue {
    /// `17`
    Int(Span),
    /// `1.5`, `-inf`
    Float(Span),
    /// `"text"` or `b"bytes"`
    String(Span),
    /// `raw`, `nan`, `_` (a part left out)
    Word(Span),
    /// `$3`: a string of the file's table
    Shared(Span),
    /// `[…]`
    List(List<Element>),
    /// `{key: value, …}`
    Record(List<Field>),
    /// A graph, as the value of a field.
    Graph(Box<Graph>),
}

/// An element of a list in a [`FieldValue`]: a value or `key: value`.
#[derive(Clone, Debug)]
pub struct Element {
    /// The part before the colon.
    pub key: Option<FieldValue>,
    /// The value.
    pub value: FieldValue,
}

impl Element {
    /// Its span.
    pub fn span(&self) -> Span {
        let value = self.value.span();
        self.key.as_ref().map_or(value, |key| key.span().to(value))
    }
}

impl FieldValue {
    /// Its span.
    pub fn span(&self) -> Span {
        match self {
            FieldValue::Int(s)
            | FieldValue::Float(s)
            | FieldValue::String(s)
            | FieldValue::Word(s)
            | FieldValue::Shared(s) => *s,
            FieldValue::List(l) => l.span,
            FieldValue::Record(r) => r.span,
            FieldValue::Graph(g) => g.span,
        }
    }

    /// The graphs in it, in order.
    pub fn graphs(&self) -> Vec<&Graph> {
        match self {
            FieldValue::Graph(graph) => vec![graph],
            FieldValue::Record(record) => {
                record.items.iter().flat_map(|field| field.value.graphs()).collect()
            }
            FieldValue::List(list) => {
                let values = list.items.iter().flat_map(|element| element.key.iter().chain([&element.value]));
                values.flat_map(FieldValue::graphs).collect()
            }
            FieldValue::Int(_)
            | FieldValue::Float(_)
            | FieldValue::String(_)
            | FieldValue::Word(_)
            | FieldValue::Shared(_) => Vec::new(),
        }
    }
}

/// `name (inputs) => (outputs) <values> { nodes }`
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Annotations and documentation.
    pub notes: Notes,
    /// The name.
    pub name: Name,
    /// Inputs; an initialised one has data. `None` if the parentheses are omitted.
    pub inputs: Option<List<ValueInfo>>,
    /// Outputs.
    pub outputs: List<ValueInfo>,
    /// Value infos and, with data, initializers.
    pub values: Option<List<ValueInfo>>,
    /// The nodes.
    pub body: Vec<Node>,
    /// The body with its braces.
    pub body_span: Span,
    /// From the name to the closing brace.
    pub span: Span,
}

/// `type name = data`, each part but the name optional.
#[derive(Clone, Debug)]
pub struct ValueInfo {
    /// Annotations and documentation.
    pub notes: Notes,
    /// The type.
    pub ty: Option<Type>,
    /// The name.
    pub name: Name,
    /// The data of an initializer.
    pub data: Option<Data>,
    /// From the type to the data.
    pub span: Span,
}

/// A type.
#[derive(Clone, Debug)]
pub enum Type {
    /// `float[2,N]`, `float`, `float[]`
    Tensor {
        /// The element type: a word, or `elem_type(99)` for one without a name.
        elem: Span,
        /// The dimensions; `None` is rank 0, an empty list is unknown rank.
        dims: Option<List<Dim>>,
    },
    /// `seq(T)`, `map(K, T)`, `optional(T)`, `sparse_tensor(T)`, `opaque(domain, name)`
    Call {
        /// The word before the parentheses.
        head: Span,
        /// The type arguments.
        args: List<TypeArg>,
    },
    /// `?`: a type that is present but empty.
    Unset(Span),
}

/// An argument of a [`Type::Call`].
#[derive(Clone, Debug)]
pub enum TypeArg {
    /// A type (or an identifier, which reads as one).
    Type(Type),
    /// A quoted name of an opaque type or its domain, or nothing.
    Name(Name),
}

impl Type {
    /// Its span.
    pub fn span(&self) -> Span {
        match self {
            Type::Tensor { elem, dims } => elem.to(dims.as_ref().map_or(*elem, |d| d.span)),
            Type::Call { head, args } => head.to(args.span),
            Type::Unset(span) => *span,
        }
    }
}

/// A dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim {
    /// `?`
    Unknown(Span),
    /// `16`
    Int(Span),
    /// `N`, `"N+1"`
    Param(Name),
    /// `N+1`, without quotes
    Expr(Span),
}

impl Dim {
    /// Its span.
    pub fn span(self) -> Span {
        match self {
            Dim::Unknown(s) | Dim::Int(s) | Dim::Param(s) | Dim::Expr(s) => s,
        }
    }
}

/// The elements of a tensor.
#[derive(Clone, Debug)]
pub enum Data {
    /// `{1, 2, 3}` of plain numbers, braces included: not split into tokens. `{{…}}` (elements of a packed type) too.
    Numbers(Span),
    /// `{"a", nan, 1}` with anything but plain numbers.
    Elements(List<Scalar>),
    /// `["location": "weights.bin", …]`
    External(List<Element>),
    /// `{raw_data: b"…", …}`: a tensor whose fields do not fit each other, as stored.
    Record(List<Field>),
    /// `{values = float[1] {1}, indices = int64[1] {5}}`: the parts of a sparse initializer.
    Sparse(List<Attr>),
    /// Stored elements to be printed; never made by the parser.
    Stored(Box<Stored>),
}

impl Data {
    /// Its span.
    pub fn span(&self) -> Span {
        match self {
            Data::Numbers(s) => *s,
            Data::Elements(l) => l.span,
            Data::External(l) => l.span,
            Data::Record(r) => r.span,
            Data::Sparse(p) => p.span,
            Data::Stored(s) => s.at,
        }
    }
}

/// The placeholder for elements that are not printed.
pub(crate) const ELIDED: &str = "…";

/// Elements that are printed straight from their payload.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The element type.
    pub elem: ElemType,
    /// The field of the elements.
    pub field: TensorField,
    /// The payload; see [`onnx_ir::Payload`].
    pub bytes: Bytes,
    /// The number of elements.
    pub count: usize,
    /// The number of elements to print before `…`; all if `None`.
    pub elide_after: Option<usize>,
    /// The shape, if only the ends of each axis are printed.
    pub ends_of: Option<Box<[usize]>>,
    /// Whether elements of narrow floats are printed as values, not as bit patterns.
    pub as_values: bool,
    /// The position in the buffer (an empty span).
    pub at: Span,
}

/// A literal.
#[derive(Clone, Copy, Debug)]
pub struct Scalar {
    /// The form of the literal.
    pub kind: ScalarKind,
    /// Its span.
    pub span: Span,
}

/// The form of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    /// `-3`
    Int,
    /// `1.5`, `1e3`
    Float,
    /// `inf`, `-nan`
    Special,
    /// `"text"`
    String,
}

/// `[name] outputs = domain.op:overload <attributes> (inputs)`
#[derive(Clone, Debug)]
pub struct Node {
    /// Annotations and documentation.
    pub notes: Notes,
    /// The name in brackets; an empty span for `[]`.
    pub name: Option<Name>,
    /// Results.
    pub outputs: SmallVec<[Name; 2]>,
    /// The words before the last dot.
    pub domain: Option<Span>,
    /// The operator.
    pub op: Name,
    /// The word after the colon.
    pub overload: Option<Name>,
    /// Attributes, before or after the inputs.
    pub attrs: Option<List<Attr>>,
    /// Operands.
    pub inputs: SmallVec<[Name; 3]>,
    /// The operands with their parentheses.
    pub inputs_span: Span,
    /// The whole statement.
    pub span: Span,
    /// The parts that are not plain syntax; `None` for a plain node.
    pub sugar: Option<Box<Sugar>>,
}

/// `name: type = value`
#[derive(Clone, Debug)]
pub struct Attr {
    /// Annotations and documentation.
    pub notes: Notes,
    /// The name.
    pub name: Name,
    /// The stated type.
    pub ty: Option<Name>,
    /// The value; `None` for a function's attribute without default, or where an error left nothing.
    pub value: Option<AttrValue>,
    /// From name to value.
    pub span: Span,
}

/// The value of an attribute.
#[derive(Clone, Debug)]
pub enum AttrValue {
    /// `1`, `1.5`, `inf`, `"text"`
    Scalar(Scalar),
    /// `@name`
    Reference(Name),
    /// `g (x) => (y) {…}`
    Graph(Box<Graph>),
    /// `float[2] name {1, 2}`
    Tensor(Box<TensorLiteral>),
    /// `float[2]`
    Type(Box<Type>),
    /// `[1, 2, 3]` of plain integers, brackets included: not split into tokens.
    Ints(Span),
    /// `sparse [3,4] {values = …, indices = …}`
    Sparse(Box<SparseLiteral>),
    /// `[1.5, 2.0]`, `["a", "b"]`
    List(Box<List<AttrElement>>),
    /// `{float[2] {1, 2}, …}`: a list that the reference would discard if it stood in brackets.
    Braced(Box<List<AttrElement>>),
    /// `attribute {type = 1, f = 1.0, i = 2}`: fields that do not fit each other, as stored.
    Record(Box<List<Attr>>),
}

impl Node {
    /// A node without content.
    pub(crate) fn at(span: Span) -> Node {
        Node {
            notes: Notes::default(),
            name: None,
            outputs: SmallVec::new(),
            domain: None,
            op: Span::at(span.start),
            overload: None,
            attrs: None,
            inputs: SmallVec::new(),
            inputs_span: Span::at(span.end),
            span,
            sugar: None,
        }
    }

    /// The graphs in the attributes, in order.
    pub fn subgraphs(&self) -> Vec<&Graph> {
        let mut graphs = Vec::new();
        for attr in self.attrs.iter().flat_map(|list| &list.items) {
            attr.subgraphs(&mut graphs);
        }
        graphs
    }
}

impl Attr {
    fn subgraphs<'a>(&'a self, out: &mut Vec<&'a Graph>) {
        match &self.value {
            Some(AttrValue::Graph(graph)) => out.push(graph),
            Some(AttrValue::List(list) | AttrValue::Braced(list)) => {
                out.extend(list.items.iter().filter_map(|e| match &e.value {
                    AttrValue::Graph(graph) => Some(&**graph),
                    _ => None,
                }));
            }
            Some(AttrValue::Record(parts)) => parts.items.iter().for_each(|part| part.subgraphs(out)),
            Some(
                AttrValue::Scalar(_)
                | AttrValue::Ints(_)
                | AttrValue::Reference(_)
                | AttrValue::Tensor(_)
                | AttrValue::Type(_)
                | AttrValue::Sparse(_),
            )
            | None => {}
        }
    }
}

impl AttrValue {
    /// Its span.
    pub fn span(&self) -> Span {
        match self {
            AttrValue::Scalar(s) => s.span,
            AttrValue::Reference(s) | AttrValue::Ints(s) => *s,
            AttrValue::Graph(g) => g.span,
            AttrValue::Tensor(t) => t.span,
            AttrValue::Type(t) => t.span(),
            AttrValue::Sparse(s) => s.span,
            AttrValue::List(l) | AttrValue::Braced(l) => l.span,
            AttrValue::Record(r) => r.span,
        }
    }
}

/// An element of a list of attribute values.
#[derive(Clone, Debug)]
pub struct AttrElement {
    /// Annotations.
    pub notes: Notes,
    /// The value.
    pub value: AttrValue,
}

/// `float[2] name {1, 2}`
#[derive(Clone, Debug)]
pub struct TensorLiteral {
    /// Element type and dimensions.
    pub ty: Type,
    /// The name, if it has one.
    pub name: Option<Name>,
    /// The elements.
    pub data: Data,
    /// From type to data.
    pub span: Span,
}

/// `sparse [3,4] {values = float[1] w {1}, indices = int64[1] {5}}`
#[derive(Clone, Debug)]
pub struct SparseLiteral {
    /// The dense shape.
    pub dims: List<Dim>,
    /// Its parts.
    pub parts: List<Attr>,
    /// From `sparse` to the closing brace.
    pub span: Span,
}

/// `<domain: "l", …> name <a, b: int = 1> (inputs) => (outputs) <values> { nodes }`
#[derive(Clone, Debug)]
pub struct Function {
    /// Annotations and documentation.
    pub notes: Notes,
    /// `<opset_import: …, domain: …>`
    pub header: Option<List<Field>>,
    /// The name.
    pub name: Name,
    /// Attribute parameters; one with a value has a default.
    pub attrs: Option<List<Attr>>,
    /// Inputs, which may be typed.
    pub inputs: List<ValueInfo>,
    /// Outputs, which may be typed.
    pub outputs: List<ValueInfo>,
    /// Value infos.
    pub values: Option<List<ValueInfo>>,
    /// The nodes.
    pub body: Vec<Node>,
    /// The body with its braces.
    pub body_span: Span,
    /// From the header to the closing brace.
    pub span: Span,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_has_most_of_is_small() {
        assert!(size_of::<AttrValue>() <= 16, "{}", size_of::<AttrValue>());
        assert!(size_of::<Attr>() <= 64, "{}", size_of::<Attr>());
        assert!(size_of::<Node>() <= 176, "{}", size_of::<Node>());
    }
}
