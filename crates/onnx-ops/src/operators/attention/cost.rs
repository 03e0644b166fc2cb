//! The work of attention.

use crate::dims::Dim;
use crate::work::Counter;
use onnx_ir::NodeId;

/// Products of queries with keys, and of weights with values.
pub(crate) fn attention(cx: &mut Counter<'_>, node: NodeId) -> Option<Dim> {
    let (q, k, v) = (cx.input(node, 0)?, cx.input(node, 1)?, cx.input(node, 2)?);
    let past = cx.input(node, 4);
    let (rows, width) = match &q[..] {
        [batch, heads, length, width] => (cx.product(&[*batch, *heads, *length]), *width),
        [batch, length, width] => (cx.product(&[*batch, *length]), *width),
        _ => return None,
    };
    let (mut keys, value_width) = match (&k[..], &v[..]) {
        ([_, _, keys, _], [_, _, _, width]) => (*keys, *width),
        // Heads are packed in the last axis: the width of the queries counts.
        ([_, keys, _], [_, _, _]) => (*keys, width),
        _ => return None,
    };
    if let Some([_, _, more, _]) = past.as_deref() {
        keys = cx.facts.dims.add(keys, *more);
    }
    let both = cx.facts.dims.add(width, value_width);
    Some(cx.product(&[rows, keys, both]))
}
