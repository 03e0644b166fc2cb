//! Attributes of nodes as models store them, and [`Attrs`], which reads them by name.

mod read;

pub(crate) use read::readers;
pub use read::{AttrError, Attrs, FromAttr};

use crate::ids::{GraphId, TensorId, TypeId};
use crate::list::List;
use crate::names::Name;
use crate::tensor::SparseTensor;
use bytes::Bytes;
use smallvec::SmallVec;

/// `AttributeProto.AttributeType` as a number, because files may contain any.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AttrType(pub i32);

macro_rules! attr_types {
    ($($konst:ident = $number:literal, $name:literal;)*) => {
        /// The numbers of `AttributeProto.AttributeType`.
        impl AttrType {
            $(#[doc = concat!("`", $name, "`")] pub const $konst: AttrType = AttrType($number);)*
            /// The types that have a name in the text.
            pub const ALL: &[AttrType] = &[$(AttrType::$konst),*];
            /// The name in ONNX text.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 { $($number => Some($name),)* _ => None }
            }
            /// The type of this name in ONNX text.
            pub fn from_name(name: &str) -> Option<AttrType> {
                match name { $($name => Some(AttrType($number)),)* _ => None }
            }
        }
    };
}

attr_types! {
    FLOAT = 1, "float";
    INT = 2, "int";
    STRING = 3, "string";
    TENSOR = 4, "tensor";
    GRAPH = 5, "graph";
    FLOATS = 6, "floats";
    INTS = 7, "ints";
    STRINGS = 8, "strings";
    TENSORS = 9, "tensors";
    GRAPHS = 10, "graphs";
    SPARSE_TENSOR = 11, "sparse_tensor";
    SPARSE_TENSORS = 12, "sparse_tensors";
    TYPE_PROTO = 13, "type_proto";
    TYPE_PROTOS = 14, "type_protos";
}

impl AttrType {
    /// Whether values of this type are lists, which may be empty.
    pub fn is_list(self) -> bool {
        use AttrType as A;
        matches!(
            self,
            A::FLOATS | A::INTS | A::STRINGS | A::TENSORS | A::GRAPHS | A::SPARSE_TENSORS | A::TYPE_PROTOS
        )
    }
}

/// A named attribute of a node, or a default of a function's attribute.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Attr {
    /// The name.
    pub name: Option<Name>,
    /// The stated type.
    pub ty: Option<AttrType>,
    /// The attribute parameter of the enclosing function that provides the value (`@name` in text).
    pub reference: Option<Name>,
    /// `doc_string`.
    pub doc: Option<Name>,
    /// The value fields that are set, in the order of their numbers. A valid attribute has the one that its type selects, and
    /// none if it is a reference or an empty list.
    pub values: SmallVec<[AttrValue; 1]>,
}

impl Attr {
    /// An attribute with a value and the type that fits it.
    pub fn new(name: Name, value: impl Into<AttrValue>) -> Self {
        let value = value.into();
        let mut attr = Attr { name: Some(name), ty: Some(value.ty()), ..Attr::default() };
        if !value.is_empty_list() {
            attr.values.push(value);
        }
        attr
    }

    /// An attribute of a node in a function, whose value is that of a parameter of the function.
    pub fn parameter(name: Name, ty: AttrType, parameter: Name) -> Self {
        Attr { name: Some(name), ty: Some(ty), reference: Some(parameter), ..Attr::default() }
    }

    /// The value of a valid attribute: the field that the stated type selects. IR version 1 has no types: there it is the only
    /// one.
    pub fn value(&self) -> Option<&AttrValue> {
        match (self.ty, &self.values[..]) {
            (None, [only]) => Some(only),
            (ty, values) => values.iter().find(|value| Some(value.ty()) == ty),
        }
    }
}

/// One value field of `AttributeProto`. Lists are never empty here: an empty list is an absent field.
#[derive(Clone, PartialEq, Debug)]
pub enum AttrValue {
    /// `f`
    Float(f32),
    /// `i`
    Int(i64),
    /// `s`: should be UTF-8; some custom operators store binary data in it.
    String(Bytes),
    /// `t`
    Tensor(TensorId),
    /// `g`
    Graph(GraphId),
    /// `floats`
    Floats(List<f32>),
    /// `ints`
    Ints(List<i64>),
    /// `strings`
    Strings(List<Bytes>),
    /// `tensors`
    Tensors(Vec<TensorId>),
    /// `graphs`
    Graphs(Vec<GraphId>),
    /// `tp`
    Type(TypeId),
    /// `type_protos`
    Types(Vec<TypeId>),
    /// `sparse_tensor`
    SparseTensor(Box<SparseTensor>),
    /// `sparse_tensors`
    SparseTensors(Vec<SparseTensor>),
}

