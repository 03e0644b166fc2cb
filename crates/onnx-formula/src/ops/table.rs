//! The operations on elements: one row each, from which the rest of the project gets all that it needs to know of them.
//!
//! A table passes its rows to a macro, which generates what its place needs: here types, evaluation and text, in `onnx-loops` loops
//! over lanes. A row of [`unary_operations!`](crate::unary_operations):
//!
//! ```text
//! Neg: Numbers, Simple, Exact, float(|x| -x), int(|n| n.wrapping_neg());
//! ```
//! - The name; in texts, a function in lower case, or `sign("…")`.
//! - Its [`Domain`](crate::Domain), [`Cost`](crate::Cost) and [`Exactness`](crate::Exactness).
//! - `float(…)`: the function of floats, for `f32` and `f64`. Functions that the standard library lacks are in
//!   [`Real`](crate::Real).
//!   A second name in it is the vector function: that of `lanes::math` in `onnx-loops` for `f32`, if the compiler does not vectorize
//!   the first. Without it, loops compute element by element.
//! - `int(…)`: the function of integers, for `i64` and `i128`, before the result is wrapped to the type.
//! - `test(…, …)`, `compare(…)`: the functions of floats and integers that return a boolean, for unary and binary operations;
//!   `truth(…)`: the function of booleans.

/// The operations on one element.
#[doc(hidden)]
#[macro_export]
macro_rules! unary_operations {
    ($with:ident) => {
        $with! {
            Neg: Numbers, Simple, Exact, float(|x| -x), int(|n| n.wrapping_neg());
            Abs: Numbers, Simple, Exact, float(|x| x.abs()), int(|n| n.wrapping_abs());
            Sign: Numbers, Simple, Exact,
                float(|x| if x == 0.0 || x.is_nan() { x + 0.0 } else { x.signum() }), int(|n| n.signum());
            Not: Booleans, Simple, Exact, test(|x| x == 0.0, |n| n == 0);
            BitwiseNot: Integers, Simple, Exact, int(|n| !n);
            Floor: Numbers, Simple, Exact, float(|x| x.floor()), int(|n| n);
            Ceil: Numbers, Simple, Exact, float(|x| x.ceil()), int(|n| n);
            /// To the nearest integer, ties to even. Old runtimes round halves away from zero.
            Round: Numbers, Simple, ExactForIntegers, float(|x| x.round_ties_even()), int(|n| n);
            Sqrt: Floats, Division, Rounded, float(|x| x.sqrt());
            Reciprocal: Floats, Division, Rounded, float(|x| 1.0 / x);
            Exp: Floats, Function, Approximate, float(|x| x.exp(), exp);
            /// The exponential minus 1.
            Expm1: Floats, Function, Approximate, float(|x| x.exp_m1(), exp_m1);
            Log: Floats, Function, Approximate, float(|x| x.ln(), log);
            /// The logarithm of 1 plus the operand.
            Log1p: Floats, Function, Approximate, float(|x| x.ln_1p(), ln_1p);
            Sin: Floats, Function, Approximate, float(|x| x.sin());
            Cos: Floats, Function, Approximate, float(|x| x.cos());
            Tan: Floats, Function, Approximate, float(|x| x.tan());
            Asin: Floats, Function, Approximate, float(|x| x.asin());
            Acos: Floats, Function, Approximate, float(|x| x.acos());
            Atan: Floats, Function, Approximate, float(|x| x.atan());
            Sinh: Floats, Function, Approximate, float(|x| x.sinh());
            Cosh: Floats, Function, Approximate, float(|x| x.cosh());
            Tanh: Floats, Function, Approximate, float(|x| x.tanh(), tanh);
            Asinh: Floats, Function, Approximate, float(|x| $crate::Real::precise_asinh(x));
            Acosh: Floats, Function, Approximate, float(|x| $crate::Real::precise_acosh(x));
            Atanh: Floats, Function, Approximate, float(|x| $crate::Real::precise_atanh(x));
            Erf: Floats, Function, Approximate, float(|x| $crate::Real::erf(x), erf);
            IsNaN: Tests, Simple, Exact, test(|x| x.is_nan(), |_| false);
        }
    };
}

