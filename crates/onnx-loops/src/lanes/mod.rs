//! Vector registers of programs, and arithmetic on them.

pub(super) mod access;
pub(crate) mod convert;
mod double;
mod each;
mod int;
mod kept;
mod linear;
pub mod math;
pub(super) mod multiversion;
pub(super) mod narrow;
mod register;
mod single;
pub(super) mod strip;
#[cfg(test)]
mod tests;
pub(super) mod tile;
pub(super) mod view;
mod wrap;

use crate::zip::zip;
use access::{Places, load};
use each::{both, each};
pub(super) use each::{call, call_both};
use kept::Kept;
pub(super) use linear::Linear;
use multiversion::{Body, widest};
use narrow::{round_to_bf16, round_to_f16};
use onnx_formula::{Binary, Cast, Mode, Number, Unary, binary_operations};
use onnx_ir::ElemType;
pub(super) use register::{Class, Reg};
pub(super) use single::vector_function;
use std::cell::RefCell;
use strip::Walk;
use tile::Edges;
use view::Operands;
use wrap::each_wrapped;
pub(super) use wrap::{wrap, wrap_all};

/// The most elements of a strip: enough to amortize the overhead of a step, and few enough for the registers of a program, of 4
/// or 8 KiB each, to stay in the first-level cache.
pub(super) const LANES: usize = 1024;

/// The registers of a program.
///
/// Registers of single floats are lazy: a contiguous load refers to the operand, and a constant is stored as a scalar.
pub(super) struct Registers {
    pub(super) single: Vec<Vec<f32>>,
    pub(super) double: Vec<Vec<f64>>,
    pub(super) int: Vec<Vec<i64>>,
    sources: Vec<LaneSource>,
    /// Tiles of pipelines.
    pub(super) edges: Edges,
}

thread_local! {
    /// Registers of finished programs, for the next one: allocating them takes longer than a small program.
    static KEPT: RefCell<Kept> = const { RefCell::new(Kept::NONE) };
}

impl Drop for Registers {
    fn drop(&mut self) {
        KEPT.with_borrow_mut(|kept| {
            kept::give(&mut kept.single, &mut self.single);
            kept::give(&mut kept.double, &mut self.double);
            kept::give(&mut kept.int, &mut self.int);
        });
    }
}

/// The current contents of a register of single floats.
#[derive(Clone, Copy)]
pub(super) enum LaneSource {
    /// Its own lanes.
    Own,
    /// Contiguous existing elements of an operand, from an index on.
    Elements(usize, usize),
    /// A scalar for all lanes.
    Number(f32),
    /// Elements of an operand, loaded on demand.
    Loaded(usize, Walk),
}

/// Lanes of single floats.
#[derive(Clone, Copy)]
pub(super) enum Lanes<'l> {
    Each(&'l [f32]),
    All(f32),
}

/// Extra floats after the last lane, which full vector stores may overwrite.
pub(super) const SLACK: usize = 16;

impl Registers {
    /// Registers with this many lanes and arbitrary contents.
    pub(super) fn new(counts: [usize; 3], lanes: usize) -> Self {
        let [single, double, int] = counts;
        KEPT.with_borrow_mut(|kept| Registers {
            single: kept::take(&mut kept.single, single, lanes + SLACK),
            double: kept::take(&mut kept.double, double, lanes),
            int: kept::take(&mut kept.int, int, lanes),
            sources: vec![LaneSource::Own; single],
            edges: Edges::default(),
        })
    }

    /// Sets a register to a scalar.
    pub(super) fn fill(&mut self, to: Reg, float: f64, int: i64) {
        match to.class {
            Class::Single => self.sources[to.at] = LaneSource::Number(float as f32),
            Class::Double => self.double[to.at].fill(float),
            Class::Int => self.int[to.at].fill(int),
        }
    }

    /// Writes a number to the first lanes.
    pub(super) fn spread(&mut self, n: usize, to: Reg, float: f64, int: i64) {
        match to.class {
            Class::Single => self.own(to)[..n].fill(float as f32),
            Class::Double => self.double[to.at][..n].fill(float),
            Class::Int => self.int[to.at][..n].fill(int),
        }
    }

    /// Makes a register refer to contiguous elements of an operand, which must exist.
    pub(super) fn lend(&mut self, to: Reg, operand: usize, first: usize) {
        self.sources[to.at] = LaneSource::Elements(operand, first);
    }

    /// Makes a register refer to elements of an operand that are loaded on demand.
    pub(super) fn promise(&mut self, to: Reg, operand: usize, walk: Walk) {
        self.sources[to.at] = LaneSource::Loaded(operand, walk);
    }

    /// The current contents of a register of single floats.
    pub(super) fn source(&self, x: Reg) -> &LaneSource {
        &self.sources[x.at]
    }

