//! Operations of a node, by the row of its operator.

use crate::dims::Dim;
use crate::operators;
use crate::opset::CONTRIBUTED;
use crate::work::{Counter, Work};
use onnx_ir::NodeId;

/// The work of an operator of this domain. Operators of ONNX Runtime that extend one of ai.onnx have its name and its work; for
/// others, only stated work is known.
fn work(domain: &str, op: &str) -> Option<Work> {
    let stated = |domain| operators::find(domain, op)?.work;
    match domain {
        "" => Some(stated("").unwrap_or(Work::PerOutput(1))),
        CONTRIBUTED => stated(CONTRIBUTED).or_else(|| stated("")),
        _ => None,
    }
}

/// Multiply-accumulate operations and all operations of a node without graphs.
pub(super) fn operations(cx: &mut Counter<'_>, node: NodeId) -> Option<(Dim, Dim)> {
    let (domain, op) = cx.op(node);
    let none = Dim::Const(0);
    let (shape, factor) = match work(domain, op)? {
        Work::Products(macs, bias) => {
            let macs = macs(cx, node)?;
            let mut flops = cx.mul(macs, Dim::Const(2));
            if bias.is_some_and(|bias| cx.n(node).inputs.get(bias).copied().flatten().is_some()) {
                let more = cx.output(node, 0).map(|shape| cx.product(&shape))?;
                flops = cx.facts.dims.add(flops, more);
            }
            return Some((macs, flops));
        }
        Work::Moves => return Some((none, none)),
        Work::PerInput(factor) => (cx.input(node, 0)?, factor),
        Work::PerOutput(factor) => (cx.output(node, 0)?, factor),
        Work::Windows => {
            let mut shape = cx.output(node, 0)?;
            shape.extend(cx.ints(node, "kernel_shape")?.into_iter().map(Dim::Const));
            (shape, 1)
        }
    };
    let count = cx.product(&shape);
    Some((none, cx.mul(count, Dim::Const(factor))))
}
