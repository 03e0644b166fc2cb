//! Arithmetic on lanes of single floats.

use super::each::{both, call, each, pairs};
use super::{Lanes, math};
use crate::zip::zip;
use onnx_formula::{Binary, Unary, binary_operations, unary_operations};

/// A unary operation: the vector function of its row, or else the scalar one.
#[inline(always)]
pub(super) fn unary<const FUSED: bool>(op: Unary, out: &mut [f32], x: &[f32]) {
    macro_rules! function {
        ($float:expr) => {
            $float
        };
        ($float:expr, $vector:ident) => {
            math::$vector::<FUSED>
        };
    }
    macro_rules! rows {
        ($(
            $(#[$doc:meta])* $name:ident: $domain:ident, $cost:ident, $exactness:ident
            $(, float($float:expr $(, $vector:ident)?))? $(, int($int:expr))? $(, test($test:expr, $int_test:expr))?;
        )*) => {
            match op {
                Unary::Sin if is_angle(x) => each(out, x, math::sin::<FUSED>),
                Unary::Cos if is_angle(x) => each(out, x, math::cos::<FUSED>),
                // `lower` excludes operations without a function of floats.
                $(Unary::$name => {
                    $(each(out, x, function!($float $(, $vector)?));)?
                })*
            }
        };
    }
    unary_operations!(rows);
}

/// The vector function of an operation.
pub(crate) fn vector_function(op: Unary) -> Option<&'static str> {
    macro_rules! rows {
        ($(
            $(#[$doc:meta])* $name:ident: $domain:ident, $cost:ident, $exactness:ident
            $(, float($float:expr $(, $vector:ident)?))? $(, int($int:expr))? $(, test($test:expr, $int_test:expr))?;
        )*) => {
            match op {
                $(Unary::$name => None$($(.or(Some(stringify!($vector))))?)?,)*
            }
        };
    }
    unary_operations!(rows)
}

/// A test of floats.
#[inline(always)]
pub(super) fn test(op: Unary, out: &mut [i64], x: &[f32]) {
    macro_rules! rows {
        ($(
            $(#[$doc:meta])* $name:ident: $domain:ident, $cost:ident, $exactness:ident
            $(, float($float:expr $(, $vector:ident)?))? $(, int($int:expr))? $(, test($test:expr, $int_test:expr))?;
        )*) => {
            match op {
                $(Unary::$name => {
                    $(each(out, x, |x| i64::from(call(x, $test)));)?
                })*
            }
        };
    }
    unary_operations!(rows);
}

/// A binary operation.
#[inline(always)]
pub(super) fn binary<const FUSED: bool>(op: Binary, out: &mut [f32], a: Lanes<'_>, b: Lanes<'_>) {
    // Scalars were copied into lanes before.
    if let (Binary::Pow, Lanes::Each(a), Lanes::Each(b)) = (op, a, b) {
        return power::<FUSED>(out, a, b);
    }
    macro_rules! rows {
        ($(
            $(#[$doc:meta])* $name:ident: $domain:ident, $cost:ident, $exactness:ident $(, sign($sign:literal))?
            $(, float($float:expr))? $(, int($int:expr))? $(, truth($truth:expr))? $(, compare($compare:expr))?;
        )*) => {
            match op {
                // Comparisons are in `compare`; `lower` excludes operations without a function of floats.
                $(Binary::$name => {
                    $(pairs(out, a, b, $float);)?
                })*
            }
        };
    }
    binary_operations!(rows);
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
    if zip(a, b).into_iter().fold(true, |all, (a, b)| all & math::has_power(*a, *b)) {
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
