//! Operators that concatenate, split, pad and crop tensors.

use crate::dims::Dim;
use crate::engine::rule::axes::{List, Param, int_or, positions, type_text};
use crate::engine::rule::broadcast::conflict;
use crate::engine::{Infer, NodeCx};
use crate::facts::{Elem, Elems, Shape, SmallTensor};
use crate::operators::elementwise::infer::{extent, extents};
use onnx_ir::diag::{Diagnostic, code, counted};
use smallvec::SmallVec;
use std::sync::Arc;

/// Sizes add up along the axis, which is 1 by default in the first version. All other axes are equal, and complete each
/// other.
pub(super) fn concat(cx: &mut NodeCx<'_, '_>) -> Infer {
    let shapes: Vec<Option<Shape>> = (0..cx.input_count()).map(|i| cx.shape(i)).collect();
    let (first, mut shape) = shapes.iter().enumerate().find_map(|(i, s)| Some((i, s.clone()?)))?;
    let place = cx.at_attr("axis");
    let axis = int_or(cx, "axis", 1)?;
    let axis = cx.axis(axis, shape.len(), place)?;
    let mut sum = if shapes[..first].is_empty() { Dim::Const(0) } else { Dim::Unknown };
    // The input that determines each dimension.
    let mut says = vec![first; shape.len()];
    for (i, other) in shapes.iter().enumerate().skip(first) {
        let Some(other) = other else {
            sum = Dim::Unknown;
            continue;
        };
        if other.len() != shape.len() {
            let message = format!("the inputs have different ranks: {} and {}", other.len(), shape.len());
            return conflict(cx, first, i, message);
        }
        sum = cx.dims().add(sum, other[axis]);
        for at in (0..shape.len()).filter(|&at| at != axis) {
            let message = |a: &str, b: &str| format!("axis {at} has size {b}, but size {a} in another input");
            let both = cx.equate((says[at], shape[at]), (i, other[at]), message)?;
            if both != shape[at] {
                (shape[at], says[at]) = (both, i);
            }
        }
    }
    shape[axis] = sum;
    cx.set_shape(0, shape);
    concat_elements(cx, axis)
}

fn concat_elements(cx: &mut NodeCx<'_, '_>, axis: usize) -> Infer {
    let values: Vec<_> = (0..cx.input_count()).map(|i| cx.value(i)).collect();
    if values.iter().all(Option::is_none) {
        return None;
    }
    let ends: Vec<usize> = (0..cx.input_count())
        .scan(0usize, |end, i| {
            *end = end.checked_add(extent(*cx.ty(i).shape()?.get(axis)?)?)?;
            Some(*end)
        })
        .collect();
    if ends.len() != values.len() {
        return None;
    }
    let extents = extents(cx, 0)?;
    let value = match extents[..] {
        [count] if count <= SmallTensor::MAX_ELEMENTS && ends.last() == Some(&count) => {
            SmallTensor::new([count], joined(&values, &ends))?
        }
        _ => SmallTensor::from_fn(extents, |at| {
            let part = ends.partition_point(|&end| end <= at[axis]);
            let Some(Some(value)) = values.get(part) else { return Elem::Unknown };
            let mut at: SmallVec<[usize; 4]> = SmallVec::from_slice(at);
            at[axis] -= if part == 0 { 0 } else { ends[part - 1] };
            value.broadcast_at(&at).unwrap_or(Elem::Unknown)
        })?,
    };
    cx.set_value(0, value);
    Some(())
}

/// The concatenated elements of lists, which end at these positions.
fn joined(values: &[Option<Arc<SmallTensor>>], ends: &[usize]) -> Elems {
    let mut elems = Elems::new();
    for (value, &end) in values.iter().zip(ends) {
        let start = elems.len();
        match value {
            Some(value) if value.elems.len() == end - start => elems.extend_from_slice(&value.elems),
            Some(value) => {
                let elem = |at| value.broadcast_at(&[at]).unwrap_or(Elem::Unknown);
                elems.extend((0..end - start).map(elem));
            }
            None => elems.resize(end, Elem::Unknown),
        }
    }
    elems
}

const SIZES: Param = Param::new("split", 1);

