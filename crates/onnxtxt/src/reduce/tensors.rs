//! Weights that say nothing.

use bytes::Bytes;
use onnx_ir::{BodyId, Model, Payload, TensorId};
use std::ops::Range;

/// The tensors with elements that are not zero.
fn informative(model: &Model) -> Vec<(BodyId, TensorId)> {
    let all = model.bodies.iter().flat_map(|(id, body)| body.tensors.iter().map(move |(t, x)| (id, t, x)));
    let says = |payload: &Payload| match payload {
        Payload::Entries { bytes, .. } => bytes.iter().any(|byte| *byte != 0),
        Payload::Strings(strings) => strings.iter().any(|text| !text.is_empty()),
    };
    all.filter(|(_, _, tensor)| tensor.data.iter().any(says)).map(|(id, tensor, _)| (id, tensor)).collect()
}

/// The number of tensors with elements that are not zero.
pub(super) fn count(model: &Model) -> usize {
    informative(model).len()
}

/// The model with zeros in some of them.
pub(super) fn zeroed(model: &Model, range: Range<usize>) -> Option<Model> {
    let chosen = informative(model).get(range)?.to_vec();
    let mut model = model.clone();
    for (id, tensor) in chosen {
        for payload in &mut model.bodies[id].tensors[tensor].data {
            match payload {
                Payload::Entries { bytes, .. } => *bytes = vec![0; bytes.len()].into(),
                Payload::Strings(strings) => strings.iter_mut().for_each(|text| *text = Bytes::new()),
            }
        }
    }
    Some(model)
}
