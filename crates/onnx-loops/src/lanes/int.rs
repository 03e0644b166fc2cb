//! Arithmetic on lanes of integers and booleans by the scalar functions of the rows.

use super::each::{both, call, call_both, each};
use onnx_formula::{Binary, Unary, binary_operations, unary_operations};

/// A unary operation.
#[inline(always)]
pub(super) fn unary(op: Unary, out: &mut [i64], x: &[i64]) {
    macro_rules! rows {
        ($(
            $(#[$doc:meta])* $name:ident: $domain:ident, $cost:ident, $exactness:ident
            $(, float($float:expr $(, $vector:ident)?))? $(, int($int:expr))? $(, test($test:expr, $int_test:expr))?;
        )*) => {
            match op {
                // `lower` excludes operations without a function of integers.
                $(Unary::$name => {
                    $(each(out, x, $int);)?
                    $(each(out, x, |x| i64::from(call(x, $int_test)));)?
                })*
            }
        };
    }
    unary_operations!(rows);
}

/// A binary operation.
#[inline(always)]
pub(super) fn binary(op: Binary, out: &mut [i64], a: &[i64], b: &[i64]) {
    macro_rules! rows {
        ($(
            $(#[$doc:meta])* $name:ident: $domain:ident, $cost:ident, $exactness:ident $(, sign($sign:literal))?
            $(, float($float:expr))? $(, int($int:expr))? $(, truth($truth:expr))? $(, compare($compare:expr))?;
        )*) => {
            match op {
                // Each operation has a function of integers, of booleans or of both kinds of numbers.
                $(Binary::$name => {
                    $(both(out, a, b, $int);)?
                    $(both(out, a, b, |a, b| i64::from(call_both(a != 0, b != 0, $truth)));)?
                    $(both(out, a, b, |a, b| i64::from(call_both(a, b, $compare)));)?
                })*
            }
        };
    }
    binary_operations!(rows);
}
