//! Registers, and arithmetic on them.

mod double;
mod each;
mod int;
mod single;

use super::program::Reg;
use super::widest::{Job, widest};
use super::{Class, LANES};
use each::{both, each};
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
        widest(Apply { regs: self, n, to, step: Step::Unary(op, x) });
    }

    /// Applies an operation to lanes of two registers of one class.
    pub(super) fn binary(&mut self, n: usize, to: Reg, op: Binary, a: Reg, b: Reg) {
        widest(Apply { regs: self, n, to, step: Step::Binary(op, a, b) });
    }

    /// The lanes of one register or another, as a third says.
    pub(super) fn select(&mut self, n: usize, to: Reg, condition: Reg, yes: Reg, no: Reg) {
        widest(Apply { regs: self, n, to, step: Step::Select(condition, yes, no) });
    }

    /// Numbers as elements of another type, in the class that has them.
    pub(super) fn cast(&mut self, n: usize, to: Reg, cast: Cast, x: Reg) {
        widest(Apply { regs: self, n, to, step: Step::Cast(cast, x) });
    }

    /// Single floats as doubles.
    pub(super) fn widen(&mut self, n: usize, to: Reg, x: Reg) {
        widest(Apply { regs: self, n, to, step: Step::Widen(x) });
    }
}

/// What is done to lanes.
#[derive(Clone, Copy)]
enum Step {
    Unary(Unary, Reg),
    Binary(Binary, Reg, Reg),
    Select(Reg, Reg, Reg),
    Cast(Cast, Reg),
    Widen(Reg),
}

/// A step for `n` lanes, in the widest registers.
struct Apply<'r> {
    regs: &'r mut Registers,
    n: usize,
    to: Reg,
    step: Step,
}

impl Job for Apply<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Apply { regs, n, to, step } = self;
        match step {
            Step::Unary(op, x) => unary::<FUSED>(regs, n, to, op, x),
            Step::Binary(op, a, b) => binary::<FUSED>(regs, n, to, op, a, b),
            Step::Select(condition, yes, no) => select(regs, n, to, condition, yes, no),
            Step::Cast(to_type, x) => cast(regs, n, to, to_type, x),
            Step::Widen(x) => each(&mut regs.double[to.at][..n], &regs.single[x.at][..n], f64::from),
        }
    }
}

#[inline(always)]
fn unary<const FUSED: bool>(regs: &mut Registers, n: usize, to: Reg, op: Unary, x: Reg) {
    match (x.class, to.class) {
        (Class::Single, Class::Single) => {
            let mut out = std::mem::take(&mut regs.single[to.at]);
            single::unary::<FUSED>(op, &mut out[..n], &regs.single[x.at][..n]);
            regs.single[to.at] = out;
        }
        (Class::Double, Class::Double) => {
            let mut out = std::mem::take(&mut regs.double[to.at]);
            double::unary(op, &mut out[..n], &regs.double[x.at][..n]);
            regs.double[to.at] = out;
        }
        (Class::Int, Class::Int) => {
            let mut out = std::mem::take(&mut regs.int[to.at]);
            int::unary(op, &mut out[..n], &regs.int[x.at][..n]);
            regs.int[to.at] = out;
        }
        // Tests of floats.
        (Class::Single, _) => {
            let test = |x: &f32| if op == Unary::IsNaN { x.is_nan() } else { *x == 0.0 };
            each(&mut regs.int[to.at][..n], &regs.single[x.at][..n], |x| i64::from(test(&x)));
        }
        (Class::Double, _) => {
            let test = |x: &f64| if op == Unary::IsNaN { x.is_nan() } else { *x == 0.0 };
            each(&mut regs.int[to.at][..n], &regs.double[x.at][..n], |x| i64::from(test(&x)));
        }
        (Class::Int, Class::Single | Class::Double) => {}
    }
}

#[inline(always)]
fn binary<const FUSED: bool>(regs: &mut Registers, n: usize, to: Reg, op: Binary, a: Reg, b: Reg) {
    match (a.class, to.class) {
        (Class::Single, Class::Single) => {
            let mut out = std::mem::take(&mut regs.single[to.at]);
            single::binary::<FUSED>(op, &mut out[..n], &regs.single[a.at][..n], &regs.single[b.at][..n]);
            regs.single[to.at] = out;
        }
        (Class::Double, Class::Double) => {
            let mut out = std::mem::take(&mut regs.double[to.at]);
            double::binary(op, &mut out[..n], &regs.double[a.at][..n], &regs.double[b.at][..n]);
            regs.double[to.at] = out;
        }
        (Class::Int, _) => {
            let mut out = std::mem::take(&mut regs.int[to.at]);
            int::binary(op, &mut out[..n], &regs.int[a.at][..n], &regs.int[b.at][..n]);
            regs.int[to.at] = out;
        }
        (Class::Single, _) => {
            compare(op, &mut regs.int[to.at][..n], &regs.single[a.at][..n], &regs.single[b.at][..n]);
        }
        (Class::Double, _) => {
            compare(op, &mut regs.int[to.at][..n], &regs.double[a.at][..n], &regs.double[b.at][..n]);
        }
    }
}