    /// The lanes of a register of single floats for writing.
    pub(super) fn own(&mut self, to: Reg) -> &mut [f32] {
        self.sources[to.at] = LaneSource::Own;
        &mut self.single[to.at]
    }

    /// Copies the contents of a register of single floats into its own lanes.
    pub(super) fn settle(&mut self, n: usize, x: Reg, operands: &Operands<'_>) {
        if x.class != Class::Single {
            return;
        }
        // Strips of a single pipeline have more lanes than registers, which are not needed then.
        if self.single[x.at].len() < n {
            self.single[x.at].resize(n + SLACK, 0.0);
        }
        match self.sources[x.at] {
            LaneSource::Own => return,
            // All lanes, so that it is valid for later strips.
            LaneSource::Number(number) => self.single[x.at].fill(number),
            LaneSource::Elements(operand, first) => {
                self.single[x.at][..n].copy_from_slice(elements(operands, operand, first, n));
            }
            LaneSource::Loaded(operand, walk) => {
                // The load has checked that the operand exists.
                if let Some(view) = operands.get(operand).copied().flatten() {
                    let places = match walk.stride() {
                        Some(by) => Places::Stride(walk.start, by),
                        None => Places::Rows(walk.merged()),
                    };
                    load(self, 0..n, x, view, places);
                }
            }
        }
        self.sources[x.at] = LaneSource::Own;
    }

    /// The lanes of a register of single floats, which must not be unloaded.
    pub(super) fn lanes<'l>(&'l self, n: usize, x: Reg, operands: &Operands<'l>) -> Lanes<'l> {
        match self.sources[x.at] {
            LaneSource::Own | LaneSource::Loaded(..) => Lanes::Each(&self.single[x.at][..n]),
            LaneSource::Number(number) => Lanes::All(number),
            LaneSource::Elements(operand, first) => Lanes::Each(elements(operands, operand, first, n)),
        }
    }

    /// The lanes as a slice, copied into the register if needed.
    pub(super) fn singles<'l>(&'l mut self, n: usize, x: Reg, operands: &Operands<'l>) -> &'l [f32] {
        if let LaneSource::Number(_) | LaneSource::Loaded(..) = self.sources[x.at] {
            self.settle(n, x, operands);
        }
        match self.sources[x.at] {
            LaneSource::Own | LaneSource::Number(_) | LaneSource::Loaded(..) => &self.single[x.at][..n],
            LaneSource::Elements(operand, first) => elements(operands, operand, first, n),
        }
    }

    /// A unary operation.
    pub(super) fn unary(&mut self, n: usize, to: Reg, op: Unary, x: Reg, operands: &Operands<'_>) {
        if (x.class, to.class) == (Class::Single, Class::Single) {
            if let LaneSource::Number(number) = self.sources[x.at] {
                let mut result = [0.0];
                single_unary(op, &mut result, &[number]);
                self.sources[to.at] = LaneSource::Number(result[0]);
                return;
            }
            let mut out = self.taken(to);
            single_unary(op, &mut out[..n], self.singles(n, x, operands));
            self.single[to.at] = out;
            return;
        }
        self.settle(n, x, operands);
        widest(Apply { regs: self, n, to, step: LaneOp::Unary(op, x) });
    }

    /// A binary operation on registers of one class.
    pub(super) fn binary(
        &mut self,
        n: usize,
        to: Reg,
        op: Binary,
        [a, b]: [Reg; 2],
        operands: &Operands<'_>,
    ) {
        if (a.class, to.class) == (Class::Single, Class::Single) {
            if let (LaneSource::Number(_), LaneSource::Number(_)) = (self.sources[a.at], self.sources[b.at]) {
                let mut result = [0.0];
                self.binary_into(&mut result, op, [a, b], operands);
                self.sources[to.at] = LaneSource::Number(result[0]);
                return;
            }
            let mut out = self.taken(to);
            self.binary_into(&mut out[..n], op, [a, b], operands);
            self.single[to.at] = out;
            return;
        }
        self.settle(n, a, operands);
        self.settle(n, b, operands);
        widest(Apply { regs: self, n, to, step: LaneOp::Binary(op, a, b) });
    }

    /// A binary operation on single floats with another destination.
    pub(super) fn binary_into(
        &mut self,
        out: &mut [f32],
        op: Binary,
        [a, b]: [Reg; 2],
        operands: &Operands<'_>,
    ) {
        let n = out.len();
        for x in [a, b] {
            if op == Binary::Pow || matches!(self.sources[x.at], LaneSource::Loaded(..)) {
                self.settle(n, x, operands);
            }
        }
        let (a, b) = (self.lanes(n, a, operands), self.lanes(n, b, operands));
        widest(Singles { out, step: SingleStep::Binary(op, a, b) });
    }

