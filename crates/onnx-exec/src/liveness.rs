//! How long values are needed.

use onnx_ir::{Body, GraphId, NodeId, SecondaryMap, ValueDef, ValueId};

/// For each node the values of its own graph that nothing reads behind it: neither a later node, nor what is nested in
/// one, nor an output of the graph.
pub(crate) fn dead_after(body: &Body) -> SecondaryMap<NodeId, Vec<ValueId>> {
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
    let mut captured: SecondaryMap<GraphId, Vec<ValueId>> = SecondaryMap::default();
    let mut dead: SecondaryMap<NodeId, Vec<ValueId>> = SecondaryMap::default();
    let mut is_read: SecondaryMap<ValueId, bool> = SecondaryMap::default();
    let mut is_captured: SecondaryMap<ValueId, Option<GraphId>> = SecondaryMap::default();
    // Nested graphs come behind those around them.
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
            // A result that nobody reads ends where it begins.
            let all = n.inputs.iter().flatten().chain(nested).chain(n.outputs.iter().flatten());
            dead[node] = all.copied().filter(|&value| read(value, &mut is_read)).collect();
        }
        captured[id] = outer;
    }
    dead
}
