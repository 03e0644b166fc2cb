//! Loop-invariant values.
//!
//! Exporters carry the weights of a recurrent cell through the loop that runs it. A value that the body returns unchanged is the
//! initial value in every iteration, so the nodes of the body are changed to read the initial value:
//!
//! ```text
//! w, x = Loop(n, , w0, x0) { (i, c, w, x) => (c, w, y) { y = MatMul(x, w) } }          before
//! w, x = Loop(n, , w0, x0) { (i, c, w, x) => (c, w, y) { y = MatMul(x, w0) } }         after
//! ```
//! So weights are constants in the plans of bodies and are packed once.

use super::Kind;
use foldhash::HashMap;
use onnx_ir::{AttrValue, BodyId, GraphId, Model, NodeId, ValueDef, ValueId, normalize_domain};

/// Replaces loop-invariant inputs of loop bodies by their initial values.
pub(crate) fn hoist(model: &mut Model, body: BodyId) {
    let mut outer: HashMap<ValueId, ValueId> = HashMap::default();
    let b = &model.bodies[body];
    // Nested graphs have higher ids than the graphs that enclose them, so a value that is carried through several loops is
    // replaced by its initial value before the outermost one.
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

/// The body of a loop.
fn body_of(model: &Model, body: BodyId, node: NodeId) -> Option<GraphId> {
    attribute(model, body, node, "body", |value| match value {
        AttrValue::Graph(graph) => Some(*graph),
        _ => None,
    })
}

/// The value of an attribute of a node, if it has the expected type.
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

/// The carried inputs of a body, each with its initial value and the output of the body for the next iteration.
fn carried(
    model: &Model,
    body: BodyId,
    kind: Kind,
    node: NodeId,
    inner: GraphId,
) -> Vec<(ValueId, ValueId, ValueId)> {
    let b = &model.bodies[body];
    let (inputs, graph) = (&b.nodes[node].inputs, &b.graphs[inner]);
    // Index of the first carried value among the inputs of the node and of the body, its index among the outputs of the body, and
    // the number of carried values.
    let (first, of_results, count) = match kind {
        Kind::Loop => (2, 1, usize::MAX),
        // Before version 9, states have a batch axis and the node has one more input.
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

/// Whether an output of a body is one of its inputs, unchanged.
fn passes(model: &Model, body: BodyId, input: ValueId, mut result: ValueId) -> bool {
    let b = &model.bodies[body];
    // The bound ends the walk in a cycle of nodes, which the run reports.
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
