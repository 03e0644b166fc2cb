//! Operators that write elements at indices. The output has the shape of the data.

use crate::dims::{Dim, Dims};
use crate::engine::rule::broadcast::conflict;
use crate::engine::{Infer, NodeCx};
use crate::facts::{Elem, Shape, SmallTensor};
use crate::operators::elementwise::infer::{extent, larger, smaller};
use crate::operators::gather::infer::{check_indices, position, within};
use onnx_ir::diag::{code, counted};
use std::sync::Arc;

/// The reduction of updates with existing elements; `None` if the caller decides.
fn reduction(cx: &mut NodeCx<'_, '_>) -> Option<Option<&'static str>> {
    let reductions: &[&'static str] = match cx.schema().attr("reduction") {
        None => return Some(Some("none")),
        Some(_) if cx.since() < 18 => &["none", "add", "mul"],
        Some(_) => &["none", "add", "mul", "max", "min"],
    };
    if cx.string("reduction").is_none() {
        return Some(None);
    }
    cx.one_of("reduction", reductions).map(Some)
}

fn updated(dims: &mut Dims, reduction: &str, old: Elem, update: Elem) -> Elem {
    match (reduction, old, update) {
        ("none", ..) => update,
        ("add", Elem::Int(a), Elem::Int(b)) => Elem::Int(dims.add(a, b)),
        ("mul", Elem::Int(a), Elem::Int(b)) => Elem::Int(dims.mul(a, b)),
        ("max", ..) => larger(dims, old, update),
        ("min", ..) => smaller(dims, old, update),
        _ => Elem::Unknown,
    }
}

pub(super) fn scatter_elements(cx: &mut NodeCx<'_, '_>) -> Infer {
    let reduction = reduction(cx)?;
    let shapes = [0, 1, 2].map(|i| cx.shape(i));
    let known =
        |cx: &mut NodeCx<'_, '_>, i: usize| shapes[i].is_some().then(|| cx.shape_of_ranks(i, 1, None));
    for i in 0..3 {
        if let Some(None) = known(cx, i) {
            return None;
        }
    }
    let [data, indices, updates] = shapes;
    if let (Some(indices), Some(updates)) = (&indices, &updates) {
        if indices.len() != updates.len() {
            let message =
                format!("updates have rank {}, but the indices have rank {}", updates.len(), indices.len());
            return conflict(cx, 1, 2, message);
        }
        for (&a, &b) in indices.iter().zip(updates) {
            cx.equate((1, a), (2, b), |a, b| format!("sizes of updates and indices differ: {b} and {a}"))?;
        }
    }
    let Some(data) = data else {
        cx.set_rank(0, indices.or(updates)?.len());
        return None;
    };
    cx.set_shape(0, data.iter().copied());
    let axis = cx.int("axis")?;
    let place = cx.at_attr("axis");
    let axis = cx.axis(axis, data.len(), place)?;
    if let Some(indices) = &indices {
        within(cx, (0, &data), (1, indices), axis)?;
    }
    check_indices(cx, 1, data[axis], axis)?;
    let (mut value, indices, updates) = (Arc::unwrap_or_clone(cx.value(0)?), cx.value(1)?, cx.value(2)?);
    let places = SmallTensor::from_fn(indices.dims.iter().copied(), |at| {
        let index = indices.broadcast_at(at).unwrap_or(Elem::Unknown);
        let target = position(index, value.dims[axis]).and_then(|index| {
            let mut target = at.to_vec();
            target[axis] = index;
            offset(&value, &target)
        });
        target.map_or(Elem::Unknown, |target| Elem::Int(Dim::Const(target)))
    })?;
    write(cx, &mut value, &places, &updates, reduction?)
}

/// The position of an element in row-major order.
fn offset(value: &SmallTensor, at: &[usize]) -> Option<i64> {
    let mut offset = 0usize;
    for (&i, &d) in at.iter().zip(&value.dims) {
        offset = offset.checked_mul(d)?.checked_add(i)?;
    }
    i64::try_from(offset).ok()
}

