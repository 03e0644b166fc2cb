//! Arithmetic on single elements.

use crate::Mode;
use crate::Number::{self, Float, Int};

/// An operation on one element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of operators")]
pub enum Unary {
    Neg,
    Abs,
    Sign,
    Not,
    BitwiseNot,
    Floor,
    Ceil,
    /// To the nearest integer, ties to even.
    Round,
    Sqrt,
    Reciprocal,
    Exp,
    /// The exponential minus 1.
    Expm1,
    Log,
    /// The logarithm of 1 plus the operand.
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    IsNaN,
}

/// An operation on two elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of operators")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    /// Integers are rounded toward zero.
    Div,
    /// The remainder of the division rounded down: with the sign of the divisor.
    Mod,
    /// The remainder of the division toward zero: with the sign of the dividend.
    Remainder,
    Pow,
    Min,
    Max,
    And,
    Or,
    Xor,
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    /// 0 if the shift is negative or exceeds the width.
    ShiftLeft,
    /// An arithmetic shift; all sign bits if the shift is negative or exceeds the width.
    ShiftRight,
}

impl Unary {
    /// Whether the result is a boolean.
    pub fn is_test(self) -> bool {
        matches!(self, Unary::Not | Unary::IsNaN)
    }

    /// The result, before wrapping to the type.
    pub(crate) fn apply(self, x: Number, mode: Mode) -> Option<Number> {
        let result = match (self, x) {
            (Unary::Neg, Int(n)) => Int(n.wrapping_neg()),
            (Unary::Abs, Int(n)) => Int(n.wrapping_abs()),
            (Unary::Sign, Int(n)) => Int(n.signum()),
            (Unary::Not, x) => Int(i128::from(!x.is_true())),
            (Unary::BitwiseNot, Int(n)) => Int(!n),
            (Unary::IsNaN, Int(_)) => Int(0),
            (Unary::IsNaN, Float(x)) => Int(i128::from(x.is_nan())),
            (Unary::Floor | Unary::Ceil | Unary::Round, Int(n)) => Int(n),
            (_, Int(_)) => return None,
            (_, Float(x)) => Float(self.float(x)?),
        };
        let is_sign_of_zero = self == Unary::Sign && x == Float(0.0);
        (mode == Mode::Reference || is_portable(result) && !is_sign_of_zero).then_some(result)
    }

    fn float(self, x: f64) -> Option<f64> {
        Some(match self {
            Unary::Neg => -x,
            Unary::Abs => x.abs(),
            Unary::Sign if x == 0.0 || x.is_nan() => x + 0.0,
            Unary::Sign => x.signum(),
            Unary::Floor => x.floor(),
            Unary::Ceil => x.ceil(),
            Unary::Round => x.round_ties_even(),
            Unary::Sqrt => x.sqrt(),
            Unary::Reciprocal => 1.0 / x,
            Unary::Exp => x.exp(),
            Unary::Expm1 => x.exp_m1(),
            Unary::Log => x.ln(),
            Unary::Log1p => x.ln_1p(),
            Unary::Sin => x.sin(),
            Unary::Cos => x.cos(),
            Unary::Tan => x.tan(),
            Unary::Asin => x.asin(),
            Unary::Acos => x.acos(),
            Unary::Atan => x.atan(),
            Unary::Sinh => x.sinh(),
            Unary::Cosh => x.cosh(),
            Unary::Tanh => x.tanh(),
            Unary::Asinh => libm::asinh(x),
            Unary::Acosh if x < 1.0 => f64::NAN,
            Unary::Acosh => libm::acosh(x),
            Unary::Atanh => libm::atanh(x),
            Unary::Erf => libm::erf(x),
            Unary::Not | Unary::BitwiseNot | Unary::IsNaN => return None,
        })
    }
}

/// Processors choose the sign of NaN, so it is not portable.
fn is_portable(result: Number) -> bool {
    match result {
        Float(x) => !x.is_nan(),
        Int(_) => true,
    }
}

impl Binary {
    /// Whether the result is a boolean.
    pub fn is_test(self) -> bool {
        use Binary as B;
        match self {
            B::And | B::Or | B::Xor => true,
            B::Equal | B::Less | B::LessOrEqual | B::Greater | B::GreaterOrEqual => true,
            B::Add | B::Sub | B::Mul | B::Div | B::Mod | B::Remainder | B::Pow | B::Min | B::Max => false,
            B::BitwiseAnd | B::BitwiseOr | B::BitwiseXor | B::ShiftLeft | B::ShiftRight => false,
        }
    }

