//! Offsets that are linear in positions.

use smallvec::SmallVec;

/// A linear function of the axes of a nest: those of the result, then those of the reduction.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Linear {
    pub(crate) base: i64,
    pub(crate) by: SmallVec<[i64; 6]>,
}

impl Linear {
    pub(crate) fn at(&self, position: &[usize]) -> i64 {
        // Offsets and strides of existing tensors do not overflow.
        self.by.iter().zip(position).fold(self.base, |sum, (by, at)| sum + by * (*at as i64))
    }
}
