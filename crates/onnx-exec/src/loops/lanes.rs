//! Registers, and arithmetic on them.

use super::program::Reg;
use super::{Class, LANES};
use onnx_ir::ElemType;
use onnx_ops::meaning::{Binary, Cast, Mode, Number, Unary};

/// The registers of a program.
pub(super) struct Registers {
    pub(super) single: Vec<Vec<f32>>,
    pub(super) double: Vec<Vec<f64>>,
    pub(super) int: Vec<Vec<i64>>,
}

impl Registers {
    pub(super) fn new(counts: [usize; 3]) -> Self {
        Registers {
            single: vec![vec![0.0; LANES]; counts[0]],
            double: vec![vec![0.0; LANES]; counts[1]],
            int: vec![vec![0; LANES]; counts[2]],
        }
    }

    pub(super) fn fill(&mut self, to: Reg, float: f64, int: i64) {
        match to.class {
            Class::Single => self.single[to.at].fill(float as f32),
            Class::Double => self.double[to.at].fill(float),
            Class::Int => self.int[to.at].fill(int),
        }
    }

    /// Applies an operation to lanes of one register.
    pub(super) fn unary(&mut self, n: usize, to: Reg, op: Unary, x: Reg) {
        match (x.class, to.class) {
            (Class::Single, Class::Single) => {
                let mut out = std::mem::take(&mut self.single[to.at]);
                single(op, &mut out[..n], &self.single[x.at][..n]);
                self.single[to.at] = out;
            }
            (Class::Double, Class::Double) => {
                let mut out = std::mem::take(&mut self.double[to.at]);
                double(op, &mut out[..n], &self.double[x.at][..n]);
                self.double[to.at] = out;
            }
            (Class::Int, Class::Int) => {
                let mut out = std::mem::take(&mut self.int[to.at]);
                int(op, &mut out[..n], &self.int[x.at][..n]);
                self.int[to.at] = out;
            }
            // Tests of floats.
            (Class::Single, _) => {
                let test = |x: &f32| if op == Unary::IsNaN { x.is_nan() } else { *x == 0.0 };
                each(&mut self.int[to.at][..n], &self.single[x.at][..n], |x| i64::from(test(&x)));
            }
            (Class::Double, _) => {
                let test = |x: &f64| if op == Unary::IsNaN { x.is_nan() } else { *x == 0.0 };
                each(&mut self.int[to.at][..n], &self.double[x.at][..n], |x| i64::from(test(&x)));
            }
            (Class::Int, Class::Single | Class::Double) => {}
        }
    }

    /// Applies an operation to lanes of two registers of one class.
    pub(super) fn binary(&mut self, n: usize, to: Reg, op: Binary, a: Reg, b: Reg) {
        match (a.class, to.class) {
            (Class::Single, Class::Single) => {
                let mut out = std::mem::take(&mut self.single[to.at]);
                singles(op, &mut out[..n], &self.single[a.at][..n], &self.single[b.at][..n]);
                self.single[to.at] = out;
            }
            (Class::Double, Class::Double) => {
                let mut out = std::mem::take(&mut self.double[to.at]);
                doubles(op, &mut out[..n], &self.double[a.at][..n], &self.double[b.at][..n]);
                self.double[to.at] = out;
            }
            (Class::Int, _) => {
                let mut out = std::mem::take(&mut self.int[to.at]);
                ints(op, &mut out[..n], &self.int[a.at][..n], &self.int[b.at][..n]);
                self.int[to.at] = out;
            }
            (Class::Single, _) => {
                compare(op, &mut self.int[to.at][..n], &self.single[a.at][..n], &self.single[b.at][..n]);
            }
            (Class::Double, _) => {
                compare(op, &mut self.int[to.at][..n], &self.double[a.at][..n], &self.double[b.at][..n]);
            }
        }
    }

