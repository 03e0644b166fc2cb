//! Merges consecutive nodes that keep the order of elements into one `Reshape`.
//!
//! ```text
//! before:  a = Unsqueeze(x, axes)     b = Flatten(a)     y = Reshape(b, shape)       # int64[2] shape = {4, -1}
//! after:   y = Reshape(x, shape)
//! ```
//!
//! The last shape must be known except for one size, and must not copy sizes. A `Transpose` that moves only axes of size 1 keeps
//! the order too.

use super::site::FuseSite;
use crate::dims::Dim;
use onnx_ir::NodeId;

const OPS: &[&str] = &["Reshape", "Flatten", "Squeeze", "Unsqueeze"];

/// Since this version, the shape is an input.
const SHAPE_IS_INPUT: i64 = 5;

pub(super) fn fuse(site: &mut FuseSite<'_>, node: NodeId) -> Option<()> {
    if site.version < SHAPE_IS_INPUT || !keeps_order(site, node) {
        return None;
    }
    let between = site.input(node, 0)?;
    let first = site.producer(between, node).filter(|first| keeps_order(site, *first))?;
    let x = site.input(first, 0)?;
    let is_alone = site.is_read_by(between, node) || site.is_read_by_ops(between, node, OPS);
    let are_transposes = site.is_op(first, "Transpose") && site.is_op(node, "Transpose");
    if !is_alone || are_transposes {
        return None;
    }
    let is_kept = site.is_op(node, "Reshape")
        && site.input(node, 1).and_then(|shape| site.ints(shape)).is_some_and(|dims| !dims.contains(&0));
    if is_kept {
        site.set_input(node, 0, x);
    } else {
        let target = target(site.shape(site.result(node)?)?)?;
        let shape = site.int_list(node, Some(between), target);
        site.become_op(node, "Reshape", &[Some(x), Some(shape)], Vec::new());
    }
    site.absorb(node, first);
    Some(())
}

/// Whether the result of a node has the elements of its operand in the same order.
fn keeps_order(site: &FuseSite<'_>, node: NodeId) -> bool {
    let Some(op) = site.op(node) else { return false };
    OPS.contains(&op) || op == "Transpose" && moves_ones(site, node).is_some()
}

/// Whether a `Transpose` moves only axes of size 1.
fn moves_ones(site: &FuseSite<'_>, node: NodeId) -> Option<()> {
    let shape = site.shape(site.input(node, 0)?)?;
    let perm: Vec<usize> = (site.ints_attr(node, "perm")?.into_iter())
        .map(|axis| usize::try_from(axis).ok().filter(|axis| *axis < shape.len()))
        .collect::<Option<_>>()?;
    let moved = perm.iter().filter(|axis| shape[**axis] != Dim::Const(1));
    (perm.len() == shape.len() && moved.is_sorted()).then_some(())
}

/// A shape as the target of a `Reshape`, if all sizes but one are positive numbers.
fn target(shape: &[Dim]) -> Option<Vec<i64>> {
    let target: Vec<i64> = (shape.iter())
        .map(|dim| match dim {
            Dim::Const(n) => (*n > 0).then_some(*n),
            Dim::Unknown | Dim::Expr(_) => Some(-1),
        })
        .collect::<Option<_>>()?;
    let is_clear = !target.is_empty() && target.iter().filter(|n| **n == -1).count() <= 1;
    is_clear.then_some(target)
}
