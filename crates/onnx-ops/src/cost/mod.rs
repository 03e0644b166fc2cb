//! Costs of a model: multiply-accumulate operations, floating-point operations, bytes, and peak memory of results.
//!
//! ```text
//! y = MatMul(x, w)     # float[N,8] x, float[8,4] w: N*4*8 multiply-accumulate operations, twice as many operations
//! ```
//!
//! Costs are [`Dim`]s, so a model with symbols has symbolic costs. Sums of products (convolutions, matrix products, recurrent
//! cells, attention) count in multiply-accumulate operations, each two operations. Other operators count operations per element
//! by their rows in `operators`; operators that only move or reinterpret elements count none.
//!
//! A `Loop` or `Scan` costs its body times its trip count, if that is known, and `If` its more expensive branch. Functions must
//! have been inlined before ([`onnx_ir::pass::inline`]): calls have no cost.

mod memory;
mod operations;

use crate::dims::{Dim, Dims};
use crate::infer::{Facts, InferOptions, Ty, infer};
use crate::schema::Registry;
use crate::work::Counter;
use onnx_ir::{BodyId, ElemType, GraphId, Model, NodeId, ValueId};

/// Deeper graphs are not counted; no model that a reader accepts has them.
const MAX_DEPTH: usize = 200;

/// The cost of a node; [`Dim::Unknown`] if a shape is unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Multiply-accumulate operations.
    pub macs: Dim,
    /// Floating-point operations, two for each multiply-accumulate operation; of integers, likewise.
    pub flops: Dim,
    /// Bytes of the operands, weights included.
    pub read: Dim,
    /// Bytes of the results.
    pub written: Dim,
}

/// The costs of the nodes of the main graph, and their total.
pub struct Costs {
    /// The facts of the model, whose dimensions the costs use.
    pub facts: Facts,
    /// The body of the main graph.
    pub body: BodyId,
    /// The nodes of the main graph in order; the cost of a nested graph is part of the node that contains it.
    pub nodes: Vec<(NodeId, Cost)>,
    /// The sum over all nodes whose costs are known.
    pub total: Cost,
    /// The peak memory of inputs and results, if nodes run in order, each result has memory of its own, and memory is released
    /// after the last use.
    pub peak: Dim,
    /// The node at the peak.
    pub peak_at: Option<NodeId>,
}

/// Computes the costs of the main graph; `None` if there is none.
#[must_use]
pub fn costs(model: &Model, registry: &Registry) -> Option<Costs> {
    let body = model.main?;
    let graph = model.bodies[body].root()?;
    let facts = infer(model, registry, &InferOptions::default()).facts;
    let mut cx = Counter { model, body: &model.bodies[body], id: body, facts };
    let nodes: Vec<(NodeId, Cost)> =
        cx.body.graphs[graph].nodes.iter().map(|node| (*node, cx.node(*node, 0))).collect();
    let total = cx.sum(nodes.iter().map(|(_, cost)| *cost));
    let (peak, peak_at) = memory::peak(&mut cx, graph, 0);
    Some(Costs { facts: cx.facts, body, nodes, total, peak, peak_at })
}

/// The size of a tensor type in bytes.
pub fn bytes(dims: &mut Dims, ty: &Ty) -> Dim {
    let Ty::Tensor(tensor) = ty else { return Dim::Unknown };
    let (Some(shape), Some(bits)) = (&tensor.shape, tensor.elem.and_then(ElemType::bits)) else {
        return Dim::Unknown;
    };
    let count = dims.product(shape);
    if bits % 8 == 0 {
        dims.mul(count, Dim::Const(i64::from(bits / 8)))
    } else {
        let all = dims.mul(count, Dim::Const(i64::from(bits)));
        dims.ceil_div(all, Dim::Const(8))
    }
}

