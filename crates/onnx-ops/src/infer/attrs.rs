//! The attributes of a node, wherever their values come from: the node, the call of the function around it, the
//! default of that function, or that of the schema.

use crate::schema::{self, Schema};
use bytes::Bytes;
use onnx_ir::list::Elements;
use onnx_ir::{Attr, AttrType, AttrValue, Attrs, Body, ElemType, FromAttr, Function, Names, Node, Tensor};
use std::borrow::Cow;
use std::rc::Rc;

/// The attribute values of one call of a function.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Bindings(pub(crate) Vec<(String, Bound)>);

/// A value that a call gives to an attribute parameter.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Bound {
    value: AttrValue,
    /// The tensor, where the value is one: it belongs to the body of the call.
    tensor: Option<Tensor>,
}

/// The value of an attribute.
pub(crate) enum Given<'a> {
    /// With the body that tensors and graphs belong to.
    Value(&'a AttrValue, &'a Body),
    Bound(&'a Bound),
    /// The parameter that it refers to has no value that is known.
    Unknown,
}

impl<'a> Given<'a> {
    pub(crate) fn value(&self) -> Option<&'a AttrValue> {
        match self {
            Given::Value(value, _) => Some(value),
            Given::Bound(bound) => Some(&bound.value),
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

/// Where a node's attributes get their values.
pub(crate) struct Scope<'a> {
    pub(crate) names: &'a Names,
    pub(crate) body: &'a Body,
    pub(crate) function: Option<&'a Function>,
    pub(crate) bindings: &'a Bindings,
    /// The body that the function's defaults belong to.
    pub(crate) is_called: bool,
}

impl<'a> Scope<'a> {
    /// The value of the attribute of this name, `None` if the node does not have it.
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
            // A call that leaves the parameter out leaves the attribute out; without a call nobody knows.
            None if self.is_called => None,
            None => Some(Given::Unknown),
        }
    }

    /// What a node passes to the attribute parameters of the function that it calls.
    pub(crate) fn bind(&self, node: &'a Node) -> Rc<Bindings> {
        let bound = node.attrs.iter().filter_map(|attr| {
            let name = self.names[attr.name?].to_owned();
            let given = self.resolve(attr)?;
            Some((name, Bound { value: given.value()?.clone(), tensor: given.tensor().cloned() }))
        });
        Rc::new(Bindings(bound.collect()))
    }
}

/// The attributes of one node, with the defaults of its schema.
pub(crate) struct ResolvedAttrs<'a> {
    scope: Scope<'a>,
    node: &'a Node,
    schema: &'a Schema,
}

/// Where the value of an attribute was found.
enum Found<'a> {
    Value(&'a AttrValue),
    /// A list without elements, which no field holds.
    EmptyList,
    Default(&'a schema::Default),
}

impl<'a> ResolvedAttrs<'a> {
    pub(crate) fn new(scope: Scope<'a>, node: &'a Node, schema: &'a Schema) -> Self {
        ResolvedAttrs { scope, node, schema }
    }

    /// The value that the node gives, or nobody knows; `None` if the node does not have the attribute.
    pub(crate) fn given(&self, name: &str) -> Option<Given<'a>> {
        self.scope.get(self.node, name)
    }

    fn find(&self, name: &str) -> Option<Found<'a>> {
        match self.given(name) {
            None => self.schema.attr(name)?.default.as_ref().map(Found::Default),
            Some(given) => match given.value() {
                Some(value) => Some(Found::Value(value)),
                None => self.is_empty_list(name).then_some(Found::EmptyList),
            },
        }
    }

    /// Whether the node itself has the attribute with an empty list.
    fn is_empty_list(&self, name: &str) -> bool {
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
    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.read(name)
    }

    pub(crate) fn float(&self, name: &str) -> Option<f32> {
        self.read(name)
    }

    pub(crate) fn string(&self, name: &str) -> Option<Cow<'a, str>> {
        self.read(name)
    }

    pub(crate) fn ints(&self, name: &str) -> Option<&'a [i64]> {
        self.read(name)
    }

    pub(crate) fn floats(&self, name: &str) -> Option<&'a [f32]> {
        self.read(name)
    }

    pub(crate) fn strings(&self, name: &str) -> Option<Vec<String>> {
        if let Found::Default(schema::Default::Strings(list)) = self.find(name)? {
            return Some(list.iter().map(|s| s.to_string()).collect());
        }
        Some(self.each_string(name)?.map(|s| String::from_utf8_lossy(s).into_owned()).collect())
    }

    /// The integers of a list one after the other, for lists that may be long.
    pub(crate) fn each_int(&self, name: &str) -> Option<Elements<'a, i64>> {
        self.read(name)
    }

    /// The strings of a list as they are stored, likewise; `None` too if the list is a default.
    pub(crate) fn each_string(&self, name: &str) -> Option<Elements<'a, Bytes>> {
        self.read(name)
    }

    /// How many elements a list has.
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

    pub(crate) fn tensor(&self, name: &str) -> Option<&'a Tensor> {
        self.given(name)?.tensor()
    }

    /// An element type by its number.
    pub(crate) fn elem(&self, name: &str) -> Option<ElemType> {
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
    Elements<'a, Bytes>:;
}
