//! Nested graphs in place of the nodes that hold them.

use super::KnownTypes;
use super::nodes::{make_input, remove, replace};
use crate::edit::main_graph;
use onnx_ir::{BodyId, GraphId, Model, NodeId, Port};

/// The nested graphs of a model with the nodes that hold them, in order.
fn nested(model: &Model) -> impl Iterator<Item = (BodyId, NodeId, GraphId)> + '_ {
    model.bodies.iter().flat_map(|(id, body)| {
        body.nodes.ids().flat_map(move |node| body.subgraphs(node).map(move |graph| (id, node, graph)))
    })
}

/// The number of nested graphs.
pub(super) fn count(model: &Model) -> usize {
    nested(model).count()
}

/// The model with the nodes of a nested graph in place of the node that holds it.
///
/// ```text
/// before:  y = If(c) <then_branch = t () => (p) { q = Abs(x)  p = Neg(q) }, else_branch = …>
/// after:   q = Abs(x)  p = Neg(q)                     and readers of y read p
/// ```
///
/// Inputs of a body become inputs of the main graph.
pub(super) fn hoisted(model: &Model, known: &KnownTypes, at: usize) -> Option<Model> {
    let (id, node, graph) = nested(model).nth(at)?;
    let body = &model.bodies[id];
    let main = main_graph(model).filter(|(main, _)| *main == id);
    let (home, position) = body
        .graphs
        .iter()
        .find_map(|(home, g)| Some((home, g.nodes.iter().position(|other| *other == node)?)))?;
    let inner = &body.graphs[graph];
    let typed = |port: &Port| {
        let ty = port.ty.or_else(|| known.ty(model, id, port.value?))?;
        Some(Port { ty: Some(ty), ..port.clone() })
    };
    let inputs: Vec<Port> = inner.inputs.iter().map(typed).collect::<Option<_>>()?;
    if main.is_none() && !inputs.is_empty() {
        return None;
    }
    // A body of Loop gives the condition first.
    let skipped = usize::from(model.text(body.nodes[node].op) == "Loop");
    let results: Vec<_> = inner.outputs.iter().skip(skipped).map(|port| port.value).collect();
    let outputs = body.nodes[node].outputs.clone();
    let mut model = model.clone();
    if let Some(main) = main {
        inputs.into_iter().for_each(|port| make_input(&mut model, main, port));
    }
    let body = &mut model.bodies[id];
    let inner = std::mem::take(&mut body.graphs[graph]);
    remove(body, node);
    for &child in &inner.nodes {
        let graphs: Vec<GraphId> = body.subgraphs(child).collect();
        graphs.into_iter().for_each(|g| body.graphs[g].owner = Some(child));
    }
    let outer = &mut body.graphs[home];
    outer.nodes.splice(position..position, inner.nodes);
    outer.initializers.extend(inner.initializers);
    outer.sparse_initializers.extend(inner.sparse_initializers);
    outer.value_info.extend(inner.value_info);
    for initializer in &body.graphs[home].initializers {
        if let onnx_ir::ValueDef::Initializer(g) = &mut body.values[initializer.value].def {
            *g = home;
        }
    }
    for (output, result) in outputs.iter().zip(results) {
        if let (Some(output), Some(result)) = (output, result) {
            replace(body, *output, result);
        }
    }
    Some(model)
}
