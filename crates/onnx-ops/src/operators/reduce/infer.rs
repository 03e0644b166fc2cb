//! Reductions and cumulative operators.

use crate::dims::{Dim, Dims};
use crate::engine::rule::axes::{List, Param, mask, positions};
use crate::engine::{Infer, NodeCx};
use crate::facts::{Elem, Elems, Ints, Shape, SmallTensor};
use crate::operators::cast::infer::converted;
use crate::operators::elementwise::infer::{extents, larger, smaller};
use std::cmp::Ordering;

const AXES: Param = Param::new("axes", 1);

/// Before this version, the range of axes is not specified, and axes of a scalar are ignored.
const RANGE_SINCE: u32 = 11;

/// The reduced axes.
enum Reduced {
    /// Unknown axes, with their number if that is known.
    Unknown(Option<usize>),
    All,
    These(Vec<usize>),
}

/// An empty list means all axes, or no axis with `noop_with_empty_axes`. An empty attribute cannot be distinguished
/// from an omitted one.
fn reduced(cx: &mut NodeCx<'_, '_>, rank: Option<usize>) -> Option<Reduced> {
    let axes = match AXES.list(cx) {
        List::Unknown(Some(0)) => Ints::new(),
        List::Unknown(count) => return Some(Reduced::Unknown(count)),
        List::Known(axes) => axes,
        List::Absent => Ints::new(),
    };
    if axes.is_empty() {
        let is_noop =
            cx.schema().attr("noop_with_empty_axes").is_some() && cx.int("noop_with_empty_axes")? != 0;
        return Some(if is_noop { Reduced::These(Vec::new()) } else { Reduced::All });
    }
    let place = AXES.place(cx);
    let Some(rank) = rank else { return Some(Reduced::Unknown(Some(axes.len()))) };
    if rank == 0 && cx.since() < RANGE_SINCE {
        return Some(Reduced::All);
    }
    Some(Reduced::These(positions(cx, &axes, rank, place)?.into_vec()))
}

/// Reduced axes have size 1, or are removed if `keepdims` is 0. Returns the reduced axes.
fn reduce_shape(cx: &mut NodeCx<'_, '_>) -> Option<Vec<usize>> {
    let shape = cx.shape(0);
    let reduced = reduced(cx, shape.as_ref().map(|s| s.len()))?;
    let keeps = cx.int("keepdims")? != 0;
    let axes = match (reduced, &shape) {
        (Reduced::All, None) if !keeps => {
            cx.set_shape(0, []);
            return None;
        }
        (_, None) => return None,
        (Reduced::All, Some(shape)) => (0..shape.len()).collect(),
        (Reduced::These(axes), Some(_)) => axes,
        (Reduced::Unknown(_), Some(shape)) if keeps => {
            let dims: Shape =
                shape.iter().map(|&d| if d == Dim::Const(1) { d } else { cx.fresh(0) }).collect();
            cx.set_shape(0, dims);
            return None;
        }
        // Several unknown axes may be the same one.
        (Reduced::Unknown(Some(1)), Some(shape)) => {
            let dims = cx.fresh_shape(0, shape.len().checked_sub(1)?);
            cx.set_shape(0, dims);
            return None;
        }
        (Reduced::Unknown(_), Some(_)) => return None,
    };
    let shape = shape?;
    let gone = mask(&axes, shape.len());
    let dims = shape.iter().zip(gone).filter_map(|(&d, is_gone)| match is_gone {
        true => keeps.then_some(Dim::Const(1)),
        false => Some(d),
    });
    cx.set_shape(0, dims.collect::<Shape>());
    Some(axes)
}

pub(crate) fn reduce(cx: &mut NodeCx<'_, '_>) -> Infer {
    reduce_shape(cx).map(|_| ())
}

pub(crate) fn reduce_max(cx: &mut NodeCx<'_, '_>) -> Infer {
    reduce_elements(cx, None, larger)
}

pub(crate) fn reduce_min(cx: &mut NodeCx<'_, '_>) -> Infer {
    reduce_elements(cx, None, smaller)
}

pub(crate) fn reduce_product(cx: &mut NodeCx<'_, '_>) -> Infer {
    reduce_elements(cx, Some(1), |dims, a, b| integers(dims, a, b, Dims::mul))
}

pub(crate) fn reduce_sum(cx: &mut NodeCx<'_, '_>) -> Infer {
    reduce_elements(cx, Some(0), |dims, a, b| integers(dims, a, b, Dims::add))
}

/// Sums and products of floating-point numbers depend on an unspecified order.
fn integers(dims: &mut Dims, a: Elem, b: Elem, f: impl Fn(&mut Dims, Dim, Dim) -> Dim) -> Elem {
    match (a, b) {
        (Elem::Int(a), Elem::Int(b)) => Elem::Int(f(dims, a, b)),
        _ => Elem::Unknown,
    }
}

