//! Fourier transforms, windows, mel filters.

use crate::dims::Dim;
use crate::engine::rule::axes::int_or;
use crate::engine::rule::fit::{Extent, flag, hold};
use crate::engine::{Infer, NodeCx};
use crate::facts::{Shape, dim_text, elem_text};
use onnx_ir::diag::{Diagnostic, code, counted};

/// The number in a scalar input, at least `least`; anonymous if it depends on data.
fn count(cx: &mut NodeCx<'_, '_>, input: usize, least: i64) -> Option<Dim> {
    if cx.rank(input).is_some() {
        cx.shape_of_rank(input, 0)?;
    }
    let known = cx.value(input).and_then(|value| value.single()).map_or(Dim::Unknown, |elem| elem.int());
    let known = cx.dims().resolve(known);
    if cx.dims().upper_bound(known).is_some_and(|most| most < least) {
        let (name, has) = (cx.param_name(input), dim_text(cx.dims(), known));
        let message = format!("{name} of `{}` must be at least {least}, but is {has}", cx.op());
        cx.fail_at_input(input, &code::CONSTANT_INPUT, message)?;
    }
    Some(if known == Dim::Unknown { cx.fresh(0) } else { known })
}

/// Sets the element type in `output_datatype`.
fn output_datatype(cx: &mut NodeCx<'_, '_>) -> Infer {
    let Some(number) = cx.int("output_datatype") else { return Some(()) };
    let elem = cx.elem_attr("output_datatype");
    let Some(elem) = elem.filter(|&e| cx.schema().output(0).is_some_and(|p| p.types.tensors.contains(e)))
    else {
        let name = elem.map_or_else(|| number.to_string(), elem_text);
        return cx.fail_at_attr("output_datatype", format!("`{}` cannot produce {name}", cx.op()));
    };
    cx.set_elem(0, elem);
    Some(())
}

pub(super) fn window(cx: &mut NodeCx<'_, '_>) -> Infer {
    output_datatype(cx)?;
    let size = count(cx, 0, 0)?;
    cx.set_shape(0, [size]);
    Some(())
}

/// `num_mel_bins, dft_length, sample_rate, …` to a matrix from frequencies to bins.
pub(super) fn mel(cx: &mut NodeCx<'_, '_>) -> Infer {
    output_datatype(cx)?;
    let bins = count(cx, 0, 1)?;
    let length = count(cx, 1, 1)?;
    for scalar in [2, 3, 4] {
        if cx.rank(scalar).is_some() {
            cx.shape_of_rank(scalar, 0)?;
        }
    }
    let frequencies = one_sided(cx, length);
    cx.set_shape(0, [frequencies, bins]);
    Some(())
}

/// The distinct frequencies of a transform of real numbers.
fn one_sided(cx: &mut NodeCx<'_, '_>, length: Dim) -> Dim {
    let half = cx.dims().floor_div(length, Dim::Const(2));
    cx.dims().add(half, Dim::Const(1))
}

/// The axis is an attribute.
pub(super) fn dft_17(cx: &mut NodeCx<'_, '_>) -> Infer {
    let axis = int_or(cx, "axis", 1);
    transform(cx, axis, "axis")
}

/// The axis is an input.
pub(super) fn dft(cx: &mut NodeCx<'_, '_>) -> Infer {
    if !cx.has_input(2) {
        return transform(cx, Some(-2), "axis");
    }
    if cx.rank(2).is_some() {
        cx.shape_of_rank(2, 0)?;
    }
    let axis = cx.ints_of(2).and_then(|list| list.first().copied());
    transform(cx, axis, "axis")
}

