//! The gradient of the weights of a convolution.

use crate::derivative::Cell;
use crate::derivative::window::{Window, joined};

/// A tensor `[batch, channels, …]` with its spatial sizes as lists of one element.
pub(super) struct SpatialTensor {
    pub(super) name: String,
    pub(super) extents: Vec<String>,
}

impl Window {
    /// The gradient of weights `[M, C/group, …]` of a convolution from `[N, C, …]` to `[N, M, …]`: batch and channels of images
    /// and gradients are exchanged, and strides and dilations are exchanged.
    pub(super) fn weights(
        &self,
        cell: &mut Cell<'_>,
        image: &SpatialTensor,
        gradient: &SpatialTensor,
        group: i64,
        channels: Option<i64>,
    ) -> Result<String, String> {
        let count = i64::try_from(self.kernel.len()).unwrap_or(0);
        let exchange: Vec<i64> = [1, 0].into_iter().chain(2..2 + count).collect();
        let images = match group {
            1 => cell.permute(&image.name, &exchange),
            _ => {
                let channels = channels.ok_or("the number of channels has to be known")?;
                let head = cell.list(&[0, group, channels]);
                let mut shape = vec![head.as_str()];
                shape.extend(image.extents.iter().map(String::as_str));
                let shape = cell.op_with("Concat", "axis = 0", &shape);
                let grouped = cell.op("Reshape", &[&image.name, &shape]);
                let perm: Vec<i64> = [2, 1, 0].into_iter().chain(3..3 + count).collect();
                let first = cell.permute(&grouped, &perm);
                let head = cell.list(&[channels, -1]);
                let mut shape = vec![head.as_str()];
                shape.extend(image.extents.iter().map(String::as_str));
                let shape = cell.op_with("Concat", "axis = 0", &shape);
                cell.op("Reshape", &[&first, &shape])
            }
        };
        let kernels = cell.permute(&gradient.name, &exchange);
        let attrs = format!(
            "dilations = {}, group = {group}, pads = {}, strides = {}",
            joined(self.strides.clone()),
            self.pads(),
            joined(self.dilations.clone())
        );
        let sums = cell.op_with("Conv", &attrs, &[&images, &kernels]);
        let sums = cell.permute(&sums, &exchange);
        if self.is_exact() {
            return Ok(sums);
        }
        let (starts, ends) = (cell.list(&vec![0; self.kernel.len()]), cell.list(&self.kernel));
        let axes: Vec<i64> = (2..2 + count).collect();
        let axes = cell.list(&axes);
        Ok(cell.op("Slice", &[&sums, &starts, &ends, &axes]))
    }

    /// Whether the convolution for the weights yields exactly the kernel size.
    fn is_exact(&self) -> bool {
        let exact = |axis: usize| {
            let (image, places) = (self.image.as_ref()?[axis], self.places.as_ref()?[axis]);
            let free = image + self.begin[axis] + self.end[axis] - ((places - 1) * self.strides[axis] + 1);
            Some(free / self.dilations[axis] + 1 == self.kernel[axis])
        };
        (0..self.kernel.len()).all(|axis| exact(axis).unwrap_or(false))
    }
}
