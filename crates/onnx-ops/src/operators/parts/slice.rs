//! Slice: the elements from a start to an end, in steps, along each axis.
//!
//! Negative starts and ends count from the end of the axis; both are clamped. So
//! a dimension is
//!
//! ```text
//! [1 : 5]         of N     max(min(N-1, 4), 0)
//! [-1 : MIN : -1] of N     N
//! [::2]           of N     floor((N+1)/2)
//! ```

use crate::dims::{Dim, Dims};
use crate::engine::rule::axes::{List, Param, type_text};
use crate::engine::rule::broadcast::conflict;
use crate::engine::{Infer, NodeCx};
use crate::facts::{Elem, Shape, SmallTensor};
use crate::operators::elementwise::infer::extents;
use onnx_ir::diag::{Diagnostic, code, counted};
use smallvec::SmallVec;

const STARTS: Param = Param::new("starts", 1);
const ENDS: Param = Param::new("ends", 2);
const AXES: Param = Param::new("axes", 3);
/// Not an attribute: the first version has no steps.
const STEPS: usize = 4;

/// Numbers of at least this magnitude stand for the end of an axis, or its start if they are negative.
const FAR: i64 = i32::MAX as i64;

/// The range of one axis.
#[derive(Clone, Copy)]
struct Range {
    start: Dim,
    end: Dim,
    step: Dim,
}