/// Splits into given sizes, or into equal ones; since version 18, the last one may be smaller.
pub(super) fn split(cx: &mut NodeCx<'_, '_>) -> Infer {
    let count = cx.output_count();
    let sizes = part_sizes(cx);
    let is_counted = cx.schema().attr("num_outputs").is_some();
    if is_counted {
        check_part_count(cx, count)?;
    }
    let shape = cx.shape(0)?;
    let place = cx.at_attr("axis");
    let axis = int_or(cx, "axis", 0)?;
    let axis = cx.axis(axis, shape.len(), place)?;
    let sizes = match sizes {
        Some(sizes) => {
            let sizes = sizes.unwrap_or_else(|| Shape::from_elem(Dim::Unknown, count));
            given_sizes(cx, sizes, (axis, shape[axis]), count)?
        }
        None => equal_sizes(cx, (axis, shape[axis]), count, is_counted)?,
    };
    let mut start = Some(0);
    for (i, &size) in sizes.iter().enumerate() {
        let mut part = shape.clone();
        part[axis] = size;
        cx.set_shape(i, part);
        let at = start;
        start = at.and_then(|at: usize| at.checked_add(extent(size)?));
        if let (Some(at), Some(value)) = (at, cx.value(0))
            && let Some(extents) = extents(cx, i)
            && let Some(value) = SmallTensor::from_fn(extents, |position| {
                let mut source = position.to_vec();
                source[axis] += at;
                value.broadcast_at(&source).unwrap_or(Elem::Unknown)
            })
        {
            cx.set_value(i, value);
        }
    }
    Some(())
}

/// The sizes of the parts, as far as they are known; `None` if there are none. The first version has an attribute and an input.
fn part_sizes(cx: &mut NodeCx<'_, '_>) -> Option<Option<Shape>> {
    if cx.has_attr("split") || cx.schema().inputs.len() == 1 {
        return cx.has_attr("split").then(|| SIZES.extents(cx));
    }
    cx.has_input(1).then(|| cx.extents_of(1))
}

/// Since version 18, either sizes or the number of outputs must be given.
fn check_part_count(cx: &mut NodeCx<'_, '_>, count: usize) -> Infer {
    let by_size = cx.has_input(1);
    match cx.int("num_outputs") {
        Some(_) if by_size => {
            let place = cx.at_attr("num_outputs");
            let message = "`Split` accepts sizes or `num_outputs`, but not both";
            let diagnostic = Diagnostic::new(&code::ATTR_VALUE, place, message);
            cx.fail(diagnostic.related(cx.at_input(1), "the sizes"))
        }
        Some(n) if usize::try_from(n).ok() != Some(count) => cx.fail_at_attr(
            "num_outputs",
            format!("`num_outputs` is {n}, but the node has {}", counted(count, "output")),
        ),
        None if !by_size && !cx.has_attr("num_outputs") => {
            let message = "`Split` requires sizes or `num_outputs`";
            let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_op(), message);
            cx.fail(diagnostic.help(format!("add `num_outputs = {count}`")))
        }
        Some(_) | None => Some(()),
    }
}

fn given_sizes(
    cx: &mut NodeCx<'_, '_>,
    mut sizes: Shape,
    (axis, extent): (usize, Dim),
    count: usize,
) -> Option<Shape> {
    if sizes.len() != count {
        return SIZES
            .fail(cx, format!("{} for {}", counted(sizes.len(), "size"), counted(count, "output")))
            .and(None);
    }
    if let Some(Dim::Const(n)) = sizes.iter().find(|d| matches!(d, Dim::Const(n) if *n < 0)) {
        return SIZES.fail(cx, format!("negative size {n}")).and(None);
    }
    let known =
        sizes.iter().copied().filter(|&d| d != Dim::Unknown).fold(Dim::Const(0), |a, b| cx.dims().add(a, b));
    let holes: Vec<usize> = (0..count).filter(|&i| sizes[i] == Dim::Unknown).collect();
    match holes[..] {
        [] => {
            if cx.dims().equate(extent, known).is_err() {
                let [has, wants] = [extent, known].map(|d| {
                    let d = cx.dims().resolve(d);
                    cx.dims().text(d)
                });
                let message = format!("the sizes add up to {wants}, but axis {axis} has size {has}");
                return SIZES.fail_for(cx, message, 0).and(None);
            }
        }
        [hole] => sizes[hole] = cx.dims().sub(extent, known),
        _ => holes.iter().for_each(|&hole| sizes[hole] = cx.fresh(hole)),
    }
    Some(sizes)
}