impl Counter<'_> {
    fn bytes(&mut self, value: ValueId) -> Dim {
        let ty = self.facts.get(self.id, value).ty.clone();
        bytes(&mut self.facts.dims, &ty)
    }

    /// The sum of the known costs.
    fn sum(&mut self, costs: impl Iterator<Item = Cost>) -> Cost {
        let zero = Dim::Const(0);
        let mut total = Cost { macs: zero, flops: zero, read: zero, written: zero };
        let dims = &mut self.facts.dims;
        let mut add = |sum: &mut Dim, more: Dim| {
            if more != Dim::Unknown {
                *sum = dims.add(*sum, more);
            }
        };
        for cost in costs {
            add(&mut total.macs, cost.macs);
            add(&mut total.flops, cost.flops);
            add(&mut total.read, cost.read);
            add(&mut total.written, cost.written);
        }
        total
    }

    fn node(&mut self, node: NodeId, depth: usize) -> Cost {
        let n = self.n(node);
        let zero = Dim::Const(0);
        let (mut read, mut written) = (zero, zero);
        for value in n.inputs.iter().flatten() {
            let more = self.bytes(*value);
            read = self.facts.dims.add(read, more);
        }
        for value in n.outputs.iter().flatten() {
            let more = self.bytes(*value);
            written = self.facts.dims.add(written, more);
        }
        let nested: Vec<GraphId> = self.body.subgraphs(node).collect();
        let (macs, flops) = if nested.is_empty() {
            operations::operations(self, node).unwrap_or((Dim::Unknown, Dim::Unknown))
        } else {
            self.nested(node, &nested, depth)
        };
        Cost { macs, flops, read, written }
    }

    /// The costs of the graphs of a node per run.
    fn nested(&mut self, node: NodeId, graphs: &[GraphId], depth: usize) -> (Dim, Dim) {
        if depth >= MAX_DEPTH {
            return (Dim::Unknown, Dim::Unknown);
        }
        let each: Vec<Cost> = graphs
            .iter()
            .map(|graph| {
                let nodes = &self.body.graphs[*graph].nodes;
                let costs: Vec<Cost> = nodes.iter().map(|node| self.node(*node, depth + 1)).collect();
                self.sum(costs.into_iter())
            })
            .collect();
        let (_, op) = self.op(node);
        let (macs, flops) = each.iter().fold((Dim::Const(0), Dim::Const(0)), |(macs, flops), cost| {
            let dims = &mut self.facts.dims;
            (dims.max(macs, cost.macs), dims.max(flops, cost.flops))
        });
        let trips = match op {
            "If" => Dim::Const(1),
            "Loop" => self.trips(node),
            "Scan" => {
                let states =
                    self.n(node).inputs.len() as i64 - self.int(node, "num_scan_inputs").unwrap_or(0);
                let scanned = usize::try_from(states).ok().and_then(|first| self.input(node, first));
                scanned.and_then(|shape| shape.first().copied()).unwrap_or(Dim::Unknown)
            }
            _ => Dim::Unknown,
        };
        (self.mul(macs, trips), self.mul(flops, trips))
    }

    fn trips(&self, node: NodeId) -> Dim {
        let most = self.n(node).inputs.first().copied().flatten();
        let value = most.and_then(|value| self.facts.get(self.id, value).value.as_ref());
        value.and_then(|value| value.single()).map_or(Dim::Unknown, |elem| elem.int())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (Costs, Vec<String>) {
        let model = onnx_text::read_model(text).value;
        let costs = costs(&model, Registry::builtin()).expect("a main graph");
        let shown = [costs.total.macs, costs.total.flops, costs.peak].map(|d| costs.facts.dims.text(d));
        (costs, shown.to_vec())
    }

    #[test]
    fn sums_of_products_count_twice() {
        let (_, shown) = of("<ir_version: 10, opset_import: [\"\": 21]>
g (float[N,8] x, float[8,4] w) => (float[N,4] y) { t = MatMul(x, w) y = Relu(t) }");
        assert_eq!(shown, ["N*32", "N*68", "N*48+128"]);
    }

    #[test]
    fn convolutions_count_groups_and_kernels() {
        let (_, shown) = of("<ir_version: 10, opset_import: [\"\": 21]>
g (float[1,4,8,8] x, float[6,2,3,3] w) => (y) { y = Conv <group = 2> (x, w) }");
        assert_eq!(shown[0], (6 * 6 * 6 * 2 * 9).to_string());
        let (_, shown) = of("<ir_version: 10, opset_import: [\"\": 21]>
g (float[1,4,8,8] x, float[4,3,2,2] w) => (y) { y = ConvTranspose <group = 2> (x, w) }");
        assert_eq!(shown[0], (4 * 64 * 3 * 4).to_string());
    }

    #[test]
    fn branches_count_once_and_loops_as_often_as_they_run() {
        let (_, shown) = of("<ir_version: 10, opset_import: [\"\": 21]>
g (bool c, float[4] x) => (y, z) <int64 n = {5}, bool go = {1}> {
    y = If (c) <then_branch = a () => (t) { s = Abs(x) t = Neg(s) }, else_branch = b () => (u) { u = Abs(x) }>
    z = Loop (n, go, x) <body = l (int64 i, bool in, float[4] v) => (bool out, float[4] w) { out = Identity(in) w = Mul(v, v) }>
}");
        assert_eq!(shown[1], (8 + 5 * 4).to_string());
    }

    #[test]
    fn results_are_given_back_after_their_last_use() {
        let (costs, shown) = of("<ir_version: 10, opset_import: [\"\": 21]>
g (float[4] x) => (float[4] y) { a = Tile(x, r) b = Abs(a) c = Neg(b) y = Slice(c, s, e) }
"
        .replace(
            "=> (float[4] y)",
            "=> (float[4] y) <int64[1] r = {100}, int64[1] s = {0}, int64[1] e = {4}>",
        )
        .as_str());
        assert_eq!(shown[2], (1600 * 2).to_string());
        assert!(costs.peak_at.is_some());
    }

    #[test]
    fn what_is_not_known_is_left_out_of_sums() {
        let (costs, shown) = of("<ir_version: 10, opset_import: [\"\": 21, \"x\": 1]>
g (float[4] x) => (y) { t = x.F(x) y = Abs(x) }");
        assert_eq!(shown[1], "4");
        assert_eq!(costs.nodes[0].1.flops, Dim::Unknown);
    }
}
