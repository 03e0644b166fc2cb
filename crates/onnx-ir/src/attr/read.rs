//! Reads attributes by name and type.
//!
//! ```
//! use onnx_ir::{Attr, Attrs, Names};
//!
//! let mut names = Names::new();
//! let attrs = [Attr::new(names.intern("axis"), 1i64), Attr::new(names.intern("perm"), [1i64, 0])];
//! let attrs = Attrs::new(&names, &attrs);
//! assert_eq!(attrs.int("axis"), Ok(Some(1)));
//! assert_eq!(attrs.ints("perm"), Ok(Some(&[1, 0][..])));
//! assert_eq!(attrs.float("alpha"), Ok(None));
//! let error = attrs.int("perm").unwrap_err();
//! assert_eq!(error.to_string(), "attribute `perm` must have type int, but has ints");
//! ```
//!
//! [`NodeRef`](crate::NodeRef) reads the attributes of a node of a model, and its errors are diagnostics with a place.

use super::{Attr, AttrType, AttrValue};
use crate::ids::{GraphId, TensorId, TypeId};
use crate::names::Names;
use crate::tensor::SparseTensor;
use bytes::Bytes;
use std::borrow::Cow;
use std::fmt;

/// A type that an attribute can be read as.
pub trait FromAttr<'a>: Sized {
    /// The attribute type that it is read from.
    const TYPE: AttrType;

    /// The value of a field; `None` if the field is another one.
    fn from_attr(value: &'a AttrValue) -> Option<Self>;

    /// The value of an attribute of this type without a field: an empty list, or nothing.
    fn empty() -> Option<Self> {
        None
    }
}

macro_rules! from_attr {
    ($($ty:ty: $konst:ident, $pattern:pat => $value:expr $(, $empty:expr)?;)*) => {$(
        impl<'a> FromAttr<'a> for $ty {
            const TYPE: AttrType = AttrType::$konst;
            fn from_attr(value: &'a AttrValue) -> Option<Self> {
                if let $pattern = value { Some($value) } else { None }
            }
            $(fn empty() -> Option<Self> {
                Some($empty)
            })?
        }
    )*};
}

from_attr! {
    f32: FLOAT, AttrValue::Float(x) => *x;
    i64: INT, AttrValue::Int(i) => *i;
    &'a Bytes: STRING, AttrValue::String(s) => s;
    // Bytes that are not UTF-8 read as U+FFFD. Most strings are UTF-8, which `from_utf8` checks faster.
    Cow<'a, str>: STRING, AttrValue::String(s) =>
        std::str::from_utf8(s).map_or_else(|_| String::from_utf8_lossy(s), Cow::Borrowed);
    TensorId: TENSOR, AttrValue::Tensor(t) => *t;
    GraphId: GRAPH, AttrValue::Graph(g) => *g;
    TypeId: TYPE_PROTO, AttrValue::Type(t) => *t;
    &'a SparseTensor: SPARSE_TENSOR, AttrValue::SparseTensor(t) => t;
    &'a [f32]: FLOATS, AttrValue::Floats(list) => list, &[];
    &'a [i64]: INTS, AttrValue::Ints(list) => list, &[];
    &'a [Bytes]: STRINGS, AttrValue::Strings(list) => list, &[];
    &'a [TensorId]: TENSORS, AttrValue::Tensors(list) => list, &[];
    &'a [GraphId]: GRAPHS, AttrValue::Graphs(list) => list, &[];
    &'a [TypeId]: TYPE_PROTOS, AttrValue::Types(list) => list, &[];
    &'a [SparseTensor]: SPARSE_TENSORS, AttrValue::SparseTensors(list) => list, &[];
    crate::list::Elements<'a, i64>: INTS, AttrValue::Ints(list) => list.elements(), Self::of(&[]);
    crate::list::Elements<'a, f32>: FLOATS, AttrValue::Floats(list) => list.elements(), Self::of(&[]);
    crate::list::Elements<'a, Bytes>: STRINGS, AttrValue::Strings(list) => list.elements(), Self::of(&[]);
}

/// Why an attribute cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AttrError {
    /// The attribute is required, and the node does not have it.
    Missing {
        /// Its name.
        name: String,
    },
    /// The attribute has another type.
    Type {
        /// Its name.
        name: String,
        /// The type that was asked for.
        expected: AttrType,
        /// The stated type.
        found: Option<AttrType>,
    },
    /// The value is a parameter of the enclosing function, which callers provide.
    Parameter {
        /// The name of the attribute.
        name: String,
        /// The name of the parameter.
        parameter: String,
    },
}

impl fmt::Display for AttrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttrError::Missing { name } => write!(f, "attribute `{name}` is missing"),
            AttrError::Type { name, expected, found } => {
                let expected = expected.name().unwrap_or("unknown");
                match found.and_then(AttrType::name) {
                    Some(found) if found == expected => write!(f, "attribute `{name}` has no value"),
                    Some(found) => {
                        write!(f, "attribute `{name}` must have type {expected}, but has {found}")
                    }
                    None => write!(f, "attribute `{name}` must have type {expected}"),
                }
            }
            AttrError::Parameter { name, parameter } => {
                write!(
                    f,
                    "attribute `{name}` is the parameter `{parameter}` of the function: its callers decide"
                )
            }
        }
    }
}

