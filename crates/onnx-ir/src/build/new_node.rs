//! A node in one expression, for [`GraphBuilder`](crate::GraphBuilder) and [`Cursor`](crate::Cursor).

use crate::attr::{Attr, AttrType, AttrValue};
use crate::body::Body;
use crate::ids::{NodeId, ValueId};
use crate::names::Names;
use crate::tensor::Tensor;

/// The builder that nodes are added to.
pub trait NodeHost {
    /// Makes a node without inputs and outputs at the place where nodes are made.
    fn begin(&mut self, op: &str) -> NodeId;
    /// The names of the model, and the body of the node.
    fn parts(&mut self) -> (&mut Names, &mut Body);
    /// Adds an output of this name, or of a fresh one that begins with `stem`.
    fn output(&mut self, node: NodeId, name: Option<&str>, stem: &str) -> ValueId;
}

/// A node that is being made. It is in its graph from the beginning; [`value`](Self::value) and the like end it.
///
/// ```
/// # use onnx_ir::{GraphBuilder, Model};
/// # let mut model = Model::new();
/// # let mut b = GraphBuilder::main(&mut model, "g");
/// # let [x, k] = ["x", "k"].map(|name| b.input(name, None));
/// let [values, indices] = b.node("TopK").inputs([x, k]).attr("axis", 1i64).attr("largest", false).values();
/// # _ = (values, indices);
/// ```
#[must_use = "a node needs outputs: end it with `value`, `values`, `output` or `id`"]
pub struct NewNode<'h, H> {
    pub(super) host: &'h mut H,
    pub(super) id: NodeId,
}

impl<'h, H: NodeHost> NewNode<'h, H> {
    pub(crate) fn begin(host: &'h mut H, op: &str) -> Self {
        let id = host.begin(op);
        NewNode { host, id }
    }

    fn set(self, set: impl FnOnce(&mut Names, &mut Body, NodeId)) -> Self {
        let (names, body) = self.host.parts();
        set(names, body, self.id);
        self
    }

    /// Names the node, which is not the name of a value.
    pub fn name(self, name: &str) -> Self {
        self.set(|names, body, id| body.nodes[id].name = Some(names.intern(name)))
    }

    /// The domain of the operator, if it is not ai.onnx.
    pub fn domain(self, domain: &str) -> Self {
        self.set(|names, body, id| body.nodes[id].domain = Some(names.intern(domain)))
    }

    /// The overload of the function.
    pub fn overload(self, overload: &str) -> Self {
        self.set(|names, body, id| body.nodes[id].overload = Some(names.intern(overload)))
    }

    /// `doc_string`.
    pub fn doc(self, text: &str) -> Self {
        self.set(|names, body, id| body.nodes[id].extra_mut().doc = Some(names.intern(text)))
    }

    /// Adds an operand; `None` is an optional one that is left out.
    pub fn input(self, value: impl Into<Option<ValueId>>) -> Self {
        self.set(|_, body, id| body.nodes[id].inputs.push(value.into()))
    }

    /// Adds operands in order.
    pub fn inputs(self, values: impl IntoIterator<Item = impl Into<Option<ValueId>>>) -> Self {
        self.set(|_, body, id| body.nodes[id].inputs.extend(values.into_iter().map(Into::into)))
    }

    /// Adds an attribute.
    pub fn attr(self, name: &str, value: impl Into<AttrValue>) -> Self {
        self.set(|names, body, id| {
            let attr = Attr::new(names.intern(name), value);
            for &graph in attr.values.iter().flat_map(AttrValue::graphs) {
                body.graphs[graph].owner = Some(id);
            }
            body.nodes[id].attrs.push(attr);
        })
    }

    /// Adds an attribute that is a tensor.
    pub fn tensor(self, name: &str, tensor: Tensor) -> Self {
        self.set(|names, body, id| {
            let tensor = body.tensors.push(tensor);
            body.nodes[id].attrs.push(Attr::new(names.intern(name), tensor));
        })
    }

    /// Adds an attribute whose value is that of a parameter of the function around the node.
    pub fn parameter(self, name: &str, ty: AttrType, parameter: &str) -> Self {
        self.set(|names, body, id| {
            let attr = Attr::parameter(names.intern(name), ty, names.intern(parameter));
            body.nodes[id].attrs.push(attr);
        })
    }

    /// Ends the node with one result, which has a fresh name.
    pub fn value(self) -> ValueId {
        let [value] = self.values();
        value
    }

    /// Ends the node with `N` results, which get fresh names.
    pub fn values<const N: usize>(mut self) -> [ValueId; N] {
        let stem = self.stem();
        [(); N].map(|()| self.host.output(self.id, None, &stem))
    }

    /// Ends the node with `count` results, which get fresh names.
    pub fn value_list(mut self, count: usize) -> Vec<ValueId> {
        let stem = self.stem();
        (0..count).map(|_| self.host.output(self.id, None, &stem)).collect()
    }

    /// Ends the node with one result of this name.
    pub fn output(self, name: &str) -> ValueId {
        self.host.output(self.id, Some(name), name)
    }

    /// Ends the node without results.
    pub fn id(self) -> NodeId {
        self.id
    }

    /// The prefix of fresh names: the operator in lower case.
    fn stem(&mut self) -> String {
        let (names, body) = self.host.parts();
        body.nodes[self.id].op.map_or_else(String::new, |op| names[op].to_ascii_lowercase())
    }
}