    pub(super) fn select(&mut self, n: usize, to: Reg, condition: Reg, yes: Reg, no: Reg) {
        fn choose<T: Copy>(out: &mut [T], condition: &[i64], yes: &[T], no: &[T]) {
            for (((out, c), yes), no) in out.iter_mut().zip(condition).zip(yes).zip(no) {
                *out = if *c != 0 { *yes } else { *no };
            }
        }
        match to.class {
            Class::Single => {
                let mut out = std::mem::take(&mut self.single[to.at]);
                let (yes, no) = (&self.single[yes.at][..n], &self.single[no.at][..n]);
                choose(&mut out[..n], &self.int[condition.at], yes, no);
                self.single[to.at] = out;
            }
            Class::Double => {
                let mut out = std::mem::take(&mut self.double[to.at]);
                let (yes, no) = (&self.double[yes.at][..n], &self.double[no.at][..n]);
                choose(&mut out[..n], &self.int[condition.at], yes, no);
                self.double[to.at] = out;
            }
            Class::Int => {
                let mut out = std::mem::take(&mut self.int[to.at]);
                let (yes, no) = (&self.int[yes.at][..n], &self.int[no.at][..n]);
                choose(&mut out[..n], &self.int[condition.at], yes, no);
                self.int[to.at] = out;
            }
        }
    }

    /// Numbers as elements of another type, in the class that has them.
    pub(super) fn cast(&mut self, n: usize, to: Reg, cast: Cast, x: Reg) {
        use ElemType as E;
        match (x.class, to.class) {
            (Class::Int, Class::Int) => {
                let mut out = std::mem::take(&mut self.int[to.at]);
                each(&mut out[..n], &self.int[x.at][..n], |x| wrap(x, cast.to));
                self.int[to.at] = out;
            }
            (Class::Single, Class::Int) => {
                each(&mut self.int[to.at][..n], &self.single[x.at][..n], |x| to_int(x.into(), cast.to));
            }
            (Class::Double, Class::Int) => {
                each(&mut self.int[to.at][..n], &self.double[x.at][..n], |x| to_int(x, cast.to));
            }
            (Class::Single, Class::Double) => {
                each(&mut self.double[to.at][..n], &self.single[x.at][..n], f64::from);
            }
            (Class::Double, Class::Double) => {
                let mut out = std::mem::take(&mut self.double[to.at]);
                out[..n].copy_from_slice(&self.double[x.at][..n]);
                self.double[to.at] = out;
            }
            (Class::Int, Class::Double) => {
                each(&mut self.double[to.at][..n], &self.int[x.at][..n], |x| x as f64)
            }
            (Class::Double, Class::Single) if cast.to == E::FLOAT => {
                each(&mut self.single[to.at][..n], &self.double[x.at][..n], |x| x as f32);
            }
            (Class::Int, Class::Single) if cast.to == E::FLOAT => {
                each(&mut self.single[to.at][..n], &self.int[x.at][..n], |x| x as f32);
            }
            (Class::Single, Class::Single) => {
                let mut out = std::mem::take(&mut self.single[to.at]);
                let from = &self.single[x.at][..n];
                match cast.to {
                    E::FLOAT => out[..n].copy_from_slice(from),
                    E::FLOAT16 => each(&mut out[..n], from, |x| half::f16::from_f32(x).to_f32()),
                    E::BFLOAT16 => each(&mut out[..n], from, |x| half::bf16::from_f32(x).to_f32()),
                    _ => each(&mut out[..n], from, |x| narrow(cast, Number::Float(x.into()))),
                }
                self.single[to.at] = out;
            }
            (Class::Double, Class::Single) => {
                each(&mut self.single[to.at][..n], &self.double[x.at][..n], |x| {
                    narrow(cast, Number::Float(x))
                });
            }
            (Class::Int, Class::Single) => {
                each(&mut self.single[to.at][..n], &self.int[x.at][..n], |x| {
                    narrow(cast, Number::Int(x.into()))
                });
            }
        }
    }

