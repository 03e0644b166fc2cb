//! Epilogues of reductions in one pass: a clamped linear function, an activation, or a quantization.
//!
//! ```text
//! y = min(max(total * scale[column] + bias[column] + of_row[row] + other[row, column], least), most)
//! y = activation(total * scale[column] + bias[column] + of_row[row])
//! y = table[uint8(min(max(round((total + sum[column]) * scale[column] + bias[column]) + zero, least), most))]
//! y = table[uint8(min(max(round((total + sum[row]) * scale[row] + bias[column]) + zero, least), most))]
//! ```
//! Such epilogues are a batch normalization, a bias, a residual connection, a `Relu` or `Clip`, a sigmoid, and a quantization;
//! each part is optional. Accumulators are single floats, or 32-bit integers, for which the last form may use
//! double precision. A function of the quantized byte and constants becomes a table of 256 bytes, filled by its program once.

mod bytes;
mod line;
mod recognize;
mod split;

use super::lanes::access::store;
use super::lanes::multiversion::{Body, widest};
use super::lanes::strip::Strip;
use super::lanes::view::{Operands, View};
use super::lanes::{Class, Linear, Registers, math};
use super::program::Program;
use super::program::interpret::{numbers, run};
use crate::failure::{Failure, fail};
use crate::tensor::{advance, strides};
use crate::zip::zip;
use bytes::Bytes;
pub(super) use line::Line;
use onnx_ir::ElemType;
use smallvec::SmallVec;
pub(super) use split::{First, split};
use std::sync::{Arc, OnceLock};

/// A function of accumulators that is computed in one pass over a tile.
#[derive(Clone, Debug)]
pub(super) struct Epilogue {
    /// An operand of 32-bit integers, one for each column, that is added to the accumulator; or one for each row.
    sum: Option<(usize, Linear)>,
    sum_of_row: Option<(usize, Linear)>,
    scale: Term,
    /// An operand of floats, one for each row, that is the scale of what is rounded.
    scale_of_row: Option<(usize, Linear)>,
    bias: Term,
    /// An operand of floats, one for each row, that is added.
    of_row: Option<(usize, Linear)>,
    /// The operand that is added, with the elements of the result.
    other: Option<(usize, Linear)>,
    least: f32,
    most: f32,
    is_double: bool,
    /// The zero point that is added after rounding.
    zero: Option<f32>,
    activation: Activation,
    /// The function of the byte.
    tail: Option<Arc<Tail>>,
    /// If rows must be computed one by one, the axes of one.
    of_one_row: Option<usize>,
}

/// An activation of the linear function; `HardSigmoid` has a slope and an offset.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Activation {
    Identity,
    Sigmoid,
    /// The argument times its sigmoid.
    Silu,
    HardSigmoid(f32, f32),
    HardSwish(f32, f32),
}

/// A program that computes bytes from bytes.
#[derive(Debug)]
struct Tail {
    program: Program,
    /// The types of the byte and of the result.
    from: ElemType,
    to: ElemType,
    table: OnceLock<Option<Box<[u8; 256]>>>,
}

impl Tail {
    /// The result for each byte.
    fn table(&self) -> Option<&[u8; 256]> {
        let made = self.table.get_or_init(|| {
            let mut regs = Registers::new(self.program.counts, 256);
            numbers(&self.program, &mut regs);
            let (Some(total), Some(result)) = (self.program.total, self.program.result) else { return None };
            let is_signed = self.from == ElemType::INT8;
            let number = |bits: u8| if is_signed { bits.cast_signed().into() } else { i16::from(bits) };
            match total.class {
                Class::Int => {
                    let lanes = regs.int[total.at].iter_mut().zip(0..=u8::MAX);
                    lanes.for_each(|(lane, bits)| *lane = number(bits).into());
                }
                Class::Single => {
                    let lanes = regs.own(total).iter_mut().zip(0..=u8::MAX);
                    lanes.for_each(|(lane, bits)| *lane = number(bits).into());
                }
                Class::Double => return None,
            }
            let strip = Strip::line(0, 256);
            run(&self.program, &mut regs, &[], strip, &[0], None).ok()?;
            regs.settle(256, result, &[]);
            let mut table = Box::new([0; 256]);
            store(&mut table[..], self.to, &regs, result);
            Some(table)
        });
        made.as_deref()
    }
}

/// Room for numbers of columns.
#[derive(Default)]
pub(super) struct Numbers {
    scale: Vec<f32>,
    bias: Vec<f32>,
    sum: Vec<i32>,
    nothing: Vec<i32>,
}

/// A number for each column.
#[derive(Clone, Debug)]
enum Term {
    All(f32),
    Each(usize, Linear),
}