fn equal_sizes(
    cx: &mut NodeCx<'_, '_>,
    (axis, extent): (usize, Dim),
    count: usize,
    is_last_smaller: bool,
) -> Option<Shape> {
    let parts = Dim::Const(i64::try_from(count).ok()?);
    let size = cx.dims().ceil_div(extent, parts);
    let others = cx.dims().mul(size, Dim::Const(i64::try_from(count).ok()? - 1));
    let last = cx.dims().sub(extent, others);
    let is_uneven = if is_last_smaller {
        cx.dims().upper_bound(last).is_some_and(|n| n < 0)
    } else {
        size_differs(size, last)
    };
    if is_uneven {
        let text = type_text(cx, 0);
        let message = format!("axis {axis} of {text} cannot be split into {}", counted(count, "part"));
        return cx.fail_at_input(0, &code::SHAPE_PRECONDITION, message).and(None);
    }
    if is_last_smaller {
        return Some((0..count).map(|i| if i + 1 == count { last } else { size }).collect());
    }
    let size = cx.dims().div_exact(extent, parts);
    Some(Shape::from_elem(size, count))
}

fn size_differs(size: Dim, last: Dim) -> bool {
    matches!((size, last), (Dim::Const(a), Dim::Const(b)) if a != b)
}

/// Checks the mode, which depends on the version.
fn check_pad_mode(cx: &mut NodeCx<'_, '_>) -> Infer {
    let modes: &[&'static str] = if cx.since() < 19 {
        &["constant", "reflect", "edge"]
    } else {
        &["constant", "reflect", "edge", "wrap"]
    };
    if cx.string("mode").is_some() {
        cx.one_of("mode", modes)?;
    }
    Some(())
}

/// The elements that are added (or removed if negative) before each axis and then after each.
pub(super) fn pad(cx: &mut NodeCx<'_, '_>) -> Infer {
    check_pad_mode(cx)?;
    let pads = Param::new(if cx.since() == 1 { "paddings" } else { "pads" }, 1);
    let amounts = pads.extents(cx);
    let Some(mut shape) = cx.shape(0) else {
        let amounts = amounts?;
        if !cx.has_input(3) {
            cx.set_rank(0, amounts.len() / 2);
        }
        return None;
    };
    let axes = match Param::new("axes", 3).list(cx) {
        List::Absent => (0..shape.len()).collect(),
        List::Known(axes) => {
            let place = cx.at_input(3);
            positions(cx, &axes, shape.len(), place)?
        }
        List::Unknown(_) => {
            let shape = cx.fresh_shape(0, shape.len());
            cx.set_shape(0, shape);
            return None;
        }
    };
    let Some(amounts) = amounts else {
        axes.iter().for_each(|&axis| shape[axis] = cx.fresh(0));
        cx.set_shape(0, shape);
        return None;
    };
    if amounts.len() != 2 * axes.len() {
        return pads.fail_for(
            cx,
            format!("{} for {}", counted(amounts.len(), "pad"), counted(axes.len(), "axis")),
            0,
        );
    }
    for (i, &axis) in axes.iter().enumerate() {
        let (before, behind) = (amounts[i], amounts[i + axes.len()]);
        let dim = shape[axis];
        if before == Dim::Unknown || behind == Dim::Unknown {
            shape[axis] = cx.fresh(0);
            continue;
        }
        let sum = cx.dims().add(before, behind);
        let padded = cx.dims().add(dim, sum);
        if matches!(padded, Dim::Const(n) if n < 0) {
            let [dim, sum] = [dim, sum].map(|d| cx.dims().text(d));
            return pads.fail_for(
                cx,
                format!("pads add {} to axis {axis} of size {dim}", counted(sum, "element")),
                0,
            );
        }
        shape[axis] = padded;
    }
    cx.set_shape(0, shape);
    Some(())
}

/// The second input holds the sizes of all axes, or of those in `axes`.
pub(super) fn center_crop_pad(cx: &mut NodeCx<'_, '_>) -> Infer {
    let sizes = crate::operators::shape::infer::shape_operand(cx, 1);
    let Some(mut shape) = cx.shape(0) else {
        if !cx.has_attr("axes") {
            cx.set_shape(0, sizes?);
        }
        return None;
    };
    let axes = if cx.has_attr("axes") {
        let axes = cx.ints("axes")?;
        let place = cx.at_attr("axes");
        cx.axes(&axes, shape.len(), place)?
    } else {
        (0..shape.len()).collect()
    };
    if let Some(sizes) = &sizes
        && sizes.len() != axes.len()
    {
        let message = format!("{} for {}", counted(sizes.len(), "size"), counted(axes.len(), "axis"));
        return conflict(cx, 0, 1, message);
    }
    for (i, &axis) in axes.iter().enumerate() {
        shape[axis] = match &sizes {
            Some(sizes) => sizes[i],
            None => cx.fresh(0),
        };
    }
    cx.set_shape(0, shape);
    Some(())
}
