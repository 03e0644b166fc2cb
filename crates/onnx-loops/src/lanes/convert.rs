//! Conversions of contiguous elements.

use super::multiversion::{Body, widest};
use super::{are_short, int_of, short_of};
use crate::zip::zip;

/// Converts as many elements as both slices have.
pub(crate) fn convert<A: Copy, B>(from: &[A], to: &mut [B], of: impl Fn(A) -> B) {
    widest(Converted { from, to, of });
}

/// Converts floats to integers, rounding toward zero, and these to elements.
pub(crate) fn convert_ints<T>(from: &[f32], to: &mut [T], of: impl Fn(i32) -> T) {
    widest(ConvertedInts { from, to, of });
}

struct Converted<'c, A, B, F> {
    from: &'c [A],
    to: &'c mut [B],
    of: F,
}

impl<A: Copy, B, F: Fn(A) -> B> Body for Converted<'_, A, B, F> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        zip(self.to, self.from).for_each(|(to, x)| *to = (self.of)(*x));
    }
}

struct ConvertedInts<'c, T, F> {
    from: &'c [f32],
    to: &'c mut [T],
    of: F,
}

impl<T, F: Fn(i32) -> T> Body for ConvertedInts<'_, T, F> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let from = self.from.get(..self.to.len()).unwrap_or(self.from);
        let pairs = zip(self.to, from);
        if are_short(from) {
            pairs.for_each(|(to, x)| *to = (self.of)(short_of(*x)));
        } else {
            pairs.for_each(|(to, x)| *to = (self.of)(int_of(*x)));
        }
    }
}