/// Writes updates at their positions, all of which must be known.
fn write(
    cx: &mut NodeCx<'_, '_>,
    value: &mut SmallTensor,
    places: &SmallTensor,
    updates: &SmallTensor,
    reduction: &str,
) -> Infer {
    if places.elems.len() != updates.elems.len() {
        return None;
    }
    for (place, &update) in places.ints()?.into_iter().zip(&updates.elems) {
        let old = value.elems.get_mut(usize::try_from(place).ok()?)?;
        *old = updated(cx.dims(), reduction, *old, update);
    }
    let value = SmallTensor::new(value.dims.iter().copied(), std::mem::take(&mut value.elems))?;
    cx.set_value(0, value);
    Some(())
}

/// The last axis of the indices holds positions along the first axes of the data; an update is a slice at such a position.
pub(super) fn scatter_nd(cx: &mut NodeCx<'_, '_>) -> Infer {
    let reduction = reduction(cx)?;
    let data = cx.shape_of_ranks(0, 1, None)?;
    cx.set_shape(0, data.iter().copied());
    let indices = cx.shape_of_ranks(1, 1, None)?;
    let (&last, places) = indices.split_last()?;
    let depth = extent(last)?;
    if depth > data.len() {
        let message =
            format!("index tuples have {}, but the data has rank {}", counted(depth, "element"), data.len());
        return conflict(cx, 0, 1, message);
    }
    if cx.rank(2).is_some() {
        let wanted: Shape = places.iter().chain(&data[depth..]).copied().collect();
        let updates = cx.shape_of_rank(2, wanted.len())?;
        for (at, (&a, &b)) in wanted.iter().zip(&updates).enumerate() {
            let cause = if at < places.len() { 1 } else { 0 };
            let message = |a: &str, b: &str| format!("axis {at} of the updates has size {b}, but needs {a}");
            cx.equate((cause, a), (2, b), message)?;
        }
    }
    let (mut value, indices, updates) = (Arc::unwrap_or_clone(cx.value(0)?), cx.value(1)?, cx.value(2)?);
    let rank = places.len();
    let places = SmallTensor::from_fn(updates.dims.iter().copied(), |at| {
        let mut target = Vec::with_capacity(value.dims.len());
        for k in 0..depth {
            let mut index = at[..rank].to_vec();
            index.push(k);
            let index = indices.broadcast_at(&index).unwrap_or(Elem::Unknown);
            match value.dims.get(k).and_then(|&d| position(index, d)) {
                Some(index) => target.push(index),
                None => return Elem::Unknown,
            }
        }
        target.extend_from_slice(&at[rank..]);
        offset(&value, &target).map_or(Elem::Unknown, |target| Elem::Int(Dim::Const(target)))
    })?;
    write(cx, &mut value, &places, &updates, reduction?)
}

/// Updates have the shape of the data except for the axis, where they may be smaller.
pub(super) fn tensor_scatter(cx: &mut NodeCx<'_, '_>) -> Infer {
    if cx.string("mode").is_some() {
        cx.one_of("mode", &["linear", "circular"])?;
    }
    let mut data = cx.shape_of_ranks(0, 2, None)?;
    let axis = cx.int("axis")?;
    let place = cx.at_attr("axis");
    let axis = cx.axis(axis, data.len(), place)?;
    if axis == 0 {
        return cx.fail_at_attr("axis", "axis 0 is the batch".to_owned());
    }
    if cx.rank(1).is_some() {
        let update = cx.shape_of_rank(1, data.len())?;
        for at in (0..data.len()).filter(|&at| at != axis) {
            let message = |a: &str, b: &str| format!("axis {at} of the update has size {b}, but needs {a}");
            data[at] = cx.equate((0, data[at]), (1, update[at]), message)?;
        }
        if let (Dim::Const(most), Dim::Const(n)) = (data[axis], update[axis])
            && n > most
        {
            let message = format!("update of size {n} does not fit into the axis of size {most}");
            return conflict(cx, 0, 1, message);
        }
    }
    if cx.rank(2).is_some() {
        let writes = cx.shape_of_rank(2, 1)?;
        data[0] = cx.equate((0, data[0]), (2, writes[0]), |a, b| {
            format!("{} for batch size {a}", counted(b, "position"))
        })?;
        if cx.ints_of(2).is_some_and(|list| list.iter().any(|&n| n < 0)) {
            return cx.fail_at_input(2, &code::CONSTANT_INPUT, "negative position".to_owned());
        }
    }
    cx.set_shape(0, data);
    Some(())
}
