//! What follows most reductions, computed from totals in one pass: a linear function within limits, perhaps rounded to bytes.
//!
//! ```text
//! y = min(max(total * scale[column] + bias[column] + other[row, column], least), most)
//! y = uint8(min(max(round((total + sum[column]) * scale[column] + bias[column]) + zero, least), most))
//! ```
//! A batch normalization, a bias, the other side of a residual connection, a `Relu` or `Clip`, and a quantization are such; any of
//! these may be missing. Totals are single floats, or integers of 32 bits, which the second form may compute with in doubles.

use super::program::{Instr, Program, Reg};
use super::view::{Operands, View};
use super::widest::{Job, widest};
use super::{Class, Linear};
use crate::failure::{Failure, fail};
use crate::tensor::strides;
use onnx_ir::ElemType;
use onnx_ops::meaning::{Binary, Unary};

/// Such a function.
#[derive(Clone, Debug)]
pub(super) struct Epilogue {
    /// An operand of integers of 32 bits, one for each column, that are added to totals.
    sum: Option<(usize, Linear)>,
    scale: Term,
    bias: Term,
    /// The operand that is added, whose elements are those of the result.
    other: Option<(usize, Linear)>,
    least: f32,
    most: f32,
    is_double: bool,
    /// What is added behind a rounding, if there is one.
    zero: Option<f32>,
}

/// A number for each column.
#[derive(Clone, Debug)]
enum Term {
    All(f32),
    Each(usize, Linear),
}

/// What a register holds.
#[derive(Clone)]
enum Held {
    Total(Epilogue),
    Number(f32),
    Column(usize, Linear),
    /// Integers of 32 bits.
    Sum(usize, Linear),
    Other(usize, Linear),
}

/// The axes of a result whose positions are its rows and its columns; the columns lie one behind the other.
#[derive(Clone, Copy)]
pub(super) struct Shape<'s> {
    pub(super) dims: &'s [usize],
    pub(super) rows: &'s [usize],
    pub(super) columns: &'s [usize],
}

impl Shape<'_> {
    /// What is loaded from a place: a number for each column, or an element for each of the result.
    fn loaded(&self, operand: usize, elem: ElemType, place: &Linear) -> Option<Held> {
        let of_result = strides(self.dims);
        let is_of = |axis: usize, by: usize| self.dims[axis] == 1 || place.by[axis] == by as i64;
        let is_float = elem == ElemType::FLOAT;
        let mut by = 1;
        let mut is_column = self.rows.iter().all(|&axis| is_of(axis, 0));
        for &axis in self.columns.iter().rev() {
            is_column &= is_of(axis, by);
            by *= self.dims[axis];
        }
        match elem {
            ElemType::FLOAT if is_column => Some(Held::Column(operand, place.clone())),
            ElemType::INT32 if is_column => Some(Held::Sum(operand, place.clone())),
            _ => {
                let is_result = is_float && (0..self.dims.len()).all(|axis| is_of(axis, of_result[axis]));
                is_result.then(|| Held::Other(operand, place.clone()))
            }
        }
    }

    /// How far apart rows are in the result, if all are equally far apart.
    pub(super) fn row_stride(&self) -> Option<usize> {
        let strides = strides(self.dims);
        let is_next = |pair: &[usize]| strides[pair[0]] == strides[pair[1]] * self.dims[pair[1]];
        let last = self.rows.last().map_or(1, |axis| strides[*axis]);
        self.rows.windows(2).all(is_next).then_some(last)
    }
}

