//! Stores equal weights once.
//!
//! ```text
//! before:  g (float[1] x) => (float[1] y) <float[1] a = {1}, float[1] b = {1}> { t = Add(x, a)  y = Mul(t, b) }
//! after:   g (float[1] x) => (float[1] y) <float[1] a = {1}>                   { t = Add(x, a)  y = Mul(t, a) }
//! ```
//!
//! Equal means the same type, the same shape, and the same bytes in the same field. The first one stays.

use super::{Edited, constants};
use onnx_ir::pass::{Report, compact};
use onnx_ir::{Cursor, GraphId, Model, Payload, Tensor, Use, Uses, ValueId};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Redirects all readers of a weight to the first equal one in the same graph.
pub fn share_weights(model: &mut Model) -> Edited {
    let mut report = Report::default();
    let Some((id, all)) = constants(model) else { return Ok(report) };
    let body = &model.bodies[id];
    let uses = Uses::of(body);
    let mut first: HashMap<(GraphId, u64), Vec<(ValueId, onnx_ir::TensorId)>> = HashMap::new();
    let mut pairs = Vec::new();
    for weight in all {
        let tensor = &body.tensors[weight.tensor];
        let has_more = tensor.extra.is_some() || tensor.data.is_empty();
        let is_output = uses.of_value(weight.value).iter().any(|user| matches!(user, Use::Output(..)));
        if has_more || is_output || uses.is_annotated(body.values[weight.value].name) {
            continue;
        }
        let known = first.entry((weight.graph, digest(tensor))).or_default();
        match known.iter().find(|(_, other)| is_equal(&body.tensors[*other], tensor)) {
            Some((other, _)) => pairs.push((weight.value, *other)),
            None => known.push((weight.value, weight.tensor)),
        }
    }
    let mut gone = Vec::new();
    let mut cursor = Cursor::new(model, id);
    for (second, first) in pairs {
        if cursor.replace_uses(&uses, second, first) {
            gone.push(second);
        }
    }
    drop(cursor);
    gone.sort_unstable();
    for graph in model.bodies[id].graphs.values_mut() {
        graph.initializers.retain(|init| gone.binary_search(&init.value).is_err());
        graph.value_info.retain(|port| port.value.is_none_or(|value| gone.binary_search(&value).is_err()));
    }
    compact(model);
    report.note(gone.len(), "weight", "shared");
    Ok(report)
}

fn is_equal(a: &Tensor, b: &Tensor) -> bool {
    a.elem == b.elem && a.dims == b.dims && a.data == b.data
}

fn digest(tensor: &Tensor) -> u64 {
    let mut hasher = DefaultHasher::new();
    (tensor.elem, &tensor.dims[..]).hash(&mut hasher);
    for payload in &tensor.data {
        match payload {
            Payload::Entries { field, bytes } => (field, &bytes[..]).hash(&mut hasher),
            Payload::Strings(strings) => strings.hash(&mut hasher),
        }
    }
    hasher.finish()
}
