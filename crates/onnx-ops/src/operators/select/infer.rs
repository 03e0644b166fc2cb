//! Operators that select elements by value. The number of results often depends on the data.

use crate::dims::Dim;
use crate::engine::{Infer, NodeCx};
use crate::facts::{Elem, Shape, SmallTensor};
use crate::operators::elementwise::infer::{boolean, extent};
use onnx_ir::diag::{code, counted};
use std::cmp::Ordering;

/// Selects the elements whose condition is true, along an axis or of all elements.
pub(super) fn compress(cx: &mut NodeCx<'_, '_>) -> Infer {
    let has_axis = cx.has_attr("axis");
    if !has_axis {
        cx.set_rank(0, 1);
    }
    if cx.rank(1).is_some() {
        cx.shape_of_rank(1, 1)?;
    }
    let chosen = cx
        .value(1)
        .and_then(|condition| condition.elems.iter().map(|&e| boolean(e)).collect::<Option<Vec<bool>>>());
    let count = |of: Dim| {
        let chosen = chosen.as_ref()?;
        // The condition may be longer than the axis; an unknown size may be smaller.
        let end = match of {
            Dim::Const(n) => usize::try_from(n).ok()?.min(chosen.len()),
            Dim::Unknown | Dim::Expr(_) if !chosen.contains(&true) => 0,
            Dim::Unknown | Dim::Expr(_) => return None,
        };
        i64::try_from(chosen[..end].iter().filter(|&&c| c).count()).ok()
    };
    if !has_axis {
        if cx.rank(0).is_some() {
            cx.shape_of_ranks(0, 1, None)?;
        }
        let all = cx.shape(0).map_or(Dim::Unknown, |s| cx.dims().product(&s));
        let count = count(all).map_or_else(|| cx.fresh(0), Dim::Const);
        cx.set_shape(0, [count]);
        return Some(());
    }
    let mut shape = cx.shape_of_ranks(0, 1, None)?;
    let Some(axis) = cx.int("axis") else {
        cx.set_rank(0, shape.len());
        return None;
    };
    let place = cx.at_attr("axis");
    let axis = cx.axis(axis, shape.len(), place)?;
    shape[axis] = count(shape[axis]).map_or_else(|| cx.fresh(0), Dim::Const);
    cx.set_shape(0, shape);
    Some(())
}

/// A column of indices for each nonzero element.
pub(super) fn non_zero(cx: &mut NodeCx<'_, '_>) -> Infer {
    let count = cx.fresh(0);
    cx.set_shape(0, [Dim::Unknown, count]);
    let rank = cx.rank(0)?;
    if rank == 0 {
        return None; // one axis to runtimes, none to the reference
    }
    cx.set_shape(0, [Dim::Const(i64::try_from(rank).ok()?), count]);
    let value = cx.value(0)?;
    let mut columns: Vec<Vec<usize>> = Vec::new();
    let mut is_known = true;
    SmallTensor::from_fn(value.dims.iter().copied(), |at| {
        match value.broadcast_at(at) {
            Some(Elem::Int(Dim::Const(0))) => {}
            Some(Elem::Int(Dim::Const(_))) => columns.push(at.to_vec()),
            Some(Elem::Float(0.0)) => {}
            Some(Elem::Float(_)) => columns.push(at.to_vec()),
            Some(Elem::Int(d)) if cx.dims().lower_bound(d).is_some_and(|n| n > 0) => {
                columns.push(at.to_vec())
            }
            Some(Elem::Unknown | Elem::Int(_) | Elem::Quotient(..)) | None => is_known = false,
        }
        Elem::Int(Dim::Const(0))
    })?;
    if !is_known {
        return None;
    }
    let value = SmallTensor::from_fn([rank, columns.len()], |at| {
        i64::try_from(columns[at[1]][at[0]]).map_or(Elem::Unknown, |n| Elem::Int(Dim::Const(n)))
    })?;
    cx.set_known(0, value);
    Some(())
}

/// Unique values, indices of their first occurrences, inverse indices, and counts.
pub(super) fn unique(cx: &mut NodeCx<'_, '_>) -> Infer {
    if let Some(sorted) = cx.int("sorted")
        && !(0..=1).contains(&sorted)
    {
        return cx.fail_at_attr("sorted", format!("`sorted` must be 0 or 1, but is {sorted}"));
    }
    let count = cx.fresh(0);
    cx.set_shape(1, [count]);
    cx.set_rank(2, 1);
    cx.set_shape(3, [count]);
    if !cx.has_attr("axis") {
        cx.set_shape(0, [count]);
        let shape = cx.shape(0)?;
        let all = cx.dims().product(&shape);
        cx.set_shape(2, [all]);
        return Some(());
    }
    let mut shape = cx.shape_of_ranks(0, 1, None)?;
    cx.set_rank(0, shape.len());
    let axis = cx.int("axis")?;
    let place = cx.at_attr("axis");
    let axis = cx.axis(axis, shape.len(), place)?;
    cx.set_shape(2, [shape[axis]]);
    shape[axis] = count;
    cx.set_shape(0, shape);
    Some(())
}

