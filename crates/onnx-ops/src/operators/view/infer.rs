//! Operators that rearrange and repeat elements.

use crate::dims::Dim;
use crate::engine::rule::axes::{Param, int_or, mask};
use crate::engine::rule::broadcast::conflict;
use crate::engine::{Infer, NodeCx};
use crate::facts::{Elem, Shape, SmallTensor};
use crate::operators::elementwise::infer::{extent, extents};
use onnx_ir::diag::{code, counted};
use smallvec::SmallVec;

/// Without `perm`, the axes are reversed.
pub(super) fn transpose(cx: &mut NodeCx<'_, '_>) -> Infer {
    let perm = if cx.has_attr("perm") { cx.ints("perm")? } else { (0..to_i64(cx.rank(0)?)?).rev().collect() };
    let rank = cx.rank(0).unwrap_or(perm.len());
    if perm.len() != rank {
        return cx.fail_at_attr(
            "perm",
            format!("the permutation has {}, but the input has rank {rank}", counted(perm.len(), "axis")),
        );
    }
    let mut from: SmallVec<[usize; 8]> = SmallVec::new();
    let mut seen = mask(&[], rank);
    for &axis in &perm {
        let Some(axis) = usize::try_from(axis).ok().filter(|&a| a < rank) else {
            return cx.fail_at_attr("perm", format!("axis {axis} is out of range for rank {rank}"));
        };
        if std::mem::replace(&mut seen[axis], true) {
            return cx.fail_at_attr("perm", format!("axis {axis} occurs twice"));
        }
        from.push(axis);
    }
    let Some(shape) = cx.shape(0) else {
        cx.set_rank(0, rank);
        return None;
    };
    cx.set_shape(0, from.iter().map(|&axis| shape[axis]).collect::<Shape>());
    let value = cx.value(0)?;
    let mut source = vec![0; rank];
    let value = SmallTensor::from_fn(extents(cx, 0)?, |at| {
        for (&axis, &i) in from.iter().zip(at) {
            source[axis] = i;
        }
        value.broadcast_at(&source).unwrap_or(Elem::Unknown)
    })?;
    cx.set_value(0, value);
    Some(())
}

fn to_i64(n: usize) -> Option<i64> {
    i64::try_from(n).ok()
}

/// Bidirectional: a size of 1 in the target keeps that of the input.
pub(super) fn expand(cx: &mut NodeCx<'_, '_>) -> Infer {
    let target = crate::operators::shape::infer::shape_operand(cx, 1)?;
    let input = cx.shape(0)?;
    let rank = input.len().max(target.len());
    let mut shape = Shape::new();
    for axis in 0..rank {
        let of = |shape: &Shape| (axis + shape.len()).checked_sub(rank).map_or(Dim::Const(1), |at| shape[at]);
        let (has, wants) = (of(&input), of(&target));
        let Ok(dim) = cx.dims().broadcast(has, wants) else {
            let [has, wants] = [has, wants].map(|d| {
                let d = cx.dims().resolve(d);
                cx.dims().text(d)
            });
            return TARGET.fail_for(cx, format!("cannot expand size {has} to {wants}"), 0);
        };
        shape.push(dim);
    }
    cx.set_shape(0, shape);
    let value = cx.value(0)?;
    let value = SmallTensor::from_fn(extents(cx, 0)?, |at| value.broadcast_at(at).unwrap_or(Elem::Unknown))?;
    cx.set_value(0, value);
    Some(())
}

const TARGET: Param = Param::new("shape", 1);
const REPEATS: Param = Param::new("repeats", 1);

/// Version 1 repeats along one axis.
pub(super) fn tile_along_axis(cx: &mut NodeCx<'_, '_>) -> Infer {
    let mut shape = cx.shape(0)?;
    let number = |cx: &NodeCx<'_, '_>, i| cx.value(i).and_then(|v| v.single()).and_then(Elem::number);
    let Some(axis) = number(cx, 2) else {
        let shape = cx.fresh_shape(0, shape.len());
        cx.set_shape(0, shape);
        return None;
    };
    let place = cx.at_input(2);
    let axis = cx.axis(axis as i64, shape.len(), place)?;
    let tiles = number(cx, 1).map_or(Dim::Unknown, |n| Dim::Const(n as i64));
    shape[axis] = if tiles == Dim::Unknown { cx.fresh(0) } else { cx.dims().mul(shape[axis], tiles) };
    cx.set_shape(0, shape);
    Some(())
}

pub(super) fn tile(cx: &mut NodeCx<'_, '_>) -> Infer {
    if cx.rank(1).is_some() {
        cx.shape_of_rank(1, 1)?;
    }
    let repeats = cx.extents_of(1);
    let Some(input) = cx.shape(0) else {
        cx.set_rank(0, repeats?.len());
        return None;
    };
    let Some(repeats) = repeats else {
        let shape = cx.fresh_shape(0, input.len());
        cx.set_shape(0, shape);
        return None;
    };
    if repeats.len() != input.len() {
        let message = format!("{} repeats, but the input has rank {}", repeats.len(), input.len());
        return conflict(cx, 0, 1, message);
    }
    let mut shape = Shape::new();
    for (&dim, &repeat) in input.iter().zip(&repeats) {
        shape.push(match repeat {
            Dim::Const(n) if n < 0 => return REPEATS.fail(cx, format!("{n} repeats")),
            Dim::Unknown => cx.fresh(0),
            Dim::Const(_) | Dim::Expr(_) => cx.dims().mul(dim, repeat),
        });
    }
    cx.set_shape(0, shape);
    let value = cx.value(0)?;
    let mut source = vec![0; input.len()];
    let value = SmallTensor::from_fn(extents(cx, 0)?, |at| {
        for ((from, &i), &extent) in source.iter_mut().zip(at).zip(&value.dims) {
            *from = i.checked_rem(extent).unwrap_or(0);
        }
        value.broadcast_at(&source).unwrap_or(Elem::Unknown)
    })?;
    cx.set_value(0, value);
    Some(())
}

