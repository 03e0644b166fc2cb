//! The work of recurrent layers.

use crate::dims::Dim;
use crate::work::Counter;
use onnx_ir::NodeId;

/// Each gate is a product with the operand and one with the state, per step and direction.
pub(crate) fn recurrent(cx: &mut Counter<'_>, node: NodeId, gates: i64) -> Option<Dim> {
    let (x, weights, states) = (cx.input(node, 0)?, cx.input(node, 1)?, cx.input(node, 2)?);
    let ([a, b, size], [directions, _, _], [_, _, hidden]) = (&x[..], &weights[..], &states[..]) else {
        return None;
    };
    let both = cx.facts.dims.add(*size, *hidden);
    let each = cx.product(&[*a, *b, *directions, *hidden, both]);
    Some(cx.mul(each, Dim::Const(gates)))
}
