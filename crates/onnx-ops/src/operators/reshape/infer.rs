//! Operators that change the shape but not the elements.

use crate::dims::Dim;
use crate::engine::rule::axes::{List, Param, int_or, mask, positions, type_text};
use crate::engine::{Infer, NodeCx};
use crate::facts::{Shape, SmallTensor};
use crate::operators::elementwise::infer::extents;
use onnx_ir::diag::{Diagnostic, code};
use onnx_ir::diag::{counted, counted_are};
use smallvec::SmallVec;

const TARGET: Param = Param::new("shape", 1);
const AXES: Param = Param::new("axes", 1);

/// Sets the elements of the output to those of the input if the shape is known.
fn keep_elements(cx: &mut NodeCx<'_, '_>) -> Infer {
    let value = cx.value(0)?;
    let value = SmallTensor::new(extents(cx, 0)?, value.elems.clone())?;
    cx.set_value(0, value);
    Some(())
}

/// A target of 0 copies the dimension of the input at that axis unless `allowzero` is set; -1 is inferred from the rest.
///
/// ```text
/// float[N,8,8] to [0, -1]     float[N,64]
/// float[N,S,64] to [N, -1, 4, 16]     float[N,S,4,16]
/// ```
pub(super) fn reshape(cx: &mut NodeCx<'_, '_>) -> Infer {
    if cx.rank(TARGET_INPUT).is_some() {
        cx.shape_of_rank(TARGET_INPUT, 1)?;
    }
    let target = TARGET.extents(cx)?;
    let keeps_zero = int_or(cx, "allowzero", 0).map(|flag| flag != 0);
    let input = cx.shape(0);
    let plan = plan(cx, &target, input.as_deref(), keeps_zero)?;
    let shape = plan.solve(cx, input.as_deref())?;
    cx.set_shape(0, shape);
    keep_elements(cx)
}

/// The target input, since version 5.
const TARGET_INPUT: usize = 1;

/// A parsed target shape.
struct TargetShape {
    shape: Shape,
    /// The axis of -1.
    rest: Option<usize>,
    /// Unknown axes.
    holes: SmallVec<[usize; 4]>,
    /// Axes copied from the input.
    copied: SmallVec<[usize; 4]>,
}

fn plan(
    cx: &mut NodeCx<'_, '_>,
    target: &[Dim],
    input: Option<&[Dim]>,
    keeps_zero: Option<bool>,
) -> Option<TargetShape> {
    let mut plan = TargetShape {
        shape: Shape::from_slice(target),
        rest: None,
        holes: SmallVec::new(),
        copied: SmallVec::new(),
    };
    for (axis, &dim) in target.iter().enumerate() {
        match dim {
            Dim::Const(-1) if plan.rest.is_some() => {
                TARGET.fail(cx, "the target shape can contain only one -1".to_owned())?;
            }
            Dim::Const(-1) => plan.rest = Some(axis),
            Dim::Const(n) if n < 0 => TARGET.fail(cx, format!("invalid size {n} in the target shape"))?,
            Dim::Const(0) => match (keeps_zero, input) {
                (Some(true), _) => {}
                (None, _) => plan.holes.push(axis),
                (Some(false), None) => {
                    plan.shape[axis] = Dim::Unknown;
                    plan.copied.push(axis);
                }
                (Some(false), Some(input)) => {
                    let Some(&copy) = input.get(axis) else {
                        let message = format!(
                            "0 at position {axis} copies an axis of the input, which has rank {}",
                            input.len()
                        );
                        return TARGET.fail_for(cx, message, 0).and(None);
                    };
                    plan.shape[axis] = copy;
                    plan.copied.push(axis);
                }
            },
            Dim::Unknown => plan.holes.push(axis),
            Dim::Const(_) | Dim::Expr(_) => {}
        }
    }
    if keeps_zero == Some(true) && plan.rest.is_some() && target.contains(&Dim::Const(0)) {
        TARGET.fail(cx, "with `allowzero`, the target shape cannot contain both 0 and -1".to_owned())?;
    }
    Some(plan)
}

impl TargetShape {
    /// The shape with as many elements as the input.
    fn solve(mut self, cx: &mut NodeCx<'_, '_>, input: Option<&[Dim]>) -> Option<Shape> {
        let open: SmallVec<[usize; 4]> = self.holes.iter().copied().chain(self.rest).collect();
        let Some(input) = input else {
            for &hole in &self.holes {
                self.shape[hole] = cx.fresh(0);
            }
            if let Some(rest) = self.rest {
                self.shape[rest] = Dim::Unknown;
            }
            return Some(self.shape);
        };
        // Copied dimensions cancel, even if they are unknown.
        let of_input = kept(input, &self.copied);
        let without: SmallVec<[usize; 8]> = open.iter().chain(&self.copied).copied().collect();
        let of_target = kept(&self.shape, &without);
        let (total, given) = (cx.dims().product(&of_input), cx.dims().product(&of_target));
        match open[..] {
            [] => self.check(cx, total, given)?,
            [axis] => {
                if let (Dim::Const(total), Dim::Const(given)) = (total, given)
                    && given != 0
                    && total % given != 0
                {
                    return TARGET
                        .fail_for(
                            cx,
                            format!("{} not a multiple of {given}", counted_are(total, "element")),
                            0,
                        )
                        .and(None);
                }
                self.shape[axis] = cx.dims().div_exact(total, given);
            }
            _ => {
                for &axis in &open {
                    self.shape[axis] = cx.fresh(0);
                }
            }
        }
        Some(self.shape)
    }

