//! Attributes of sliding windows over spatial axes: kernel shape, strides, dilations, pads.

use super::Call;
use crate::failure::{Failure, fail};

/// One number per spatial axis.
fn per_axis(call: &Call<'_>, name: &str, rank: usize, default: i64, least: i64) -> Result<Vec<i64>, Failure> {
    let all = call.attrs.ints(name).filter(|all| !all.is_empty()).unwrap_or_else(|| vec![default; rank]);
    if all.len() != rank {
        fail!("attribute `{name}` has {} numbers for {rank} spatial axes", all.len());
    }
    // Far beyond any tensor, so that a product of two numbers does not overflow.
    if let Some(outside) = all.iter().find(|n| **n < least || **n > i64::from(i32::MAX)) {
        fail!("attribute `{name}` cannot hold {outside}");
    }
    Ok(all)
}

/// The stride along each axis.
pub(super) fn strides(call: &Call<'_>, rank: usize) -> Result<Vec<i64>, Failure> {
    per_axis(call, "strides", rank, 1, 1)
}

/// The dilation along each axis.
pub(super) fn dilations(call: &Call<'_>, rank: usize) -> Result<Vec<i64>, Failure> {
    per_axis(call, "dilations", rank, 1, 1)
}

/// The padding before and after each axis; negative numbers crop.
pub(super) fn pads(call: &Call<'_>, rank: usize) -> Result<Vec<(i64, i64)>, Failure> {
    let all = per_axis(call, "pads", 2 * rank, 0, -i64::from(i32::MAX))?;
    let (before, behind) = all.split_at(rank);
    Ok(before.iter().copied().zip(behind.iter().copied()).collect())
}

/// A size as `i64`, small enough for arithmetic.
pub(super) fn long(extent: usize) -> Result<i64, Failure> {
    match i32::try_from(extent) {
        Ok(extent) => Ok(i64::from(extent)),
        Err(_) => fail!("a window over an axis of {extent} is too much"),
    }
}

/// Sizes as `i64`.
pub(super) fn longs(extents: &[usize]) -> Result<Vec<i64>, Failure> {
    extents.iter().map(|&extent| long(extent)).collect()
}
