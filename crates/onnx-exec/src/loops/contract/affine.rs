//! Results that are a linear function of totals, within limits: what follows most convolutions and layers.
//!
//! ```text
//! min(max(total * scale[column] + bias[column] + other[row, column], least), most)
//! ```
//! A batch normalization, a bias, the other side of a residual connection and a `Relu` or `Clip` are such; any of these may be
//! missing. They are computed in one pass from totals to results.

use super::Contraction;
use crate::failure::{Failure, fail};
use crate::loops::program::{Instr, Reg};
use crate::loops::view::Operands;
use crate::loops::widest::{Job, widest};
use crate::loops::{Class, Linear};
use crate::tensor::strides;
use onnx_ir::ElemType;
use onnx_ops::meaning::Binary;

/// Such a function.
#[derive(Clone, Debug)]
pub(super) struct Affine {
    scale: Term,
    bias: Term,
    /// The operand that is added, whose elements are those of the result, and the first of them.
    other: Option<(usize, i64)>,
    least: f32,
    most: f32,
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
    Total(Affine),
    Number(f32),
    Column(usize, Linear),
    Other(usize, i64),
}

impl Affine {
    /// What is computed from the totals of a product, if it is such a function.
    pub(super) fn of(contraction: &Contraction) -> Option<Affine> {
        (contraction.elem == ElemType::FLOAT).then_some(())?;
        // With 0 less than nothing added, the sign of a zero stays.
        let (scale, bias) = (Term::All(1.0), Term::All(-0.0));
        let total = Affine { scale, bias, other: None, least: f32::NEG_INFINITY, most: f32::INFINITY };
        let Some(then) = &contraction.then else { return contraction.is_float().then_some(total) };
        let mut held: Vec<(Reg, Held)> = Vec::new();
        if let Some(reg) = then.total.filter(|reg| reg.class == Class::Single) {
            held.push((reg, Held::Total(total)));
        }
        held.extend(then.numbers.iter().map(|(reg, x, _)| (*reg, Held::Number(*x as f32))));
        for instr in &then.instrs {
            let of = |reg: &Reg| held.iter().rev().find(|(other, _)| other == reg).map(|(_, held)| held.clone());
            let (to, result) = match instr {
                Instr::Load { to, operand, elem: ElemType::FLOAT, place } => {
                    (to, contraction.loaded(*operand, place)?)
                }
                Instr::Binary { to, op, a, b } => (to, Held::Total(with(*op, of(a)?, of(b)?)?)),
                _ => return None,
            };
            held.push((*to, result));
        }
        let result = held.into_iter().rev().find(|(reg, _)| Some(*reg) == then.result)?;
        match result.1 {
            Held::Total(affine) => Some(affine),
            Held::Number(_) | Held::Column(..) | Held::Other(..) => None,
        }
    }

    /// Some rows: totals that are `of_totals` apart, to results that are `of_out` apart. The function of the first column, at a
    /// position, is for the first total.
    pub(super) fn store<A: Copy>(
        &self,
        operands: &Operands<'_>,
        at: &[usize],
        (totals, of_totals): (&[A], usize),
        (out, of_out, first): (&mut [f32], usize, usize),
        [rows, columns]: [usize; 2],
        scratch: &mut [Vec<f32>; 2],
        single: impl Fn(A) -> f32,
    ) -> Result<(), Failure> {
        let [for_scale, for_bias] = scratch;
        let scale = self.scale.numbers(operands, at, columns, for_scale)?;
        let bias = self.bias.numbers(operands, at, columns, for_bias)?;
        let other = match self.other {
            None => None,
            Some((operand, base)) => {
                let Some(view) = operands.get(operand).copied().flatten() else { fail!("an input is left out") };
                let from = usize::try_from(base + first as i64 - view.first).ok();
                let Some(from) = from.and_then(|from| view.words().get(from..)) else {
                    fail!("an index is out of bounds")
                };
                Some(from)
            }
        };
        let Affine { least, most, .. } = *self;
        let is_done = widest(Rows {
            totals,
            of_totals,
            out: &mut out[first..],
            of_out,
            rows,
            scale,
            bias,
            other,
            least,
            most,
            single,
        });
        if is_done.is_some() { Ok(()) } else { fail!("a result has fewer elements than are computed") }
    }
}

