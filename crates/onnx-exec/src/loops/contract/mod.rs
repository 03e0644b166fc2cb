//! Sums of products as matrix products.
//!
//! `sum over k of a(m, k) * b(k, n)`, where `a` and `b` are any expressions: the axes of the result that only `a` depends on are
//! the rows, those that only `b` depends on the columns, those of both are done one after the other. So a matrix product, a
//! convolution (whose `b` is the input at shifted places, or 0 beside it), a product with attention masks are all one thing.
//!
//! ```text
//! for each position of the axes of both
//!   a packed: for each tile of rows, all steps one after the other
//!   for each block of columns
//!     b packed likewise
//!     for each block of rows
//!       for each block of steps
//!         for each tile of columns, for each tile of rows: the micro-kernel adds to the totals
//!       what is computed from the totals, stored
//! ```
//! Packing runs the programs of `a` and `b`, so whatever they compute is computed once for each block, and nothing but blocks
//! is ever stored of it. What lies in memory as micro-kernels read it is not packed (`read`), nor are images whose taps read it
//! at shifted places, but for what is beside them (`patch`).
//!
//! Factors are single floats, or whole numbers of 8 bits without a zero point each (`kind`). Of these, bytes are multiplied, and
//! what zero points add is put right in the totals (`zeros`), which are exact.

mod columns;
mod coordinate;
mod finish;
mod image;
mod kind;
mod known;
mod multiply;
mod order;
mod pack;
mod patch;
mod read;
mod rows;
mod stretches;
mod winograd;
mod zeros;

use super::epilogue::{Epilogue, Shape};
use super::micro::{Factor, Micro};
use super::program::{Instr, Program};
use super::view::Operands;
use crate::failure::{Failure, fail};
use columns::Way;
use kind::Kind;
use known::Known;
pub(crate) use known::{Packed, Precision};
use onnx_ir::ElemType;
use pack::Packer;
use rows::Access;
use std::ops::Range;
use std::sync::Arc;
use stretches::Alike;
use winograd::Winograd;

/// The most columns of a block.
const COLUMNS: usize = 512;
/// Rows of a block: with its columns, totals stay in the second cache until they are stored.
const ROWS: usize = 120;
/// Numbers of 32 bits of a block of columns and all steps, which stay in the third cache.
const CACHED: usize = 1 << 18;

/// A sum of products.
#[derive(Clone, Debug)]
pub(super) struct Contraction {
    pub(super) elem: ElemType,
    /// Extents of the axes of the result, and of those that are summed over.
    pub(super) dims: Vec<usize>,
    pub(super) over: Vec<usize>,
    pub(super) a: Side,
    pub(super) b: Side,
    /// The axes that both depend on, or neither.
    pub(super) both: Vec<usize>,
    /// How it is computed if not by plain sums; the weights are there once constants are packed.
    winograd: Option<Winograd>,
    /// The element computed from the total, along the last axis of the result.
    then: Option<Program>,
    /// The same in one pass, if that is possible.
    epilogue: Option<Epilogue>,
}

/// One of the factors.
#[derive(Clone, Debug)]
pub(super) struct Side {
    /// The factor, along the last of its own axes or the last that is summed over.
    pub(super) program: Program,
    /// The axes of the result that only it depends on.
    pub(super) axes: Vec<usize>,
    pub(super) is_along_steps: bool,
    /// What it is if it is no float.
    pub(super) bytes: Option<Bytes>,
    /// All of it, packed before, if it is made of constants.
    pub(super) known: Option<Arc<Known>>,
    /// How its steps are packed, if it is an element of an operand.
    pub(super) alike: Arc<Alike>,
}

/// A factor that is a byte, which its program gives, less a zero point.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Bytes {
    /// What the byte as it is multiplied differs by from the byte: `a` has no sign then, and `b` has one.
    pub(super) flip: Flip,
    pub(super) zero: Option<Program>,
    /// Whether the zero point, which is one number then, is what loads give out of bounds.
    pub(super) is_padded: bool,
}

/// A byte read with the sign that it has not, or without the one that it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flip {
    /// It is read as it is.
    None,
    /// From -128 on to from 0 on.
    Up,
    /// From 0 on to from -128 on.
    Down,
}

impl Flip {
    /// The bits that change.
    fn bits(self) -> u8 {
        match self {
            Flip::None => 0,
            Flip::Up | Flip::Down => 0x80,
        }
    }