impl Epilogue {
    /// What a program computes from totals, if it is such a function; without a program, single floats stay what they are.
    pub(super) fn of(
        then: Option<&Program>,
        elem: ElemType,
        total: Class,
        shape: Shape<'_>,
    ) -> Option<Epilogue> {
        matches!(elem, ElemType::FLOAT | ElemType::UINT8 | ElemType::INT8).then_some(())?;
        let identity = Epilogue {
            sum: None,
            scale: Term::All(1.0),
            // With 0 less than nothing added, the sign of a zero stays.
            bias: Term::All(-0.0),
            other: None,
            least: f32::NEG_INFINITY,
            most: f32::INFINITY,
            is_double: false,
            zero: None,
        };
        let Some(then) = then else {
            return (elem == ElemType::FLOAT && total == Class::Single).then_some(identity);
        };
        let mut held: Vec<(Reg, Held)> = Vec::new();
        held.push((then.total.filter(|reg| reg.class != Class::Double)?, Held::Total(identity)));
        let is_single =
            |(reg, x, _): &&(Reg, f64, i64)| reg.class != Class::Int && f64::from(*x as f32) == *x;
        let singles = then.numbers.iter().filter(is_single);
        held.extend(singles.map(|(reg, x, _)| (*reg, Held::Number(*x as f32))));
        for instr in &then.instrs {
            let of =
                |reg: &Reg| held.iter().rev().find(|(other, _)| other == reg).map(|(_, held)| held.clone());
            let (to, result) = match instr {
                Instr::Load { to, operand, elem, place } => (to, shape.loaded(*operand, *elem, place)?),
                Instr::Binary { to, op, a, b } => (to, Held::Total(with(*op, of(a)?, of(b)?)?)),
                Instr::Unary { to, op: Unary::Round, x } => (to, Held::Total(of(x)?.rounded()?)),
                Instr::Widen { to, x } => (to, of(x)?.cast(to.class)?),
                Instr::Cast { to, cast, x } if matches!(cast.to, ElemType::FLOAT | ElemType::DOUBLE) => {
                    (to, of(x)?.cast(to.class)?)
                }
                Instr::Cast { to, cast, x } if cast.to == elem => (to, of(x)?),
                _ => return None,
            };
            held.push((*to, result));
        }
        let result = held.into_iter().rev().find(|(reg, _)| Some(*reg) == then.result)?;
        let Held::Total(it) = result.1 else { return None };
        // What is a byte then is one before it is cast.
        let [least, most] = match elem {
            ElemType::UINT8 => [0.0, 255.0],
            ElemType::INT8 => [-128.0, 127.0],
            _ => return (it.zero.is_none() && !it.is_double && it.sum.is_none()).then_some(it),
        };
        let is_summed = it.sum.is_none() || it.is_double;
        (is_summed && it.zero.is_some() && it.other.is_none() && it.least >= least && it.most <= most)
            .then_some(it)
    }

    /// Computes some rows from totals that are `of_totals` apart; results are `of_out` apart, of which the first is given. The
    /// function of the first column, at a position, is for the first total.
    pub(super) fn store<A: Total>(
        &self,
        operands: &Operands<'_>,
        at: &[usize],
        (totals, of_totals): (&[A], usize),
        (out, of_out, first): (&mut [u8], usize, usize),
        [rows, columns]: [usize; 2],
        scratch: &mut [Vec<f32>; 2],
    ) -> Result<(), Failure> {
        let [for_scale, for_bias] = scratch;
        let scale = self.scale.numbers(operands, at, columns, for_scale)?;
        let bias = self.bias.numbers(operands, at, columns, for_bias)?;
        let Epilogue { least, most, is_double, .. } = *self;
        let it = Rows { totals, of_totals, of_out, rows, scale, bias, least, most };
        let is_done = match self.zero {
            Some(zero) => {
                let sum = match &self.sum {
                    Some((operand, place)) => Some(columns_of(operands, *operand, place, at, columns)?),
                    None => None,
                };
                let out = &mut out[first..];
                match is_double {
                    true => widest(Bytes::<A, true> { it, out, sum, zero }),
                    false => widest(Bytes::<A, false> { it, out, sum, zero }),
                }
            }
            None => {
                let other = match &self.other {
                    None => None,
                    Some((operand, place)) => {
                        let view = view(operands, *operand)?;
                        let from = usize::try_from(place.at(at) - view.first).ok();
                        let Some(from) = from.and_then(|from| view.words().get(from..)) else {
                            fail!("an index is out of bounds")
                        };
                        Some(from)
                    }
                };
                let Ok(out) = bytemuck::try_cast_slice_mut(out) else { fail!("results are not aligned") };
                widest(Singles { it, out: &mut out[first..], other })
            }
        };
        if is_done.is_some() { Ok(()) } else { fail!("a result has fewer elements than are computed") }
    }
}

impl Held {
    /// The same in another class of registers.
    fn cast(self, to: Class) -> Option<Held> {
        match (self, to) {
            (Held::Total(mut it), Class::Double) => {
                // What has been computed with is a single float.
                let is_bare = matches!((&it.scale, &it.bias), (Term::All(1.0), Term::All(x)) if *x == 0.0);
                (is_bare && it.zero.is_none()).then_some(())?;
                it.is_double = true;
                Some(Held::Total(it))
            }
            (held @ Held::Total(_), Class::Single) => Some(held),
            (held @ (Held::Number(_) | Held::Column(..)), Class::Single | Class::Double) => Some(held),
            (Held::Sum(..) | Held::Other(..), _) | (_, Class::Int) => None,
        }
    }