/// The axes of a result that are its rows and its columns; columns are contiguous.
#[derive(Clone, Copy)]
pub(super) struct Shape<'s> {
    pub(super) dims: &'s [usize],
    pub(super) rows: &'s [usize],
    pub(super) columns: &'s [usize],
    /// Whether rows are computed one by one, so that their numbers may lie anywhere.
    pub(super) is_one_row: bool,
}

impl Shape<'_> {
    /// The distance between rows in the result, if it is constant.
    pub(super) fn row_stride(&self) -> Option<usize> {
        let strides = strides(self.dims);
        let is_next = |pair: &[usize]| strides[pair[0]] == strides[pair[1]] * self.dims[pair[1]];
        let last = self.rows.last().map_or(1, |axis| strides[*axis]);
        self.rows.windows(2).all(is_next).then_some(last)
    }
}

impl Epilogue {
    /// Renumbers its operands.
    pub(super) fn renumber(&mut self, to: &dyn Fn(usize) -> usize) {
        let operands =
            [&mut self.sum, &mut self.sum_of_row, &mut self.scale_of_row, &mut self.of_row, &mut self.other];
        operands.into_iter().flatten().for_each(|(operand, _)| *operand = to(*operand));
        for term in [&mut self.scale, &mut self.bias] {
            if let Term::Each(operand, _) = term {
                *operand = to(*operand);
            }
        }
    }

    /// The suffix for the description of the loops.
    pub(super) fn how(&self) -> &'static str {
        if self.tail.is_some() { ", in one pass and a table of bytes" } else { ", in one pass" }
    }

    /// If rows must be computed one by one, the axes of one, which are the last of the result.
    pub(super) fn of_one_row(&self) -> Option<usize> {
        self.of_one_row
    }

    /// Rebases the operands from a position of an axis to its first position.
    pub(super) fn shift(&mut self, axis: usize, position: usize) {
        let terms = [&mut self.scale, &mut self.bias].into_iter().filter_map(|term| match term {
            Term::Each(_, place) => Some(place),
            Term::All(_) => None,
        });
        let others =
            [&mut self.sum, &mut self.sum_of_row, &mut self.scale_of_row, &mut self.of_row, &mut self.other];
        let others = others.into_iter().flatten().map(|(_, place)| place);
        terms.chain(others).for_each(|place| place.base += place.by[axis] * position as i64);
    }

    /// The numbers that are added, from a position on.
    fn other<'v>(&self, operands: &Operands<'v>, at: &[usize]) -> Result<Option<&'v [f32]>, Failure> {
        let Some((operand, place)) = &self.other else { return Ok(None) };
        let view = view(operands, *operand)?;
        let from = usize::try_from(place.at(at) - view.first).ok();
        match from.and_then(|from| view.words().get(from..)) {
            Some(from) => Ok(Some(from)),
            None => fail!("an index is out of bounds"),
        }
    }

    /// Puts together the numbers that are added to a part of the columns of each row, as operand `number`: they are as far apart as results,
    /// whose rows become shorter. `dims` are those of the part; the last axis is the columns.
    pub(super) fn put_together(
        &mut self,
        operands: &Operands<'_>,
        dims: &[usize],
        number: usize,
    ) -> Result<Option<Vec<f32>>, Failure> {
        let (Some((_, place)), Some((columns, before))) = (&self.other, dims.split_last()) else {
            return Ok(None);
        };
        let mut at = vec![0; place.by.len()];
        let mut numbers = Vec::with_capacity(dims.iter().product());
        loop {
            match self.other(operands, &at)?.and_then(|row| row.get(..*columns)) {
                Some(row) => numbers.extend_from_slice(row),
                None => fail!("an index is out of bounds"),
            }
            if !advance(&mut at[..before.len()], before) {
                break;
            }
        }
        let mut by: SmallVec<[i64; 6]> = strides(dims).into_iter().map(|by| by as i64).collect();
        by.resize(at.len(), 0);
        self.other = Some((number, Linear { base: 0, by }));
        Ok(Some(numbers))
    }

    /// The linear function of rows and columns from a position on, if there is nothing else.
    pub(super) fn line<'e>(
        &self,
        operands: &Operands<'e>,
        at: &[usize],
        [rows, columns]: [usize; 2],
        scratch: &'e mut Numbers,
    ) -> Result<Option<Line<'e>>, Failure> {
        if self.zero.is_some() || self.activation != Activation::Identity {
            return Ok(None);
        }
        let scale = self.scale.numbers(operands, at, columns, &mut scratch.scale)?;
        let bias = self.bias.numbers(operands, at, columns, &mut scratch.bias)?;
        let of_rows = of_each_row(operands, &self.of_row, at, rows)?;
        let other = self.other(operands, at)?;
        Ok(Some(Line { scale, bias, of_rows, other, least: self.least, most: self.most }))
    }

    /// Computes some rows from totals that are `of_totals` apart; results are `of_out` apart, of which the first is given. The
    /// function of the first column, at a position, is for the first total. Integers may be taken away from those of each column.
    pub(super) fn store<A: Total>(
        &self,
        operands: &Operands<'_>,
        at: &[usize],
        (totals, of_totals, less): (&[A], usize, Option<&[i32]>),
        (out, of_out, first): (&mut [u8], usize, usize),
        [rows, columns]: [usize; 2],
        scratch: &mut Numbers,
    ) -> Result<(), Failure> {
        let Numbers { scale: for_scale, bias: for_bias, sum: for_sum, nothing } = scratch;
        if nothing.len() < columns {
            nothing.resize(columns, 0);
        }
        let less = less.unwrap_or(nothing);
        let bias = self.bias.numbers(operands, at, columns, for_bias)?;
        let Epilogue { least, most, is_double, .. } = *self;
        let of_rows = of_each_row(operands, &self.of_row, at, rows)?;
        // A byte is rounded and shifted by its zero point; a float is stored as it is.
        let is_done = match self.zero {
            Some(zero) => {
                let Some(table) =
                    self.tail.as_ref().map(|tail| tail.table()).map_or(Some(None), |t| t.map(Some))
                else {
                    fail!("a table of bytes cannot be computed")
                };
                let scales = of_each_row(operands, &self.scale_of_row, at, rows)?;
                let sums = of_each_row(operands, &self.sum_of_row, at, rows)?;
                let is_unbiased = matches!(self.bias, Term::All(x) if x == 0.0);
                // Rows with numbers of their own are computed one by one, with these for all columns.
                let at_once = if scales.is_some() || sums.is_some() { 1 } else { rows };
                let mut is_done = Some(());
                for row in (0..rows).step_by(at_once.max(1)) {
                    let scale = match scales {
                        Some(scales) => repeated(for_scale, scales[row], columns),
                        None => self.scale.numbers(operands, at, columns, for_scale)?,
                    };
                    let sum = match (&self.sum, sums) {
                        (_, Some(sums)) => Some(repeated(for_sum, sums[row], columns)),
                        (Some((operand, place)), None) => {
                            Some(numbers_of(operands, *operand, place, at, columns)?)
                        }
                        (None, None) => None,
                    };
                    // The accumulators and results from this row on.
                    let (Some(totals), Some(out)) =
                        (totals.get(row * of_totals..), out.get_mut(first + row * of_out..))
                    else {
                        fail!("a result has fewer elements than are computed")
                    };
                    let (rows, of_rows) = (at_once, None);
                    let it =
                        Rows { totals, of_totals, of_out, rows, scale, bias, of_rows, less, least, most };
                    is_done = is_done.and(Bytes { it, out, sum, zero, is_double, is_unbiased, table }.run());
                }
                is_done
            }
            None => {
                let scale = self.scale.numbers(operands, at, columns, for_scale)?;
                let it = Rows { totals, of_totals, of_out, rows, scale, bias, of_rows, less, least, most };
                let other = self.other(operands, at)?;
                let Ok(out) = bytemuck::try_cast_slice_mut(out) else { fail!("results are not aligned") };
                widest(Singles { it, out: &mut out[first..], other, activation: self.activation })
            }
        };
        if is_done.is_some() { Ok(()) } else { fail!("a result has fewer elements than are computed") }
    }
}