    /// What is added to the number.
    fn shift(self) -> i32 {
        match self {
            Flip::None => 0,
            Flip::Up => 128,
            Flip::Down => -128,
        }
    }
}

impl Side {
    fn count(&self, dims: &[usize]) -> usize {
        self.axes.iter().map(|&axis| dims[axis]).product()
    }
}

/// The axes that a program depends on.
pub(super) fn depends(program: &Program, axes: usize) -> Vec<bool> {
    let mut found = vec![false; axes];
    for instr in &program.instrs {
        let functions: Vec<_> = match instr {
            Instr::Load { place, .. } => vec![place],
            Instr::LoadWhere { place, bounds, .. } => {
                bounds.iter().map(|bound| &bound.function).chain([place]).collect()
            }
            Instr::Inside { bounds, .. } => bounds.iter().map(|bound| &bound.function).collect(),
            Instr::Ramp { function, .. } => vec![function],
            _ => Vec::new(),
        };
        for function in functions {
            for (found, by) in found.iter_mut().zip(&function.by) {
                *found |= *by != 0;
            }
        }
    }
    found
}

/// Sets the positions of some axes to that of a flat index.
fn place(at: &mut [usize], axes: &[usize], extents: &[usize], mut index: usize) {
    for &axis in axes.iter().rev() {
        let d = extents[axis].max(1);
        at[axis] = index % d;
        index /= d;
    }
}

impl Contraction {
    /// A sum of products of two sides, some axes being of both or neither.
    pub(super) fn new(
        elem: ElemType,
        (dims, over): (Vec<usize>, Vec<usize>),
        (a, b): (Side, Side),
        both: Vec<usize>,
    ) -> Contraction {
        Contraction { elem, dims, over, a, b, both, winograd: None, then: None, epilogue: None }
    }

    /// Lets Winograd's products compute it, if they can and that is worth it or somebody `must` have them.
    pub(super) fn allow_winograd(&mut self, must: bool) {
        let is_chosen = Winograd::fits(self) && (must || Winograd::is_worth_it(self));
        self.winograd = is_chosen.then(Winograd::default);
    }

    /// Whether Winograd's products compute it.
    pub(super) fn is_winograd(&self) -> bool {
        self.winograd.is_some()
    }

    /// Whether a factor has been packed, and is read no more.
    pub(super) fn is_packed(&self, is_rows: bool) -> bool {
        let has_weights = self.winograd.as_ref().is_some_and(|it| it.weights.is_some());
        if is_rows { self.a.known.is_some() } else { self.b.known.is_some() || has_weights }
    }

    /// Says what is computed from totals.
    pub(super) fn followed_by(&mut self, then: Option<&Program>, is_one_pass: bool) {
        self.then = then.cloned();
        let (class, Contraction { dims, a, b, .. }) =
            (if self.is_float() { f32::CLASS } else { u8::CLASS }, &*self);
        // Columns that lie one behind the other.
        let is_row = b.axes.iter().copied().eq(dims.len() - b.axes.len()..dims.len());
        let shape = Shape { dims, rows: &a.axes, columns: &b.axes };
        self.epilogue =
            (is_row && is_one_pass).then(|| Epilogue::of(then, self.elem, class, shape)).flatten();
    }

    /// What is computed from totals in one pass, if that is possible.
    pub(super) fn epilogue(&self) -> Option<&Epilogue> {
        self.epilogue.as_ref()
    }

    /// Whether it is one of single floats, and not of bytes.
    pub(super) fn is_float(&self) -> bool {
        self.a.bytes.is_none()
    }

