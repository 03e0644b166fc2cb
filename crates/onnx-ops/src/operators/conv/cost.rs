//! The work of convolutions.

use crate::dims::Dim;
use crate::work::Counter;
use onnx_ir::NodeId;

/// Each element of the result is a sum over the channels of a group and the kernel.
pub(crate) fn convolution(cx: &mut Counter<'_>, node: NodeId, weights: usize) -> Option<Dim> {
    let (result, weights) = (cx.output(node, 0)?, cx.input(node, weights)?);
    let count = cx.product(&result);
    let each = cx.product(weights.get(1..)?);
    Some(cx.mul(count, each))
}

/// Each element of the operand contributes to the channels of a group, at each position of the kernel.
pub(crate) fn transposed(cx: &mut Counter<'_>, node: NodeId) -> Option<Dim> {
    let (operand, weights) = (cx.input(node, 0)?, cx.input(node, 1)?);
    let count = cx.product(&operand);
    let each = cx.product(weights.get(1..)?);
    Some(cx.mul(count, each))
}
