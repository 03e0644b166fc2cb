//! The tensors of a model that may be external, with their places.

use onnx_ir::diag::Entity;
use onnx_ir::{AttrValue, Body, BodyId, EntityId as _, Model, SparseTensor, Tensor, TensorId};

/// The tensors of initializers and attributes, including parts of sparse ones, with their entities.
pub(super) fn tensors(model: &Model) -> Vec<(BodyId, TensorId, Entity)> {
    let mut found = Vec::new();
    for (id, body) in model.bodies.iter() {
        for (graph_id, graph) in body.graphs.iter() {
            for (index, initializer) in (0..).zip(&graph.initializers) {
                found.push((id, initializer.tensor, Entity::Initializer(id, graph_id, index)));
            }
            for (index, initializer) in (0..).zip(&graph.sparse_initializers) {
                let entity = Entity::SparseInitializer(id, graph_id, index);
                found.extend(parts(&initializer.tensor).map(|tensor| (id, tensor, entity)));
            }
        }
        for (node_id, node) in body.nodes.iter() {
            for (index, attr) in (0..).zip(&node.attrs) {
                let entity = Entity::Attr(id, node_id, index);
                found.extend(attr.values.iter().flat_map(of_value).map(|tensor| (id, tensor, entity)));
            }
        }
    }
    for (function_id, function) in model.functions.iter() {
        for (index, attr) in (0..).zip(&function.attribute_defaults) {
            let entity = Entity::FunctionAttributeDefault(function_id, index);
            let tensors = attr.values.iter().flat_map(of_value);
            found.extend(tensors.map(|tensor| (function.body, tensor, entity)));
        }
    }
    found.sort_by_key(|&(body, tensor, _)| (body.index(), tensor.index()));
    found.dedup_by_key(|&mut (body, tensor, _)| (body, tensor));
    found
}

fn parts(tensor: &SparseTensor) -> impl Iterator<Item = TensorId> + use<> {
    tensor.values.into_iter().chain(tensor.indices)
}

fn of_value(value: &AttrValue) -> impl Iterator<Item = TensorId> + '_ {
    let (dense, sparse): (&[TensorId], &[SparseTensor]) = match value {
        AttrValue::Tensor(tensor) => (std::slice::from_ref(tensor), &[]),
        AttrValue::Tensors(tensors) => (tensors, &[]),
        AttrValue::SparseTensor(tensor) => (&[], std::slice::from_ref(&**tensor)),
        AttrValue::SparseTensors(tensors) => (&[], tensors),
        AttrValue::Float(_)
        | AttrValue::Int(_)
        | AttrValue::String(_)
        | AttrValue::Graph(_)
        | AttrValue::Floats(_)
        | AttrValue::Ints(_)
        | AttrValue::Strings(_)
        | AttrValue::Graphs(_)
        | AttrValue::Type(_)
        | AttrValue::Types(_) => (&[], &[]),
    };
    dense.iter().copied().chain(sparse.iter().flat_map(parts))
}

/// Every external tensor with its place, in the order of the model.
pub fn external_tensors(model: &Model) -> Vec<(&Tensor, Entity)> {
    let tensor = |body: BodyId, id: TensorId| {
        let body: &Body = &model.bodies[body];
        &body.tensors[id]
    };
    let all = tensors(model).into_iter().map(|(body, id, entity)| (tensor(body, id), entity));
    all.filter(|(tensor, _)| tensor.is_external()).collect()
}

/// Whether any tensor of the model is external.
pub fn is_stored_outside(model: &Model) -> bool {
    model.bodies.values().any(|body| body.tensors.values().any(Tensor::is_external))
}