    pub(super) fn widen(&mut self, n: usize, to: Reg, x: Reg) {
        each(&mut self.double[to.at][..n], &self.single[x.at][..n], f64::from);
    }
}

/// A number in one of the types that few processors have.
fn narrow(cast: Cast, number: Number) -> f32 {
    match cast.apply(number, Mode::Reference) {
        Some(Number::Float(x)) => x as f32,
        Some(Number::Int(n)) => n as f32,
        None => f32::NAN,
    }
}

/// The lowest bits of an integer as an element of a type.
pub(super) fn wrap(x: i64, elem: ElemType) -> i64 {
    use ElemType as E;
    match elem {
        E::BOOL => i64::from(x != 0),
        E::INT32 => (x as i32).into(),
        E::INT16 => (x as i16).into(),
        E::INT8 => (x as i8).into(),
        E::INT4 => x << 60 >> 60,
        E::INT2 => x << 62 >> 62,
        E::UINT32 => (x as u32).into(),
        E::UINT16 => (x as u16).into(),
        E::UINT8 => (x as u8).into(),
        E::UINT4 => x & 0xf,
        E::UINT2 => x & 0x3,
        _ => x,
    }
}

/// A float as an integer: toward zero; outside of the register that it is converted in, the least that this has.
fn to_int(x: f64, elem: ElemType) -> i64 {
    use ElemType as E;
    match elem {
        E::BOOL => i64::from(x != 0.0),
        E::INT64 | E::UINT64 => {
            let limit = 9_223_372_036_854_775_808.0;
            if (-limit..limit).contains(&x) { x as i64 } else { i64::MIN }
        }
        _ => {
            let whole = x.trunc();
            let is_in = (-2_147_483_648.0..=2_147_483_647.0).contains(&whole);
            wrap(if is_in { whole as i64 } else { i32::MIN.into() }, elem)
        }
    }
}

fn each<A: Copy, B>(out: &mut [B], x: &[A], f: impl Fn(A) -> B) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = f(*x);
    }
}

fn both<A: Copy, B>(out: &mut [B], a: &[A], b: &[A], f: impl Fn(A, A) -> B) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = f(*a, *b);
    }
}

