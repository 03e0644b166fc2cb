//! A shape split at one axis.

use crate::failure::Failure;
use crate::tensor::count_of;

/// The elements around an axis: `outer` runs of `extent` slices of `inner` elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct AxisSplit {
    pub(super) outer: usize,
    pub(super) extent: usize,
    pub(super) inner: usize,
}

impl AxisSplit {
    /// `axis` must be an axis of the shape.
    pub(super) fn of(dims: &[usize], axis: usize) -> Result<AxisSplit, Failure> {
        Ok(AxisSplit {
            outer: count_of(&dims[..axis])?,
            extent: dims[axis],
            inner: count_of(&dims[axis + 1..])?,
        })
    }

    /// The start of each line along the axis, whose elements are `inner` apart. Empty if there are no elements.
    pub(super) fn lines(self) -> impl Iterator<Item = usize> {
        let outer = if self.extent == 0 || self.inner == 0 { 0 } else { self.outer };
        (0..outer).flat_map(move |o| (0..self.inner).map(move |i| o * self.extent * self.inner + i))
    }
}
