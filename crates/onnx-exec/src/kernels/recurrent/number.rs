//! What cells do with numbers: with single ones by micro-kernels and in wide registers, with double ones plainly.

use crate::kernels::contributed::through_bytes;
use crate::kernels::real::Real;
use crate::loops::math;

/// Numbers that states and gates are made of.
pub(super) trait Number: Real {
    /// What numbers become that are quantized by their own range to 8 bits, and back.
    fn through_bytes(numbers: &mut [Self]);

    fn exp<const FUSED: bool>(self) -> Self;
    fn exp_m1<const FUSED: bool>(self) -> Self;
    fn ln_1p<const FUSED: bool>(self) -> Self;
    fn tanh<const FUSED: bool>(self) -> Self;
}

impl Number for f32 {
    fn through_bytes(numbers: &mut [f32]) {
        through_bytes(numbers, |x| x as f32);
    }

    #[inline(always)]
    fn exp<const FUSED: bool>(self) -> f32 {
        math::exp::<FUSED>(self)
    }

    #[inline(always)]
    fn exp_m1<const FUSED: bool>(self) -> f32 {
        math::exp_m1::<FUSED>(self)
    }

    #[inline(always)]
    fn ln_1p<const FUSED: bool>(self) -> f32 {
        math::ln_1p::<FUSED>(self)
    }

    #[inline(always)]
    fn tanh<const FUSED: bool>(self) -> f32 {
        math::tanh::<FUSED>(self)
    }
}

impl Number for f64 {
    fn through_bytes(numbers: &mut [f64]) {
        through_bytes(numbers, |x| x);
    }

    fn exp<const FUSED: bool>(self) -> f64 {
        f64::exp(self)
    }

    fn exp_m1<const FUSED: bool>(self) -> f64 {
        f64::exp_m1(self)
    }

    fn ln_1p<const FUSED: bool>(self) -> f64 {
        f64::ln_1p(self)
    }

    fn tanh<const FUSED: bool>(self) -> f64 {
        f64::tanh(self)
    }
}
