//! Sums of products as matrix products.
//!
//! In `sum over k of a(m, k) * b(k, n)`, `a` and `b` are any expressions. Axes of the result that only `a` depends on are
//! rows, those that only `b` depends on are columns, and the others are batch axes. This covers matrix products,
//! convolutions (`b` is the shifted input, or 0 outside it) and products with attention masks.
//!
//! ```text
//! for each position of the axes of both
//!   a packed: for each tile of rows, all steps one after the other
//!   for each block of columns
//!     b packed likewise
//!     for each block of rows
//!       for each block of steps
//!         for each tile of columns, for each tile of rows: the micro-kernel adds to the totals
//!       results are computed from the totals and stored
//! ```
//! Packing evaluates the expressions `a` and `b`, so each of their elements is computed once per block and never stored
//! outside it. Operands that are already in the layout of the micro-kernels are read in place (`read`); images whose taps are
//! shifts of each other are copied once, with padding (`patch`).
//!
//! Factors are single floats, or 8-bit integers without their zero points (`kind`). The bytes are multiplied as stored, and the
//! contribution of the zero points is corrected in the accumulators (`zeros`), which are exact.

mod columns;
mod computed;
mod coordinate;
mod finish;
mod image;
mod kind;
pub(super) mod matrix;
pub(super) mod micro;
mod multiply;
mod order;
mod pack;
mod patch;
pub mod peak;
mod prepacked;
mod read;
pub(super) mod recognize;
mod rows;
mod stretches;
#[cfg(test)]
mod tests;
mod winograd;
mod zeros;

use super::epilogue::{Epilogue, First, Shape, split};
use super::lanes::LANES;
use super::lanes::view::{Operands, View};
use super::program::{Instr, Program};
use crate::failure::{Failure, fail};
use crate::scratch::scratch;
use columns::ColumnAccess;
use kind::Kind;
use micro::{Factor, Micro};
use onnx_ir::ElemType;
use pack::Packer;
use prepacked::Prepacked;
pub use prepacked::{Packed, Precision};
use rows::Access;
use std::ops::Range;
use std::sync::Arc;
use stretches::StepBlocks;
use winograd::Winograd;

/// Products with fewer steps run on one thread.
pub(super) const MIN_PARALLEL_PRODUCTS: usize = 1 << 19;

/// With more rows, threads divide them evenly.
const MAX_ROWS_BY_COLUMNS: usize = 96;
/// Threads compute at least so many columns of a few rows.
const MIN_PART_COLUMNS: usize = 64;
const COLUMNS_PER_ROW: usize = 4;

/// Single floats of a cache line.
const LINE: usize = 16;

/// The most columns of a block.
const COLUMNS: usize = 512;
/// The most rows of a block: the accumulators stay in the second-level cache until they are stored.
const ROWS: usize = 128;
/// Epilogues of planes with fewer columns are computed as programs, for several rows at a time.
const MIN_PLANE_COLUMNS: usize = 8;
/// The size of a block of columns with all steps, in 32-bit numbers: it fits into the third-level cache.
const CACHED: usize = 1 << 18;

/// A sum of products.
#[derive(Clone, Debug)]
pub(super) struct Contraction {
    pub(super) elem: ElemType,
    /// Extents of the axes of the result, and of the reduction axes.
    pub(super) dims: Vec<usize>,
    pub(super) over: Vec<usize>,
    pub(super) a: Side,
    pub(super) b: Side,
    /// The batch axes: those that both factors or none of them depend on.
    pub(super) both: Vec<usize>,
    /// Winograd's algorithm, if it is used; its weights exist after constants are packed.
    winograd: Option<Winograd>,
    /// The program of the epilogue, along the last axis of the result.
    then: Option<Program>,
    /// The program of the epilogue in pipelines, which is run if it exists.
    piped: Option<Program>,
    /// The epilogue in one pass, if possible.
    epilogue: Option<Epilogue>,
    /// A byte or a linear function that is computed in one pass, which is the total of the program.
    first: Option<First>,
}

/// One of the factors.
#[derive(Clone, Debug)]
pub(super) struct Side {
    /// The program of the factor, along the last of its own axes or the last reduction axis.
    pub(super) program: Program,
    /// The axes of the result that only this factor depends on.
    pub(super) axes: Vec<usize>,
    pub(super) is_along_steps: bool,
    /// Its zero points, if it is a byte factor.
    pub(super) bytes: Option<Bytes>,
    /// All of it, prepacked, if it is constant.
    pub(super) known: Option<Arc<Prepacked>>,
    /// How its steps are packed, if it loads an operand.
    pub(super) step_blocks: Arc<StepBlocks>,
}

