//! Fourier transforms: DFT along an axis, STFT on frames of a signal.
//!
//! The last axis has size 1 for real numbers and 2 for complex ones.

mod fft;

use super::axis_split::AxisSplit;
use super::real::Real;
use super::{Call, Row, resolve_axis, row};
use crate::value::Value;
use fft::{Complex, FftPlan};
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, filled};
use onnx_loops::tensor::{Tensor, count_of};

pub(super) const ROWS: &[Row] = &[
    row("", "DFT", |call| if is_double(call)? { dft::<f64>(call) } else { dft::<f32>(call) }),
    row("", "STFT", |call| if is_double(call)? { stft::<f64>(call) } else { stft::<f32>(call) }),
];

fn is_double(call: &Call<'_>) -> Result<bool, Failure> {
    Ok(call.tensor(0)?.elem() == ElemType::DOUBLE)
}

/// Whether a tensor of this shape holds complex numbers.
fn is_complex(dims: &[usize]) -> Result<bool, Failure> {
    match dims.last() {
        Some(1) => Ok(false),
        Some(2) => Ok(true),
        Some(_) | None => fail!("the last axis of {dims:?} has to have 1 or 2 elements"),
    }
}

/// A length from an optional input.
fn length(call: &Call<'_>, input: usize, name: &str) -> Result<Option<usize>, Failure> {
    let Some(given) = call.optional_ints(input)? else { return Ok(None) };
    match given[..] {
        [n] if n > 0 => Ok(usize::try_from(n).ok()),
        _ => fail!("`{name}` has to be one positive number, not {given:?}"),
    }
}

/// Transforms an axis, truncated or zero-padded to the requested length.
fn dft<T: Real>(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let is_complex = is_complex(x.dims())?;
    let axis = match (call.since() < 20, call.optional_ints(2)?) {
        (true, _) => call.attrs.axis("axis", x.rank())?,
        (false, None) => resolve_axis(-2, x.rank())?,
        (false, Some(given)) => match given[..] {
            [axis] => resolve_axis(axis, x.rank())?,
            _ => fail!("the axis is one number, not {given:?}"),
        },
    };
    if axis + 1 == x.rank() {
        fail!("axis {axis} holds the parts of the numbers");
    }
    let (is_inverse, is_onesided) = (call.attrs.flag("inverse"), call.attrs.flag("onesided"));
    let is_real_result = is_inverse && is_onesided;
    let extent = x.dims()[axis];
    let n = match length(call, 1, "dft_length")? {
        Some(n) => n,
        None if is_real_result => extent.saturating_sub(1).saturating_mul(2),
        None => extent,
    };
    let kept = if is_onesided && !is_inverse { n / 2 + 1 } else { n };
    let parts = if is_real_result { 1 } else { 2 };
    let mut dims = x.dims().to_vec();
    dims[axis] = kept;
    dims[x.rank() - 1] = parts;
    let count = call.has_room(x.elem(), &dims)?;
    if count == 0 {
        return Ok(vec![Tensor::zeros(x.elem(), &dims)?.into()]);
    }
    let width = if is_complex { 2 } else { 1 };
    let from = AxisSplit::of(&x.dims()[..x.rank() - 1], axis)?;
    let plan = FftPlan::<T>::new(n)?;
    let numbers = T::numbers(x)?;
    let zero = T::of(0.0);
    let mut y = filled(count, zero)?;
    let mut line: List<Complex<T>> = filled(n, [zero; 2])?;
    // The missing half of a one-sided spectrum mirrors the other.
    let taken = from.extent.min(if is_real_result { n / 2 + 1 } else { n });
    for (outer, inner) in (0..from.outer).flat_map(|o| (0..from.inner).map(move |i| (o, i))) {
        spend(n)?;
        line.fill([zero; 2]);
        for (i, to) in line[..taken].iter_mut().enumerate() {
            let at = ((outer * from.extent + i) * from.inner + inner) * width;
            *to = [numbers[at], if is_complex { numbers[at + 1] } else { zero }];
        }
        if is_real_result {
            for i in n / 2 + 1..n {
                let [re, im] = line[n - i];
                line[i] = [re, -im];
            }
            // The first and middle coefficients of a real signal are real.
            line[0][1] = zero;
            if n.is_multiple_of(2) {
                line[n / 2][1] = zero;
            }
        }
        if is_inverse {
            plan.inverse(&mut line)?;
        } else {
            forward(&plan, is_complex, &mut line)?;
        }
        for (i, number) in line[..kept].iter().enumerate() {
            let at = ((outer * kept + i) * from.inner + inner) * parts;
            y[at..at + parts].copy_from_slice(&number[..parts]);
        }
    }
    Ok(vec![T::tensor(x.elem(), &dims, &y)?.into()])
}

