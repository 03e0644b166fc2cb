//! Liveness of values: which node reads each value last.

use foldhash::HashSet;
use onnx_ir::{Body, GraphId, NodeId, SecondaryMap, ValueDef, ValueId};

/// Where values are read last.
#[derive(Debug)]
pub(crate) struct Liveness {
    /// For each node the values of its own graph that are dead after it: no later node, no nested graph of a later node and no
    /// output of the graph reads them.
    pub(crate) dead_after: SecondaryMap<NodeId, Vec<ValueId>>,
    /// For each graph and output, whether it holds the only reference to its value when the graph ends: the graph defines the
    /// value, and no later output repeats it.
    pub(crate) is_last_output: SecondaryMap<GraphId, Vec<bool>>,
    /// For each graph the values that it captures from enclosing graphs.
    captured: Captured,
}

impl Liveness {
    /// The values that a node reads, including those that its subgraphs capture.
    pub(crate) fn reads<'l>(&'l self, body: &'l Body, node: NodeId) -> impl Iterator<Item = ValueId> + 'l {
        let nested = body.subgraphs(node).flat_map(|graph| self.captured[graph].iter());
        body.nodes[node].inputs.iter().flatten().chain(nested).copied()
    }

    pub(super) fn analyze(body: &Body) -> Liveness {
        let mut graph_of: SecondaryMap<NodeId, Option<GraphId>> = SecondaryMap::default();
        for (id, graph) in body.graphs.iter() {
            for &node in &graph.nodes {
                graph_of[node] = Some(id);
            }
        }
        let home = |value: ValueId| match body.values[value].def {
            ValueDef::Output(by, _) => graph_of[by],
            ValueDef::Input(graph) => Some(graph),
            ValueDef::Initializer(_) | ValueDef::Unbound(_) => None,
        };
        let mut is_last_output = SecondaryMap::default();
        for (id, graph) in body.graphs.iter() {
            let mut later: HashSet<ValueId> = HashSet::default();
            let is_last = |value: Option<ValueId>| {
                value.is_some_and(|value| later.insert(value) && home(value) == Some(id))
            };
            let mut all: Vec<bool> = graph.outputs.iter().rev().map(|port| port.value).map(is_last).collect();
            all.reverse();
            is_last_output[id] = all;
        }
        let (dead_after, captured) = dead_after(body, home);
        Liveness { dead_after, is_last_output, captured }
    }
}

type Captured = SecondaryMap<GraphId, Vec<ValueId>>;

/// `home` is the graph that defines a value.
fn dead_after(
    body: &Body,
    home: impl Fn(ValueId) -> Option<GraphId>,
) -> (SecondaryMap<NodeId, Vec<ValueId>>, Captured) {
    let mut captured = Captured::default();
    let mut dead: SecondaryMap<NodeId, Vec<ValueId>> = SecondaryMap::default();
    let mut is_read: SecondaryMap<ValueId, bool> = SecondaryMap::default();
    let mut is_captured: SecondaryMap<ValueId, Option<GraphId>> = SecondaryMap::default();
    // Nested graphs have higher ids than the graphs that enclose them.
    for (id, graph) in body.graphs.iter().rev() {
        let mut outer = Vec::new();
        let mut read = |value: ValueId, is_read: &mut SecondaryMap<ValueId, bool>| {
            if home(value) == Some(id) {
                return !std::mem::replace(&mut is_read[value], true);
            }
            if home(value).is_some() && is_captured[value] != Some(id) {
                is_captured[value] = Some(id);
                outer.push(value);
            }
            false
        };
        for output in graph.outputs.iter().filter_map(|port| port.value) {
            read(output, &mut is_read);
        }
        for &node in graph.nodes.iter().rev() {
            let n = &body.nodes[node];
            let nested = body.subgraphs(node).flat_map(|graph| captured[graph].iter());
            // A result that is never read is dead after its own node.
            let all = n.inputs.iter().flatten().chain(nested).chain(n.outputs.iter().flatten());
            dead[node] = all.copied().filter(|&value| read(value, &mut is_read)).collect();
        }
        captured[id] = outer;
    }
    (dead, captured)
}