/// `K` is an attribute in the first version.
pub(super) fn top_k(cx: &mut NodeCx<'_, '_>) -> Infer {
    let count = if cx.since() == 1 {
        Dim::Const(cx.int("k")?)
    } else {
        if cx.rank(1).is_some() {
            let shape = cx.shape_of_rank(1, 1)?;
            if let [Dim::Const(n)] = shape[..]
                && n != 1
            {
                return cx.fail_at_input(
                    1,
                    &code::SHAPE_PRECONDITION,
                    format!("`K` must have one element, but has {n}"),
                );
            }
        }
        match cx.value(1).and_then(|v| v.single()) {
            Some(elem) if elem.int() != Dim::Unknown => elem.int(),
            Some(_) | None => cx.fresh(0),
        }
    };
    let mut shape = cx.shape(0)?;
    let axis = cx.int("axis")?;
    let place = cx.at_attr("axis");
    let axis = cx.axis(axis, shape.len(), place)?;
    if let Dim::Const(k) = count {
        let least = if cx.since() == 1 { 1 } else { 0 };
        let most = match shape[axis] {
            Dim::Const(n) => n,
            Dim::Unknown | Dim::Expr(_) => i64::MAX,
        };
        if !(least..=most).contains(&k) {
            let message = if k < least {
                format!("invalid `K`: {k}")
            } else {
                format!("`K` is {k}, but the axis has {}", counted(most, "element"))
            };
            if cx.since() == 1 {
                return cx.fail_at_attr("k", message);
            }
            return cx.fail_at_input(1, &code::CONSTANT_INPUT, message);
        }
    }
    shape[axis] = count;
    cx.set_shape(0, shape.iter().copied());
    cx.set_shape(1, shape);
    top_elements(cx, axis, count)
}

/// The greatest elements and their positions, for rank 1.
fn top_elements(cx: &mut NodeCx<'_, '_>, axis: usize, count: Dim) -> Infer {
    let value = cx.value(0)?;
    if value.dims.len() != 1 || axis != 0 {
        return None;
    }
    let is_largest = if cx.since() < 11 { true } else { cx.int("largest")? != 0 };
    if cx.since() >= 11 && cx.int("sorted")? == 0 {
        return None;
    }
    let numbers = value.numbers()?;
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    // Equal elements keep their order.
    order.sort_by(|&a, &b| {
        let order = numbers[a].partial_cmp(&numbers[b]).unwrap_or(Ordering::Equal);
        if is_largest { order.reverse() } else { order }
    });
    if numbers.iter().any(|x| x.is_nan()) {
        return None;
    }
    order.truncate(extent(count)?);
    let elems = order.iter().map(|&i| value.elems[i]).collect();
    let positions = order.iter().map(|&i| i64::try_from(i).map_or(Dim::Unknown, Dim::Const));
    let positions = SmallTensor::list(positions);
    let value = SmallTensor::new([order.len()], elems)?;
    cx.set_value(0, value);
    cx.set_value(1, positions);
    Some(())
}

/// Triples of batch, class and box indices.
pub(super) fn non_max_suppression(cx: &mut NodeCx<'_, '_>) -> Infer {
    if let Some(form) = cx.int("center_point_box")
        && !(0..=1).contains(&form)
    {
        return cx
            .fail_at_attr("center_point_box", format!("`center_point_box` must be 0 or 1, but is {form}"));
    }
    let count = cx.fresh(0);
    cx.set_shape(0, [count, Dim::Const(3)]);
    let known = |cx: &mut NodeCx<'_, '_>, i: usize| match cx.rank(i) {
        Some(_) => cx.shape_of_rank(i, 3).map(Some),
        None => Some(None),
    };
    let (boxes, scores): (Option<Shape>, Option<Shape>) = (known(cx, 0)?, known(cx, 1)?);
    if let Some(boxes) = &boxes
        && let Dim::Const(n) = boxes[2]
        && n != 4
    {
        return cx.fail_at_input(
            0,
            &code::SHAPE_PRECONDITION,
            format!("a box must have 4 elements, but has {n}"),
        );
    }
    let (boxes, scores) = (boxes?, scores?);
    cx.equate((0, boxes[0]), (1, scores[0]), |a, b| {
        format!("conflicting batch sizes: scores have {b}, boxes have {a}")
    })?;
    cx.equate((0, boxes[1]), (1, scores[2]), |a, b| {
        format!("scores for {}, but there are {a}", counted(b, "box"))
    })?;
    Some(())
}