/// Transforms real or complex numbers.
fn forward<T: Real>(plan: &FftPlan<T>, is_complex: bool, line: &mut [Complex<T>]) -> Result<(), Failure> {
    if is_complex {
        return plan.forward(line);
    }
    let n = line.len();
    let mut real = filled(n, T::of(0.0))?;
    real.iter_mut().zip(&*line).for_each(|(real, x)| *real = x[0]);
    plan.real(&real, &mut line[..n / 2 + 1])?;
    for i in n / 2 + 1..n {
        let [re, im] = line[n - i];
        line[i] = [re, -im];
    }
    Ok(())
}

/// Transforms windowed frames of a signal, `step` apart.
fn stft<T: Real>(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let (&[batch, samples, _] | &[batch, samples]) = x.dims() else {
        fail!("the shape {:?} is not one of signals", x.dims())
    };
    let is_complex = x.rank() == 3 && is_complex(x.dims())?;
    let Some(step) = length(call, 1, "frame_step")? else { fail!("`frame_step` is left out") };
    let window = match call.optional_tensor(2)? {
        Some(window) if window.rank() == 1 => Some(T::numbers(window)?),
        Some(window) => fail!("a window of shape {:?} is none", window.dims()),
        None => None,
    };
    let n = match length(call, 3, "frame_length")? {
        Some(n) => n,
        None => window.as_ref().map_or(samples, |window| window.len()),
    };
    if n == 0 {
        fail!("a frame has no samples");
    }
    let frames = match samples.checked_sub(n) {
        Some(rest) => rest / step + 1,
        None => fail!("a frame of {} does not fit a signal of {samples}", counted(n, "sample")),
    };
    let is_onesided = call.attrs.int("onesided").unwrap_or(1) != 0;
    let bins = if is_onesided { n / 2 + 1 } else { n };
    let dims = [batch, frames, bins, 2];
    call.has_room(x.elem(), &dims)?;
    let zero = T::of(0.0);
    let mut y = filled(count_of(&dims)?, zero)?;
    let plan = FftPlan::<T>::new(n)?;
    let numbers = T::numbers(x)?;
    let width = if is_complex { 2 } else { 1 };
    let mut line: List<Complex<T>> = filled(n, [zero; 2])?;
    for (row, y) in y.chunks_exact_mut(bins * 2).enumerate() {
        spend(n)?;
        let start = row / frames * samples + row % frames * step;
        for (i, to) in line.iter_mut().enumerate() {
            // A window shorter than the frame is padded with zeros.
            let weight = window.as_ref().map_or(T::of(1.0), |window| window.get(i).copied().unwrap_or(zero));
            let at = (start + i) * width;
            let im = if is_complex { numbers[at + 1] } else { zero };
            *to = [numbers[at] * weight, im * weight];
        }
        forward(&plan, is_complex, &mut line)?;
        for (to, number) in y.as_chunks_mut::<2>().0.iter_mut().zip(&line) {
            *to = *number;
        }
    }
    Ok(vec![T::tensor(x.elem(), &dims, &y)?.into()])
}
