//! Values in files of their own.

use super::{Element, List, Name, Notes, SparseLiteral, TensorLiteral};
use onnx_ir::diag::Span;

/// A tensor, sparse tensor, sequence, map or optional.
#[derive(Clone, Debug)]
pub struct Value {
    /// Annotations and documentation.
    pub notes: Notes,
    /// The kind and contents.
    pub kind: ValueKind,
    /// From its type to its end.
    pub span: Span,
}

/// The kinds of a [`Value`].
#[derive(Clone, Debug)]
pub enum ValueKind {
    /// `float[2] name = {1, 2}`
    Tensor(Box<TensorLiteral>),
    /// `sparse [3,4] {values = …, indices = …}`
    Sparse(Box<SparseLiteral>),
    /// `seq(tensor) name = [float {1}, float {2}]`
    Sequence(Box<ValueHead>, List<Value>),
    /// `map(int64) name = {keys = [1, 2], values = seq(tensor) [float {1}, float {2}]}`
    Map(Box<ValueHead>, List<MapPart>),
    /// `optional(tensor) name = float {1}`
    Optional(Box<ValueHead>, Content),
}

/// `seq(tensor) name`
#[derive(Clone, Debug)]
pub struct ValueHead {
    /// The word before the parentheses.
    pub word: Span,
    /// The kind of the elements, or the element type of keys, if present.
    pub arg: Option<Span>,
    /// The parentheses.
    pub args: Span,
    /// The name, if it has one.
    pub name: Option<Name>,
}

/// The contents of an optional.
#[derive(Clone, Debug)]
pub enum Content {
    /// `none`
    None(Span),
    /// `float {1}`
    One(Box<Value>),
    /// `[float {1}, seq(tensor) []]`: fields that should not be set together, as stored.
    Many(List<Value>),
}

/// `keys = [1, 2]`, `string_keys = ["a"]`, or `values = seq(tensor) […]`
#[derive(Clone, Debug)]
pub struct MapPart {
    /// The word before `=`.
    pub key: Span,
    /// The value of the part.
    pub value: MapPartValue,
}

/// The value of a [`MapPart`].
#[derive(Clone, Debug)]
pub enum MapPartValue {
    /// The keys.
    Keys(List<Element>),
    /// The values.
    Values(Box<Value>),
}

impl Content {
    /// Its span.
    pub fn span(&self) -> Span {
        match self {
            Content::None(span) => *span,
            Content::One(value) => value.span,
            Content::Many(list) => list.span,
        }
    }
}
