//! Broadcasting (Broadcasting.md, and the rules of earlier versions).

use crate::dims::Dim;
use crate::engine::rule::axes::type_text;
use crate::engine::{Infer, NodeCx};
use crate::facts::Shape;
use onnx_ir::diag::{Diagnostic, code};

/// The output has the common shape that all inputs broadcast to: since version 7, and version 8 for variadic operators.
pub(crate) fn broadcast(cx: &mut NodeCx<'_, '_>) -> Infer {
    let is_variadic = cx.schema().inputs.len() == 1;
    let shape = if is_variadic && cx.since() < 8 {
        all_equal(cx)?
    } else if !is_variadic && cx.since() < 7 {
        placed(cx)?
    } else {
        let inputs: Vec<usize> = (0..cx.input_count()).collect();
        cx.broadcast(&inputs)?
    };
    cx.set_shape(0, shape);
    Some(())
}

/// The common shape of all inputs, completed from each of them.
fn all_equal(cx: &mut NodeCx<'_, '_>) -> Option<Shape> {
    let known: Vec<(usize, Shape)> = (0..cx.input_count()).filter_map(|i| Some((i, cx.shape(i)?))).collect();
    let mut known = known.into_iter();
    let (first, mut shape) = known.next()?;
    for (i, other) in known {
        shape = equal(cx, (first, shape), (i, other))?;
    }
    Some(shape)
}

/// Two shapes that must be equal.
fn equal(cx: &mut NodeCx<'_, '_>, (i, a): (usize, Shape), (j, b): (usize, Shape)) -> Option<Shape> {
    if a.len() != b.len() {
        let message = format!(
            "this version of `{}` expects equal shapes, but the ranks are {} and {}",
            cx.op(),
            a.len(),
            b.len()
        );
        conflict(cx, i, j, message)?;
        return None;
    }
    let op = cx.op();
    let mut shape = Shape::new();
    for (&a, &b) in a.iter().zip(&b) {
        let message = |a: &str, b: &str| {
            format!("this version of `{op}` expects equal shapes, but has sizes {a} and {b}")
        };
        shape.push(cx.equate((i, a), (j, b), message)?);
    }
    Some(shape)
}

/// Before version 7: the output has the shape of the first input. With `broadcast = 1`, the axes of the second one begin at
/// `axis`, or end at the last one, or it has one element; otherwise, both shapes are equal.
fn placed(cx: &mut NodeCx<'_, '_>) -> Option<Shape> {
    if cx.int("broadcast")? == 0 {
        return all_equal(cx);
    }
    let mut shape = cx.shape(0)?;
    let Some(second) = cx.shape(1) else { return Some(shape) };
    if second.iter().all(|&d| d == Dim::Const(1)) {
        return Some(shape);
    }
    let Some(spare) = shape.len().checked_sub(second.len()) else {
        let message = format!("cannot broadcast rank {} to rank {}", second.len(), shape.len());
        conflict(cx, 0, 1, message)?;
        return None;
    };
    let start = if cx.has_attr("axis") {
        let Some(axis) = cx.int("axis") else { return Some(shape) };
        let place = cx.at_attr("axis");
        let start = cx.axis(axis, shape.len(), place)?;
        if start > spare {
            let message =
                format!("cannot broadcast rank {} from axis {axis} on to rank {}", second.len(), shape.len());
            conflict(cx, 0, 1, message)?;
            return None;
        }
        start
    } else {
        spare
    };
    for (at, &d) in second.iter().enumerate().filter(|(_, d)| matches!(d, Dim::Const(n) if *n != 1)) {
        let message = |a: &str, b: &str| format!("cannot broadcast {b} to {a}");
        shape[start + at] = cx.equate((0, shape[start + at]), (1, d), message)?;
    }
    Some(shape)
}

/// The output has the shape of the first input, which the second one broadcasts to.
pub(crate) fn one_sided(cx: &mut NodeCx<'_, '_>) -> Infer {
    let mut shape = cx.shape(0)?;
    if let Some(second) = cx.shape(1) {
        let Some(start) = shape.len().checked_sub(second.len()) else {
            let message = format!("cannot broadcast rank {} to rank {}", second.len(), shape.len());
            return conflict(cx, 0, 1, message);
        };
        for (at, &d) in second.iter().enumerate().filter(|(_, d)| matches!(d, Dim::Const(n) if *n != 1)) {
            let message = |a: &str, b: &str| format!("cannot broadcast {b} to {a}");
            shape[start + at] = cx.equate((0, shape[start + at]), (1, d), message)?;
        }
    }
    cx.set_shape(0, shape);
    Some(())
}

/// Reports at an input that its shape conflicts with that of another.
pub(crate) fn conflict(cx: &mut NodeCx<'_, '_>, cause: usize, input: usize, message: String) -> Infer {
    let [first, second] = [cause, input].map(|i| type_text(cx, i));
    let diagnostic = Diagnostic::new(&code::SHAPE_PRECONDITION, cx.at_input(input), message)
        .label(format!("this is {second}"))
        .related(cx.at_input(cause), format!("this is {first}"));
    cx.fail(diagnostic)
}
