//! Operators that select elements by indices.

use crate::dims::Dim;
use crate::engine::rule::broadcast::conflict;
use crate::engine::{Infer, NodeCx};
use crate::facts::{Elem, Shape, SmallTensor};
use crate::operators::elementwise::infer::{extent, extents};
use onnx_ir::diag::code;

/// The position of an index that may be negative.
pub(crate) fn position(index: Elem, extent: usize) -> Option<usize> {
    let Elem::Int(Dim::Const(n)) = index else { return None };
    let len = i64::try_from(extent).ok()?;
    let at = if n < 0 { n.checked_add(len)? } else { n };
    usize::try_from(at).ok().filter(|&at| at < extent)
}

/// Reports a constant index that is out of range.
pub(crate) fn check_indices(cx: &mut NodeCx<'_, '_>, input: usize, extent: Dim, axis: usize) -> Infer {
    let Dim::Const(len) = extent else { return Some(()) };
    let Some(value) = cx.value(input) else { return Some(()) };
    let is_outside = |d: &Dim| matches!(d, Dim::Const(n) if *n >= len || *n < -len);
    let outside = value.as_dims().find(is_outside);
    match outside {
        Some(Dim::Const(n)) => {
            let message = format!("index {n} is out of range for axis {axis} of size {len}");
            cx.fail_at_input(input, &code::CONSTANT_INPUT, message)
        }
        Some(_) | None => Some(()),
    }
}

/// The shape of the indices replaces the axis.
pub(crate) fn gather(cx: &mut NodeCx<'_, '_>) -> Infer {
    let data = cx.shape_of_ranks(0, 1, None)?;
    let axis = cx.int("axis")?;
    let place = cx.at_attr("axis");
    let axis = cx.axis(axis, data.len(), place)?;
    check_indices(cx, 1, data[axis], axis)?;
    let indices = cx.shape(1)?;
    let shape: Shape = data[..axis].iter().chain(&indices).chain(&data[axis + 1..]).copied().collect();
    cx.set_shape(0, shape);
    let (data, indices) = (cx.value(0)?, cx.value(1)?);
    let (extent, rank) = (*data.dims.get(axis)?, indices.dims.len());
    let mut source = Vec::with_capacity(data.dims.len());
    let value = SmallTensor::from_fn(extents(cx, 0)?, |at| {
        let index = indices.broadcast_at(&at[axis..axis + rank]).unwrap_or(Elem::Unknown);
        let Some(index) = position(index, extent) else { return Elem::Unknown };
        source.clear();
        source.extend_from_slice(&at[..axis]);
        source.push(index);
        source.extend_from_slice(&at[axis + rank..]);
        data.broadcast_at(&source).unwrap_or(Elem::Unknown)
    })?;
    cx.set_value(0, value);
    Some(())
}

/// The output has the shape of the indices.
pub(crate) fn gather_elements(cx: &mut NodeCx<'_, '_>) -> Infer {
    let indices = cx.shape(1);
    if let Some(indices) = &indices {
        cx.set_shape(0, indices.iter().copied());
    }
    let data = cx.shape_of_ranks(0, 1, None)?;
    let axis = cx.int("axis")?;
    let place = cx.at_attr("axis");
    let axis = cx.axis(axis, data.len(), place)?;
    check_indices(cx, 1, data[axis], axis)?;
    let Some(indices) = indices else {
        cx.set_rank(0, data.len());
        return None;
    };
    within(cx, (0, &data), (1, &indices), axis)?;
    let (data, indices) = (cx.value(0)?, cx.value(1)?);
    let extent = *data.dims.get(axis)?;
    let value = SmallTensor::from_fn(indices.dims.iter().copied(), |at| {
        let index = indices.broadcast_at(at).unwrap_or(Elem::Unknown);
        let Some(index) = position(index, extent) else { return Elem::Unknown };
        let mut source = at.to_vec();
        source[axis] = index;
        data.broadcast_at(&source).unwrap_or(Elem::Unknown)
    })?;
    cx.set_value(0, value);
    Some(())
}

/// Checks indices for data of the same rank: on all axes but one, they must not be larger than the data.
pub(crate) fn within(
    cx: &mut NodeCx<'_, '_>,
    (i, data): (usize, &Shape),
    (j, indices): (usize, &Shape),
    axis: usize,
) -> Infer {
    if data.len() != indices.len() {
        let message = format!("indices have rank {}, but the data has rank {}", indices.len(), data.len());
        return conflict(cx, i, j, message);
    }
    for (at, (&has, &wants)) in data.iter().zip(indices).enumerate().filter(|(at, _)| *at != axis) {
        if let (Dim::Const(has), Dim::Const(wants)) = (has, wants)
            && wants > has
        {
            let message = format!(
                "axis {at} of the indices has size {wants}, but axis {at} of the data has size {has}"
            );
            return conflict(cx, i, j, message);
        }
    }
    Some(())
}

/// The last axis of the indices holds positions along the first axes of the data, after the batch axes.
pub(crate) fn gather_nd(cx: &mut NodeCx<'_, '_>) -> Infer {
    let batch = if cx.since() < 12 { 0 } else { cx.int("batch_dims")? };
    let data = cx.shape_of_ranks(0, 1, None);
    let indices = cx.shape_of_ranks(1, 1, None);
    let (mut data, indices) = (data?, indices?);
    let batch = usize::try_from(batch).ok().filter(|&b| b < data.len().min(indices.len()));
    let Some(batch) = batch else {
        return cx.fail_at_attr(
            "batch_dims",
            "`batch_dims` must be less than the ranks of the data and the indices".to_owned(),
        );
    };
    let (&last, places) = indices.split_last()?;
    let depth = extent(last)?;
    if depth == 0 || depth > data.len() - batch {
        let message = format!(
            "the last axis of the indices has size {depth}, but must have 1 to {}",
            data.len() - batch
        );
        return conflict(cx, 0, 1, message);
    }
    for axis in 0..batch {
        let message = |a: &str, b: &str| format!("conflicting batch sizes: {b} and {a}");
        data[axis] = cx.equate((0, data[axis]), (1, indices[axis]), message)?;
    }
    let slices = &data[batch + depth..];
    let shape: Shape = data[..batch].iter().chain(&places[batch..]).chain(slices).copied().collect();
    cx.set_shape(0, shape);
    let (data, indices) = (cx.value(0)?, cx.value(1)?);
    let rank = places.len();
    let value = SmallTensor::from_fn(extents(cx, 0)?, |at| {
        let mut source = at[..batch].to_vec();
        for k in 0..depth {
            let mut index = at[..rank].to_vec();
            index.push(k);
            let index = indices.broadcast_at(&index).unwrap_or(Elem::Unknown);
            let Some(index) = data.dims.get(batch + k).and_then(|&d| position(index, d)) else {
                return Elem::Unknown;
            };
            source.push(index);
        }
        source.extend_from_slice(&at[rank..]);
        data.broadcast_at(&source).unwrap_or(Elem::Unknown)
    })?;
    cx.set_value(0, value);
    Some(())
}
