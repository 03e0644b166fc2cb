//! A shape split at one axis.

use onnx_loops::failure::Failure;
use onnx_loops::tensor::count_of;

/// The elements around an axis: `outer` runs of `extent` slices of `inner` elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AxisSplit {
    pub(crate) outer: usize,
    pub(crate) extent: usize,
    pub(crate) inner: usize,
}

impl AxisSplit {
    /// `axis` must be an axis of the shape.
    pub(crate) fn of(dims: &[usize], axis: usize) -> Result<AxisSplit, Failure> {
        Ok(AxisSplit {
            outer: count_of(&dims[..axis])?,
            extent: dims[axis],
            inner: count_of(&dims[axis + 1..])?,
        })
    }

    /// The start of each line along the axis, whose elements are `inner` apart. Empty if there are no elements.
    pub(crate) fn lines(self) -> impl Iterator<Item = usize> {
        let outer = if self.extent == 0 || self.inner == 0 { 0 } else { self.outer };
        (0..outer).flat_map(move |o| (0..self.inner).map(move |i| o * self.extent * self.inner + i))
    }
}