/// A byte factor: the value of its program minus a zero point.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Bytes {
    /// The conversion of the byte before the multiplication, which needs unsigned `a` and signed `b`.
    pub(super) flip: Flip,
    pub(super) zero: Option<Program>,
    /// Whether the padding value is the zero point, which is a scalar then.
    pub(super) is_padded: bool,
}

/// A change of the signedness of a byte, which shifts its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flip {
    /// None.
    None,
    /// From signed to unsigned.
    Up,
    /// From unsigned to signed.
    Down,
}

impl Flip {
    /// The bits to flip.
    fn bits(self) -> u8 {
        match self {
            Flip::None => 0,
            Flip::Up | Flip::Down => 0x80,
        }
    }

    /// The shift of the value.
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

/// The position of an axis of the result at which a part begins.
#[derive(Clone, Copy, Default)]
pub(super) struct Start {
    axis: usize,
    position: usize,
}

impl Start {
    /// The number of rows or columns before the part, which has `count`. The axis is their first one, if it is one of theirs.
    fn before(self, side: &Side, count: usize, dims: &[usize]) -> usize {
        if side.axes.contains(&self.axis) { self.position * (count / dims[self.axis]) } else { 0 }
    }
}

/// Which axes a program depends on.
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

/// Unravels a flat index into the positions of some axes.
fn place(at: &mut [usize], axes: &[usize], extents: &[usize], mut index: usize) {
    for &axis in axes.iter().rev() {
        let d = extents[axis].max(1);
        at[axis] = index % d;
        index /= d;
    }
}

impl Contraction {
    /// Renumbers its operands, before constants are packed.
    pub(super) fn renumber(&mut self, to: &dyn Fn(usize) -> usize) {
        for side in [&mut self.a, &mut self.b] {
            let zero = side.bytes.as_mut().and_then(|bytes| bytes.zero.as_mut());
            [Some(&mut side.program), zero].into_iter().flatten().for_each(|program| program.renumber(to));
        }
        [&mut self.then, &mut self.piped].into_iter().flatten().for_each(|program| program.renumber(to));
        self.epilogues_mut().for_each(|epilogue| epilogue.renumber(to));
    }

    /// The epilogue in one pass, and the part of one that is.
    fn epilogues_mut(&mut self) -> impl Iterator<Item = &mut Epilogue> {
        self.epilogue.iter_mut().chain(self.first.as_mut().map(|first| &mut first.epilogue))
    }

    /// A sum of products of two factors.
    pub(super) fn new(
        elem: ElemType,
        (dims, over): (Vec<usize>, Vec<usize>),
        (a, b): (Side, Side),
        both: Vec<usize>,
    ) -> Contraction {
        Contraction {
            elem,
            dims,
            over,
            a,
            b,
            both,
            winograd: None,
            then: None,
            piped: None,
            epilogue: None,
            first: None,
        }
    }

    /// Selects Winograd's algorithm, if it applies and is worth it or `must` be used.
    pub(super) fn allow_winograd(&mut self, must: bool) {
        let is_chosen = Winograd::fits(self) && (must || Winograd::is_worth_it(self));
        self.winograd = is_chosen.then(Winograd::default);
    }

    /// Whether it uses Winograd's algorithm.
    pub(super) fn is_winograd(&self) -> bool {
        self.winograd.is_some()
    }

    /// Whether a factor is prepacked, so that its operand is not read.
    pub(super) fn is_packed(&self, is_rows: bool) -> bool {
        let has_weights = self.winograd.as_ref().is_some_and(|it| it.weights.is_some());
        if is_rows { self.a.known.is_some() } else { self.b.known.is_some() || has_weights }
    }

    /// The epilogue as it is run.
    fn run_then(&self) -> Option<&Program> {
        self.piped.as_ref().or(self.then.as_ref())
    }

    /// Sets the epilogue.
    pub(super) fn followed_by(&mut self, then: Option<&Program>, is_one_pass: bool) {
        self.then = then.cloned();
        let class = if self.is_float() { f32::CLASS } else { u8::CLASS };
        let (planes, columns) = self.planes();
        let is_line = planes == 1 || self.plane() >= MIN_PLANE_COLUMNS;
        let shape = Shape { dims: &self.dims, rows: &self.a.axes, columns, is_one_row: false };
        let all = (is_line && is_one_pass).then(|| Epilogue::of(then, self.elem, class, shape)).flatten();
        let parts = then.filter(|_| is_one_pass && planes == 1 && all.is_none());
        let parts = parts.and_then(|then| split(then, self.elem, class, shape));
        self.epilogue = all;
        if let Some((first, rest)) = parts {
            (self.first, self.then) = (Some(first), Some(rest));
        }
        // Pipelines take longer to begin than steps, so strips must be long.
        let strip = if planes == 1 { self.dims.iter().product() } else { self.plane() };
        let then = self.then.as_ref().filter(|_| strip >= LANES);
        let piped = then.and_then(|then| then.in_pipelines(self.elem));
        self.piped = piped.filter(|piped| !piped.is_single_stage());
    }

