//! The reader of attributes that inference, definitions, function bodies, lints and kernels share.
//!
//! Values come from the node, the call of the function around it, the default of that function, or the default of the schema.

use crate::schema::{self, Schema};
use bytes::Bytes;
use onnx_ir::list::Elements;
use onnx_ir::{
    Attr, AttrType, AttrValue, Attrs, Body, ElemType, FromAttr, Function, GraphId, Names, Node, SparseTensor,
    Tensor,
};
use std::borrow::Cow;
use std::rc::Rc;

/// The attribute values of one call of a function.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Bindings(pub(crate) Vec<(String, Bound)>);

/// No values of parameters: a node outside of functions, or a function apart from its calls.
pub(crate) static NO_BINDINGS: Bindings = Bindings(Vec::new());

/// The value that a call passes to an attribute parameter.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Bound {
    /// `None` for an empty list, and for a value that is unknown.
    value: Option<AttrValue>,
    /// The type, unless it is unknown.
    ty: Option<AttrType>,
    /// The tensor, if the value is one: it belongs to the body of the call.
    tensor: Option<Tensor>,
}

/// The argument of a call for the parameter that an attribute refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Argument {
    /// Nothing, and the parameter has no default.
    Omitted,
    /// A value of a type.
    OfType(AttrType),
}

/// The value of an attribute.
pub(crate) enum Given<'a> {
    /// A value and the body that its tensors and graphs belong to.
    Value(&'a AttrValue, &'a Body),
    Bound(&'a Bound),
    /// A reference to a parameter with an unknown value.
    Unknown,
}

impl<'a> Given<'a> {
    pub(crate) fn value(&self) -> Option<&'a AttrValue> {
        match self {
            Given::Value(value, _) => Some(value),
            Given::Bound(bound) => bound.value.as_ref(),
            Given::Unknown => None,
        }
    }

    pub(crate) fn tensor(&self) -> Option<&'a Tensor> {
        match self {
            Given::Value(AttrValue::Tensor(tensor), body) => body.tensors.get(*tensor),
            Given::Value(..) | Given::Unknown => None,
            Given::Bound(bound) => bound.tensor.as_ref(),
        }
    }
}

/// The scope that resolves the attributes of a node.
pub(crate) struct Scope<'a> {
    pub(crate) names: &'a Names,
    pub(crate) body: &'a Body,
    pub(crate) function: Option<&'a Function>,
    pub(crate) bindings: &'a Bindings,
    /// Whether the function is inferred for a call.
    pub(crate) is_called: bool,
}

impl<'a> Scope<'a> {
    /// The value of an attribute, `None` if the node does not have it.
    pub(crate) fn get(&self, node: &'a Node, name: &str) -> Option<Given<'a>> {
        self.resolve(Attrs::of(node, self.names).find(name)?)
    }

    fn resolve(&self, attr: &'a Attr) -> Option<Given<'a>> {
        let Some(parameter) = attr.reference else {
            return Some(attr.value().map_or(Given::Unknown, |v| Given::Value(v, self.body)));
        };
        let wanted = &self.names[parameter];
        if let Some((_, bound)) = self.bindings.0.iter().find(|(name, _)| name == wanted) {
            return Some(Given::Bound(bound));
        }
        let Some(function) = self.function else { return Some(Given::Unknown) };
        let default = function.attribute_defaults.iter().find(|a| a.name == Some(parameter));
        match default.and_then(Attr::value) {
            Some(value) => Some(Given::Value(value, self.body)),
            // A call that omits the parameter omits the attribute; without a call, the value is unknown.
            None if self.is_called => None,
            None => Some(Given::Unknown),
        }
    }

    /// The argument of the call for the parameter that an attribute refers to; `None` if the attribute is not a reference, if the
    /// default of the function counts, and without a call.
    pub(crate) fn argument(&self, attr: &'a Attr) -> Option<Argument> {
        attr.reference.filter(|_| self.is_called)?;
        match self.resolve(attr) {
            None => Some(Argument::Omitted),
            Some(Given::Bound(bound)) => bound.ty.map(Argument::OfType),
            Some(Given::Value(..) | Given::Unknown) => None,
        }
    }

    /// The values that a node passes to the attribute parameters of its callee.
    pub(crate) fn bind(&self, node: &'a Node) -> Rc<Bindings> {
        let bound = node.attrs.iter().filter_map(|attr| {
            let name = self.names[attr.name?].to_owned();
            let given = self.resolve(attr)?;
            if let Given::Bound(bound) = given {
                return Some((name, bound.clone()));
            }
            let value = given.value().cloned();
            let of_list = attr.ty.filter(|ty| attr.reference.is_none() && ty.is_list());
            let ty = value.as_ref().map(AttrValue::ty).or(of_list);
            Some((name, Bound { value, ty, tensor: given.tensor().cloned() }))
        });
        Rc::new(Bindings(bound.collect()))
    }
}

/// The attributes of one node, with the defaults of its schema.
pub struct ResolvedAttrs<'a> {
    scope: Scope<'a>,
    node: &'a Node,
    schema: &'a Schema,
}

/// The value of an attribute that was found.
enum Found<'a> {
    Value(&'a AttrValue),
    /// An empty list, which no field stores.
    EmptyList,
    Default(&'a schema::Default),
}

impl<'a> ResolvedAttrs<'a> {
    pub(crate) fn new(scope: Scope<'a>, node: &'a Node, schema: &'a Schema) -> Self {
        ResolvedAttrs { scope, node, schema }
    }

    /// The attributes of a node of a body. Parameters of an enclosing function are unknown.
    pub fn of(names: &'a Names, body: &'a Body, node: &'a Node, schema: &'a Schema) -> Self {
        let scope = Scope { names, body, function: None, bindings: &NO_BINDINGS, is_called: false };
        ResolvedAttrs::new(scope, node, schema)
    }

    /// Whether the node itself has the attribute.
    pub fn has(&self, name: &str) -> bool {
        self.given(name).is_some()
    }

    /// The value on the node, which may be unknown; `None` if the node does not have the attribute.
    pub(crate) fn given(&self, name: &str) -> Option<Given<'a>> {
        self.scope.get(self.node, name)
    }

    fn find(&self, name: &str) -> Option<Found<'a>> {
        match self.given(name) {
            None => self.schema.attr(name)?.default.as_ref().map(Found::Default),
            Some(given) => match given.value() {
                Some(value) => Some(Found::Value(value)),
                None => self.is_empty_list(name, &given).then_some(Found::EmptyList),
            },
        }
    }

