//! The work of a node, which the row of its operator states, and the node as such a row sees it.

use crate::dims::Dim;
use crate::facts::Facts;
use onnx_ir::{AttrValue, Body, BodyId, Model, Node, NodeId, ValueId, normalize_domain};

/// Multiply-accumulate operations of a node, if its shapes are known.
type Macs = fn(&mut Counter<'_>, NodeId) -> Option<Dim>;

/// The work of a node.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// Sums of products, and an addition for each element of the result if this input is present.
    Products(Macs, Option<usize>),
    /// None: elements are only moved, named or chosen.
    Moves,
    /// Operations per element of the first operand: reductions and operators with several steps.
    PerInput(i64),
    /// Operations per element of the first result.
    PerOutput(i64),
    /// An operation per element of a window, for each element of the result.
    Windows,
}

/// The state of counting.
pub(crate) struct Counter<'m> {
    pub(crate) model: &'m Model,
    pub(crate) body: &'m Body,
    pub(crate) id: BodyId,
    pub(crate) facts: Facts,
}

impl<'m> Counter<'m> {
    pub(crate) fn n(&self, node: NodeId) -> &'m Node {
        &self.body.nodes[node]
    }

    pub(crate) fn op(&self, node: NodeId) -> (&'m str, &'m str) {
        let n = self.n(node);
        (normalize_domain(self.model.text(n.domain)), self.model.text(n.op))
    }

    pub(crate) fn shape(&self, value: Option<ValueId>) -> Option<Vec<Dim>> {
        self.facts.get(self.id, value?).ty.shape().map(|shape| shape.to_vec())
    }

    pub(crate) fn input(&self, node: NodeId, i: usize) -> Option<Vec<Dim>> {
        self.shape(self.n(node).inputs.get(i).copied().flatten())
    }

    pub(crate) fn output(&self, node: NodeId, i: usize) -> Option<Vec<Dim>> {
        self.shape(self.n(node).outputs.get(i).copied().flatten())
    }

    pub(crate) fn attr(&self, node: NodeId, name: &str) -> Option<&'m AttrValue> {
        let n = self.n(node);
        n.attrs.iter().find(|attr| self.model.text(attr.name) == name)?.value()
    }

    pub(crate) fn int(&self, node: NodeId, name: &str) -> Option<i64> {
        match self.attr(node, name)? {
            AttrValue::Int(i) => Some(*i),
            _ => None,
        }
    }

    pub(crate) fn ints(&self, node: NodeId, name: &str) -> Option<Vec<i64>> {
        match self.attr(node, name)? {
            AttrValue::Ints(list) => Some(list.to_vec()),
            _ => None,
        }
    }

    pub(crate) fn product(&mut self, dims: &[Dim]) -> Dim {
        self.facts.dims.product(dims)
    }

    pub(crate) fn mul(&mut self, a: Dim, b: Dim) -> Dim {
        self.facts.dims.mul(a, b)
    }
}
