//! The work of matrix products.

use crate::dims::Dim;
use crate::work::Counter;
use onnx_ir::NodeId;

pub(crate) fn product(cx: &mut Counter<'_>, node: NodeId, operand: usize) -> Option<Dim> {
    let (result, operand) = (cx.output(node, 0)?, cx.input(node, operand)?);
    let is_turned = cx.int(node, "transA").unwrap_or(0) != 0;
    let axis = if is_turned { operand.len().checked_sub(2)? } else { operand.len().checked_sub(1)? };
    let count = cx.product(&result);
    Some(cx.mul(count, operand[axis]))
}

pub(crate) fn gemm(cx: &mut Counter<'_>, node: NodeId) -> Option<Dim> {
    let (result, operand) = (cx.output(node, 0)?, cx.input(node, 0)?);
    let is_turned = cx.int(node, "transA").unwrap_or(0) != 0;
    let inner = *operand.get(usize::from(!is_turned))?;
    let count = cx.product(&result);
    Some(cx.mul(count, inner))
}