    /// The number of planes, and the axes of each: the last axes of the columns, which are contiguous in the result.
    fn planes(&self) -> (usize, &[usize]) {
        let (dims, axes) = (&self.dims, &self.b.axes);
        let inner =
            axes.iter().rev().zip((0..dims.len()).rev()).take_while(|(axis, last)| *axis == last).count();
        let (outer, inner) = axes.split_at(axes.len() - inner);
        (outer.iter().map(|&axis| dims[axis]).product(), inner)
    }

    /// The number of columns of a plane.
    fn plane(&self) -> usize {
        self.planes().1.iter().map(|&axis| self.dims[axis]).product()
    }

    /// The part that is computed in one pass: the epilogue, or the linear function that it begins with.
    pub(super) fn epilogue(&self) -> Option<&Epilogue> {
        self.epilogue.as_ref().or_else(|| self.line_first())
    }

    /// The linear function that the epilogue begins with, if the rest of it is a function without operands.
    fn line_first(&self) -> Option<&Epilogue> {
        self.first.as_ref().filter(|first| first.elem == ElemType::FLOAT).map(|first| &first.epilogue)
    }

    /// Whether results are a function of a linear function that is computed in one pass.
    pub(super) fn has_function(&self) -> bool {
        self.line_first().is_some()
    }

    /// The byte that the epilogue begins with.
    fn byte_first(&self) -> Option<&First> {
        self.first.as_ref().filter(|first| first.elem != ElemType::FLOAT)
    }

    /// Whether the factors are single floats, not bytes.
    pub(super) fn is_float(&self) -> bool {
        self.a.bytes.is_none()
    }

    /// The suffix for its description.
    pub(super) fn of(&self) -> &'static str {
        if self.is_float() { "" } else { " of bytes" }
    }

    /// The steps that are accumulated in registers at a time.
    pub(super) fn steps_at_a_time(&self) -> usize {
        if self.is_float() { f32::STEPS } else { u8::STEPS }
    }

