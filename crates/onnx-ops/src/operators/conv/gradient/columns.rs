//! The gradient of the weights of a convolution as one product of matrices.
//!
//! As a convolution, its kernel would be as large as the image, for which few kernels are fast. Here the elements that each weight meets are
//! a column: `[filters, batch * places]` times `[batch * places, weights of a filter]`.

use super::weights::SpatialTensor;
use crate::gradient::Cell;
use crate::gradient::window::Window;

/// Windows with more elements would need too much memory.
const MOST: i64 = 49;
/// With fewer channels, copying takes longer than the convolution.
const LEAST_CHANNELS: i64 = 8;
/// Since this version, `Pad` and `Slice` have what is needed as inputs.
const VERSION: i64 = 13;

impl Window {
    /// The gradient `[filters, channels, …]` of weights that are not in groups, if shapes are known and this is the faster way.
    pub(super) fn weights_by_columns(
        &self,
        cell: &mut Cell<'_>,
        image: &SpatialTensor,
        gradient: &SpatialTensor,
        (filters, channels): (i64, i64),
    ) -> Option<String> {
        let (_, places) = (self.image.as_ref()?, self.places.as_ref()?);
        let count = self.kernel.len();
        let rank = i64::try_from(count).ok()?;
        let taps = self.kernel.iter().try_fold(1i64, |all, n| all.checked_mul(*n))?;
        let width = taps.checked_mul(channels)?;
        let is_plain = self.begin.iter().chain(&self.end).all(|pad| *pad >= 0);
        if !is_plain || taps > MOST || channels < LEAST_CHANNELS || cell.version() < VERSION {
            return None;
        }
        let last: Vec<i64> = std::iter::once(0).chain(2..2 + rank).chain([1]).collect();
        let mut pixels = cell.permute(&image.name, &last);
        if self.begin.iter().chain(&self.end).any(|pad| *pad > 0) {
            let pads: Vec<i64> = std::iter::once(0)
                .chain(self.begin.iter().copied())
                .chain([0, 0])
                .chain(self.end.iter().copied())
                .chain([0])
                .collect();
            let pads = cell.list(&pads);
            pixels = cell.op("Pad", &[&pixels, &pads]);
        }
        let axes: Vec<i64> = (1..=rank).collect();
        let (axes, steps) = (cell.list(&axes), cell.list(&self.strides));
        let mut columns = Vec::new();
        for tap in 0..taps {
            // The place of the weight in its window.
            let (mut starts, mut rest) = (vec![0; count], tap);
            for axis in (0..count).rev() {
                starts[axis] = rest % self.kernel[axis] * self.dilations[axis];
                rest /= self.kernel[axis];
            }
            let end = |axis: usize| starts[axis] + (places[axis] - 1) * self.strides[axis] + 1;
            let ends: Vec<i64> = (0..count).map(end).collect();
            let (starts, ends) = (cell.list(&starts), cell.list(&ends));
            columns.push(cell.op("Slice", &[&pixels, &starts, &ends, &axes, &steps]));
        }
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let columns = match columns.as_slice() {
            [one] => (*one).to_owned(),
            all => cell.op_with("Concat", &format!("axis = {}", rank + 1), all),
        };
        let columns = cell.reshape(&columns, &[-1, width]);
        let exchange: Vec<i64> = [1, 0].into_iter().chain(2..2 + rank).collect();
        let rows = cell.permute(&gradient.name, &exchange);
        let rows = cell.reshape(&rows, &[filters, -1]);
        let product = cell.op("MatMul", &[&rows, &columns]);
        let shape: Vec<i64> =
            std::iter::once(filters).chain(self.kernel.iter().copied()).chain([channels]).collect();
        let weights = cell.reshape(&product, &shape);
        let back: Vec<i64> = [0, rank + 1].into_iter().chain(1..=rank).collect();
        Some(cell.permute(&weights, &back))
    }
}