    /// A unary operation on single floats with another destination.
    pub(super) fn unary_into(&mut self, out: &mut [f32], op: Unary, x: Reg, operands: &Operands<'_>) {
        let n = out.len();
        single_unary(op, out, self.singles(n, x, operands));
    }

    /// Selects between the lanes of two registers by a third one.
    pub(super) fn select(
        &mut self,
        n: usize,
        to: Reg,
        [condition, yes, no]: [Reg; 3],
        operands: &Operands<'_>,
    ) {
        self.settle(n, yes, operands);
        self.settle(n, no, operands);
        self.settled(to);
        widest(Apply { regs: self, n, to, step: LaneOp::Select(condition, yes, no) });
    }

    /// Converts to another element type, in its register class.
    pub(super) fn cast(&mut self, n: usize, to: Reg, cast: Cast, x: Reg, operands: &Operands<'_>) {
        self.settle(n, x, operands);
        self.settled(to);
        widest(Apply { regs: self, n, to, step: LaneOp::Cast(cast, x) });
    }

    /// Converts single floats to doubles.
    pub(super) fn widen(&mut self, n: usize, to: Reg, x: Reg, operands: &Operands<'_>) {
        self.settle(n, x, operands);
        widest(Apply { regs: self, n, to, step: LaneOp::Widen(x) });
    }

    /// Moves the lanes of a register of single floats out; `give` returns them.
    pub(super) fn taken(&mut self, to: Reg) -> Vec<f32> {
        self.sources[to.at] = LaneSource::Own;
        std::mem::take(&mut self.single[to.at])
    }

    /// Returns the lanes of a register.
    pub(super) fn give(&mut self, to: Reg, lanes: Vec<f32>) {
        self.sources[to.at] = LaneSource::Own;
        self.single[to.at] = lanes;
    }

    /// Marks a register as having its own lanes.
    fn settled(&mut self, to: Reg) {
        if to.class == Class::Single {
            self.sources[to.at] = LaneSource::Own;
        }
    }
}

/// The elements that a register refers to.
fn elements<'l>(operands: &Operands<'l>, operand: usize, first: usize, n: usize) -> &'l [f32] {
    let view = operands.get(operand).copied().flatten();
    view.and_then(|view| view.words().get(first..)?.get(..n)).unwrap_or_default()
}

fn single_unary(op: Unary, out: &mut [f32], x: &[f32]) {
    widest(Singles { out, step: SingleStep::Unary(op, x) });
}

/// An operation on lanes of single floats.
enum SingleStep<'l> {
    Unary(Unary, &'l [f32]),
    Binary(Binary, Lanes<'l>, Lanes<'l>),
}

/// An operation on single floats as a multiversioned function.
struct Singles<'l> {
    out: &'l mut [f32],
    step: SingleStep<'l>,
}

impl Body for Singles<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        match self.step {
            SingleStep::Unary(op, x) => single::unary::<FUSED>(op, self.out, x),
            SingleStep::Binary(op, a, b) => single::binary::<FUSED>(op, self.out, a, b),
        }
    }
}

/// An operation on lanes.
#[derive(Clone, Copy)]
enum LaneOp {
    Unary(Unary, Reg),
    Binary(Binary, Reg, Reg),
    Select(Reg, Reg, Reg),
    Cast(Cast, Reg),
    Widen(Reg),
}

/// An operation on `n` lanes as a multiversioned function.
struct Apply<'r> {
    regs: &'r mut Registers,
    n: usize,
    to: Reg,
    step: LaneOp,
}

impl Body for Apply<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Apply { regs, n, to, step } = self;
        match step {
            LaneOp::Unary(op, x) => unary(regs, n, to, op, x),
            LaneOp::Binary(op, a, b) => binary(regs, n, to, op, a, b),
            LaneOp::Select(condition, yes, no) => select(regs, n, to, condition, yes, no),
            LaneOp::Cast(to_type, x) => cast(regs, n, to, to_type, x),
            LaneOp::Widen(x) => each(&mut regs.double[to.at][..n], &regs.single[x.at][..n], f64::from),
        }
    }
}

#[inline(always)]
fn unary(regs: &mut Registers, n: usize, to: Reg, op: Unary, x: Reg) {
    match (x.class, to.class) {
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
        // Handled by `Singles`.
        (Class::Single, Class::Single) => {}
        // Tests of floats.
        (Class::Single, _) => {
            single::test(op, &mut regs.int[to.at][..n], &regs.single[x.at][..n]);
        }
        (Class::Double, _) => {
            double::test(op, &mut regs.int[to.at][..n], &regs.double[x.at][..n]);
        }
        (Class::Int, Class::Single | Class::Double) => {}
    }
}