/// An operand that has a number for each of so many rows, from a position on.
fn of_each_row<'v, T: bytemuck::Pod>(
    operands: &Operands<'v>,
    operand: &Option<(usize, Linear)>,
    at: &[usize],
    rows: usize,
) -> Result<Option<&'v [T]>, Failure> {
    operand.as_ref().map(|(operand, place)| numbers_of(operands, *operand, place, at, rows)).transpose()
}

/// A number for each column.
fn repeated<T: Clone>(room: &mut Vec<T>, number: T, columns: usize) -> &[T] {
    room.clear();
    room.resize(columns, number);
    room
}

fn view<'v>(operands: &Operands<'v>, operand: usize) -> Result<View<'v>, Failure> {
    match operands.get(operand).copied().flatten() {
        Some(view) => Ok(view),
        None => fail!("an input is left out"),
    }
}

/// The words of an operand from a position on, of which there must be `count`.
fn numbers_of<'v, T: bytemuck::Pod>(
    operands: &Operands<'v>,
    operand: usize,
    place: &Linear,
    at: &[usize],
    count: usize,
) -> Result<&'v [T], Failure> {
    let view = view(operands, operand)?;
    let first = usize::try_from(place.at(at) - view.first).ok();
    let words = first.and_then(|first| view.words().get(first..)?.get(..count));
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
            Term::All(number) => Ok(repeated(scratch, *number, columns)),
            Term::Each(operand, place) => numbers_of(operands, *operand, place, at, columns),
        }
    }
}

