//! Arithmetic on lanes of doubles by the functions of the standard library.

use super::each::{both, each};
use onnx_ops::meaning::{Binary, Unary};

/// A unary operation.
#[inline(always)]
pub(super) fn unary(op: Unary, out: &mut [f64], x: &[f64]) {
    match op {
        Unary::Neg => each(out, x, |x| -x),
        Unary::Abs => each(out, x, f64::abs),
        Unary::Sign => each(out, x, |x| if x == 0.0 || x.is_nan() { x + 0.0 } else { x.signum() }),
        Unary::Floor => each(out, x, f64::floor),
        Unary::Ceil => each(out, x, f64::ceil),
        Unary::Round => each(out, x, f64::round_ties_even),
        Unary::Sqrt => each(out, x, f64::sqrt),
        Unary::Reciprocal => each(out, x, |x| 1.0 / x),
        Unary::Exp => each(out, x, f64::exp),
        Unary::Expm1 => each(out, x, f64::exp_m1),
        Unary::Log => each(out, x, f64::ln),
        Unary::Log1p => each(out, x, f64::ln_1p),
        Unary::Sin => each(out, x, f64::sin),
        Unary::Cos => each(out, x, f64::cos),
        Unary::Tan => each(out, x, f64::tan),
        Unary::Asin => each(out, x, f64::asin),
        Unary::Acos => each(out, x, f64::acos),
        Unary::Atan => each(out, x, f64::atan),
        Unary::Sinh => each(out, x, f64::sinh),
        Unary::Cosh => each(out, x, f64::cosh),
        Unary::Tanh => each(out, x, f64::tanh),
        Unary::Asinh => each(out, x, libm::asinh),
        Unary::Acosh => each(out, x, |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) }),
        Unary::Atanh => each(out, x, libm::atanh),
        Unary::Erf => each(out, x, libm::erf),
        // Defined for integers only, which `lower` ensures.
        Unary::Not | Unary::BitwiseNot | Unary::IsNaN => out.copy_from_slice(x),
    }
}

/// A binary operation.
#[inline(always)]
pub(super) fn binary(op: Binary, out: &mut [f64], a: &[f64], b: &[f64]) {
    match op {
        Binary::Add => both(out, a, b, |a, b| a + b),
        Binary::Sub => both(out, a, b, |a, b| a - b),
        Binary::Mul => both(out, a, b, |a, b| a * b),
        Binary::Div => both(out, a, b, |a, b| a / b),
        Binary::Remainder => both(out, a, b, |a, b| a % b),
        Binary::Mod => both(out, a, b, |a: f64, b: f64| {
            let left = a % b;
            match left {
                _ if left == 0.0 => 0.0_f64.copysign(b),
                _ if (left < 0.0) != (b < 0.0) => left + b,
                _ => left,
            }
        }),
        Binary::Pow => both(out, a, b, f64::powf),
        Binary::Min => both(out, a, b, |a, b| {
            let least = if b < a { b } else { a };
            if b.is_nan() { b } else { least }
        }),
        Binary::Max => both(out, a, b, |a, b| {
            let most = if b > a { b } else { a };
            if b.is_nan() { b } else { most }
        }),
        // Comparisons are in `compare`; the others are defined for integers only.
        Binary::And | Binary::Or | Binary::Xor | Binary::Equal | Binary::Less | Binary::LessOrEqual => {}
        Binary::Greater | Binary::GreaterOrEqual | Binary::BitwiseAnd | Binary::BitwiseOr => {}
        Binary::BitwiseXor | Binary::ShiftLeft | Binary::ShiftRight => {}
    }
}