/// The operations on two elements.
#[doc(hidden)]
#[macro_export]
macro_rules! binary_operations {
    ($with:ident) => {
        $with! {
            Add: Numbers, Simple, Rounded, sign("+"), float(|a, b| a + b), int(|a, b| a.wrapping_add(b));
            Sub: Numbers, Simple, Rounded, sign("-"), float(|a, b| a - b), int(|a, b| a.wrapping_sub(b));
            Mul: Numbers, Simple, Rounded, sign("*"), float(|a, b| a * b), int(|a, b| a.wrapping_mul(b));
            /// Integers are rounded toward zero.
            Div: Numbers, Division, Rounded, sign("/"),
                float(|a, b| a / b), int(|a, b| if b == 0 { 0 } else { a.wrapping_div(b) });
            /// The remainder of the division rounded down: with the sign of the divisor. Runtimes differ for floats, and some compute
            /// integers with floats.
            Mod: Numbers, Function, ExactForIntegers,
                float(|a, b| {
                    let left = a % b;
                    match left {
                        _ if left == 0.0 => left.abs().copysign(b),
                        _ if (left < 0.0) != (b < 0.0) => left + b,
                        _ => left,
                    }
                }),
                int(|a, b| {
                    let left = if b == 0 { 0 } else { a.wrapping_rem(b) };
                    if left != 0 && (left < 0) != (b < 0) { left + b } else { left }
                });
            /// The remainder of the division toward zero: with the sign of the dividend.
            Remainder: Numbers, Function, ExactForIntegers,
                float(|a, b| a % b), int(|a, b| if b == 0 { 0 } else { a.wrapping_rem(b) });
            /// Integers wrap around; a negative exponent yields the truncated fraction.
            Pow: Numbers, Function, Approximate, float(|a, b| a.powf(b)), int(|a, b| $crate::Whole::power(a, b));
            /// The minimum; NaN if an operand is NaN.
            Min: Numbers, Simple, Exact,
                float(|a, b| {
                    let least = if b < a { b } else { a };
                    if b.is_nan() { b } else { least }
                }),
                int(|a, b| a.min(b));
            /// The maximum; NaN if an operand is NaN.
            Max: Numbers, Simple, Exact,
                float(|a, b| {
                    let most = if b > a { b } else { a };
                    if b.is_nan() { b } else { most }
                }),
                int(|a, b| a.max(b));
            And: Booleans, Simple, Exact, sign("and"), truth(|a, b| a & b);
            Or: Booleans, Simple, Exact, sign("or"), truth(|a, b| a | b);
            Xor: Booleans, Simple, Exact, sign("xor"), truth(|a, b| a != b);
            Equal: Tests, Simple, Exact, sign("=="), compare(|a, b| a == b);
            Less: Tests, Simple, Exact, sign("<"), compare(|a, b| a < b);
            LessOrEqual: Tests, Simple, Exact, sign("<="), compare(|a, b| a <= b);
            Greater: Tests, Simple, Exact, sign(">"), compare(|a, b| a > b);
            GreaterOrEqual: Tests, Simple, Exact, sign(">="), compare(|a, b| a >= b);
            BitwiseAnd: Integers, Simple, Exact, sign("&"), int(|a, b| a & b);
            BitwiseOr: Integers, Simple, Exact, sign("|"), int(|a, b| a | b);
            BitwiseXor: Integers, Simple, Exact, sign("^"), int(|a, b| a ^ b);
            /// 0 if the shift is negative or exceeds the width.
            ShiftLeft: Integers, Simple, Exact, sign("<<"),
                int(|a, b| if (0..64).contains(&b) { a.wrapping_shl(b as u32) } else { 0 });
            /// An arithmetic shift; all sign bits if the shift is negative or exceeds the width.
            ShiftRight: Integers, Simple, Exact, sign(">>"),
                // All bits of the count stand for the largest shift of the type.
                int(|a, b| a.wrapping_shr(if (0..64).contains(&b) { b as u32 } else { u32::MAX }));
        }
    };
}