/// An accumulator of a reduction.
pub(super) trait Total: Copy {
    /// Whether it is an integer of 32 bits.
    const IS_WHOLE: bool;

    /// An integer less another; floats stay what they are.
    fn less(self, by: i32) -> Self;

    /// As a single float.
    fn single(self) -> f32;

    /// Adds a 32-bit integer and converts to a double.
    fn double_with(self, sum: i32) -> f64;
}

impl Total for f32 {
    const IS_WHOLE: bool = false;

    #[inline(always)]
    fn less(self, _: i32) -> f32 {
        self
    }

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
    const IS_WHOLE: bool = true;

    #[inline(always)]
    fn less(self, by: i32) -> i32 {
        self.wrapping_sub(by)
    }

    #[inline(always)]
    fn single(self) -> f32 {
        self as f32
    }

    #[inline(always)]
    fn double_with(self, sum: i32) -> f64 {
        f64::from(self.wrapping_add(sum))
    }
}

/// Rows of accumulators and their results.
#[derive(Clone, Copy)]
struct Rows<'r, A> {
    totals: &'r [A],
    of_totals: usize,
    of_out: usize,
    rows: usize,
    scale: &'r [f32],
    bias: &'r [f32],
    of_rows: Option<&'r [f32]>,
    /// The integers subtracted from the accumulators of each column, if those are integers.
    less: &'r [i32],
    least: f32,
    most: f32,
}

struct Singles<'r, A> {
    it: Rows<'r, A>,
    out: &'r mut [f32],
    /// In the layout of the results.
    other: Option<&'r [f32]>,
    activation: Activation,
}

impl<A: Total> Body for Singles<'_, A> {
    /// `None` if an offset is out of range.
    type Out = Option<()>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Option<()> {
        let (least, most) = (self.it.least, self.it.most);
        let sigmoid = |y: f32| 1.0 / (1.0 + math::exp::<FUSED>(-y));
        let hard = |y: f32, a: f32, b: f32| {
            let y = y * a + b;
            let y = if y > 1.0 { 1.0 } else { y };
            if y < 0.0 { 0.0 } else { y }
        };
        match self.activation {
            Activation::Identity => self.each::<FUSED>(|y| {
                let y = if y < least { least } else { y };
                if y > most { most } else { y }
            }),
            Activation::Sigmoid => self.each::<FUSED>(sigmoid),
            Activation::Silu => self.each::<FUSED>(|y| y * sigmoid(y)),
            Activation::HardSigmoid(a, b) => self.each::<FUSED>(|y| hard(y, a, b)),
            Activation::HardSwish(a, b) => self.each::<FUSED>(|y| y * hard(y, a, b)),
        }
    }
}

impl<A: Total> Singles<'_, A> {
    #[inline(always)]
    fn each<const FUSED: bool>(self, of: impl Fn(f32) -> f32) -> Option<()> {
        let Singles {
            it: Rows { totals, of_totals, of_out, rows, scale, bias, of_rows, less, .. },
            out,
            other,
            ..
        } = self;
        let columns = scale.len();
        let less = less.get(..columns)?;
        for row in 0..rows {
            // Adding -0 keeps the sign of a zero.
            let of_row = of_rows.map_or(Some(-0.0), |of_rows| of_rows.get(row).copied())?;
            let line = |x: f32, scale: f32, bias: f32| {
                of_row + if FUSED { x.mul_add(scale, bias) } else { x * scale + bias }
            };
            let totals = totals.get(row * of_totals..)?.get(..columns)?;
            let out = out.get_mut(row * of_out..)?.get_mut(..columns)?;
            if A::IS_WHOLE {
                zip(zip(&mut *out, totals), less).for_each(|((out, x), less)| *out = x.less(*less).single());
                let lanes = zip(out, zip(scale, bias));
                match other {
                    None => lanes.for_each(|(x, (scale, bias))| *x = of(line(*x, *scale, *bias))),
                    Some(other) => {
                        let other = other.get(row * of_out..)?.get(..columns)?;
                        zip(lanes, other).for_each(|((x, (scale, bias)), other)| {
                            *x = of(line(*x, *scale, *bias) + other);
                        });
                    }
                }
                continue;
            }
            let lanes = zip(zip(out, totals), zip(scale, bias));
            match other {
                None => lanes.for_each(|((out, x), (scale, bias))| {
                    *out = of(line(x.single(), *scale, *bias));
                }),
                Some(other) => {
                    let other = other.get(row * of_out..)?.get(..columns)?;
                    zip(lanes, other).for_each(|(((out, x), (scale, bias)), other)| {
                        *out = of(line(x.single(), *scale, *bias) + other);
                    });
                }
            }
        }
        Some(())
    }
}