#[inline(always)]
fn binary(regs: &mut Registers, n: usize, to: Reg, op: Binary, a: Reg, b: Reg) {
    match (a.class, to.class) {
        // Handled by `Singles`.
        (Class::Single, Class::Single) => {}
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
        for (((out, c), yes), no) in zip(zip(zip(out, condition), yes), no) {
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
            each_wrapped(&mut out[..n], &regs.int[x.at][..n], cast.to, |x| x);
            regs.int[to.at] = out;
        }
        (Class::Single, Class::Int) => {
            let (out, x) = (&mut regs.int[to.at][..n], &regs.single[x.at][..n]);
            match cast.to {
                E::BOOL => to_ints(out, x, cast.to, int_of),
                _ if are_short(x) => each_wrapped(out, x, cast.to, |x| short_of(x).into()),
                _ => to_ints(out, x, cast.to, int_of),
            }
        }
        (Class::Double, Class::Int) => {
            to_ints(&mut regs.int[to.at][..n], &regs.double[x.at][..n], cast.to, |x: f64| {
                if (-LIMIT..LIMIT).contains(&x) { x as i32 } else { i32::MIN }
            });
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
                E::UINT8 if are_short(from) => each(&mut out[..n], from, |x| f32::from(short_of(x) as u8)),
                E::UINT8 => each(&mut out[..n], from, |x| f32::from(int_of(x) as u8)),
                E::INT8 if are_short(from) => each(&mut out[..n], from, |x| f32::from(short_of(x) as i8)),
                E::INT8 => each(&mut out[..n], from, |x| f32::from(int_of(x) as i8)),
                E::FLOAT16 => each(&mut out[..n], from, round_to_f16),
                E::BFLOAT16 => each(&mut out[..n], from, round_to_bf16),
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

/// Comparisons of two registers of floats.
#[inline(always)]
pub(super) fn compare<T: Copy + PartialOrd>(op: Binary, out: &mut [i64], a: &[T], b: &[T]) {
    macro_rules! rows {
        ($(
            $(#[$doc:meta])* $name:ident: $domain:ident, $cost:ident, $exactness:ident $(, sign($sign:literal))?
            $(, float($float:expr))? $(, int($int:expr))? $(, truth($truth:expr))? $(, compare($compare:expr))?;
        )*) => {
            match op {
                $(Binary::$name => {
                    $(both(out, a, b, |a, b| i64::from(call_both(a, b, $compare)));)?
                })*
            }
        };
    }
    binary_operations!(rows);
}

/// Rounds to a narrow type without vector instructions.
fn narrow(cast: Cast, number: Number) -> f32 {
    match cast.apply(number, Mode::Reference) {
        Some(Number::Float(x)) => x as f32,
        Some(Number::Int(n)) => n as f32,
        None => f32::NAN,
    }
}

/// One more than the greatest 32-bit integer.
const LIMIT: f64 = 2_147_483_648.0;

/// Converts a single float to a 32-bit integer as [`to_ints`] does.
#[inline(always)]
pub(super) fn int_of(x: f32) -> i32 {
    if (-LIMIT as f32..LIMIT as f32).contains(&x) { x as i32 } else { i32::MIN }
}

/// Adding this constant leaves the integer part of a short float in the low bits.
const WHOLE: f32 = 12_582_912.0;
const MAX_SHORT: f32 = 4_194_304.0;

/// Whether all numbers are small enough for [`short_of`], which is vectorized, unlike [`int_of`].
#[inline(always)]
pub(super) fn are_short(x: &[f32]) -> bool {
    x.iter().fold(true, |all, x| all & (x.abs() < MAX_SHORT))
}

/// [`int_of`] for floats with less than 22 integer bits.
#[inline(always)]
pub(super) fn short_of(x: f32) -> i32 {
    (x.trunc() + WHOLE).to_bits().wrapping_sub(WHOLE.to_bits()) as i32
}

/// Converts floats to integers, toward zero. Values out of range become the least integer of the conversion register, which has
/// 32 bits if `convert` applies and 64 otherwise.
#[inline(always)]
fn to_ints<A: Copy + Into<f64>>(out: &mut [i64], x: &[A], elem: ElemType, convert: impl Fn(A) -> i32) {
    use ElemType as E;
    match elem {
        E::BOOL => each(out, x, |x| i64::from(x.into() != 0.0)),
        E::INT64 | E::UINT64 => {
            let limit = 9_223_372_036_854_775_808.0;
            each(out, x, |x| {
                let x = x.into();
                if (-limit..limit).contains(&x) { x as i64 } else { i64::MIN }
            });
        }
        E::UINT8 => each(out, x, |x| (convert(x) as u8).into()),
        E::INT8 => each(out, x, |x| (convert(x) as i8).into()),
        E::INT32 => each(out, x, |x| convert(x).into()),
        _ => each_wrapped(out, x, elem, |x| convert(x).into()),
    }
}
