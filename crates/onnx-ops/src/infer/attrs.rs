//! The attributes of a node, wherever their values come from: the node, the call of the function around it, the
//! default of that function, or that of the schema.

use onnx_ir::{Attr, AttrValue, Body, Function, Names, Node, Tensor};
use std::rc::Rc;

/// The attribute values of one call of a function.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Bindings(pub(super) Vec<(String, Bound)>);

/// A value that a call gives to an attribute parameter.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Bound {
    value: AttrValue,
    /// The tensor, where the value is one: it belongs to the body of the call.
    tensor: Option<Tensor>,
}

/// The value of an attribute.
pub(super) enum Given<'a> {
    /// With the body that tensors and graphs belong to.
    Value(&'a AttrValue, &'a Body),
    Bound(&'a Bound),
    /// The parameter that it refers to has no value that is known.
    Unknown,
}

impl<'a> Given<'a> {
    pub(super) fn value(&self) -> Option<&'a AttrValue> {
        match self {
            Given::Value(value, _) => Some(value),
            Given::Bound(bound) => Some(&bound.value),
            Given::Unknown => None,
        }
    }

    pub(super) fn tensor(&self) -> Option<&'a Tensor> {
        match self {
            Given::Value(AttrValue::Tensor(tensor), body) => body.tensors.get(*tensor),
            Given::Value(..) | Given::Unknown => None,
            Given::Bound(bound) => bound.tensor.as_ref(),
        }
    }
}

/// Where a node's attributes get their values.
pub(super) struct Scope<'a> {
    pub(super) names: &'a Names,
    pub(super) body: &'a Body,
    pub(super) function: Option<&'a Function>,
    pub(super) bindings: &'a Bindings,
    /// The body that the function's defaults belong to.
    pub(super) is_called: bool,
}

impl<'a> Scope<'a> {
    /// The value of the attribute of this name, `None` if the node does not have it.
    pub(super) fn get(&self, node: &'a Node, name: &str) -> Option<Given<'a>> {
        let attr = node.attrs.iter().find(|a| a.name.is_some_and(|n| &self.names[n] == name))?;
        self.resolve(attr)
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
    pub(super) fn bind(&self, node: &'a Node) -> Rc<Bindings> {
        let bound = node.attrs.iter().filter_map(|attr| {
            let name = self.names[attr.name?].to_owned();
            let given = self.resolve(attr)?;
            Some((name, Bound { value: given.value()?.clone(), tensor: given.tensor().cloned() }))
        });
        Rc::new(Bindings(bound.collect()))
    }
}