    fn rounded(self) -> Option<Epilogue> {
        let Held::Total(mut it) = self else { return None };
        let is_free = it.zero.is_none() && it.other.is_none();
        let has_limits = it.least != f32::NEG_INFINITY || it.most != f32::INFINITY;
        (is_free && !has_limits).then_some(())?;
        it.zero = Some(0.0);
        Some(it)
    }
}

/// An operation on what registers hold, if its result is such a function.
fn with(op: Binary, a: Held, b: Held) -> Option<Epilogue> {
    let (mut it, with) = match (op, a, b) {
        (_, Held::Total(it), with) => (it, with),
        (Binary::Add | Binary::Mul | Binary::Max | Binary::Min, with, Held::Total(it)) => (it, with),
        _ => return None,
    };
    let has_limits = it.least != f32::NEG_INFINITY || it.most != f32::INFINITY;
    let is_free = it.other.is_none() && !has_limits;
    let has_bias = !matches!(it.bias, Term::All(x) if x == 0.0);
    let has_scale = !matches!(it.scale, Term::All(1.0));
    match (op, with) {
        (Binary::Add, Held::Number(x)) if it.zero == Some(0.0) && is_free => it.zero = Some(x),
        (Binary::Sub, Held::Number(x)) if it.zero == Some(0.0) && is_free => it.zero = Some(-x),
        (Binary::Max, Held::Number(x)) if it.least == f32::NEG_INFINITY && !x.is_nan() && x <= it.most => {
            it.least = x;
        }
        (Binary::Min, Held::Number(x)) if it.most == f32::INFINITY && !x.is_nan() && it.least <= x => {
            it.most = x;
        }
        _ if it.zero.is_some() => return None,
        (Binary::Add, Held::Sum(operand, place))
            if is_free && !has_bias && !has_scale && it.sum.is_none() =>
        {
            it.sum = Some((operand, place));
        }
        (Binary::Mul, Held::Number(x)) if is_free && !has_bias && !has_scale => it.scale = Term::All(x),
        (Binary::Mul, Held::Column(operand, place)) if is_free && !has_bias && !has_scale => {
            it.scale = Term::Each(operand, place);
        }
        (Binary::Add, Held::Number(x)) if is_free && !has_bias => it.bias = Term::All(x),
        (Binary::Sub, Held::Number(x)) if is_free && !has_bias => it.bias = Term::All(-x),
        (Binary::Add, Held::Column(operand, place)) if is_free && !has_bias => {
            it.bias = Term::Each(operand, place);
        }
        (Binary::Add, Held::Other(operand, place)) if is_free => it.other = Some((operand, place)),
        _ => return None,
    }
    Some(it)
}

fn view<'v>(operands: &Operands<'v>, operand: usize) -> Result<View<'v>, Failure> {
    match operands.get(operand).copied().flatten() {
        Some(view) => Ok(view),
        None => fail!("an input is left out"),
    }
}

/// The words of an operand for columns from a position on.
fn columns_of<'v, T: bytemuck::Pod>(
    operands: &Operands<'v>,
    operand: usize,
    place: &Linear,
    at: &[usize],
    columns: usize,
) -> Result<&'v [T], Failure> {
    let view = view(operands, operand)?;
    let first = usize::try_from(place.at(at) - view.first).ok();
    let words = first.and_then(|first| view.words().get(first..)?.get(..columns));
    words.ok_or_else(|| Failure::new("an index is out of bounds"))
}

impl Term {
    /// The numbers of columns from a position on.
    fn numbers<'n>(
        &self,
        operands: &Operands<'n>,
        at: &[usize],
        columns: usize,
        scratch: &'n mut Vec<f32>,
    ) -> Result<&'n [f32], Failure> {
        match self {
            Term::All(number) => {
                scratch.clear();
                scratch.resize(columns, *number);
                Ok(scratch)
            }
            Term::Each(operand, place) => columns_of(operands, *operand, place, at, columns),
        }
    }
}

/// A total of a reduction.
pub(super) trait Total: Copy {
    /// As a single float.
    fn single(self) -> f32;

