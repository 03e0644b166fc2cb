//! Elementwise loops over lanes.

use super::Lanes;
use crate::zip::zip;

#[inline(always)]
pub(super) fn each<A: Copy, B>(out: &mut [B], x: &[A], f: impl Fn(A) -> B) {
    for (out, x) in zip(out, x) {
        *out = f(*x);
    }
}

#[inline(always)]
pub(super) fn both<A: Copy, B>(out: &mut [B], a: &[A], b: &[A], f: impl Fn(A, A) -> B) {
    for ((out, a), b) in zip(zip(out, a), b) {
        *out = f(*a, *b);
    }
}

/// A binary operation in which an operand may be a scalar.
#[inline(always)]
pub(super) fn pairs(out: &mut [f32], a: Lanes<'_>, b: Lanes<'_>, f: impl Fn(f32, f32) -> f32) {
    match (a, b) {
        (Lanes::Each(a), Lanes::Each(b)) => both(out, a, b, f),
        (Lanes::Each(a), Lanes::All(b)) => each(out, a, |a| f(a, b)),
        (Lanes::All(a), Lanes::Each(b)) => each(out, b, |b| f(a, b)),
        (Lanes::All(a), Lanes::All(b)) => out.fill(f(a, b)),
    }
}

/// Calls a function of a row, whose parameter gets its type here.
#[inline(always)]
pub(crate) fn call<A, B>(x: A, f: impl Fn(A) -> B) -> B {
    f(x)
}

#[inline(always)]
pub(crate) fn call_both<A, B>(a: A, b: A, f: impl Fn(A, A) -> B) -> B {
    f(a, b)
}
