//! Slice: of each axis, the elements from a start to an end in steps.
//!
//! Starts and ends count from the front, negative ones from the end of the axis; they are clamped to what there is. So
//! an extent is
//!
//! ```text
//! [1 : 5]         of N     max(min(N, 5) - 1, 0)
//! [-1 : MIN : -1] of N     N
//! [::2]           of N     floor((N+1)/2)
//! ```

use super::axes::{List, Param, type_text};
use super::broadcast::conflict;
use super::elementwise::extents;
use super::{Row, row};
use crate::dims::{Dim, Dims};
use crate::infer::{Elem, Infer, NodeCx, Shape, Value};
use onnx_ir::diag::{Diagnostic, code};
use smallvec::SmallVec;

pub(super) const ROWS: &[Row] = &[row("Slice", 1, slice)];

const STARTS: Param = Param::new("starts", 1);
const ENDS: Param = Param::new("ends", 2);
const AXES: Param = Param::new("axes", 3);
/// No attribute: the first version has no steps.
const STEPS: usize = 4;

/// Numbers from here on stand for the end of an axis, or its front if they are negative.
const FAR: i64 = i32::MAX as i64;

/// What is taken of one axis.
#[derive(Clone, Copy)]
struct Range {
    start: Dim,
    end: Dim,
    step: Dim,
}

fn slice(cx: &mut NodeCx<'_, '_>) -> Infer {
    let (starts, ends) = (STARTS.extents(cx), ENDS.extents(cx));
    let count = starts.as_ref().or(ends.as_ref()).map(SmallVec::len);
    let steps = if cx.has_input(STEPS) { cx.extents_of(STEPS) } else { count.map(ones) };
    lengths(cx, &[(1, &starts), (2, &ends), (STEPS, &steps)])?;
    if let Some(steps) = &steps
        && steps.contains(&Dim::Const(0))
    {
        return cx.fail_at_input(STEPS, &code::CONSTANT_INPUT, "a step of 0".to_owned());
    }
    let input = cx.shape(0)?;
    let axes = match AXES.list(cx) {
        List::Known(axes) => axes,
        List::Absent => (0..i64::try_from(count?).ok()?).collect(),
        List::Unknown(_) => {
            // Whichever axes these are, the others stay, but nobody knows which.
            let shape = cx.fresh_shape(0, input.len());
            cx.set_shape(0, shape);
            return None;
        }
    };
    if let Some(count) = count
        && axes.len() != count
    {
        return AXES.fail(cx, format!("{} axes for {count} starts", axes.len()));
    }
    let place = if cx.has_input(3) || cx.has_attr("axes") { AXES.place(cx) } else { STARTS.place(cx) };
    let axes = cx.axes(&axes, input.len(), place)?;
    let mut ranges: SmallVec<[Option<Range>; 4]> = SmallVec::from_elem(None, input.len());
    for (i, &axis) in axes.iter().enumerate() {
        let at = |list: &Option<Shape>| list.as_ref().and_then(|l| l.get(i)).copied().unwrap_or(Dim::Unknown);
        ranges[axis] = Some(Range { start: at(&starts), end: at(&ends), step: at(&steps) });
    }
    let mut shape = input.clone();
    for (dim, range) in shape.iter_mut().zip(&ranges) {
        if let Some(range) = range {
            *dim = range.extent(cx, *dim);
        }
    }
    cx.set_shape(0, shape);
    elements(cx, &ranges)
}

fn ones(count: usize) -> Shape {
    SmallVec::from_elem(Dim::Const(1), count)
}

/// Starts, ends and steps are as many as one another.
fn lengths(cx: &mut NodeCx<'_, '_>, lists: &[(usize, &Option<Shape>)]) -> Infer {
    let mut known = lists.iter().filter_map(|(i, list)| Some((*i, list.as_ref()?.len())));
    let Some((first, count)) = known.next() else { return Some(()) };
    match known.find(|&(_, other)| other != count) {
        None => Some(()),
        Some((other, len)) if cx.since() >= 10 => {
            let (a, b) = (cx.param_name(first), cx.param_name(other));
            conflict(cx, first, other, format!("{b} has {len} elements, and {a} has {count}"))
        }
        Some((_, len)) => {
            let text = type_text(cx, 0);
            let message = format!("{len} ends for {count} starts");
            let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_attr("ends"), message);
            cx.fail(diagnostic.related(cx.at_input(0), format!("this is {text}")))
        }
    }
}

