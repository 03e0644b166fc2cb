//! Two tensors, element by element, where the extents are those of both or 1 in one of them.

use crate::failure::{Failure, fail};
use crate::tensor::Tensor;

/// The shape that two tensors have together.
pub(super) struct Broadcast {
    pub(super) dims: Vec<usize>,
}

impl Broadcast {
    pub(super) fn of(a: &Tensor, b: &Tensor) -> Result<Broadcast, Failure> {
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

    /// Where the element of one of the tensors is that goes with an element of the result.
    pub(super) fn place(&self, tensor: &Tensor, at: usize) -> usize {
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

/// The extent of a tensor along an axis of a rank that may be greater than its own.
fn extent(tensor: &Tensor, axis: usize, rank: usize) -> usize {
    (axis + tensor.rank()).checked_sub(rank).map_or(1, |i| tensor.dims()[i])
}