    /// Extents of all axes, and the reduction axes.
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
            Access::Image(_) | Access::Far(_) => "from a copy with a border",
            Access::Computed(_) | Access::Packed => "packed",
        };
        let columns =
            match (&self.b.known, ColumnAccess::of(&self.b, &extents, &steps, self.a.count(&extents))) {
                (Some(_), _) | (None, ColumnAccess::Prepacked(..)) => "packed before the run",
                (None, ColumnAccess::Strided(_)) => "in place",
                (None, ColumnAccess::Copied(_)) => "from a copy with a border",
                (None, ColumnAccess::Packed) => "packed",
            };
        [rows, columns]
    }

    /// The number of rows of each matrix.
    pub(super) fn rows_of_one(&self) -> usize {
        self.a.count(&self.dims)
    }

    /// The micro-kernel.
    fn micro<T: Factor>(&self) -> Micro<T> {
        Micro::best_for(self.over.iter().product())
    }

    /// The rows of a tile.
    pub(super) fn rows_of_tile(&self) -> usize {
        if self.is_float() { self.micro::<f32>().rows } else { self.micro::<u8>().rows }
    }

    /// The numbers of rows, columns, steps and matrices.
    pub(super) fn extents(&self) -> [usize; 4] {
        let (extents, _) = self.axes();
        let both = self.both.iter().map(|&axis| extents[axis]).product();
        [self.a.count(&extents), self.b.count(&extents), self.over.iter().product(), both]
    }

    /// Computes the elements of the result at some positions of its first axis into `out`.
    pub(super) fn run(
        &self,
        operands: &Operands<'_>,
        elements: Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let behind: usize = self.dims[1..].iter().product();
        if elements == (0..self.dims[0] * behind) {
            return self.run_part(operands, Start::default(), out);
        }
        if !elements.start.is_multiple_of(behind) || !elements.len().is_multiple_of(behind) {
            fail!("a matrix product must be divided along its first axis")
        }
        let start = Start { axis: 0, position: elements.start / behind };
        self.cut(start, elements.len() / behind).run_part(operands, start, out)
    }

    /// The columns of the parts that threads compute, each with all rows, if that is faster than parts with some rows each: if there are
    /// few rows, and no tile of each thread. Each thread reads its part of the columns only.
    pub(super) fn columns_of_part(&self, threads: usize) -> Option<usize> {
        let [rows, columns, _, _] = self.extents();
        let is_matrix = self.both.is_empty() && self.dims.len() > 1 && self.b.axes == [self.dims.len() - 1];
        if self.is_winograd() || !is_matrix || rows > MAX_ROWS_BY_COLUMNS {
            return None;
        }
        let tile = if self.is_float() { self.micro::<f32>().columns } else { self.micro::<u8>().columns };
        let part = columns.div_ceil(threads).next_multiple_of(tile);
        // Each thread reads all rows, so that columns must be many more.
        let least = MIN_PART_COLUMNS.max(COLUMNS_PER_ROW * rows);
        (part >= least && part < columns).then_some(part)
    }

    /// Computes some columns of the result, of which the lines are given: the only axis of columns is the last one.
    pub(super) fn run_columns(
        &self,
        operands: &Operands<'_>,
        columns: Range<usize>,
        lines: Vec<&mut [u8]>,
    ) -> Result<(), Failure> {
        let start = Start { axis: self.dims.len() - 1, position: columns.start };
        let each = lines.first().map_or(0, |line| line.len());
        let mut room = scratch::<u8>(lines.len() * each)?;
        let mut part = self.cut(start, columns.len());
        let mut others: [Option<Vec<f32>>; 2] = [None, None];
        let dims = part.dims.clone();
        for (number, epilogue) in part.epilogues_mut().enumerate() {
            others[number] = epilogue.put_together(operands, &dims, operands.len() + number)?;
        }
        let others = others.each_ref().map(|other| {
            let bytes = bytemuck::cast_slice(other.as_ref()?);
            Some(View { elem: ElemType::FLOAT, bytes, first: 0 })
        });
        if others.iter().any(Option::is_some) {
            let operands = [operands, &others[..]].concat();
            part.run_part(&operands, start, &mut room)?;
        } else {
            part.run_part(operands, start, &mut room)?;
        }
        lines.into_iter().zip(room.chunks_exact(each)).for_each(|(line, from)| line.copy_from_slice(from));
        Ok(())
    }

    /// The product for so many positions of an axis of the result.
    fn cut(&self, Start { axis, position }: Start, count: usize) -> Contraction {
        let mut part = self.clone();
        part.dims[axis] = count;
        for side in [&mut part.a, &mut part.b] {
            side.program.shift(axis, position);
            if let Some(zero) = side.bytes.as_mut().and_then(|bytes| bytes.zero.as_mut()) {
                zero.shift(axis, position);
            }
        }
        for then in [&mut part.then, &mut part.piped].into_iter().flatten() {
            then.shift(axis, position);
        }
        part.epilogues_mut().for_each(|epilogue| epilogue.shift(axis, position));
        part
    }

    fn run_part(&self, operands: &Operands<'_>, start: Start, out: &mut [u8]) -> Result<(), Failure> {
        if self.is_float() {
            self.part::<f32>(operands, start, out)
        } else {
            self.part::<u8>(operands, start, out)
        }
    }

    /// Whether a factor depends on one of some axes.
    fn is_of(&self, side: &Side, axes: &[usize]) -> bool {
        let depends = depends(&side.program, self.dims.len() + self.over.len());
        axes.iter().any(|&axis| depends[axis])
    }
}

/// Columns of a block, in whole tiles: with all their steps they fit into the cache.
fn block<T: Kind>(columns: usize, depth: usize, micro: Micro<T>) -> usize {
    let block = (CACHED * T::GROUP / depth).clamp(micro.columns, COLUMNS);
    block.min(columns).next_multiple_of(micro.columns)
}

/// Packs all rows: for each block of steps, tile by tile.
fn pack_rows<T: Kind>(
    packer: &mut Packer<'_, T>,
    operands: &Operands<'_>,
    at: &mut [usize],
    rows: usize,
    count: usize,
    out: &mut [T],
) -> Result<(), Failure> {
    let whole = out.len() / count.next_multiple_of(packer.interleave());
    for steps in blocks(count, T::STEPS) {
        let n = steps.len().next_multiple_of(packer.interleave());
        let out = &mut out[steps.start * whole..][..n * whole];
        packer.pack(operands, at, 0..rows, steps, out)?;
    }
    Ok(())
}

/// Packs a block of columns: block of steps by block of steps, in each tile by tile.
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

/// The range `0..count` in blocks.
fn blocks(count: usize, block: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(block).map(move |first| first..count.min(first + block))
}