    /// The result, before wrapping to the type; `None` if the operands are of different kinds.
    pub(crate) fn apply(self, a: Number, b: Number, mode: Mode) -> Option<Number> {
        let result = match (self, a, b) {
            (Binary::And, a, b) => truth(a.is_true() && b.is_true()),
            (Binary::Or, a, b) => truth(a.is_true() || b.is_true()),
            (Binary::Xor, a, b) => truth(a.is_true() != b.is_true()),
            (_, Int(a), Int(b)) => self.int(a, b, mode)?,
            (_, Float(a), Float(b)) => self.float(a, b)?,
            _ => return None,
        };
        // The choice between two zeros, or two NaN, is unspecified.
        let is_choice = matches!(self, Binary::Min | Binary::Max) && a == b && bits(a) != bits(b);
        (mode == Mode::Reference || is_portable(result) && !is_choice).then_some(result)
    }

    fn int(self, a: i128, b: i128, mode: Mode) -> Option<Number> {
        Some(Int(match self {
            Binary::Add => a.wrapping_add(b),
            Binary::Sub => a.wrapping_sub(b),
            Binary::Mul => a.wrapping_mul(b),
            Binary::Div | Binary::Mod | Binary::Remainder if b == 0 => {
                return (mode == Mode::Reference).then_some(Int(0));
            }
            Binary::Div => a.wrapping_div(b),
            Binary::Remainder => a.wrapping_rem(b),
            Binary::Mod => {
                let left = a.wrapping_rem(b);
                if left != 0 && (left < 0) != (b < 0) { left + b } else { left }
            }
            Binary::Pow => return Some(int_power(a, b)),
            Binary::Min => a.min(b),
            Binary::Max => a.max(b),
            Binary::And | Binary::Or | Binary::Xor => return None,
            Binary::Equal => return Some(truth(a == b)),
            Binary::Less => return Some(truth(a < b)),
            Binary::LessOrEqual => return Some(truth(a <= b)),
            Binary::Greater => return Some(truth(a > b)),
            Binary::GreaterOrEqual => return Some(truth(a >= b)),
            Binary::BitwiseAnd => a & b,
            Binary::BitwiseOr => a | b,
            Binary::BitwiseXor => a ^ b,
            Binary::ShiftLeft if (0..64).contains(&b) => a.wrapping_shl(b as u32),
            Binary::ShiftLeft => 0,
            Binary::ShiftRight if (0..64).contains(&b) => a >> b,
            // All bits equal the sign.
            Binary::ShiftRight => a >> 127,
        }))
    }

    fn float(self, a: f64, b: f64) -> Option<Number> {
        Some(Float(match self {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::Remainder => a % b,
            Binary::Mod => {
                let left = a % b;
                if left == 0.0 {
                    0.0f64.copysign(b)
                } else if (left < 0.0) != (b < 0.0) {
                    left + b
                } else {
                    left
                }
            }
            Binary::Pow => a.powf(b),
            Binary::Min | Binary::Max if a.is_nan() || b.is_nan() => f64::NAN,
            Binary::Min => {
                if b < a {
                    b
                } else {
                    a
                }
            }
            Binary::Max => {
                if b > a {
                    b
                } else {
                    a
                }
            }
            Binary::Equal => return Some(truth(a == b)),
            Binary::Less => return Some(truth(a < b)),
            Binary::LessOrEqual => return Some(truth(a <= b)),
            Binary::Greater => return Some(truth(a > b)),
            Binary::GreaterOrEqual => return Some(truth(a >= b)),
            Binary::And | Binary::Or | Binary::Xor => return None,
            Binary::BitwiseAnd | Binary::BitwiseOr | Binary::BitwiseXor => return None,
            Binary::ShiftLeft | Binary::ShiftRight => return None,
        }))
    }
}

fn truth(is: bool) -> Number {
    Int(i128::from(is))
}

fn bits(n: Number) -> Option<u64> {
    match n {
        Float(x) => Some(x.to_bits()),
        Int(_) => None,
    }
}

/// An integer power, wrapping around; a negative exponent yields the truncated fraction.
fn int_power(base: i128, exponent: i128) -> Number {
    let Ok(mut left) = u128::try_from(exponent) else {
        return Int(match base {
            1 => 1,
            -1 => {
                if exponent % 2 == 0 {
                    1
                } else {
                    -1
                }
            }
            _ => 0,
        });
    };
    let (mut result, mut square) = (1i128, base);
    while left > 0 {
        if left & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        left >>= 1;
    }
    Int(result)
}