/// Checks `mode`, if the version has it, and returns the block size.
fn block_size(cx: &mut NodeCx<'_, '_>) -> Option<i64> {
    if cx.schema().attr("mode").is_some() && cx.string("mode").is_some() {
        cx.one_of("mode", &["DCR", "CRD"])?;
    }
    let size = cx.int("blocksize")?;
    if size <= 0 {
        cx.fail_at_attr("blocksize", format!("invalid block size {size}"))?;
    }
    Some(size)
}

/// The quotient of a size; reports one that is not divisible.
fn blocks(cx: &mut NodeCx<'_, '_>, axis: usize, extent: Dim, size: Dim) -> Option<Dim> {
    if let (Dim::Const(n), Dim::Const(size)) = (extent, size)
        && n % size != 0
    {
        let message = format!("size {n} of axis {axis} is not a multiple of {size}");
        cx.fail_at_input(0, &code::SHAPE_PRECONDITION, message)?;
        return None;
    }
    Some(cx.dims().div_exact(extent, size))
}

/// `[N,C,H,W]` to `[N,C/(b*b),H*b,W*b]`.
pub(super) fn depth_to_space(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.set_rank(0, 4);
    let size = block_size(cx);
    let shape = cx.shape_of_rank(0, 4)?;
    let size = size?;
    let edge = Dim::Const(size);
    let area = cx.dims().mul(edge, edge);
    let depth = blocks(cx, 1, shape[1], area)?;
    let [height, width] = [shape[2], shape[3]].map(|d| cx.dims().mul(d, edge));
    cx.set_shape(0, [shape[0], depth, height, width]);
    Some(())
}

/// `[N,C,H,W]` to `[N,C*b*b,H/b,W/b]`.
pub(super) fn space_to_depth(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.set_rank(0, 4);
    let size = block_size(cx);
    let shape = cx.shape_of_rank(0, 4)?;
    let size = size?;
    let edge = Dim::Const(size);
    let area = cx.dims().mul(edge, edge);
    let (height, width) = (blocks(cx, 2, shape[2], edge)?, blocks(cx, 3, shape[3], edge)?);
    let depth = cx.dims().mul(shape[1], area);
    cx.set_shape(0, [shape[0], depth, height, width]);
    Some(())
}

/// One of the first two axes is time, the other one the batch; there is a length for each element of the batch.
pub(super) fn reverse_sequence(cx: &mut NodeCx<'_, '_>) -> Infer {
    let (time, batch) = (int_or(cx, "time_axis", 0), int_or(cx, "batch_axis", 1));
    for (name, axis) in [("time_axis", time), ("batch_axis", batch)] {
        if let Some(axis) = axis.filter(|axis| !(0..=1).contains(axis)) {
            return cx.fail_at_attr(name, format!("`{name}` must be 0 or 1, but is {axis}"));
        }
    }
    if let (Some(time), Some(batch)) = (time, batch)
        && time == batch
    {
        let name = if cx.has_attr("batch_axis") { "batch_axis" } else { "time_axis" };
        return cx.fail_at_attr(name, format!("`time_axis` and `batch_axis` are both {time}"));
    }
    let mut shape = cx.shape_of_ranks(0, 2, None)?;
    if cx.rank(1).is_some() {
        let lengths = cx.shape_of_rank(1, 1)?;
        let batch = usize::try_from(batch?).ok()?;
        let message = |a: &str, b: &str| format!("{} for batch size {a}", counted(b, "length"));
        shape[batch] = cx.equate((0, shape[batch]), (1, lengths[0]), message)?;
    }
    cx.set_shape(0, shape);
    Some(())
}

pub(super) fn trilu(cx: &mut NodeCx<'_, '_>) -> Infer {
    let shape = cx.shape_of_ranks(0, 2, None)?;
    cx.set_shape(0, shape.iter().copied());
    let k = if cx.has_input(1) { cx.ints_of(1)?.first().copied()? } else { 0 };
    let is_upper = cx.int("upper")? != 0;
    let value = cx.value(0)?;
    let dims: Option<Vec<usize>> = shape.iter().map(|&d| extent(d)).collect();
    let value = SmallTensor::from_fn(dims?, |at| {
        let (row, column) = (to_i64(at[at.len() - 2]), to_i64(at[at.len() - 1]));
        let (Some(row), Some(column)) = (row, column) else { return Elem::Unknown };
        let diagonal = column.saturating_sub(row);
        if if is_upper { diagonal >= k } else { diagonal <= k } {
            return value.broadcast_at(at).unwrap_or(Elem::Unknown);
        }
        match value.elems.first() {
            Some(Elem::Float(_) | Elem::Quotient(..)) => Elem::Float(0.0),
            Some(Elem::Int(_)) => Elem::Int(Dim::Const(0)),
            Some(Elem::Unknown) | None => Elem::Unknown,
        }
    })?;
    cx.set_value(0, value);
    Some(())
}
