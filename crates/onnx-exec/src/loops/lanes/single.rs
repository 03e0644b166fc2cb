//! Arithmetic on lanes of single floats.

use super::each::{both, each, pairs};
use super::{Lanes, math};
use onnx_ops::meaning::{Binary, Unary};

/// A unary operation.
#[inline(always)]
pub(super) fn unary<const FUSED: bool>(op: Unary, out: &mut [f32], x: &[f32]) {
    match op {
        Unary::Neg => each(out, x, |x| -x),
        Unary::Abs => each(out, x, f32::abs),
        Unary::Sign => each(out, x, |x| if x == 0.0 || x.is_nan() { x + 0.0 } else { x.signum() }),
        Unary::Floor => each(out, x, f32::floor),
        Unary::Ceil => each(out, x, f32::ceil),
        Unary::Round => each(out, x, f32::round_ties_even),
        Unary::Sqrt => each(out, x, f32::sqrt),
        Unary::Reciprocal => each(out, x, |x| 1.0 / x),
        Unary::Exp => each(out, x, math::exp::<FUSED>),
        Unary::Expm1 => each(out, x, math::exp_m1::<FUSED>),
        Unary::Log => each(out, x, math::log::<FUSED>),
        Unary::Log1p => each(out, x, math::ln_1p::<FUSED>),
        Unary::Sin if is_angle(x) => each(out, x, math::sin::<FUSED>),
        Unary::Sin => each(out, x, f32::sin),
        Unary::Cos if is_angle(x) => each(out, x, math::cos::<FUSED>),
        Unary::Cos => each(out, x, f32::cos),
        Unary::Tan => each(out, x, f32::tan),
        Unary::Asin => each(out, x, f32::asin),
        Unary::Acos => each(out, x, f32::acos),
        Unary::Atan => each(out, x, f32::atan),
        Unary::Sinh => each(out, x, f32::sinh),
        Unary::Cosh => each(out, x, f32::cosh),
        Unary::Tanh => each(out, x, math::tanh::<FUSED>),
        // That of the standard library overflows.
        Unary::Asinh => each(out, x, libm::asinhf),
        // The library yields numbers below -2, where the function is undefined.
        Unary::Acosh => each(out, x, |x| if x < 1.0 { f32::NAN } else { libm::acoshf(x) }),
        Unary::Atanh => each(out, x, libm::atanhf),
        Unary::Erf => each(out, x, math::erf::<FUSED>),
        // Defined for integers only, which `lower` ensures.
        Unary::Not | Unary::BitwiseNot | Unary::IsNaN => out.copy_from_slice(x),
    }
}

/// A binary operation.
#[inline(always)]
pub(super) fn binary<const FUSED: bool>(op: Binary, out: &mut [f32], a: Lanes<'_>, b: Lanes<'_>) {
    match op {
        Binary::Add => pairs(out, a, b, |a, b| a + b),
        Binary::Sub => pairs(out, a, b, |a, b| a - b),
        Binary::Mul => pairs(out, a, b, |a, b| a * b),
        Binary::Div => pairs(out, a, b, |a, b| a / b),
        Binary::Remainder => pairs(out, a, b, |a, b| a % b),
        Binary::Mod => pairs(out, a, b, |a: f32, b: f32| {
            let left = a % b;
            match left {
                _ if left == 0.0 => 0.0_f32.copysign(b),
                _ if (left < 0.0) != (b < 0.0) => left + b,
                _ => left,
            }
        }),
        Binary::Pow => {
            // Scalars were copied into lanes before.
            if let (Lanes::Each(a), Lanes::Each(b)) = (a, b) {
                power::<FUSED>(out, a, b);
            }
        }
        Binary::Min => pairs(out, a, b, |a, b| {
            let least = if b < a { b } else { a };
            if b.is_nan() { b } else { least }
        }),
        Binary::Max => pairs(out, a, b, |a, b| {
            let most = if b > a { b } else { a };
            if b.is_nan() { b } else { most }
        }),
        // Comparisons are in `compare`; the others are defined for integers only.
        Binary::And | Binary::Or | Binary::Xor | Binary::Equal | Binary::Less | Binary::LessOrEqual => {}
        Binary::Greater | Binary::GreaterOrEqual | Binary::BitwiseAnd | Binary::BitwiseOr => {}
        Binary::BitwiseXor | Binary::ShiftLeft | Binary::ShiftRight => {}
    }
}

/// Whether all lanes are in the range of the vectorized trigonometric functions.
#[inline(always)]
fn is_angle(x: &[f32]) -> bool {
    // Without an early exit, so that it is vectorized.
    x.iter().fold(true, |all, x| all & (x.abs() <= math::LARGEST_ANGLE))
}

#[inline(always)]
fn power<const FUSED: bool>(out: &mut [f32], a: &[f32], b: &[f32]) {
    // Most exponents are constants of the model.
    let first = b.first().copied().unwrap_or(1.0);
    if b.iter().fold(true, |all, b| all & (*b == first)) {
        if first == 2.0 {
            return each(out, a, |a| a * a);
        }
        if first == 0.5 {
            // `pow(-0, 0.5)` is +0.
            return each(out, a, |a| if a == f32::NEG_INFINITY { f32::INFINITY } else { a.sqrt() + 0.0 });
        }
    }
    if a.iter().zip(b).fold(true, |all, (a, b)| all & math::has_power(*a, *b)) {
        both(out, a, b, math::pow::<FUSED>);
    } else {
        both(out, a, b, f32::powf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Near their poles and zeros the plain formulas lose half of the digits.
    #[test]
    fn inverse_hyperbolic_functions_are_near_at_their_ends() {
        type Exact = fn(f64) -> f64;
        let near = |x: f32| (0..64).map(move |i| f32::from_bits(x.to_bits() + i));
        let inside: Vec<f32> = near(0.999_996).flat_map(|x| [x, -x]).collect();
        let cases: [(Unary, Vec<f32>, Exact); 3] = [
            (Unary::Atanh, inside, libm::atanh),
            (Unary::Acosh, near(1.0).chain(near(3.0)).collect(), libm::acosh),
            (Unary::Asinh, near(1e-4).flat_map(|x| [x, -x]).collect(), libm::asinh),
        ];
        let mut out = [0.0; 3];
        unary::<false>(Unary::Acosh, &mut out, &[0.5, -1.5, -100.0]);
        assert!(out.iter().all(|x| x.is_nan()), "{out:?}");
        for (op, from, exact) in cases {
            let mut out = vec![0.0; from.len()];
            unary::<false>(op, &mut out, &from);
            for (x, result) in from.iter().zip(&out) {
                let exact = exact((*x).into());
                let is_near = (f64::from(*result) - exact).abs() <= 3e-7 * exact.abs();
                assert!(is_near, "{op:?} of {x:e} is {exact:e}, not {result:e}");
            }
        }
    }
}
