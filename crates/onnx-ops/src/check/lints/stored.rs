//! Weights that are stored twice, in the wrong place, or too large.

use crate::lint::index;
use foldhash::HashMap;
use onnx_ir::diag::{Diagnostic, Entity, ModelChange, code, counted};
use onnx_ir::{BodyId, ElemType, Model, Payload, Tensor, Use, Uses, ValueDef};

/// Smaller tensors are not reported.
const MIN_BYTES: usize = 1024;
/// Tensors with at most this many elements count as shapes, axes or indices.
const MAX_SHAPE_ELEMENTS: u64 = 64;
/// Protobuf messages are limited to 2 GiB; nodes and declarations need room too.
const NEAR_LIMIT: usize = 2_000_000_000;

pub(super) fn check(model: &Model, id: BodyId, uses: &Uses, found: &mut Vec<Diagnostic>) {
    let body = &model.bodies[id];
    for (g, graph) in body.graphs.iter() {
        // The hash map does not affect the order: the first of equal tensors is the first in the list.
        let mut first: HashMap<(ElemType, &[u8]), Vec<usize>> = HashMap::default();
        for (i, init) in graph.initializers.iter().enumerate() {
            let (tensor, name) = (&body.tensors[init.tensor], &model.names[body.values[init.value].name]);
            let place = Entity::Initializer(id, g, index(i));
            if is_shape_outside(tensor) {
                let message = format!("small tensor `{name}` is stored as external data");
                found.push(
                    Diagnostic::new(&code::EXTERNAL_SHAPE, place, message)
                        .help("store it in the model, so that shape inference can read it"),
                );
            }
            let [Payload::Entries { bytes, .. }] = &tensor.data[..] else { continue };
            let is_input = matches!(body.values[init.value].def, ValueDef::Input(_));
            let Some(elem) = tensor.elem.filter(|_| bytes.len() >= MIN_BYTES && !is_input) else {
                continue;
            };
            let equal = first.entry((elem, bytes)).or_default();
            let other = equal.iter().copied().find(|&other| {
                let other = &body.tensors[graph.initializers[other].tensor];
                (&other.dims, &other.data) == (&tensor.dims, &tensor.data)
            });
            let Some(other) = other else {
                equal.push(i);
                continue;
            };
            let first_value = graph.initializers[other].value;
            let first_name = &model.names[body.values[first_value].name];
            let mut changes = vec![ModelChange::Remove(place)];
            let mut is_returned = !graph.quantization.is_empty();
            for used in uses.of_value(init.value) {
                match *used {
                    Use::Input(node, at) => {
                        changes.push(ModelChange::Rename(
                            Entity::NodeInput(id, node, at),
                            first_name.to_owned(),
                        ));
                    }
                    Use::Output(..) => is_returned = true,
                }
            }
            let changes = if is_returned { Vec::new() } else { changes };
            let message =
                format!("`{name}` and `{first_name}` have the same {}", counted(bytes.len(), "byte"));
            found.push(
                Diagnostic::new(&code::INITIALIZERS_EQUAL, place, message)
                    .related(Entity::Initializer(id, g, index(other)), "the first one")
                    .change(format!("use `{first_name}` for both"), changes, true),
            );
        }
    }
}

fn is_shape_outside(tensor: &Tensor) -> bool {
    let is_small = tensor.element_count().is_some_and(|count| count <= MAX_SHAPE_ELEMENTS);
    tensor.is_external() && is_small && tensor.elem == Some(ElemType::INT64)
}

/// Reports weights that leave no room below the size limit of the format.
pub(super) fn near_limit(model: &Model, found: &mut Vec<Diagnostic>) {
    let size = |payload: &Payload| match payload {
        Payload::Entries { bytes, .. } => bytes.len(),
        Payload::Strings(strings) => strings.iter().map(bytes::Bytes::len).sum(),
    };
    let tensors = model.bodies.values().flat_map(|body| body.tensors.values());
    let total = tensors.flat_map(|tensor| &tensor.data).map(size).fold(0, usize::saturating_add);
    if total >= NEAR_LIMIT {
        let message = format!("the model contains {} MB of weights", total / 1_000_000);
        found.push(
            Diagnostic::new(&code::NEAR_SIZE_LIMIT, Entity::Header, message)
                .help("move them to external data: `onnxtxt convert --weights sidecar`"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::{Body, Field};

    #[test]
    fn two_gigabytes_are_too_many() {
        let mut model = Model::new();
        let mut body = Body::default();
        let bytes = bytes::Bytes::from(vec![0; 1_000_000]);
        for _ in 0..2000 {
            let data = Payload::Entries { field: Field::Raw, bytes: bytes.clone() };
            body.tensors.push(Tensor { data: [data].into_iter().collect(), ..Tensor::default() });
        }
        let body = model.bodies.push(body);
        let mut found = Vec::new();
        near_limit(&model, &mut found);
        assert_eq!(found.len(), 1);
        model.bodies[body].tensors = model.bodies[body].tensors.values().take(9).cloned().fold(
            onnx_ir::PrimaryMap::new(),
            |mut tensors, tensor| {
                tensors.push(tensor);
                tensors
            },
        );
        found.clear();
        near_limit(&model, &mut found);
        assert!(found.is_empty());
    }
}