pub(super) fn slice(cx: &mut NodeCx<'_, '_>) -> Infer {
    let (starts, ends) = (STARTS.extents(cx), ENDS.extents(cx));
    let count = starts.as_ref().or(ends.as_ref()).map(SmallVec::len);
    let steps = if cx.has_input(STEPS) { cx.extents_of(STEPS) } else { count.map(ones) };
    lengths(cx, &[(1, &starts), (2, &ends), (STEPS, &steps)])?;
    if let Some(steps) = &steps
        && steps.contains(&Dim::Const(0))
    {
        return cx.fail_at_input(STEPS, &code::CONSTANT_INPUT, "the step is 0".to_owned());
    }
    let input = cx.shape(0)?;
    let axes = match (AXES.list(cx), count) {
        (List::Known(axes), _) => axes,
        (List::Absent, Some(count)) => (0..i64::try_from(count).ok()?).collect(),
        (List::Absent, None) | (List::Unknown(_), _) => {
            // The sliced axes are unknown, so no dimension is known.
            let shape = cx.fresh_shape(0, input.len());
            cx.set_shape(0, shape);
            return None;
        }
    };
    if let Some(count) = count
        && axes.len() != count
    {
        return AXES.fail(cx, format!("{} for {count} starts", counted(axes.len(), "axis")));
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

/// Checks that starts, ends and steps have the same length.
fn lengths(cx: &mut NodeCx<'_, '_>, lists: &[(usize, &Option<Shape>)]) -> Infer {
    let mut known = lists.iter().filter_map(|(i, list)| Some((*i, list.as_ref()?.len())));
    let Some((first, count)) = known.next() else { return Some(()) };
    match known.find(|&(_, other)| other != count) {
        None => Some(()),
        Some((other, len)) if cx.since() >= 10 => {
            let (a, b) = (cx.param_name(first), cx.param_name(other));
            conflict(cx, first, other, format!("{b} has {}, but {a} has {count}", counted(len, "element")))
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
    /// The resulting size of an axis.
    fn extent(self, cx: &mut NodeCx<'_, '_>, of: Dim) -> Dim {
        let known = self.known_extent(cx.dims(), of);
        // If the axis is unknown, so is the result, except for constant ranges.
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
        let span = if step > 0 { self.forward(dims, of) } else { self.backward(dims, of) };
        let count = step.checked_abs().map_or(Dim::Unknown, |step| dims.ceil_div(span, Dim::Const(step)));
        dims.max(count, Dim::Const(0))
    }

    /// The length of a forward range, or a negative number if it is empty. If one of the two positions is clamped, the other one
    /// need not be.
    fn forward(self, dims: &mut Dims, of: Dim) -> Dim {
        let end = Position::of(dims, self.end);
        match Position::of(dims, self.start) {
            Position::Front(start) => {
                let rest = dims.sub(of, start);
                match end {
                    Position::Front(end) => {
                        let wanted = dims.sub(end, start);
                        dims.min(wanted, rest)
                    }
                    Position::End(end) => dims.sub(rest, end),
                    Position::BehindAll => rest,
                    Position::BeforeAll => Dim::Const(0),
                    Position::Unknown => Dim::Unknown,
                }
            }
            Position::End(start) => from_end(dims, start, end, of),
            Position::BeforeAll => from_end(dims, of, end, of),
            Position::BehindAll => Dim::Const(0),
            Position::Unknown => Dim::Unknown,
        }
    }

    /// Likewise backwards, from a start that is an element to an end that may be before the first one.
    fn backward(self, dims: &mut Dims, of: Dim) -> Dim {
        let last = dims.sub(of, Dim::Const(1));
        let start = match Position::of(dims, self.start) {
            Position::Front(start) => dims.min(start, last),
            Position::End(Dim::Const(1)) | Position::BehindAll => last,
            Position::End(start) => {
                let at = dims.sub(of, start);
                let at = dims.max(at, Dim::Const(0));
                dims.min(at, last)
            }
            Position::BeforeAll => dims.min(Dim::Const(0), last),
            Position::Unknown => Dim::Unknown,
        };
        let end = match Position::of(dims, self.end) {
            Position::Front(end) => end,
            Position::BehindAll => last,
            Position::End(end) => {
                let at = dims.sub(of, end);
                dims.max(at, Dim::Const(-1))
            }
            Position::BeforeAll => Dim::Const(-1),
            Position::Unknown => Dim::Unknown,
        };
        dims.sub(start, end)
    }
}

/// A start or end position.
#[derive(Clone, Copy)]
enum Position {
    /// Relative to the start of the axis.
    Front(Dim),
    /// Relative to the end of the axis.
    End(Dim),
    BeforeAll,
    BehindAll,
    Unknown,
}

impl Position {
    fn of(dims: &mut Dims, position: Dim) -> Position {
        match position {
            Dim::Const(n) if n >= FAR => Position::BehindAll,
            Dim::Const(n) if n <= -FAR => Position::BeforeAll,
            d if dims.lower_bound(d).is_some_and(|n| n >= 0) => Position::Front(d),
            d if dims.upper_bound(d).is_some_and(|n| n < 0) => Position::End(dims.neg(d)),
            _ => Position::Unknown,
        }
    }
}

/// The length between two positions, the first one relative to the end.
fn from_end(dims: &mut Dims, start: Dim, end: Position, of: Dim) -> Dim {
    match end {
        Position::Front(end) => {
            let (start, rest) = (dims.min(start, of), dims.sub(of, end));
            let rest = dims.max(rest, Dim::Const(0));
            dims.sub(start, rest)
        }
        Position::End(end) => {
            let (wanted, rest) = (dims.sub(start, end), dims.sub(of, end));
            dims.min(wanted, rest)
        }
        Position::BehindAll => dims.min(start, of),
        Position::BeforeAll => Dim::Const(0),
        Position::Unknown => Dim::Unknown,
    }
}

fn is_far(end: Dim) -> bool {
    matches!(end, Dim::Const(n) if n >= FAR)
}

/// The first element of a range that is not empty.
fn first(start: i64, of: i64, step: i64) -> i64 {
    let at = if start < 0 { start.saturating_add(of) } else { start };
    if step > 0 { at.max(0) } else { at.clamp(0, (of - 1).max(0)) }
}

/// The selected elements, if all positions are known.
fn elements(cx: &mut NodeCx<'_, '_>, ranges: &[Option<Range>]) -> Infer {
    let value = cx.value(0)?;
    let mut steps: SmallVec<[(i64, i64); 4]> = SmallVec::new();
    for (range, &extent) in ranges.iter().zip(&value.dims) {
        steps.push(match range {
            None => (0, 1),
            Some(range) => {
                let (Dim::Const(start), Dim::Const(step)) = (range.start, range.step) else { return None };
                (first(start, i64::try_from(extent).ok()?, step), step)
            }
        });
    }
    let mut source = vec![0; steps.len()];
    let value = SmallTensor::from_fn(extents(cx, 0)?, |at| {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of elements in the reference implementation.
    fn count(start: i64, end: i64, step: i64, of: i64) -> i64 {
        let at = |position: i64| if position < 0 { position.saturating_add(of) } else { position };
        let (start, end) = if step > 0 {
            (at(start).clamp(0, of), at(end).clamp(0, of))
        } else {
            (at(start).clamp(0, (of - 1).max(0)).min(of - 1), at(end).clamp(-1, of - 1))
        };
        let taken = |i: &i64| if step > 0 { *i < end } else { *i > end };
        let mut i = start;
        std::iter::from_fn(|| Some(i).filter(taken).inspect(|_| i += step)).count() as i64
    }

    #[test]
    fn extents_hold_for_every_size() {
        let mut dims = Dims::new();
        let n = dims.symbol("N");
        let mut positions: Vec<i64> = (-4..=4).collect();
        positions.extend([i64::MIN, i64::from(i32::MIN), i64::from(i32::MAX), i64::MAX]);
        for &start in &positions {
            for &end in &positions {
                for step in [-3, -2, -1, 1, 2, 3] {
                    let [from, to, by] = [start, end, step].map(Dim::Const);
                    let range = Range { start: from, end: to, step: by };
                    let symbolic = range.known_extent(&mut dims, n);
                    for of in 0..6 {
                        let wanted = count(start, end, step, of);
                        let known = range.known_extent(&mut dims, Dim::Const(of));
                        assert_eq!(known, Dim::Const(wanted), "[{start}:{end}:{step}] of {of}");
                        let found = dims.eval(symbolic, |_| Some(of));
                        assert_eq!(
                            found,
                            Some(wanted),
                            "[{start}:{end}:{step}] of {of}: {}",
                            dims.text(symbolic)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn common_slices_have_short_extents() {
        let mut dims = Dims::new();
        let n = dims.symbol("N");
        let mut is = |[start, end, step]: [i64; 3], wanted| {
            let [start, end, step] = [start, end, step].map(Dim::Const);
            let extent = Range { start, end, step }.known_extent(&mut dims, n);
            assert_eq!(extent, dims.parse(wanted), "{} is {wanted}", dims.text(extent));
        };
        is([0, i64::MAX, 1], "N");
        is([0, -1, 1], "max(N-1, 0)");
        is([1, -1, 1], "max(N-2, 0)");
        is([1, 5, 1], "max(min(N-1, 4), 0)");
        is([0, 5, 1], "min(N, 5)");
        is([-3, i64::MAX, 1], "min(N, 3)");
        is([-3, -1, 1], "max(min(N-1, 2), 0)");
        is([0, i64::MAX, 2], "floor((N+1)/2)");
        is([1, i64::MAX, 2], "floor(N/2)");
        is([-1, i64::MIN, -1], "N");
    }
}
