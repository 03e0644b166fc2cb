//! One `Reshape` in place of nodes in a row that keep the order of elements.
//!
//! ```text
//! before:  a = Unsqueeze(x, axes)     b = Flatten(a)     y = Reshape(b, shape)       # int64[2] shape = {4, -1}
//! after:   y = Reshape(x, shape)
//! ```
//!
//! The last shape must be known but for one extent, and must not copy extents of the one before.

use super::site::Site;
use crate::dims::Dim;
use onnx_ir::NodeId;

const OPS: &[&str] = &["Reshape", "Flatten", "Squeeze", "Unsqueeze"];

/// Since this version, the shape is an input.
const SHAPE_IS_INPUT: i64 = 5;

pub(super) fn fuse(site: &mut Site<'_>, node: NodeId) -> Option<()> {
    let is_one = |site: &Site<'_>, node: NodeId| site.op(node).is_some_and(|op| OPS.contains(&op));
    if site.version < SHAPE_IS_INPUT || !is_one(site, node) {
        return None;
    }
    let between = site.input(node, 0)?;
    let first = site.producer(between, node).filter(|first| is_one(site, *first))?;
    let x = site.input(first, 0)?;
    if !site.is_read_by_ops(between, node, OPS) {
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
    site.leave(first);
    Some(())
}

/// A shape as the target of a `Reshape`, if all extents but one are numbers above 0.
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