/// `input, dft_length`; the last axis of the input holds real and imaginary parts.
fn transform(cx: &mut NodeCx<'_, '_>, axis: Option<i64>, name: &str) -> Infer {
    flag(cx, "inverse")?;
    flag(cx, "onesided")?;
    let (inverse, one_sided_of) = (int_or(cx, "inverse", 0), int_or(cx, "onesided", 0));
    let is_real_result = match (inverse, one_sided_of) {
        (Some(0), _) | (_, Some(0)) => Some(false),
        (Some(_), Some(_)) => Some(true),
        (None, _) | (_, None) => None,
    };
    let given = if cx.has_input(1) { Some(count(cx, 1, 1)?) } else { None };
    let shape = cx.shape_of_ranks(0, 2, None)?;
    let rank = shape.len();
    let parts = shape[rank - 1];
    complex_parts(cx, parts, inverse, one_sided_of)?;
    let mut output = shape.clone();
    output[rank - 1] = match is_real_result {
        Some(true) => Dim::Const(1),
        Some(false) => Dim::Const(2),
        None => Dim::Unknown,
    };
    let Some(axis) = axis else {
        // It is unknown which axis changes, if one does.
        if given.is_some() || one_sided_of != Some(0) {
            for dim in &mut output[..rank - 1] {
                *dim = cx.fresh(0);
            }
        }
        cx.set_shape(0, output);
        return Some(());
    };
    let place = if cx.since() < 20 { cx.at_attr(name) } else { cx.at_input(2) };
    let axis_at = if cx.since() >= 20 && !cx.has_input(2) { rank - 2 } else { cx.axis(axis, rank, place)? };
    if axis_at == rank - 1 {
        let code = if cx.since() < 20 { &code::ATTR_VALUE } else { &code::CONSTANT_INPUT };
        let message = format!("axis {axis} holds the real and imaginary parts");
        return cx.fail(Diagnostic::new(code, place, message).label(format!("the rank is {rank}")));
    }
    let signal = shape[axis_at];
    output[axis_at] = match (is_real_result, one_sided_of) {
        (Some(true), _) => given.unwrap_or_else(|| {
            let before = cx.dims().sub(signal, Dim::Const(1));
            cx.dims().mul(before, Dim::Const(2))
        }),
        (Some(false), Some(0)) => given.unwrap_or(signal),
        (Some(false), Some(_)) => one_sided(cx, given.unwrap_or(signal)),
        (None, _) | (Some(false), None) => Dim::Unknown,
    };
    cx.set_shape(0, output);
    Some(())
}

/// The input is real or complex; one-sided transforms convert between the two.
fn complex_parts(cx: &mut NodeCx<'_, '_>, parts: Dim, inverse: Option<i64>, one_sided: Option<i64>) -> Infer {
    let Some(parts) = cx.dims().as_const(parts) else { return Some(()) };
    let message = match (inverse, one_sided) {
        _ if parts != 1 && parts != 2 => {
            format!("the last axis must have size 1 (real) or 2 (complex), but has size {parts}")
        }
        (Some(0), Some(1)) if parts == 2 => "a one-sided transform needs a real input".to_owned(),
        (Some(1), Some(1)) if parts == 1 => {
            "the inverse of a one-sided transform needs a complex input".to_owned()
        }
        _ => return Some(()),
    };
    cx.fail_at_input(0, &code::SHAPE_PRECONDITION, message)
}

/// `signal, frame_step, window, frame_length` to `batch, frames, frequencies, 2`.
pub(super) fn stft(cx: &mut NodeCx<'_, '_>) -> Infer {
    flag(cx, "onesided")?;
    let step = count(cx, 1, 1)?;
    let signal = match cx.rank(0) {
        // Real signals may omit the last axis.
        Some(_) => Some(cx.shape_of_ranks(0, 2, Some(3))?),
        None => None,
    };
    let [batch, length] = signal.as_ref().map_or([Dim::Unknown; 2], |s| [s[0], s[1]]);
    let mut frame = Extent::unknown("frame length");
    if cx.has_input(3) {
        frame = Extent::of_input("frame length", 3, count(cx, 3, 1)?);
    }
    if cx.has_input(2) {
        hold(cx, 2, &mut [&mut frame])?;
    } else if !cx.has_input(3) {
        frame = Extent::of_input("frame length", 0, length);
    }
    let frame = frame.dim;
    let slack = cx.dims().sub(length, frame);
    if cx.dims().upper_bound(slack).is_some_and(|most| most < 0) {
        let [frame, length] = [frame, length].map(|d| dim_text(cx.dims(), d));
        let message = format!("a frame has {}, but the signal has {length}", counted(frame, "sample"));
        return cx.fail_at_input(0, &code::SHAPE_PRECONDITION, message);
    }
    let steps = cx.dims().floor_div(slack, step);
    let frames = cx.dims().add(steps, Dim::Const(1));
    let frequencies = match int_or(cx, "onesided", 1) {
        Some(0) => frame,
        Some(_) => one_sided(cx, frame),
        None => Dim::Unknown,
    };
    let output: Shape = [batch, frames, frequencies, Dim::Const(2)].into_iter().collect();
    cx.set_shape(0, output);
    Some(())
}
