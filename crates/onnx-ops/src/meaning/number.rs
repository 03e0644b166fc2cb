//! Arithmetic on single elements.

use onnx_ir::ElemType;

/// An element: integers and booleans exactly, floats of any width as one that holds them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// An integer, or a boolean as 0 or 1.
    Int(i128),
    /// A float.
    Float(f64),
}

/// An operation on one element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of operators")]
pub enum Unary {
    Neg,
    Abs,
    Sign,
    Relu,
    Not,
    Floor,
    Ceil,
    Sqrt,
    Reciprocal,
    BitwiseNot,
}

/// An operation on two elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of operators")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
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
}

/// Whether the type's elements are numbers that [`Number`] can be.
pub(crate) fn is_number(elem: ElemType) -> bool {
    is_float(elem) || elem == ElemType::BOOL || elem.is_integer()
}

pub(super) fn is_float(elem: ElemType) -> bool {
    use ElemType as E;
    matches!(elem, E::FLOAT | E::DOUBLE | E::FLOAT16 | E::BFLOAT16)
}

impl Number {
    /// The number as an element of a type that it is computed in: integers wrap around, floats are rounded to nearest.
    pub fn wrap(self, elem: ElemType) -> Number {
        use ElemType as E;
        match self {
            Number::Int(n) => Number::Int(match elem {
                E::INT8 => i128::from(n as i8),
                E::INT16 => i128::from(n as i16),
                E::INT32 => i128::from(n as i32),
                E::INT64 => i128::from(n as i64),
                E::UINT8 => i128::from(n as u8),
                E::UINT16 => i128::from(n as u16),
                E::UINT32 => i128::from(n as u32),
                E::UINT64 => i128::from(n as u64),
                _ => n,
            }),
            Number::Float(x) => Number::Float(match elem {
                E::FLOAT => f64::from(x as f32),
                E::FLOAT16 => half::f16::from_f64(x).to_f64(),
                E::BFLOAT16 => half::bf16::from_f64(x).to_f64(),
                _ => x,
            }),
        }
    }

    /// The number as an element of another type; `None` where ONNX does not say what that is.
    pub fn cast(self, to: ElemType) -> Option<Number> {
        let range = |n: i128| (Number::Int(n).wrap(to) == Number::Int(n)).then_some(Number::Int(n));
        match self {
            Number::Int(n) if to == ElemType::BOOL => Some(Number::Int(i128::from(n != 0))),
            Number::Float(x) if to == ElemType::BOOL => Some(Number::Int(i128::from(x != 0.0))),
            Number::Int(n) if to == ElemType::FLOAT => Some(Number::Float(f64::from(n as f32))),
            // Rounded once, if the integer is no wider than a double.
            Number::Int(n) if is_float(to) => {
                let is_exact = to == ElemType::DOUBLE || n.unsigned_abs() < 1 << 53;
                is_exact.then(|| Number::Float(n as f64).wrap(to))
            }
            Number::Int(n) => Some(Number::Int(n).wrap(to)),
            Number::Float(_) if is_float(to) => Some(self.wrap(to)),
            Number::Float(x) if x.is_finite() && x.abs() < 1e30 => range(x.trunc() as i128),
            Number::Float(_) => None,
        }
    }

    fn is_true(self) -> bool {
        self != Number::Int(0)
    }
}

/// Of what is no number, processors choose the sign, so that it is left to them.
fn defined(result: Number) -> Option<Number> {
    match result {
        Number::Float(x) if x.is_nan() => None,
        Number::Float(_) | Number::Int(_) => Some(result),
    }
}

impl Unary {
    /// The result, in more bits than the type has.
    pub(super) fn apply(self, x: Number) -> Option<Number> {
        use Number::{Float, Int};
        defined(match (self, x) {
            (Unary::Neg, Int(n)) => Int(-n),
            (Unary::Neg, Float(x)) => Float(-x),
            (Unary::Abs, Int(n)) => Int(n.abs()),
            (Unary::Abs, Float(x)) => Float(x.abs()),
            (Unary::Sign, Int(n)) => Int(n.signum()),
            (Unary::Relu, Int(n)) => Int(n.max(0)),
            // Which zero comes of -0 is not said.
            (Unary::Relu, Float(x)) if x != 0.0 || x.is_sign_positive() => {
                Float(if x < 0.0 { 0.0 } else { x })
            }
            (Unary::Not, x) => Int(i128::from(!x.is_true())),
            (Unary::BitwiseNot, Int(n)) => Int(!n),
            (Unary::Floor, Float(x)) => Float(x.floor()),
            (Unary::Ceil, Float(x)) => Float(x.ceil()),
            (Unary::Sqrt, Float(x)) => Float(x.sqrt()),
            (Unary::Reciprocal, Float(x)) => Float(1.0 / x),
            (Unary::Sign, Float(x)) if x != 0.0 && !x.is_nan() => Float(x.signum()),
            _ => return None,
        })
    }
}

impl Binary {
    /// The result, in more bits than the type has.
    pub(super) fn apply(self, a: Number, b: Number) -> Option<Number> {
        use Number::{Float, Int};
        let truth = |is: bool| Some(Int(i128::from(is)));
        let order = match (a, b) {
            (Int(a), Int(b)) => Some(a.cmp(&b)),
            (Float(a), Float(b)) => a.partial_cmp(&b),
            _ => return None,
        };
        match self {
            Binary::And => return truth(a.is_true() && b.is_true()),
            Binary::Or => return truth(a.is_true() || b.is_true()),
            Binary::Xor => return truth(a.is_true() != b.is_true()),
            Binary::Equal => return truth(order.is_some_and(std::cmp::Ordering::is_eq)),
            Binary::Less => return truth(order.is_some_and(std::cmp::Ordering::is_lt)),
            Binary::LessOrEqual => return truth(order.is_some_and(std::cmp::Ordering::is_le)),
            Binary::Greater => return truth(order.is_some_and(std::cmp::Ordering::is_gt)),
            Binary::GreaterOrEqual => return truth(order.is_some_and(std::cmp::Ordering::is_ge)),
            // Which zero, and which of two that are no numbers, is nowhere said.
            Binary::Min | Binary::Max => {
                let order = order.filter(|o| o.is_ne() || a == b && a != Float(0.0))?;
                return Some(if (self == Binary::Min) == order.is_lt() { a } else { b });
            }
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Mod => {}
        }
        defined(match (self, a, b) {
            (Binary::Add, Int(a), Int(b)) => Int(a + b),
            (Binary::Sub, Int(a), Int(b)) => Int(a - b),
            (Binary::Mul, Int(a), Int(b)) => Int(a.wrapping_mul(b)),
            (Binary::Div, Int(a), Int(b)) if b != 0 => Int(a / b),
            (Binary::Mod, Int(a), Int(b)) if b != 0 => {
                Int(a - b * a.div_euclid(b) + if b < 0 && a.rem_euclid(b) != 0 { b } else { 0 })
            }
            (Binary::Add, Float(a), Float(b)) => Float(a + b),
            (Binary::Sub, Float(a), Float(b)) => Float(a - b),
            (Binary::Mul, Float(a), Float(b)) => Float(a * b),
            (Binary::Div, Float(a), Float(b)) => Float(a / b),
            _ => return None,
        })
    }
}