    /// Whether an attribute without a value is an empty list, on the node or by the call.
    fn is_empty_list(&self, name: &str, given: &Given<'_>) -> bool {
        if let Given::Bound(bound) = given {
            return bound.ty.is_some_and(AttrType::is_list);
        }
        let attr = Attrs::of(self.node, self.scope.names).find(name);
        attr.is_some_and(|a| a.reference.is_none() && a.ty.is_some_and(AttrType::is_list))
    }

    fn read<T: FromDefault<'a>>(&self, name: &str) -> Option<T> {
        match self.find(name)? {
            Found::Value(value) => T::from_attr(value),
            Found::Default(default) => T::from_default(default),
            Found::EmptyList => T::empty(),
        }
    }

    /// An integer, or its default; `None` if there is neither, or a caller decides.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.read(name)
    }

    /// A float, or its default.
    pub fn float(&self, name: &str) -> Option<f32> {
        self.read(name)
    }

    /// A string, or its default; bytes that are not UTF-8 are read as U+FFFD.
    pub fn string(&self, name: &str) -> Option<Cow<'a, str>> {
        self.read(name)
    }

    /// Integers, or their default.
    pub fn ints(&self, name: &str) -> Option<&'a [i64]> {
        self.read(name)
    }

    /// Floats, or their default.
    pub fn floats(&self, name: &str) -> Option<&'a [f32]> {
        self.read(name)
    }

    /// Strings, or their default.
    pub fn strings(&self, name: &str) -> Option<Vec<String>> {
        if let Found::Default(schema::Default::Strings(list)) = self.find(name)? {
            return Some(list.iter().map(|s| s.to_string()).collect());
        }
        Some(self.each_string(name)?.map(|s| String::from_utf8_lossy(s).into_owned()).collect())
    }

    /// Iterates over the integers of a list that may be long.
    pub fn each_int(&self, name: &str) -> Option<Elements<'a, i64>> {
        self.read(name)
    }

    /// Iterates over the floats of a list that may be long.
    pub fn each_float(&self, name: &str) -> Option<Elements<'a, f32>> {
        self.read(name)
    }

    /// Iterates over the strings of a list as they are stored; `None` also if the list is a default.
    pub(crate) fn each_string(&self, name: &str) -> Option<Elements<'a, Bytes>> {
        self.read(name)
    }

    /// Length of a list.
    pub(crate) fn len(&self, name: &str) -> Option<usize> {
        match self.find(name)? {
            Found::Value(AttrValue::Ints(list)) => Some(list.len()),
            Found::Value(AttrValue::Floats(list)) => Some(list.len()),
            Found::Value(AttrValue::Strings(list)) => Some(list.len()),
            Found::Default(schema::Default::Ints(list)) => Some(list.len()),
            Found::Default(schema::Default::Floats(list)) => Some(list.len()),
            Found::Default(schema::Default::Strings(list)) => Some(list.len()),
            Found::EmptyList => Some(0),
            Found::Value(_) | Found::Default(_) => None,
        }
    }

    /// A tensor.
    pub fn tensor(&self, name: &str) -> Option<&'a Tensor> {
        self.given(name)?.tensor()
    }

    /// A sparse tensor.
    pub fn sparse(&self, name: &str) -> Option<&'a SparseTensor> {
        FromAttr::from_attr(self.given(name)?.value()?)
    }

    /// A graph of the body of the node.
    pub fn graph(&self, name: &str) -> Option<GraphId> {
        FromAttr::from_attr(self.given(name)?.value()?)
    }

    /// An element type by its number.
    pub fn elem(&self, name: &str) -> Option<ElemType> {
        i32::try_from(self.int(name)?).ok().map(ElemType).filter(|e| e.name().is_some())
    }
}

/// A type that the default of an attribute can be read as, like its value.
trait FromDefault<'a>: FromAttr<'a> {
    fn from_default(default: &'a schema::Default) -> Option<Self>;
}

macro_rules! from_default {
    ($($ty:ty: $($kind:ident, $value:ident => $read:expr)?;)*) => {$(
        impl<'a> FromDefault<'a> for $ty {
            fn from_default(default: &'a schema::Default) -> Option<Self> {
                match default {
                    $(schema::Default::$kind($value) => Some($read),)?
                    _ => None,
                }
            }
        }
    )*};
}

from_default! {
    i64: Int, value => *value;
    f32: Float, value => *value;
    Cow<'a, str>: String, value => Cow::Borrowed(value);
    &'a [i64]: Ints, list => list;
    &'a [f32]: Floats, list => list;
    Elements<'a, i64>: Ints, list => Elements::of(list);
    Elements<'a, f32>: Floats, list => Elements::of(list);
    Elements<'a, Bytes>:;
}
