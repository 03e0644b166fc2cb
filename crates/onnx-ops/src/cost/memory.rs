//! The peak memory of inputs and results.

use super::MAX_DEPTH;
use crate::dims::Dim;
use crate::work::Counter;
use onnx_ir::{GraphId, NodeId, SecondaryMap, ValueId};

/// The most candidates for the maximum of symbolic sums; with more, it is unknown.
const MAX_CANDIDATES: usize = 4;

/// The peak of a graph, and its node. Weights and captured values do not count.
pub(super) fn peak(cx: &mut Counter<'_>, graph: GraphId, depth: usize) -> (Dim, Option<NodeId>) {
    if depth >= MAX_DEPTH {
        return (Dim::Unknown, None);
    }
    let body = cx.body;
    let g = &body.graphs[graph];
    // The last reader of each value, by position; outputs of the graph stay.
    let mut last: SecondaryMap<ValueId, Option<usize>> = SecondaryMap::default();
    for (at, node) in g.nodes.iter().enumerate() {
        for value in reads(cx, *node) {
            last[value] = Some(at);
        }
    }
    for value in g.outputs.iter().filter_map(|port| port.value) {
        last[value] = Some(usize::MAX);
    }
    let mut live = Dim::Const(0);
    let mut releases: Vec<Vec<ValueId>> = vec![Vec::new(); g.nodes.len()];
    let stored: Vec<ValueId> = g.initializers.iter().map(|init| init.value).collect();
    for value in g.inputs.iter().filter_map(|port| port.value).filter(|value| !stored.contains(value)) {
        let size = cx.bytes(value);
        live = cx.facts.dims.add(live, size);
        if let Some(list) = last[value].and_then(|at| releases.get_mut(at)) {
            list.push(value);
        }
    }
    let mut greatest = Greatest { candidates: vec![(live, None)] };
    for (at, node) in g.nodes.iter().enumerate() {
        if cx.op(*node) == ("", "Constant") {
            continue;
        }
        for value in cx.n(*node).outputs.iter().flatten() {
            let size = cx.bytes(*value);
            live = cx.facts.dims.add(live, size);
            match last[*value] {
                // Never read: released at once.
                None => releases[at].push(*value),
                Some(end) => {
                    if let Some(list) = releases.get_mut(end) {
                        list.push(*value);
                    }
                }
            }
        }
        let mut now = live;
        let nested: Vec<GraphId> = body.subgraphs(*node).collect();
        let mut inner = Dim::Const(0);
        for graph in nested {
            let (of_graph, _) = peak(cx, graph, depth + 1);
            inner = cx.facts.dims.max(inner, of_graph);
        }
        now = cx.facts.dims.add(now, inner);
        greatest.add(cx, now, *node);
        for value in std::mem::take(&mut releases[at]) {
            let size = cx.bytes(value);
            live = cx.facts.dims.sub(live, size);
        }
    }
    greatest.result(cx)
}

/// The values that a node reads, including those that its graphs capture.
fn reads(cx: &Counter<'_>, node: NodeId) -> Vec<ValueId> {
    let mut values = Vec::new();
    let mut nodes = vec![node];
    while let Some(node) = nodes.pop() {
        values.extend(cx.n(node).inputs.iter().flatten());
        for graph in cx.body.subgraphs(node) {
            let graph = &cx.body.graphs[graph];
            nodes.extend(&graph.nodes);
            values.extend(graph.outputs.iter().filter_map(|port| port.value));
        }
    }
    values
}

/// The candidates for the greatest sum.
struct Greatest {
    candidates: Vec<(Dim, Option<NodeId>)>,
}

impl Greatest {
    fn add(&mut self, cx: &mut Counter<'_>, sum: Dim, node: NodeId) {
        let dims = &mut cx.facts.dims;
        let mut is_never_less = |a: Dim, b: Dim| {
            let gap = dims.sub(a, b);
            a == b || dims.lower_bound(gap).is_some_and(|least| least >= 0)
        };
        if self.candidates.iter().any(|(known, _)| is_never_less(*known, sum)) {
            return;
        }
        self.candidates.retain(|(known, _)| !is_never_less(sum, *known));
        if self.candidates.len() <= MAX_CANDIDATES {
            self.candidates.push((sum, Some(node)));
        }
    }

    fn result(self, cx: &mut Counter<'_>) -> (Dim, Option<NodeId>) {
        match &self.candidates[..] {
            [(sum, node)] => (*sum, *node),
            many if many.len() <= MAX_CANDIDATES => {
                let greatest = many.iter().fold(Dim::Const(0), |max, (sum, _)| cx.facts.dims.max(max, *sum));
                (greatest, None)
            }
            _ => (Dim::Unknown, None),
        }
    }
}
