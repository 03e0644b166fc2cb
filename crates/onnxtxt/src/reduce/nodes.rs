//! Smaller nodes, wherever they are: bypassed, replaced by inputs, with fewer operands and attributes.

use super::KnownTypes;
use crate::edit::main_graph;
use onnx_ir::{Body, BodyId, Model, NodeId, Port, ValueDef, ValueId};
use std::collections::HashSet;
use std::ops::Range;

/// The number of nodes, nested ones and those of functions included.
pub(super) fn count(model: &Model) -> usize {
    model.bodies.values().map(|body| body.nodes.len()).sum()
}

fn node_at(model: &Model, at: usize) -> Option<(BodyId, NodeId)> {
    let all = model.bodies.iter().flat_map(|(id, body)| body.nodes.ids().map(move |node| (id, node)));
    all.into_iter().nth(at)
}

/// The model without a node, whose results are replaced by operands of the same types.
pub(super) fn bypassed(model: &Model, known: &KnownTypes, at: usize) -> Option<Model> {
    let (id, node) = node_at(model, at)?;
    let body = &model.bodies[id];
    let (inputs, outputs) = (&body.nodes[node].inputs, &body.nodes[node].outputs);
    let is_typed = |value| known.ty(model, id, value).is_some();
    let mut pairs = Vec::new();
    for &output in outputs.iter().flatten() {
        let is_like = |input: &ValueId| match is_typed(output) {
            true => known.ty(model, id, *input) == known.ty(model, id, output),
            false => true,
        };
        match inputs.iter().flatten().copied().find(is_like) {
            Some(input) => pairs.push((output, input)),
            None if !is_read(body, output) => {}
            None => return None,
        }
    }
    let mut model = model.clone();
    let body = &mut model.bodies[id];
    remove(body, node);
    pairs.iter().for_each(|&(output, input)| replace(body, output, input));
    Some(model)
}

/// The model without a node of a nested graph, whose results are inputs of the main graph.
pub(super) fn made_inputs(model: &Model, known: &KnownTypes, at: usize) -> Option<Model> {
    let (id, node) = node_at(model, at)?;
    let (main, root) = main_graph(model).filter(|(main, _)| *main == id)?;
    let body = &model.bodies[id];
    if body.graphs[root].nodes.contains(&node) {
        return None;
    }
    let outputs: Vec<ValueId> = body.nodes[node].outputs.iter().flatten().copied().collect();
    let shown = |value: &ValueId| {
        body.graphs.values().any(|graph| graph.outputs.iter().any(|port| port.value == Some(*value)))
    };
    if outputs.iter().any(shown) {
        return None;
    }
    let requested: Vec<ValueId> = outputs.into_iter().filter(|value| is_read(body, *value)).collect();
    let types: Vec<_> = requested.iter().map(|&value| known.ty(model, id, value)).collect::<Option<_>>()?;
    let mut model = model.clone();
    remove(&mut model.bodies[id], node);
    for (value, ty) in requested.into_iter().zip(types) {
        let port = Port { value: Some(value), ty: Some(ty), ..Port::default() };
        make_input(&mut model, (main, root), port);
    }
    Some(model)
}

/// Makes the value of a port an input of the main graph, under a name that nothing has.
pub(super) fn make_input(model: &mut Model, (id, root): (BodyId, onnx_ir::GraphId), mut port: Port) {
    let Some(value) = port.value else { return };
    let stem = model.names[model.bodies[id].values[value].name].to_owned();
    let name = model.names.fresh(&stem);
    port.name = Some(name);
    let body = &mut model.bodies[id];
    body.values[value] = onnx_ir::Value { name, def: ValueDef::Input(root) };
    for graph in body.graphs.values_mut() {
        graph.value_info.retain(|declared| declared.value != Some(value));
    }
    body.graphs[root].inputs.push(port);
}

/// Takes a node out of the graph that lists it.
pub(super) fn remove(body: &mut Body, node: NodeId) {
    body.graphs.values_mut().for_each(|graph| graph.nodes.retain(|other| *other != node));
}

/// Lets everything that reads one value read another one.
pub(super) fn replace(body: &mut Body, old: ValueId, new: ValueId) {
    for node in body.nodes.values_mut() {
        node.inputs.iter_mut().filter(|input| **input == Some(old)).for_each(|input| *input = Some(new));
    }
    let name = body.values[new].name;
    for graph in body.graphs.values_mut() {
        graph.value_info.retain(|port| port.value != Some(old));
        for port in graph.outputs.iter_mut().filter(|port| port.value == Some(old)) {
            (port.value, port.name) = (Some(new), Some(name));
        }
    }
}

fn is_read(body: &Body, value: ValueId) -> bool {
    body.nodes.values().any(|node| node.inputs.contains(&Some(value)))
        || body.graphs.values().any(|graph| graph.outputs.iter().any(|port| port.value == Some(value)))
}

/// The operands that nodes have, in order.
fn operands(model: &Model) -> impl Iterator<Item = (BodyId, NodeId, usize)> + '_ {
    model.bodies.iter().flat_map(|(id, body)| {
        body.nodes.iter().flat_map(move |(node, n)| {
            let given = n.inputs.iter().enumerate().filter(|(_, input)| input.is_some());
            given.map(move |(i, _)| (id, node, i))
        })
    })
}

/// The number of operands of all nodes.
pub(super) fn operand_count(model: &Model) -> usize {
    operands(model).count()
}

/// The model with one operand fewer: those after it move up.
pub(super) fn without_operand(model: &Model, at: usize) -> Option<Model> {
    let (id, node, i) = operands(model).nth(at)?;
    let mut model = model.clone();
    model.bodies[id].nodes[node].inputs.remove(i);
    Some(model)
}

/// The model with one operand left out: those after it stay where they are.
pub(super) fn with_operand_left_out(model: &Model, at: usize) -> Option<Model> {
    let (id, node, i) = operands(model).nth(at)?;
    let mut model = model.clone();
    let inputs = &mut model.bodies[id].nodes[node].inputs;
    inputs[i] = None;
    while inputs.last() == Some(&None) {
        inputs.pop();
    }
    Some(model)
}

/// The attributes of nodes without graphs, in order.
fn attributes(model: &Model) -> impl Iterator<Item = (BodyId, NodeId, usize)> + '_ {
    model.bodies.iter().flat_map(|(id, body)| {
        body.nodes.iter().flat_map(move |(node, n)| {
            let has_no_graph = |attr: &onnx_ir::Attr| attr.values.iter().all(|v| v.graphs().is_empty());
            let plain = n.attrs.iter().enumerate().filter(move |(_, attr)| has_no_graph(attr));
            plain.map(move |(i, _)| (id, node, i))
        })
    })
}

/// The number of attributes of all nodes.
pub(super) fn attribute_count(model: &Model) -> usize {
    attributes(model).count()
}

/// The model without some attributes.
pub(super) fn without_attributes(model: &Model, range: Range<usize>) -> Option<Model> {
    let gone: HashSet<(BodyId, NodeId, usize)> =
        attributes(model).skip(range.start).take(range.len()).collect();
    let mut model = model.clone();
    let nodes: HashSet<(BodyId, NodeId)> = gone.iter().map(|&(id, node, _)| (id, node)).collect();
    for (id, node) in nodes {
        let mut at = 0;
        model.bodies[id].nodes[node].attrs.retain(|_| {
            at += 1;
            !gone.contains(&(id, node, at - 1))
        });
    }
    Some(model)
}