    /// As a float, with an integer of 32 bits added before.
    fn double_with(self, sum: i32) -> f64;
}

impl Total for f32 {
    #[inline(always)]
    fn single(self) -> f32 {
        self
    }

    #[inline(always)]
    fn double_with(self, sum: i32) -> f64 {
        f64::from(self) + f64::from(sum)
    }
}

impl Total for i32 {
    #[inline(always)]
    fn single(self) -> f32 {
        self as f32
    }

    #[inline(always)]
    fn double_with(self, sum: i32) -> f64 {
        f64::from(self.wrapping_add(sum))
    }
}

/// Rows of totals, and what is computed of them.
#[derive(Clone, Copy)]
struct Rows<'r, A> {
    totals: &'r [A],
    of_totals: usize,
    of_out: usize,
    rows: usize,
    scale: &'r [f32],
    bias: &'r [f32],
    least: f32,
    most: f32,
}

struct Singles<'r, A> {
    it: Rows<'r, A>,
    out: &'r mut [f32],
    /// As far apart as results.
    other: Option<&'r [f32]>,
}

impl<A: Total> Job for Singles<'_, A> {
    /// Nothing if not all is there.
    type Out = Option<()>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Option<()> {
        let Singles { it: Rows { totals, of_totals, of_out, rows, scale, bias, least, most }, out, other } =
            self;
        let columns = scale.len();
        let line = |x: A, scale: f32, bias: f32| {
            if FUSED { x.single().mul_add(scale, bias) } else { x.single() * scale + bias }
        };
        let within = |y: f32| {
            let y = if y < least { least } else { y };
            if y > most { most } else { y }
        };
        for row in 0..rows {
            let totals = totals.get(row * of_totals..)?.get(..columns)?;
            let out = out.get_mut(row * of_out..)?.get_mut(..columns)?;
            let of = out.iter_mut().zip(totals).zip(scale.iter().zip(bias));
            match other {
                None => of.for_each(|((out, x), (scale, bias))| *out = within(line(*x, *scale, *bias))),
                Some(other) => {
                    let other = other.get(row * of_out..)?.get(..columns)?;
                    of.zip(other).for_each(|(((out, x), (scale, bias)), other)| {
                        *out = within(line(*x, *scale, *bias) + other);
                    });
                }
            }
        }
        Some(())
    }
}

struct Bytes<'r, A, const DOUBLE: bool> {
    it: Rows<'r, A>,
    out: &'r mut [u8],
    sum: Option<&'r [i32]>,
    zero: f32,
}

impl<A: Total, const DOUBLE: bool> Job for Bytes<'_, A, DOUBLE> {
    /// Nothing if not all is there.
    type Out = Option<()>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Option<()> {
        // Added to a small integer, its last bits are those of the integer.
        const SINGLE: f32 = 12_582_912.0;
        const BOTH: f64 = 6_755_399_441_055_744.0;
        let Bytes { it: Rows { totals, of_totals, of_out, rows, scale, bias, least, most }, out, sum, zero } =
            self;
        let columns = scale.len();
        let byte = |x: A, sum: i32, scale: f32, bias: f32| {
            if DOUBLE {
                let y = x.double_with(sum) * f64::from(scale) + f64::from(bias);
                let y = y.round_ties_even() + f64::from(zero);
                let y = if y > f64::from(least) { y } else { f64::from(least) };
                let y = if y < f64::from(most) { y } else { f64::from(most) };
                return (y + BOTH).to_bits() as u8;
            }
            let y = (x.single() * scale + bias).round_ties_even() + zero;
            let y = if y > least { y } else { least };
            let y = if y < most { y } else { most };
            (y + SINGLE).to_bits() as u8
        };
        for row in 0..rows {
            let totals = totals.get(row * of_totals..)?.get(..columns)?;
            let out = out.get_mut(row * of_out..)?.get_mut(..columns)?;
            let of = out.iter_mut().zip(totals).zip(scale.iter().zip(bias));
            match sum.filter(|_| DOUBLE) {
                None => of.for_each(|((out, x), (scale, bias))| *out = byte(*x, 0, *scale, *bias)),
                Some(sum) => of.zip(sum.get(..columns)?).for_each(|(((out, x), (scale, bias)), sum)| {
                    *out = byte(*x, *sum, *scale, *bias);
                }),
            }
        }
        Some(())
    }
}