/// An operation on what registers hold, if its result is such a function.
fn with(op: Binary, a: Held, b: Held) -> Option<Affine> {
    let (mut it, with) = match (op, a, b) {
        (_, Held::Total(it), with) => (it, with),
        (Binary::Add | Binary::Mul | Binary::Max | Binary::Min, with, Held::Total(it)) => (it, with),
        _ => return None,
    };
    let is_free = it.other.is_none() && it.least == f32::NEG_INFINITY && it.most == f32::INFINITY;
    let has_bias = !matches!(it.bias, Term::All(x) if x == 0.0);
    let has_scale = !matches!(it.scale, Term::All(1.0));
    match (op, with) {
        (Binary::Mul, Held::Number(x)) if is_free && !has_bias && !has_scale => it.scale = Term::All(x),
        (Binary::Mul, Held::Column(operand, place)) if is_free && !has_bias && !has_scale => {
            it.scale = Term::Each(operand, place);
        }
        (Binary::Add, Held::Number(x)) if is_free && !has_bias => it.bias = Term::All(x),
        (Binary::Sub, Held::Number(x)) if is_free && !has_bias => it.bias = Term::All(-x),
        (Binary::Add, Held::Column(operand, place)) if is_free && !has_bias => {
            it.bias = Term::Each(operand, place);
        }
        (Binary::Add, Held::Other(operand, base)) if is_free => it.other = Some((operand, base)),
        (Binary::Max, Held::Number(x)) if it.least == f32::NEG_INFINITY && !x.is_nan() && x <= it.most => {
            it.least = x;
        }
        (Binary::Min, Held::Number(x)) if it.most == f32::INFINITY && !x.is_nan() && it.least <= x => {
            it.most = x;
        }
        _ => return None,
    }
    Some(it)
}

impl Contraction {
    /// What is loaded from a place: a number for each column, or an element for each of the result.
    fn loaded(&self, operand: usize, place: &Linear) -> Option<Held> {
        let of_result = strides(&self.dims);
        let is_of = |axis: usize, by: usize| self.dims[axis] == 1 || place.by[axis] == by as i64;
        if (0..self.dims.len()).all(|axis| is_of(axis, of_result[axis])) {
            return Some(Held::Other(operand, place.base));
        }
        let mut by = 1;
        for &axis in self.b.axes.iter().rev() {
            is_of(axis, by).then_some(())?;
            by *= self.dims[axis];
        }
        self.a.axes.iter().all(|&axis| is_of(axis, 0)).then(|| Held::Column(operand, place.clone()))
    }

    /// How far apart rows are in the result, if all are equally far apart.
    pub(super) fn row_stride(&self) -> Option<usize> {
        let strides = strides(&self.dims);
        let is_next = |pair: &[usize]| strides[pair[0]] == strides[pair[1]] * self.dims[pair[1]];
        let last = self.a.axes.last().map_or(1, |axis| strides[*axis]);
        self.a.axes.windows(2).all(is_next).then_some(last)
    }
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
            Term::Each(operand, place) => {
                let Some(view) = operands.get(*operand).copied().flatten() else {
                    fail!("an input is left out")
                };
                let first = usize::try_from(place.at(at) - view.first).ok();
                let numbers = first.and_then(|first| view.words().get(first..)?.get(..columns));
                numbers.ok_or_else(|| Failure::new("an index is out of bounds"))
            }
        }
    }
}

struct Rows<'r, A, F> {
    totals: &'r [A],
    of_totals: usize,
    out: &'r mut [f32],
    of_out: usize,
    rows: usize,
    scale: &'r [f32],
    bias: &'r [f32],
    /// As far apart as results.
    other: Option<&'r [f32]>,
    least: f32,
    most: f32,
    single: F,
}

impl<A: Copy, F: Fn(A) -> f32> Job for Rows<'_, A, F> {
    /// Nothing if not all is there.
    type Out = Option<()>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Option<()> {
        let Rows { totals, of_totals, out, of_out, rows, scale, bias, other, least, most, single } = self;
        let columns = scale.len();
        let line = |x: A, scale: f32, bias: f32| {
            if FUSED { single(x).mul_add(scale, bias) } else { single(x) * scale + bias }
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
