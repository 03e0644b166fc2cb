//! Smaller main graphs: fewer outputs, fewer nodes, fewer inputs.

use super::KnownTypes;
use crate::edit::{main_graph, reads};
use onnx_ir::{Model, NodeId, Port, ValueDef, ValueId};
use std::collections::HashSet;
use std::ops::Range;

/// The number of outputs of the main graph.
pub(super) fn output_count(model: &Model) -> usize {
    main_graph(model).map_or(0, |(id, graph)| model.bodies[id].graphs[graph].outputs.len())
}

/// The model without some outputs; the last one stays.
pub(super) fn without_outputs(model: &Model, range: Range<usize>) -> Option<Model> {
    let (id, graph) = main_graph(model)?;
    let mut model = model.clone();
    let outputs = &mut model.bodies[id].graphs[graph].outputs;
    outputs.drain(range.start..range.end.min(outputs.len()));
    (!outputs.is_empty()).then_some(model)
}

/// The number of nodes of the main graph, without those of nested graphs.
pub(super) fn node_count(model: &Model) -> usize {
    main_graph(model).map_or(0, |(id, graph)| model.bodies[id].graphs[graph].nodes.len())
}

/// The model without some nodes of the main graph. What the others read of them are inputs, and a node of the others without a reader
/// gives an output, so that all of the others stay.
pub(super) fn without_nodes(model: &Model, known: &KnownTypes, range: Range<usize>) -> Option<Model> {
    let (id, root) = main_graph(model)?;
    let body = &model.bodies[id];
    let graph = &body.graphs[root];
    let removed: HashSet<NodeId> = graph.nodes.get(range)?.iter().copied().collect();
    let kept: Vec<NodeId> = graph.nodes.iter().copied().filter(|node| !removed.contains(node)).collect();
    let is_removed = |value: ValueId| matches!(body.values[value].def, ValueDef::Output(node, _) if removed.contains(&node));
    let read: HashSet<ValueId> = kept.iter().flat_map(|&node| reads(body, node)).collect();
    let port = |value: ValueId| {
        let name = Some(body.values[value].name);
        Some(Port { name, value: Some(value), ty: Some(known.ty(model, id, value)?), ..Port::default() })
    };
    let lost = removed.iter().flat_map(|&node| body.nodes[node].outputs.iter().flatten().copied());
    let mut lost: Vec<ValueId> = lost.filter(|value| read.contains(value)).collect();
    lost.sort_unstable_by_key(|&value| onnx_ir::EntityId::index(value));
    let inputs: Vec<Port> = lost.iter().map(|&value| port(value)).collect::<Option<_>>()?;
    let is_kept = |port: &&Port| port.value.is_none_or(|value| !is_removed(value));
    let mut outputs: Vec<Port> = graph.outputs.iter().filter(is_kept).cloned().collect();
    let shown: HashSet<ValueId> = outputs.iter().filter_map(|port| port.value).collect();
    for &node in &kept {
        let results = || body.nodes[node].outputs.iter().flatten().copied();
        if results().any(|value| read.contains(&value) || shown.contains(&value)) {
            continue;
        }
        outputs.push(port(results().next()?)?);
    }
    if outputs.is_empty() {
        return None;
    }
    let mut model = model.clone();
    let body = &mut model.bodies[id];
    for &value in &lost {
        body.values[value].def = ValueDef::Input(root);
    }
    let graph = &mut body.graphs[root];
    let is_declared =
        |value: ValueId| outputs.iter().any(|port| port.value == Some(value)) || lost.contains(&value);
    graph.value_info.retain(|port| port.value.is_none_or(|value| !is_declared(value)));
    graph.inputs.extend(inputs);
    graph.outputs = outputs;
    graph.nodes = kept;
    Some(model)
}

/// The positions of inputs of the main graph that nothing reads.
fn unread(model: &Model) -> Vec<usize> {
    let Some((id, root)) = main_graph(model) else { return Vec::new() };
    let body = &model.bodies[id];
    let operands = body.nodes.values().flat_map(|node| node.inputs.iter().flatten().copied());
    let outputs = body.graphs.values().flat_map(|graph| &graph.outputs).filter_map(|port| port.value);
    let read: HashSet<ValueId> = operands.chain(outputs).collect();
    let inputs = body.graphs[root].inputs.iter().enumerate();
    inputs.filter(|(_, port)| port.value.is_none_or(|value| !read.contains(&value))).map(|(i, _)| i).collect()
}

/// The number of inputs of the main graph that nothing reads.
pub(super) fn unread_count(model: &Model) -> usize {
    unread(model).len()
}

/// The model without some of these inputs.
pub(super) fn without_unread(model: &Model, range: Range<usize>) -> Option<Model> {
    let (id, root) = main_graph(model)?;
    let unread = unread(model);
    let gone: HashSet<usize> = unread.get(range)?.iter().copied().collect();
    let mut model = model.clone();
    let body = &mut model.bodies[id];
    let graph = &mut body.graphs[root];
    let values: HashSet<ValueId> = gone.iter().filter_map(|&i| graph.inputs[i].value).collect();
    let mut at = 0;
    graph.inputs.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
    graph.initializers.retain(|init| !values.contains(&init.value));
    graph.sparse_initializers.retain(|init| !values.contains(&init.value));
    Some(model)
}