#[inline(always)]
fn select(regs: &mut Registers, n: usize, to: Reg, condition: Reg, yes: Reg, no: Reg) {
    #[inline(always)]
    fn choose<T: Copy>(out: &mut [T], condition: &[i64], yes: &[T], no: &[T]) {
        for (((out, c), yes), no) in out.iter_mut().zip(condition).zip(yes).zip(no) {
            *out = if *c != 0 { *yes } else { *no };
        }
    }
    match to.class {
        Class::Single => {
            let mut out = std::mem::take(&mut regs.single[to.at]);
            let (yes, no) = (&regs.single[yes.at][..n], &regs.single[no.at][..n]);
            choose(&mut out[..n], &regs.int[condition.at], yes, no);
            regs.single[to.at] = out;
        }
        Class::Double => {
            let mut out = std::mem::take(&mut regs.double[to.at]);
            let (yes, no) = (&regs.double[yes.at][..n], &regs.double[no.at][..n]);
            choose(&mut out[..n], &regs.int[condition.at], yes, no);
            regs.double[to.at] = out;
        }
        Class::Int => {
            let mut out = std::mem::take(&mut regs.int[to.at]);
            let (yes, no) = (&regs.int[yes.at][..n], &regs.int[no.at][..n]);
            choose(&mut out[..n], &regs.int[condition.at], yes, no);
            regs.int[to.at] = out;
        }
    }
}

#[inline(always)]
fn cast(regs: &mut Registers, n: usize, to: Reg, cast: Cast, x: Reg) {
    use ElemType as E;
    match (x.class, to.class) {
        (Class::Int, Class::Int) => {
            let mut out = std::mem::take(&mut regs.int[to.at]);
            each(&mut out[..n], &regs.int[x.at][..n], |x| wrap(x, cast.to));
            regs.int[to.at] = out;
        }
        (Class::Single, Class::Int) => {
            each(&mut regs.int[to.at][..n], &regs.single[x.at][..n], |x| to_int(x.into(), cast.to));
        }
        (Class::Double, Class::Int) => {
            each(&mut regs.int[to.at][..n], &regs.double[x.at][..n], |x| to_int(x, cast.to));
        }
        (Class::Single, Class::Double) => {
            each(&mut regs.double[to.at][..n], &regs.single[x.at][..n], f64::from);
        }
        (Class::Double, Class::Double) => {
            let mut out = std::mem::take(&mut regs.double[to.at]);
            out[..n].copy_from_slice(&regs.double[x.at][..n]);
            regs.double[to.at] = out;
        }
        (Class::Int, Class::Double) => each(&mut regs.double[to.at][..n], &regs.int[x.at][..n], |x| x as f64),
        (Class::Double, Class::Single) if cast.to == E::FLOAT => {
            each(&mut regs.single[to.at][..n], &regs.double[x.at][..n], |x| x as f32);
        }
        (Class::Int, Class::Single) if cast.to == E::FLOAT => {
            each(&mut regs.single[to.at][..n], &regs.int[x.at][..n], |x| x as f32);
        }
        (Class::Single, Class::Single) => {
            let mut out = std::mem::take(&mut regs.single[to.at]);
            let from = &regs.single[x.at][..n];
            match cast.to {
                E::FLOAT => out[..n].copy_from_slice(from),
                E::FLOAT16 => each(&mut out[..n], from, |x| half::f16::from_f32(x).to_f32()),
                E::BFLOAT16 => each(&mut out[..n], from, |x| half::bf16::from_f32(x).to_f32()),
                _ => each(&mut out[..n], from, |x| narrow(cast, Number::Float(x.into()))),
            }
            regs.single[to.at] = out;
        }
        (Class::Double, Class::Single) => {
            each(&mut regs.single[to.at][..n], &regs.double[x.at][..n], |x| narrow(cast, Number::Float(x)));
        }
        (Class::Int, Class::Single) => {
            each(&mut regs.single[to.at][..n], &regs.int[x.at][..n], |x| narrow(cast, Number::Int(x.into())));
        }
    }
}

/// Tests of two registers of floats.
#[inline(always)]
pub(super) fn compare<T: Copy + PartialOrd>(op: Binary, out: &mut [i64], a: &[T], b: &[T]) {
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
