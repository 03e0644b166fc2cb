//! The nodes `Gradient` of a model.

use onnx_ir::pass::Gradients;
use onnx_ir::{BodyId, GraphId, Model, NodeId};

/// The nodes `Gradient` of a body, with their graphs.
pub(crate) fn gradients(model: &Model, body: BodyId) -> impl Iterator<Item = (GraphId, NodeId)> {
    let b = &model.bodies[body];
    let gradients = Gradients::of(&model.names);
    let listed = b.graphs.iter().filter(move |_| !gradients.is_empty());
    let listed = listed.flat_map(|(graph, g)| g.nodes.iter().map(move |&node| (graph, node)));
    listed.filter(move |&(_, node)| gradients.contains(&b.nodes[node]))
}

/// Whether a model has nodes `Gradient`.
pub(crate) fn has_gradient(model: &Model) -> bool {
    let functions = model.functions.values().map(|function| function.body);
    let mut bodies = functions.chain(model.main).chain(model.training.iter().filter_map(|t| t.algorithm));
    bodies.any(|body| gradients(model, body).next().is_some())
}

/// Whether values of a model are named elsewhere than where nodes read them: by trainings, or by attributes of `Gradient`.
pub(crate) fn is_trained(model: &Model) -> bool {
    !model.training.is_empty() || has_gradient(model)
}