    /// What it is of, if not of floats.
    pub(super) fn of(&self) -> &'static str {
        if self.is_float() { "" } else { " of bytes" }
    }

    /// Steps of which totals are added up in registers.
    pub(super) fn steps_at_a_time(&self) -> usize {
        if self.is_float() { f32::STEPS } else { u8::STEPS }
    }

    /// Extents of all axes, and which of these are summed over.
    fn axes(&self) -> (Vec<usize>, Vec<usize>) {
        let extents: Vec<usize> = self.dims.iter().chain(&self.over).copied().collect();
        let steps = (self.dims.len()..extents.len()).collect();
        (extents, steps)
    }

    /// How rows and columns are read.
    pub(super) fn read(&self) -> [&'static str; 2] {
        if self.is_winograd() {
            return ["from a copy with a border, transformed", "transformed and packed before the run"];
        }
        let (extents, steps) = self.axes();
        let access = match self.is_float() {
            true => Access::of::<f32>(self, &extents, &steps),
            false => Access::of::<u8>(self, &extents, &steps),
        };
        let rows = match access {
            Access::Prepacked(_) => "packed before the run",
            Access::InPlace(_) => "in place",
            Access::Image(_) => "from a copy with a border",
            Access::Packed => "packed",
        };
        let columns = match (&self.b.known, Way::of(&self.b, &extents, &steps, self.a.count(&extents))) {
            (Some(_), _) | (None, Way::Known(..)) => "packed before the run",
            (None, Way::Lying(_)) => "in place",
            (None, Way::Copied(_)) => "from a copy with a border",
            (None, Way::Packed) => "packed",
        };
        [rows, columns]
    }

    /// How many rows each of its matrices has.
    pub(super) fn rows_of_one(&self) -> usize {
        self.a.count(&self.dims)
    }

    /// How many rows, columns, steps and products of such matrices there are.
    pub(super) fn extents(&self) -> [usize; 4] {
        let (extents, _) = self.axes();
        let both = self.both.iter().map(|&axis| extents[axis]).product();
        [self.a.count(&extents), self.b.count(&extents), self.over.iter().product(), both]
    }

    /// Computes the elements of the result at some positions of its first axis, whose elements `out` has.
    pub(super) fn run(
        &self,
        operands: &Operands<'_>,
        elements: Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        if self.a.bytes.is_some() {
            self.run_of::<u8>(operands, elements, out)
        } else {
            self.run_of::<f32>(operands, elements, out)
        }
    }

    fn run_of<T: Kind>(
        &self,
        operands: &Operands<'_>,
        elements: Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let behind: usize = self.dims[1..].iter().product();
        if elements == (0..self.dims[0] * behind) {
            return self.part::<T>(operands, 0, out);
        }
        if !elements.start.is_multiple_of(behind) || !elements.len().is_multiple_of(behind) {
            fail!("a part of a matrix product is no part of its first axis")
        }
        let mut part = self.clone();
        part.dims[0] = elements.len() / behind;
        let first = elements.start / behind;
        for side in [&mut part.a, &mut part.b] {
            side.program.shift(0, first);
            if let Some(zero) = side.bytes.as_mut().and_then(|bytes| bytes.zero.as_mut()) {
                zero.shift(0, first);
            }
        }
        if let Some(then) = &mut part.then {
            then.shift(0, first);
        }
        if let Some(epilogue) = &mut part.epilogue {
            epilogue.shift(0, first);
        }
        part.part::<T>(operands, first, out)
    }

    /// Whether a factor depends on one of some axes.
    fn is_of(&self, side: &Side, axes: &[usize]) -> bool {
        let depends = depends(&side.program, self.dims.len() + self.over.len());
        axes.iter().any(|&axis| depends[axis])
    }
}

/// As many columns as the cache holds with all their steps, in whole tiles.
fn block<T: Kind>(columns: usize, depth: usize, micro: Micro<T>) -> usize {
    let block = (CACHED * T::GROUP / depth).clamp(micro.columns, COLUMNS);
    block.min(columns).next_multiple_of(micro.columns)
}

/// Packs all rows: for each block of steps, tile after tile.
fn pack_rows<T: Kind>(
    packer: &mut Packer<'_, T>,
    operands: &Operands<'_>,
    at: &mut [usize],
    rows: usize,
    count: usize,
    out: &mut [T],
) -> Result<(), Failure> {
    let whole = out.len() / count.next_multiple_of(T::GROUP);
    for steps in blocks(count, T::STEPS) {
        let n = steps.len().next_multiple_of(T::GROUP);
        let out = &mut out[steps.start * whole..][..n * whole];
        packer.pack(operands, at, 0..rows, steps, out)?;
    }
    Ok(())
}

/// Packs a block of columns likewise.
fn pack_columns<T: Kind>(
    packer: &mut Packer<'_, T>,
    operands: &Operands<'_>,
    at: &mut [usize],
    columns: Range<usize>,
    count: usize,
    out: &mut [T],
) -> Result<(), Failure> {
    let wide = columns.len().next_multiple_of(packer.tile());
    for steps in blocks(count, T::STEPS) {
        let n = steps.len().next_multiple_of(T::GROUP);
        let out = &mut out[steps.start * wide..][..n * wide];
        packer.pack(operands, at, columns.clone(), steps, out)?;
    }
    Ok(())
}

/// All numbers below one in blocks.
fn blocks(count: usize, block: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(block).map(move |first| first..count.min(first + block))
}
