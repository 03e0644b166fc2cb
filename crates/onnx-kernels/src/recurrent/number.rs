//! Numeric operations of cells: vectorized with micro-kernels for single floats, plain for doubles.

use crate::real::Real;
use onnx_loops::{Lane, math};

/// The number type of states and gates.
pub(super) trait Number: Real + Lane {
    fn exp<const FUSED: bool>(self) -> Self;
    fn exp_m1<const FUSED: bool>(self) -> Self;
    fn ln_1p<const FUSED: bool>(self) -> Self;
    fn tanh<const FUSED: bool>(self) -> Self;
}

impl Number for f32 {
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