impl Range {
    /// How much of an extent it takes.
    fn extent(self, cx: &mut NodeCx<'_, '_>, of: Dim) -> Dim {
        let known = self.known_extent(cx.dims(), of);
        // An end that is not known decides over extents that are; of unknown ones, nothing is known anyway.
        match known {
            Dim::Unknown if of != Dim::Unknown => cx.fresh(0),
            known => known,
        }
    }

    fn known_extent(self, dims: &mut Dims, of: Dim) -> Dim {
        let Dim::Const(step) = self.step else { return Dim::Unknown };
        if step == 1 && self.start == Dim::Const(0) && is_far(self.end) {
            return of;
        }
        let (start, end) = (self.first(dims, of, step), self.end(dims, of, step));
        let span = if step > 0 { dims.sub(end, start) } else { dims.sub(start, end) };
        let count = step.checked_abs().map_or(Dim::Unknown, |step| dims.ceil_div(span, Dim::Const(step)));
        dims.max(count, Dim::Const(0))
    }

    /// Where it begins, clamped to what there is.
    fn first(self, dims: &mut Dims, of: Dim, step: i64) -> Dim {
        let last = dims.sub(of, Dim::Const(1));
        let most = if step > 0 { of } else { last };
        match self.start {
            Dim::Const(n) if n >= FAR => most,
            Dim::Const(-1) if step < 0 => last,
            start if is_from_front(dims, start) => dims.min(start, most),
            start if is_from_end(dims, start) => {
                let at = dims.add(of, start);
                let at = dims.max(at, Dim::Const(0));
                // Backwards, nothing begins in an axis that is empty.
                if step > 0 { at } else { dims.min(at, last) }
            }
            _ => Dim::Unknown,
        }
    }

    /// Where it ends, clamped to what there is: behind the last element, or before the first one.
    fn end(self, dims: &mut Dims, of: Dim, step: i64) -> Dim {
        let last = dims.sub(of, Dim::Const(1));
        let (least, most) = if step > 0 { (Dim::Const(0), of) } else { (Dim::Const(-1), last) };
        match self.end {
            Dim::Const(n) if n >= FAR => most,
            Dim::Const(n) if n <= -FAR => least,
            end if is_from_front(dims, end) => dims.min(end, most),
            end if is_from_end(dims, end) => {
                let at = dims.add(of, end);
                dims.max(at, least)
            }
            _ => Dim::Unknown,
        }
    }
}

fn is_far(end: Dim) -> bool {
    matches!(end, Dim::Const(n) if n >= FAR)
}

fn is_from_front(dims: &Dims, position: Dim) -> bool {
    dims.lower_bound(position).is_some_and(|n| n >= 0)
}

fn is_from_end(dims: &Dims, position: Dim) -> bool {
    dims.upper_bound(position).is_some_and(|n| n < 0)
}

/// The elements that are taken, where all positions are known.
fn elements(cx: &mut NodeCx<'_, '_>, ranges: &[Option<Range>]) -> Infer {
    let value = cx.value(0)?;
    let mut steps: SmallVec<[(i64, i64); 4]> = SmallVec::new();
    for (range, &extent) in ranges.iter().zip(&value.dims) {
        steps.push(match range {
            None => (0, 1),
            Some(range) => {
                let (Dim::Const(step), of) = (range.step, i64::try_from(extent).ok()?) else { return None };
                let Dim::Const(first) = range.first(cx.dims(), Dim::Const(of), step) else { return None };
                (first, step)
            }
        });
    }
    let mut source = vec![0; steps.len()];
    let value = Value::from_fn(extents(cx, 0)?, |at| {
        for ((from, &i), &(first, step)) in source.iter_mut().zip(at).zip(&steps) {
            let offset =
                i64::try_from(i).ok().and_then(|i| i.checked_mul(step)).and_then(|o| o.checked_add(first));
            let Some(position) = offset.and_then(|o| usize::try_from(o).ok()) else { return Elem::Unknown };
            *from = position;
        }
        value.broadcast_at(&source).unwrap_or(Elem::Unknown)
    })?;
    cx.set_value(0, value);
    Some(())
}