/// `of_none` is the result for an empty reduction.
fn reduce_elements(
    cx: &mut NodeCx<'_, '_>,
    of_none: Option<i64>,
    f: impl Fn(&mut Dims, Elem, Elem) -> Elem,
) -> Infer {
    let axes = reduce_shape(cx)?;
    let keeps = cx.int("keepdims")? != 0;
    let (value, to) = (cx.value(0)?, cx.elem(0)?);
    let extents = extents(cx, 0)?;
    let of_none = of_none.map_or(Elem::Unknown, |n| converted(cx.dims(), Elem::Int(Dim::Const(n)), to));
    let mut folded: Vec<Option<Elem>> = vec![None; extents.iter().product()];
    let gone = mask(&axes, value.dims.len());
    let kept = |axis: &usize| keeps || !gone[*axis];
    SmallTensor::from_fn(value.dims.iter().copied(), |at| {
        let mut target = 0;
        for (axis, &i) in at.iter().enumerate().filter(|(axis, _)| kept(axis)) {
            target = if gone[axis] { target } else { target * value.dims[axis] + i };
        }
        let elem = value.broadcast_at(at).unwrap_or(Elem::Unknown);
        if let Some(place) = folded.get_mut(target) {
            *place = Some(place.map_or(elem, |old| f(cx.dims(), old, elem)));
        }
        Elem::Int(Dim::Const(0))
    })?;
    let elems = folded.into_iter().map(|e| converted(cx.dims(), e.unwrap_or(of_none), to)).collect();
    let value = SmallTensor::new(extents, elems)?;
    cx.set_value(0, value);
    Some(())
}

pub(crate) fn arg_max(cx: &mut NodeCx<'_, '_>) -> Infer {
    arg_extreme(cx, Ordering::Greater)
}

pub(crate) fn arg_min(cx: &mut NodeCx<'_, '_>) -> Infer {
    arg_extreme(cx, Ordering::Less)
}

fn arg_extreme(cx: &mut NodeCx<'_, '_>, wanted: Ordering) -> Infer {
    let mut shape = cx.shape(0)?;
    if shape.is_empty() && cx.since() < RANGE_SINCE {
        cx.set_shape(0, []);
        return Some(());
    }
    let axis = cx.int("axis")?;
    let place = cx.at_attr("axis");
    let axis = cx.axis(axis, shape.len(), place)?;
    if cx.int("keepdims")? != 0 {
        shape[axis] = Dim::Const(1);
    } else {
        shape.remove(axis);
    }
    cx.set_shape(0, shape);
    let is_last = cx.schema().attr("select_last_index").is_some() && cx.int("select_last_index")? != 0;
    let value = cx.value(0)?;
    if value.dims.len() != 1 {
        return None;
    }
    let numbers = value.numbers()?;
    let mut best = 0;
    for i in 1..numbers.len() {
        let order = numbers[i].partial_cmp(&numbers[best])?;
        if order == wanted || is_last && order == Ordering::Equal {
            best = i;
        }
    }
    numbers.first()?;
    let elem = Elem::Int(Dim::Const(i64::try_from(best).ok()?));
    let value = SmallTensor::new(extents(cx, 0)?, Elems::from_slice(&[elem]))?;
    cx.set_value(0, value);
    Some(())
}

pub(crate) fn cumulative_sum(cx: &mut NodeCx<'_, '_>) -> Infer {
    cumulate(cx, 0, Dims::add)
}

pub(crate) fn cumulative_product(cx: &mut NodeCx<'_, '_>) -> Infer {
    cumulate(cx, 1, Dims::mul)
}

/// The axis is a scalar; runtimes accept rank 1 as well.
fn cumulate(cx: &mut NodeCx<'_, '_>, neutral: i64, f: impl Fn(&mut Dims, Dim, Dim) -> Dim) -> Infer {
    let shape = cx.shape(0)?;
    cx.set_shape(0, shape.iter().copied());
    if cx.rank(1).is_some() {
        let shape = cx.shape_of_ranks(1, 0, Some(1))?;
        if let [Dim::Const(n)] = shape[..]
            && n != 1
        {
            return cx.shape_of_rank(1, 0).map(|_| ());
        }
    }
    let axis = *cx.ints_of(1)?.first()?;
    let place = cx.at_input(1);
    let axis = cx.axis(axis, shape.len(), place)?;
    let (is_reverse, is_exclusive) = (cx.int("reverse")? != 0, cx.int("exclusive")? != 0);
    let (value, to) = (cx.value(0)?, cx.elem(0)?);
    let len = *value.dims.get(axis)?;
    let stride: usize = value.dims[axis + 1..].iter().product();
    let mut elems = Elems::from_elem(Elem::Unknown, value.elems.len());
    for line in 0..value.elems.len().checked_div(len).unwrap_or(0) {
        let first = line / stride * stride * len + line % stride;
        let mut sum = Dim::Const(neutral);
        for i in 0..len {
            let at = first + stride * if is_reverse { len - 1 - i } else { i };
            let next = f(cx.dims(), sum, value.elems[at].int());
            let shown = if is_exclusive { sum } else { next };
            elems[at] = converted(cx.dims(), Elem::Int(shown), to);
            sum = next;
        }
    }
    let value = SmallTensor::new(value.dims.iter().copied(), elems)?;
    cx.set_value(0, value);
    Some(())
}
