//! Interpolation along one axis.

use super::axis::{Axis, Weights};
use crate::axis_split::AxisSplit;
use onnx_loops::budget::spend;
use onnx_loops::failure::Failure;
use onnx_loops::list::{List, filled};
use onnx_loops::tensor::{NOWHERE, count_of};

/// The interpolation of one axis of an image.
pub(super) struct ResizeAxis {
    at: usize,
    from: usize,
    to: usize,
    taps: usize,
    /// Source elements and weights, for one element of the result after the other.
    elements: List<(usize, f64)>,
    /// Where those of each element of the result end.
    ends: List<usize>,
    /// Elements of the result outside the region of interest.
    outside: List<usize>,
}

impl ResizeAxis {
    /// `at` is the index of the axis in the image.
    pub(super) fn new(at: usize, axis: &Axis, weights: Weights) -> Result<ResizeAxis, Failure> {
        let (elements, ends) = weights.elements(axis.from)?;
        let (from, to, taps) = (axis.from, axis.to, weights.taps);
        Ok(ResizeAxis { at, from, to, taps, elements, ends, outside: weights.outside })
    }

    /// The index of the axis in the image, and the number of its elements.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn extent(&self) -> usize {
        self.from
    }

    /// The most source elements of an element of the result.
    pub(super) fn taps(&self) -> usize {
        self.taps
    }

    /// The source elements and weights of each element of the result.
    #[inline(always)]
    pub(super) fn rows(&self) -> impl Iterator<Item = &[(usize, f64)]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.elements[std::mem::replace(&mut start, end)..end])
    }

    /// Elements of the result outside the region of interest, in ascending order.
    pub(super) fn outside(&self) -> &[usize] {
        &self.outside
    }

    pub(super) fn is_outside(&self, at: usize) -> bool {
        self.outside.binary_search(&at).is_ok()
    }

    /// Interpolates `x`, an image of this shape, into `y`.
    pub(super) fn run(
        &self,
        x: &[f64],
        shape: &mut [usize],
        extrapolation: f64,
        y: &mut List<f64>,
    ) -> Result<(), Failure> {
        let from = AxisSplit::of(shape, self.at)?;
        let inner = from.inner;
        shape[self.at] = self.to;
        let count = count_of(shape)?;
        y.clear();
        y.reserve(count)?;
        spend(count.saturating_mul(self.taps))?;
        for x in x.chunks_exact(from.extent * inner) {
            let rows = self.rows();
            if inner == 1 {
                let sum =
                    |row: &[(usize, f64)]| row.iter().fold(0.0, |sum, &(tap, weight)| sum + weight * x[tap]);
                y.extend(rows.map(sum))?;
            } else {
                for row in rows {
                    let start = y.len();
                    y.resize(start + inner, 0.0)?;
                    let y = &mut y[start..];
                    for &(tap, weight) in row {
                        y.iter_mut().zip(&x[tap * inner..][..inner]).for_each(|(y, x)| *y += weight * x);
                    }
                }
            }
            let start = y.len() - self.to * inner;
            for &i in &self.outside {
                y[start + i * inner..][..inner].fill(extrapolation);
            }
        }
        Ok(())
    }
}

/// The row-major indices of the gathered elements, from the offsets along each axis.
pub(super) fn positions(offsets: &[List<Option<usize>>]) -> Result<List<usize>, Failure> {
    let mut all = filled(1, 0)?;
    for offsets in offsets {
        let count = all.len().saturating_mul(offsets.len());
        spend(count)?;
        for start in std::mem::replace(&mut all, List::with_room(count)?) {
            let place = |offset: &Option<usize>| match (start, offset) {
                (NOWHERE, _) | (_, None) => NOWHERE,
                (start, Some(offset)) => start + offset,
            };
            all.extend(offsets.iter().map(place))?;
        }
    }
    Ok(all)
}
