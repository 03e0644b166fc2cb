//! Loops over lanes.

#[inline(always)]
pub(super) fn each<A: Copy, B>(out: &mut [B], x: &[A], f: impl Fn(A) -> B) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = f(*x);
    }
}

#[inline(always)]
pub(super) fn both<A: Copy, B>(out: &mut [B], a: &[A], b: &[A], f: impl Fn(A, A) -> B) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = f(*a, *b);
    }
}