impl AttrValue {
    /// The attribute type that selects this field.
    pub fn ty(&self) -> AttrType {
        match self {
            AttrValue::Float(_) => AttrType::FLOAT,
            AttrValue::Int(_) => AttrType::INT,
            AttrValue::String(_) => AttrType::STRING,
            AttrValue::Tensor(_) => AttrType::TENSOR,
            AttrValue::Graph(_) => AttrType::GRAPH,
            AttrValue::Floats(_) => AttrType::FLOATS,
            AttrValue::Ints(_) => AttrType::INTS,
            AttrValue::Strings(_) => AttrType::STRINGS,
            AttrValue::Tensors(_) => AttrType::TENSORS,
            AttrValue::Graphs(_) => AttrType::GRAPHS,
            AttrValue::Type(_) => AttrType::TYPE_PROTO,
            AttrValue::Types(_) => AttrType::TYPE_PROTOS,
            AttrValue::SparseTensor(_) => AttrType::SPARSE_TENSOR,
            AttrValue::SparseTensors(_) => AttrType::SPARSE_TENSORS,
        }
    }

    /// Whether it is an empty list, which no field of a file can store.
    fn is_empty_list(&self) -> bool {
        match self {
            AttrValue::Floats(list) => list.is_empty(),
            AttrValue::Ints(list) => list.is_empty(),
            AttrValue::Strings(list) => list.is_empty(),
            AttrValue::Tensors(list) => list.is_empty(),
            AttrValue::Graphs(list) => list.is_empty(),
            AttrValue::Types(list) => list.is_empty(),
            AttrValue::SparseTensors(list) => list.is_empty(),
            AttrValue::Float(_)
            | AttrValue::Int(_)
            | AttrValue::String(_)
            | AttrValue::Tensor(_)
            | AttrValue::Graph(_)
            | AttrValue::Type(_)
            | AttrValue::SparseTensor(_) => false,
        }
    }

    /// The graphs of a graph-valued field.
    pub fn graphs(&self) -> &[GraphId] {
        match self {
            AttrValue::Graph(g) => std::slice::from_ref(g),
            AttrValue::Graphs(graphs) => graphs,
            AttrValue::Float(_)
            | AttrValue::Int(_)
            | AttrValue::String(_)
            | AttrValue::Tensor(_)
            | AttrValue::Floats(_)
            | AttrValue::Ints(_)
            | AttrValue::Strings(_)
            | AttrValue::Tensors(_)
            | AttrValue::Type(_)
            | AttrValue::Types(_)
            | AttrValue::SparseTensor(_)
            | AttrValue::SparseTensors(_) => &[],
        }
    }
}

macro_rules! from {
    ($($from:ty: $value:ident => $make:expr;)*) => {$(
        impl From<$from> for AttrValue {
            fn from($value: $from) -> Self {
                $make
            }
        }
    )*};
}

from! {
    f32: value => AttrValue::Float(value);
    i64: value => AttrValue::Int(value);
    bool: value => AttrValue::Int(value.into());
    crate::ElemType: value => AttrValue::Int(value.0.into());
    &str: value => AttrValue::String(Bytes::copy_from_slice(value.as_bytes()));
    String: value => AttrValue::String(value.into());
    TensorId: value => AttrValue::Tensor(value);
    GraphId: value => AttrValue::Graph(value);
    TypeId: value => AttrValue::Type(value);
    Vec<f32>: list => AttrValue::Floats(list.into());
    Vec<i64>: list => AttrValue::Ints(list.into());
    Vec<Bytes>: list => AttrValue::Strings(list.into());
    &[f32]: list => AttrValue::Floats(list.to_vec().into());
    &[i64]: list => AttrValue::Ints(list.to_vec().into());
    &[&str]: list => AttrValue::Strings(list.iter().map(|s| Bytes::copy_from_slice(s.as_bytes())).collect());
}

impl<const N: usize> From<[f32; N]> for AttrValue {
    fn from(list: [f32; N]) -> Self {
        list[..].into()
    }
}

impl<const N: usize> From<[i64; N]> for AttrValue {
    fn from(list: [i64; N]) -> Self {
        list[..].into()
    }
}

impl<const N: usize> From<[&str; N]> for AttrValue {
    fn from(list: [&str; N]) -> Self {
        list[..].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attribute_types_have_distinct_names() {
        for &ty in AttrType::ALL {
            assert_eq!(ty.name().and_then(AttrType::from_name), Some(ty));
        }
    }

    #[test]
    fn an_empty_list_has_a_type_and_no_field() {
        let attr = Attr::new(Name::empty(), Vec::<i64>::new());
        assert_eq!((attr.ty, attr.values.len()), (Some(AttrType::INTS), 0));
        assert_eq!(Attr::new(Name::empty(), 0i64).values[..], [AttrValue::Int(0)]);
    }
}
