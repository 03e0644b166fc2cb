//! Integers wrapped to an element type.

use super::each::each;
use super::multiversion::{Body, widest};
use onnx_ir::ElemType;

/// Integers that are wrapped together.
const TOGETHER: usize = 64;

/// Wraps integers to an element type.
pub(crate) fn wrap_all(lanes: &mut [i64], elem: ElemType) {
    widest(Wrapped { lanes, elem });
}

/// Integers wrapped to an element type as a multiversioned function.
struct Wrapped<'l> {
    lanes: &'l mut [i64],
    elem: ElemType,
}

impl Body for Wrapped<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for lanes in self.lanes.chunks_mut(TOGETHER) {
            let mut from = [0; TOGETHER];
            let from = &mut from[..lanes.len()];
            from.copy_from_slice(lanes);
            each_wrapped(lanes, from, self.elem, |x| x);
        }
    }
}

/// An integer function of each lane, wrapped to an element type.
#[inline(always)]
pub(super) fn each_wrapped<A: Copy>(out: &mut [i64], x: &[A], elem: ElemType, f: impl Fn(A) -> i64) {
    use ElemType as E;
    // A loop for each type: one that chooses for each lane is not vectorized.
    match elem {
        E::BOOL => each(out, x, |x| wrap(f(x), E::BOOL)),
        E::INT32 => each(out, x, |x| wrap(f(x), E::INT32)),
        E::INT16 => each(out, x, |x| wrap(f(x), E::INT16)),
        E::INT8 => each(out, x, |x| wrap(f(x), E::INT8)),
        E::INT4 => each(out, x, |x| wrap(f(x), E::INT4)),
        E::INT2 => each(out, x, |x| wrap(f(x), E::INT2)),
        E::UINT32 => each(out, x, |x| wrap(f(x), E::UINT32)),
        E::UINT16 => each(out, x, |x| wrap(f(x), E::UINT16)),
        E::UINT8 => each(out, x, |x| wrap(f(x), E::UINT8)),
        E::UINT4 => each(out, x, |x| wrap(f(x), E::UINT4)),
        E::UINT2 => each(out, x, |x| wrap(f(x), E::UINT2)),
        // 64 bits.
        _ => each(out, x, f),
    }
}

/// Wraps an integer to an element type.
#[inline(always)]
pub(crate) fn wrap(x: i64, elem: ElemType) -> i64 {
    use ElemType as E;
    match elem {
        E::BOOL => i64::from(x != 0),
        E::INT32 => (x as i32).into(),
        E::INT16 => (x as i16).into(),
        E::INT8 => (x as i8).into(),
        E::INT4 => x << 60 >> 60,
        E::INT2 => x << 62 >> 62,
        E::UINT32 => (x as u32).into(),
        E::UINT16 => (x as u16).into(),
        E::UINT8 => (x as u8).into(),
        E::UINT4 => x & 0xf,
        E::UINT2 => x & 0x3,
        _ => x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lanes_are_wrapped_as_each() {
        use ElemType as E;
        let x: Vec<i64> = (-200..200).flat_map(|i| [i, i << 13, i << 30, i64::MAX.wrapping_sub(i)]).collect();
        let types = [E::BOOL, E::INT32, E::INT16, E::INT8, E::INT4, E::INT2, E::INT64];
        let unsigned = [E::UINT64, E::UINT32, E::UINT16, E::UINT8, E::UINT4, E::UINT2];
        for elem in types.into_iter().chain(unsigned) {
            let mut all = x.clone();
            wrap_all(&mut all, elem);
            let each: Vec<i64> = x.iter().map(|x| wrap(*x, elem)).collect();
            assert_eq!(all, each, "{elem:?}");
        }
    }
}
