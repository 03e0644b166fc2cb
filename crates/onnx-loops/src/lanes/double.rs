//! Arithmetic on lanes of doubles by the scalar functions of the rows.

use super::each::{both, call, each};
use onnx_formula::{Binary, Unary, binary_operations, unary_operations};

/// A unary operation.
#[inline(always)]
pub(super) fn unary(op: Unary, out: &mut [f64], x: &[f64]) {
    macro_rules! rows {
        ($(
            $(#[$doc:meta])* $name:ident: $domain:ident, $cost:ident, $exactness:ident
            $(, float($float:expr $(, $vector:ident)?))? $(, int($int:expr))? $(, test($test:expr, $int_test:expr))?;
        )*) => {
            match op {
                // `lower` excludes operations without a function of floats.
                $(Unary::$name => {
                    $(each(out, x, $float);)?
                })*
            }
        };
    }
    unary_operations!(rows);
}

/// A test of floats.
#[inline(always)]
pub(super) fn test(op: Unary, out: &mut [i64], x: &[f64]) {
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
pub(super) fn binary(op: Binary, out: &mut [f64], a: &[f64], b: &[f64]) {
    macro_rules! rows {
        ($(
            $(#[$doc:meta])* $name:ident: $domain:ident, $cost:ident, $exactness:ident $(, sign($sign:literal))?
            $(, float($float:expr))? $(, int($int:expr))? $(, truth($truth:expr))? $(, compare($compare:expr))?;
        )*) => {
            match op {
                // Comparisons are in `compare`; `lower` excludes operations without a function of floats.
                $(Binary::$name => {
                    $(both(out, a, b, $float);)?
                })*
            }
        };
    }
    binary_operations!(rows);
}
