//! Broadcasting of two tensors.

use onnx_loops::failure::{Failure, fail};
use onnx_loops::tensor::Tensor;

/// The broadcast shape of two tensors.
pub(crate) struct Broadcast {
    pub(crate) dims: Vec<usize>,
}

impl Broadcast {
    pub(crate) fn of(a: &Tensor, b: &Tensor) -> Result<Broadcast, Failure> {
        let rank = a.rank().max(b.rank());
        let mut dims = Vec::with_capacity(rank);
        for axis in 0..rank {
            dims.push(match (extent(a, axis, rank), extent(b, axis, rank)) {
                (m, n) if m == n || n == 1 => m,
                (1, n) => n,
                _ => fail!("shapes {:?} and {:?} do not broadcast", a.dims(), b.dims()),
            });
        }
        Ok(Broadcast { dims })
    }

    /// The index in one of the tensors for an index of the result.
    pub(crate) fn place(&self, tensor: &Tensor, at: usize) -> usize {
        let (mut rest, mut stride, mut place) = (at, 1, 0);
        for axis in (0..self.dims.len()).rev() {
            let (index, own) = (rest % self.dims[axis].max(1), extent(tensor, axis, self.dims.len()));
            rest /= self.dims[axis].max(1);
            if own > 1 {
                place += index * stride;
            }
            stride *= own;
        }
        place
    }
}

/// The size of a tensor along an axis of a possibly greater rank.
fn extent(tensor: &Tensor, axis: usize, rank: usize) -> usize {
    (axis + tensor.rank()).checked_sub(rank).map_or(1, |i| tensor.dims()[i])
}
