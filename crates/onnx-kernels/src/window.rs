//! Attributes of sliding windows over spatial axes: kernel shape, strides, dilations, pads.

use crate::Call;
use onnx_ir::diag::counted;
use onnx_loops::failure::{Failure, fail};
use onnx_ops::meaning::window;

/// Far beyond any tensor, so that a product of two numbers does not overflow.
const MAX_EXTENT: i64 = i32::MAX as i64;

fn per_axis(
    call: &Call<'_>,
    name: &str,
    count: usize,
    default: i64,
    least: i64,
) -> Result<Vec<i64>, Failure> {
    match window::per_axis(&call.attrs.reader(), name, count, default, least..=MAX_EXTENT) {
        Ok(list) => Ok(list),
        Err(why) => fail!("{why}"),
    }
}

/// The stride along each axis.
pub(crate) fn strides(call: &Call<'_>, rank: usize) -> Result<Vec<i64>, Failure> {
    per_axis(call, "strides", rank, 1, 1)
}

/// The dilation along each axis.
pub(crate) fn dilations(call: &Call<'_>, rank: usize) -> Result<Vec<i64>, Failure> {
    per_axis(call, "dilations", rank, 1, 1)
}

/// The padding before and after each axis; negative numbers crop.
pub(crate) fn pads(call: &Call<'_>, rank: usize) -> Result<Vec<(i64, i64)>, Failure> {
    let all = per_axis(call, "pads", 2 * rank, 0, -MAX_EXTENT)?;
    let (before, behind) = all.split_at(rank);
    Ok(before.iter().copied().zip(behind.iter().copied()).collect())
}

/// A size as `i64`, small enough for arithmetic.
pub(crate) fn long(extent: usize) -> Result<i64, Failure> {
    match i32::try_from(extent) {
        Ok(extent) => Ok(i64::from(extent)),
        Err(_) => fail!("a window over an axis of {extent} is too much"),
    }
}

/// Sizes as `i64`.
pub(crate) fn longs(extents: &[usize]) -> Result<Vec<i64>, Failure> {
    extents.iter().map(|&extent| long(extent)).collect()
}

/// The number of positions of a window on an axis: at least 0.
pub(crate) fn positions(
    extent: i64,
    pads: (i64, i64),
    (kernel, dilation): (i64, i64),
    stride: i64,
) -> Result<usize, Failure> {
    let span = window::span(kernel, dilation);
    match span.and_then(|span| window::positions(extent, pads, span, stride)) {
        Some(count) => Ok(usize::try_from(count).unwrap_or(0)),
        None => fail!("a window of {} with dilation {dilation} is too large", counted(kernel, "element")),
    }
}