macro_rules! float_lanes {
    ($unary:ident, $binary:ident, $ty:ty, $erf:path) => {
        fn $unary(op: Unary, out: &mut [$ty], x: &[$ty]) {
            match op {
                Unary::Neg => each(out, x, |x| -x),
                Unary::Abs => each(out, x, <$ty>::abs),
                Unary::Sign => each(out, x, |x| if x == 0.0 || x.is_nan() { x + 0.0 } else { x.signum() }),
                Unary::Floor => each(out, x, <$ty>::floor),
                Unary::Ceil => each(out, x, <$ty>::ceil),
                Unary::Round => each(out, x, <$ty>::round_ties_even),
                Unary::Sqrt => each(out, x, <$ty>::sqrt),
                Unary::Reciprocal => each(out, x, |x| 1.0 / x),
                Unary::Exp => each(out, x, <$ty>::exp),
                Unary::Expm1 => each(out, x, <$ty>::exp_m1),
                Unary::Log => each(out, x, <$ty>::ln),
                Unary::Log1p => each(out, x, <$ty>::ln_1p),
                Unary::Sin => each(out, x, <$ty>::sin),
                Unary::Cos => each(out, x, <$ty>::cos),
                Unary::Tan => each(out, x, <$ty>::tan),
                Unary::Asin => each(out, x, <$ty>::asin),
                Unary::Acos => each(out, x, <$ty>::acos),
                Unary::Atan => each(out, x, <$ty>::atan),
                Unary::Sinh => each(out, x, <$ty>::sinh),
                Unary::Cosh => each(out, x, <$ty>::cosh),
                Unary::Tanh => each(out, x, <$ty>::tanh),
                Unary::Asinh => each(out, x, <$ty>::asinh),
                Unary::Acosh => each(out, x, <$ty>::acosh),
                Unary::Atanh => each(out, x, <$ty>::atanh),
                Unary::Erf => each(out, x, $erf),
                // Of integers only; `lower` sees to it.
                Unary::Not | Unary::BitwiseNot | Unary::IsNaN => out.copy_from_slice(x),
            }
        }

        fn $binary(op: Binary, out: &mut [$ty], a: &[$ty], b: &[$ty]) {
            match op {
                Binary::Add => both(out, a, b, |a, b| a + b),
                Binary::Sub => both(out, a, b, |a, b| a - b),
                Binary::Mul => both(out, a, b, |a, b| a * b),
                Binary::Div => both(out, a, b, |a, b| a / b),
                Binary::Remainder => both(out, a, b, |a, b| a % b),
                Binary::Mod => both(out, a, b, |a: $ty, b: $ty| {
                    let left = a % b;
                    match left {
                        _ if left == 0.0 => (0.0 as $ty).copysign(b),
                        _ if (left < 0.0) != (b < 0.0) => left + b,
                        _ => left,
                    }
                }),
                Binary::Pow => both(out, a, b, <$ty>::powf),
                Binary::Min => both(out, a, b, |a, b| {
                    let least = if b < a { b } else { a };
                    if b.is_nan() { b } else { least }
                }),
                Binary::Max => both(out, a, b, |a, b| {
                    let most = if b > a { b } else { a };
                    if b.is_nan() { b } else { most }
                }),
                // Tests are another function, and the others are of integers.
                Binary::And
                | Binary::Or
                | Binary::Xor
                | Binary::Equal
                | Binary::Less
                | Binary::LessOrEqual => {}
                Binary::Greater | Binary::GreaterOrEqual | Binary::BitwiseAnd | Binary::BitwiseOr => {}
                Binary::BitwiseXor | Binary::ShiftLeft | Binary::ShiftRight => {}
            }
        }
    };
}

float_lanes!(single, singles, f32, libm::erff);
float_lanes!(double, doubles, f64, libm::erf);

fn compare<T: Copy + PartialOrd>(op: Binary, out: &mut [i64], a: &[T], b: &[T]) {
    match op {
        Binary::Equal => both(out, a, b, |a, b| i64::from(a == b)),
        Binary::Less => both(out, a, b, |a, b| i64::from(a < b)),
        Binary::LessOrEqual => both(out, a, b, |a, b| i64::from(a <= b)),
        Binary::Greater => both(out, a, b, |a, b| i64::from(a > b)),
        Binary::GreaterOrEqual => both(out, a, b, |a, b| i64::from(a >= b)),
        // No tests of floats.
        Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Mod | Binary::Remainder => {}
        Binary::Pow | Binary::Min | Binary::Max | Binary::And | Binary::Or | Binary::Xor => {}
        Binary::BitwiseAnd | Binary::BitwiseOr | Binary::BitwiseXor => {}
        Binary::ShiftLeft | Binary::ShiftRight => {}
    }
}

fn int(op: Unary, out: &mut [i64], x: &[i64]) {
    match op {
        Unary::Neg => each(out, x, i64::wrapping_neg),
        Unary::Abs => each(out, x, i64::wrapping_abs),
        Unary::Sign => each(out, x, i64::signum),
        Unary::Not => each(out, x, |x| i64::from(x == 0)),
        Unary::BitwiseNot => each(out, x, |x| !x),
        Unary::IsNaN => out.fill(0),
        // Integers are whole; of the others `lower` sees to it.
        _ => out.copy_from_slice(x),
    }
}

fn ints(op: Binary, out: &mut [i64], a: &[i64], b: &[i64]) {
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

/// To the power of an integer, wrapping around; of a negative one, what is left of a fraction.
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
