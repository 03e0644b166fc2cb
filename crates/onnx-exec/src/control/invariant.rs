//! Values that loops carry without changing them.
//!
//! Exporters carry the weights of a recurrent cell through the loop that runs it. What the body gives back as it has got it is the
//! value from before the loop in every iteration, so that the nodes of the body read that:
//!
//! ```text
//! w, x = Loop(n, , w0, x0) { (i, c, w, x) => (c, w, y) { y = MatMul(x, w) } }          before
//! w, x = Loop(n, , w0, x0) { (i, c, w, x) => (c, w, y) { y = MatMul(x, w0) } }         after
//! ```
//! So weights are constants in plans of bodies, and are packed once.

use super::Kind;
use foldhash::HashMap;
use onnx_ir::{AttrValue, BodyId, GraphId, Model, NodeId, ValueDef, ValueId, normalize_domain};

/// Lets the nodes of loop bodies read what does not change from before the loop.
pub(crate) fn hoist(model: &mut Model, body: BodyId) {
    let mut outer: HashMap<ValueId, ValueId> = HashMap::default();
    let b = &model.bodies[body];
    // Nested graphs come behind those around them, so that what goes through several loops comes from before the first.
    for (_, graph) in b.graphs.iter() {
        for &node in &graph.nodes {
            let n = &b.nodes[node];
            let kind = Kind::find(normalize_domain(model.text(n.domain)), model.text(n.op));
            let (Some(kind), Some(inner)) = (kind, body_of(model, body, node)) else { continue };
            for (input, given, result) in carried(model, body, kind, node, inner) {
                if passes(model, body, input, result) {
                    let given = outer.get(&given).copied().unwrap_or(given);
                    outer.insert(input, given);
                }
            }
        }
    }
    if outer.is_empty() {
        return;
    }
    for node in model.bodies[body].nodes.values_mut() {
        for input in node.inputs.iter_mut().flatten() {
            *input = outer.get(input).copied().unwrap_or(*input);
        }
    }
}

/// The graph that a loop runs.
fn body_of(model: &Model, body: BodyId, node: NodeId) -> Option<GraphId> {
    attribute(model, body, node, "body", |value| match value {
        AttrValue::Graph(graph) => Some(*graph),
        _ => None,
    })
}

/// What an attribute of a node says, if it is of the type that it should be.
fn attribute<T>(
    model: &Model,
    body: BodyId,
    node: NodeId,
    name: &str,
    read: impl Fn(&AttrValue) -> Option<T>,
) -> Option<T> {
    let attrs = &model.bodies[body].nodes[node].attrs;
    attrs.iter().find(|attr| model.text(attr.name) == name)?.values.first().and_then(read)
}

/// The inputs of a body that a loop carries, each with what it is at first and what the body gives for the next time.
fn carried(
    model: &Model,
    body: BodyId,
    kind: Kind,
    node: NodeId,
    inner: GraphId,
) -> Vec<(ValueId, ValueId, ValueId)> {
    let b = &model.bodies[body];
    let (inputs, graph) = (&b.nodes[node].inputs, &b.graphs[inner]);
    // Where the first of them is among the inputs of the node and of the body, and the outputs of the body; how many there are.
    let (first, of_results, count) = match kind {
        Kind::Loop => (2, 1, usize::MAX),
        // Before version 9, states have an axis of batches, and the node an input more.
        Kind::Scan if inputs.len() == graph.inputs.len() => {
            let scanned = attribute(model, body, node, "num_scan_inputs", |value| match value {
                AttrValue::Int(count) => usize::try_from(*count).ok(),
                _ => None,
            });
            (0, 0, scanned.and_then(|count| inputs.len().checked_sub(count)).unwrap_or(0))
        }
        Kind::If | Kind::Scan | Kind::SequenceMap => (0, 0, 0),
    };
    let given = inputs.iter().skip(first).take(count);
    let ports = graph.inputs.iter().skip(first).zip(graph.outputs.iter().skip(of_results));
    let all = given.zip(ports);
    all.filter_map(|(given, (input, result))| Some((input.value?, (*given)?, result.value?))).collect()
}

/// Whether a result of a body is one of its inputs, as it was.
fn passes(model: &Model, body: BodyId, input: ValueId, mut result: ValueId) -> bool {
    let b = &model.bodies[body];
    // Nodes that form a circle are found when they are run.
    for _ in 0..=b.nodes.len() {
        if result == input {
            return true;
        }
        let ValueDef::Output(node, _) = b.values[result].def else { return false };
        let n = &b.nodes[node];
        match (model.text(n.op), n.inputs.first()) {
            ("Identity", Some(Some(before))) if normalize_domain(model.text(n.domain)).is_empty() => {
                result = *before
            }
            _ => return false,
        }
    }
    false
}
