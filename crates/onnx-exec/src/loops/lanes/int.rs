//! Arithmetic on lanes of integers and booleans.

use super::each::{both, each};
use onnx_ops::meaning::{Binary, Unary};

/// A unary operation.
#[inline(always)]
pub(super) fn unary(op: Unary, out: &mut [i64], x: &[i64]) {
    match op {
        Unary::Neg => each(out, x, i64::wrapping_neg),
        Unary::Abs => each(out, x, i64::wrapping_abs),
        Unary::Sign => each(out, x, i64::signum),
        Unary::Not => each(out, x, |x| i64::from(x == 0)),
        Unary::BitwiseNot => each(out, x, |x| !x),
        Unary::IsNaN => out.fill(0),
        // Rounding an integer changes nothing; `lower` excludes the other operations.
        _ => out.copy_from_slice(x),
    }
}

/// A binary operation.
#[inline(always)]
pub(super) fn binary(op: Binary, out: &mut [i64], a: &[i64], b: &[i64]) {
    let truth = i64::from;
    match op {
        Binary::Add => both(out, a, b, i64::wrapping_add),
        Binary::Sub => both(out, a, b, i64::wrapping_sub),
        Binary::Mul => both(out, a, b, i64::wrapping_mul),
        Binary::Div => both(out, a, b, |a, b| if b == 0 { 0 } else { a.wrapping_div(b) }),
        Binary::Remainder => both(out, a, b, |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) }),
        Binary::Mod => both(out, a, b, |a, b| {
            let left = if b == 0 { 0 } else { a.wrapping_rem(b) };
            if left != 0 && (left < 0) != (b < 0) { left + b } else { left }
        }),
        Binary::Pow => both(out, a, b, power),
        Binary::Min => both(out, a, b, i64::min),
        Binary::Max => both(out, a, b, i64::max),
        Binary::And => both(out, a, b, |a, b| truth(a != 0 && b != 0)),
        Binary::Or => both(out, a, b, |a, b| truth(a != 0 || b != 0)),
        Binary::Xor => both(out, a, b, |a, b| truth((a != 0) != (b != 0))),
        Binary::Equal => both(out, a, b, |a, b| truth(a == b)),
        Binary::Less => both(out, a, b, |a, b| truth(a < b)),
        Binary::LessOrEqual => both(out, a, b, |a, b| truth(a <= b)),
        Binary::Greater => both(out, a, b, |a, b| truth(a > b)),
        Binary::GreaterOrEqual => both(out, a, b, |a, b| truth(a >= b)),
        Binary::BitwiseAnd => both(out, a, b, |a, b| a & b),
        Binary::BitwiseOr => both(out, a, b, |a, b| a | b),
        Binary::BitwiseXor => both(out, a, b, |a, b| a ^ b),
        Binary::ShiftLeft => both(out, a, b, |a, b| if (0..64).contains(&b) { a << b } else { 0 }),
        Binary::ShiftRight => both(out, a, b, |a, b| a >> if (0..64).contains(&b) { b } else { 63 }),
    }
}

/// An integer power, wrapping around; a negative exponent yields the truncated fraction.
fn power(base: i64, exponent: i64) -> i64 {
    match (base, u32::try_from(exponent)) {
        (_, Ok(exponent)) => base.wrapping_pow(exponent),
        (1, Err(_)) => 1,
        (-1, Err(_)) => {
            if exponent % 2 == 0 {
                1
            } else {
                -1
            }
        }
        (_, Err(_)) => 0,
    }
}