    fn check(&mut self, cx: &mut NodeCx<'_, '_>, total: Dim, given: Dim) -> Infer {
        // If there are no elements, the other axes may have any size.
        let is_empty = self.copied.iter().any(|&axis| self.shape[axis] == Dim::Const(0));
        if is_empty
            || total == Dim::Unknown
            || given == Dim::Unknown
            || cx.dims().equate(total, given).is_ok()
        {
            return Some(());
        }
        let [has, wants] = [total, given].map(|d| {
            let d = cx.dims().resolve(d);
            cx.dims().text(d)
        });
        let what = if self.copied.is_empty() { "the input has" } else { "the other axes of the input have" };
        TARGET.fail_for(
            cx,
            format!("{what} {}, but the target shape has {wants}", counted(has, "element")),
            0,
        )
    }
}

/// The dimensions of all axes but some.
fn kept(shape: &[Dim], without: &[usize]) -> Vec<Dim> {
    let dims = shape.iter().zip(mask(without, shape.len()));
    dims.filter(|(_, is_gone)| !is_gone).map(|(&d, _)| d).collect()
}

/// Two axes: all before `axis`, and all from there on. Up to version 9, the axis cannot be negative.
pub(super) fn flatten(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.set_rank(0, 2);
    let shape = cx.shape(0)?;
    let axis = cx.int("axis")?;
    let rank = i64::try_from(shape.len()).ok()?;
    let least = if cx.since() < 11 { 0 } else { -rank };
    if !(least..=rank).contains(&axis) {
        let text = type_text(cx, 0);
        let diagnostic = Diagnostic::new(
            &code::ATTR_VALUE,
            cx.at_attr("axis"),
            format!("axis {axis} is out of range [{least}, {rank}]"),
        );
        return cx.fail(diagnostic.related(cx.at_input(0), format!("this is {text}")));
    }
    let axis = usize::try_from(if axis < 0 { axis + rank } else { axis }).ok()?;
    let (outer, inner) = shape.split_at(axis);
    let sides = [outer, inner].map(|side| cx.dims().product(side));
    cx.set_shape(0, sides);
    keep_elements(cx)
}

/// Without axes, all axes of size 1 are removed. For an empty list of axes as input, the reference keeps all axes, and
/// runtimes treat it as missing.
pub(super) fn squeeze(cx: &mut NodeCx<'_, '_>) -> Infer {
    let shape = cx.shape(0)?;
    let list = AXES.list(cx);
    let is_attr = cx.schema().inputs.len() == 1;
    let axes = match list {
        List::Known(axes) if !axes.is_empty() => axes,
        List::Unknown(count) => {
            // Several axes may be the same one.
            let rank = shape.len().checked_sub(count.filter(|&n| n == 1)?)?;
            let shape = cx.fresh_shape(0, rank);
            cx.set_shape(0, shape);
            return None;
        }
        List::Known(_) | List::Absent => {
            let is_one = |cx: &mut NodeCx<'_, '_>, d| cx.dims().known_equal(d, Dim::Const(1));
            let are_ones: Vec<bool> = shape.iter().map(|&d| is_one(cx, d)).collect::<Option<_>>()?;
            if are_ones.contains(&true) && matches!(list, List::Known(_)) && !is_attr {
                return None;
            }
            cx.set_shape(0, shape.into_iter().filter(|&d| d != Dim::Const(1)));
            return keep_elements(cx);
        }
    };
    let place = AXES.place(cx);
    let axes = positions(cx, &axes, shape.len(), place)?;
    for &axis in &axes {
        if cx.dims().equate(shape[axis], Dim::Const(1)).is_err() {
            let extent = cx.dims().text(shape[axis]);
            let message = format!("axis {axis} has size {extent}, but must have size 1");
            return cx.fail_at_input(0, &code::SHAPE_PRECONDITION, message);
        }
    }
    cx.set_shape(0, kept(&shape, &axes));
    keep_elements(cx)
}

/// Axes refer to the output.
pub(super) fn unsqueeze(cx: &mut NodeCx<'_, '_>) -> Infer {
    let input = cx.shape(0)?;
    let axes = match AXES.list(cx) {
        List::Known(axes) => axes,
        List::Unknown(count) => {
            let shape = cx.fresh_shape(0, input.len().checked_add(count?)?);
            cx.set_shape(0, shape);
            return None;
        }
        List::Absent => return None,
    };
    let rank = input.len() + axes.len();
    let place = AXES.place(cx);
    let axes = cx.axes(&axes, rank, place)?;
    let mut rest = input.into_iter();
    let shape: Shape = mask(&axes, rank)
        .into_iter()
        .map_while(|is_new| if is_new { Some(Dim::Const(1)) } else { rest.next() })
        .collect();
    cx.set_shape(0, shape);
    keep_elements(cx)
}
