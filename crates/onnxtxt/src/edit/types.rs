//! Maps the dimensions of all types in a model.

use onnx_ir::{AttrValue, Dim, Model, SecondaryMap, TensorType, Type, TypeId, TypeKind};

/// Deeper types are not changed; no value has such a type.
const MAX_DEPTH: usize = 64;

/// The type with every dimension replaced.
pub(super) fn map_dims(model: &mut Model, ty: TypeId, map: &mut dyn FnMut(&mut Model, Dim) -> Dim) -> TypeId {
    map_at(model, ty, map, 0)
}

fn map_at(
    model: &mut Model,
    id: TypeId,
    map: &mut dyn FnMut(&mut Model, Dim) -> Dim,
    depth: usize,
) -> TypeId {
    if depth > MAX_DEPTH {
        return id;
    }
    let Type { kind, denotation } = model.types[id].clone();
    let kind = match kind {
        TypeKind::Tensor(tensor) => TypeKind::Tensor(map_tensor(model, tensor, map)),
        TypeKind::SparseTensor(tensor) => TypeKind::SparseTensor(map_tensor(model, tensor, map)),
        TypeKind::Sequence(of) => TypeKind::Sequence(of.map(|ty| map_at(model, ty, map, depth + 1))),
        TypeKind::Optional(of) => TypeKind::Optional(of.map(|ty| map_at(model, ty, map, depth + 1))),
        TypeKind::Map { key, value } => {
            TypeKind::Map { key, value: value.map(|ty| map_at(model, ty, map, depth + 1)) }
        }
        TypeKind::Unset | TypeKind::Opaque { .. } => return id,
    };
    model.types.intern(Type { kind, denotation })
}

fn map_tensor(
    model: &mut Model,
    mut tensor: TensorType,
    map: &mut dyn FnMut(&mut Model, Dim) -> Dim,
) -> TensorType {
    for dim in tensor.shape.iter_mut().flatten() {
        *dim = map(model, *dim);
    }
    tensor
}

/// Maps every dimension of every type in the model; returns the number of changed types.
pub(super) fn map_all(model: &mut Model, map: &mut dyn FnMut(&mut Model, Dim) -> Dim) -> usize {
    let mut known: SecondaryMap<TypeId, Option<TypeId>> = SecondaryMap::default();
    let mut changed = 0;
    let mut mapped = |model: &mut Model, ty: TypeId| {
        if let Some(new) = known[ty] {
            return new;
        }
        let new = map_dims(model, ty, map);
        known[ty] = Some(new);
        changed += usize::from(new != ty);
        new
    };
    for id in model.bodies.ids().collect::<Vec<_>>() {
        for graph in model.bodies[id].graphs.ids().collect::<Vec<_>>() {
            let mut lists = {
                let g = &mut model.bodies[id].graphs[graph];
                [&mut g.inputs, &mut g.outputs, &mut g.value_info].map(std::mem::take)
            };
            for port in lists.iter_mut().flatten() {
                port.ty = port.ty.map(|ty| mapped(model, ty));
            }
            let g = &mut model.bodies[id].graphs[graph];
            [g.inputs, g.outputs, g.value_info] = lists;
        }
        for node in model.bodies[id].nodes.ids().collect::<Vec<_>>() {
            for a in 0..model.bodies[id].nodes[node].attrs.len() {
                for v in 0..model.bodies[id].nodes[node].attrs[a].values.len() {
                    let value = model.bodies[id].nodes[node].attrs[a].values[v].clone();
                    let new = match value {
                        AttrValue::Type(ty) => AttrValue::Type(mapped(model, ty)),
                        AttrValue::Types(types) => {
                            AttrValue::Types(types.into_iter().map(|ty| mapped(model, ty)).collect())
                        }
                        other => other,
                    };
                    model.bodies[id].nodes[node].attrs[a].values[v] = new;
                }
            }
        }
    }
    changed
}