impl std::error::Error for AttrError {}

/// So that `?` works in functions whose error is a message.
impl From<AttrError> for String {
    fn from(error: AttrError) -> String {
        error.to_string()
    }
}

/// The attributes of a node, to be read by name.
#[derive(Clone, Copy)]
pub struct Attrs<'a> {
    names: &'a Names,
    attrs: &'a [Attr],
}

impl<'a> Attrs<'a> {
    /// Attributes with the names of their model.
    pub fn new(names: &'a Names, attrs: &'a [Attr]) -> Self {
        Attrs { names, attrs }
    }

    /// The first attribute with this name, of any type.
    pub fn find(&self, name: &str) -> Option<&'a Attr> {
        self.attrs.iter().find(|attr| attr.name.is_some_and(|n| self.names.is(n, name)))
    }

    /// The value of an attribute; `None` if the node does not have it.
    ///
    /// # Errors
    /// [`AttrError::Type`] if it has another type or no value, [`AttrError::Parameter`] if callers of the function provide it.
    pub fn get<T: FromAttr<'a>>(&self, name: &str) -> Result<Option<T>, AttrError> {
        let Some(attr) = self.find(name) else { return Ok(None) };
        if let Some(parameter) = attr.reference {
            let parameter = self.names[parameter].to_owned();
            return Err(AttrError::Parameter { name: name.to_owned(), parameter });
        }
        let value = match attr.value() {
            Some(value) => T::from_attr(value),
            None if attr.ty == Some(T::TYPE) => T::empty(),
            None => None,
        };
        let error = || AttrError::Type { name: name.to_owned(), expected: T::TYPE, found: attr.ty };
        value.map(Some).ok_or_else(error)
    }

    /// The value of an attribute that the node must have.
    ///
    /// # Errors
    /// Those of [`get`](Self::get), and [`AttrError::Missing`].
    pub fn require<T: FromAttr<'a>>(&self, name: &str) -> Result<T, AttrError> {
        self.get(name)?.ok_or_else(|| AttrError::Missing { name: name.to_owned() })
    }
}

/// Implements the methods of a type that reads attributes by a generic `get`.
macro_rules! readers {
    ($error:ty, $lifetime:lifetime, $($(#[$doc:meta])* $name:ident -> $ty:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Errors
            /// Those of [`get`](Self::get).
            pub fn $name(&self, name: &str) -> Result<Option<$ty>, $error> {
                self.get(name)
            }
        )*
    };
    ($error:ty, $lifetime:lifetime) => {
        $crate::attr::readers! { $error, $lifetime,
            /// An integer.
            int -> i64;
            /// A floating-point number.
            float -> f32;
            /// A string. Bytes that are not UTF-8 read as U+FFFD.
            string -> std::borrow::Cow<$lifetime, str>;
            /// A list of integers.
            ints -> &$lifetime [i64];
            /// A list of floating-point numbers.
            floats -> &$lifetime [f32];
            /// A list of strings, which may not be UTF-8.
            strings -> &$lifetime [bytes::Bytes];
            /// A graph of the same body.
            graph -> $crate::ids::GraphId;
        }
    };
}
pub(crate) use readers;

impl<'a> Attrs<'a> {
    readers! { AttrError, 'a }

    /// A tensor of the same body.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub fn tensor(&self, name: &str) -> Result<Option<TensorId>, AttrError> {
        self.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let mut names = Names::new();
        let [axis, perm, beta, alpha] = ["axis", "perm", "beta", "alpha"].map(|name| names.intern(name));
        let attrs = [
            Attr::new(axis, 1.5f32),
            Attr::new(perm, Vec::<i64>::new()),
            Attr { name: Some(beta), ty: Some(AttrType::FLOAT), ..Attr::default() },
            Attr::parameter(alpha, AttrType::FLOAT, beta),
        ];
        let attrs = Attrs::new(&names, &attrs);
        let text = |error: AttrError| error.to_string();
        assert_eq!(attrs.ints("perm"), Ok(Some(&[][..])));
        assert_eq!(
            attrs.int("axis").map_err(text),
            Err("attribute `axis` must have type int, but has float".into())
        );
        assert_eq!(
            attrs.floats("perm").map_err(text),
            Err("attribute `perm` must have type floats, but has ints".into())
        );
        assert_eq!(attrs.float("beta").map_err(text), Err("attribute `beta` has no value".into()));
        assert_eq!(
            attrs.float("alpha").map_err(text),
            Err("attribute `alpha` is the parameter `beta` of the function: its callers decide".into())
        );
        assert_eq!(attrs.require::<i64>("to").map_err(text), Err("attribute `to` is missing".into()));
    }
}
