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
//! is ever stored of it.

mod finish;
mod pack;
mod stretches;

use super::Nest;
use super::micro::Micro;
use super::program::{Instr, Program};
use super::scratch::scratch;
use super::view::Operands;
use crate::budget::filled;
use crate::failure::{Failure, fail};
use finish::Finish;
use onnx_ir::ElemType;
use pack::Packer;
use std::ops::Range;
use std::sync::Arc;

/// Steps of which totals are added up in registers: a tile of columns then stays in the first cache.
pub(super) const STEPS: usize = 256;
/// The most columns of a block.
const COLUMNS: usize = 512;
/// Rows of a block: with its columns, totals stay in the second cache until they are stored.
const ROWS: usize = 120;
/// Numbers of a block of columns and all steps, which stay in the third cache.
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
    /// The element computed from the total, along the last axis of the result.
    pub(super) then: Option<Program>,
}

/// One of the factors.
#[derive(Clone, Debug)]
pub(super) struct Side {
    /// The factor, along the last of its own axes or the last that is summed over.
    pub(super) program: Program,
    /// The axes of the result that only it depends on.
    pub(super) axes: Vec<usize>,
    pub(super) is_along_steps: bool,
    /// All of it, packed before, if it is made of constants.
    pub(super) packed: Option<Arc<Vec<f32>>>,
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
    /// How many rows, columns, steps and products of such matrices there are.
    pub(super) fn extents(&self) -> [usize; 4] {
        let extents: Vec<usize> = self.dims.iter().chain(&self.over).copied().collect();
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
        let behind: usize = self.dims[1..].iter().product();
        if elements == (0..self.dims[0] * behind) {
            return self.part(operands, 0, out);
        }
        if !elements.start.is_multiple_of(behind) || !elements.len().is_multiple_of(behind) {
            fail!("a part of a matrix product is no part of its first axis")
        }
        let mut part = self.clone();
        part.dims[0] = elements.len() / behind;
        let first = elements.start / behind;
        let programs = [&mut part.a.program, &mut part.b.program];
        for program in programs.into_iter().chain(&mut part.then) {
            program.shift(0, first);
        }
        part.part(operands, first, out)
    }

    /// Computes all, which begins at a position of the first axis of what may be packed.
    fn part(&self, operands: &Operands<'_>, first: usize, out: &mut [u8]) -> Result<(), Failure> {
        let micro = Micro::best();
        let extents: Vec<usize> = self.dims.iter().chain(&self.over).copied().collect();
        let step_axes: Vec<usize> = (self.dims.len()..extents.len()).collect();
        let (rows, columns) = (self.a.count(&extents), self.b.count(&extents));
        let count: usize = self.over.iter().product();
        let batches: usize = self.both.iter().map(|&axis| extents[axis]).product();
        let mut at = vec![0; extents.len()];
        let mut a = Packer::new(&self.a, &extents, &step_axes, micro.rows);
        let mut b = Packer::new(&self.b, &extents, &step_axes, micro.columns);
        let block = block(columns, count, micro);
        let mut finish = Finish::new(self, &extents, block);
        let group = (ROWS / micro.rows * micro.rows).min(rows.next_multiple_of(micro.rows));
        let mut totals = scratch(group * block)?;
        // Rows before those of this part.
        let before = if self.a.axes.contains(&0) { first * (rows / self.dims[0]) } else { 0 };
        let known_a = self.a.packed.as_deref().filter(|_| before.is_multiple_of(micro.rows));
        let whole = known_a.map_or(rows.next_multiple_of(micro.rows), |known| known.len() / count);
        let before = if known_a.is_some() { before } else { 0 };
        let known_b = self.b.packed.as_deref().filter(|_| !self.b.axes.contains(&0) || first == 0);
        let known_b = known_b.filter(|known| known.len() == columns.next_multiple_of(micro.columns) * count);
        let mut packed_a = scratch(if known_a.is_some() { 0 } else { whole * count })?;
        let mut packed_b = scratch(if known_b.is_some() { 0 } else { block * count })?;
        let is_same_a = !self.is_of(&self.a, &self.both);
        for batch in 0..batches {
            place(&mut at, &self.both, &extents, batch);
            if known_a.is_none() && (batch == 0 || !is_same_a) {
                pack_rows(&mut a, operands, &mut at, rows, count, &mut packed_a)?;
            }
            let packed_a: &[f32] = known_a.map_or(&packed_a, |known| known);
            for columns in blocks(columns, block) {
                let wide = columns.len().next_multiple_of(micro.columns);
                let packed_b = match known_b {
                    Some(known) => &known[columns.start * count..][..wide * count],
                    None => {
                        pack_columns(&mut b, operands, &mut at, columns.clone(), count, &mut packed_b)?;
                        &packed_b[..wide * count]
                    }
                };
                for rows in blocks(rows, group) {
                    for steps in blocks(count, STEPS) {
                        let n = steps.len();
                        let a = &packed_a[steps.start * whole + (before + rows.start) * n..];
                        let b = &packed_b[steps.start * wide..][..n * wide];
                        let size = [rows.len(), columns.len()];
                        tiles(micro, n, a, b, &mut totals, block, size, steps.start == 0);
                    }
                    finish.store(operands, &mut at, rows, columns.clone(), &totals, out)?;
                }
            }
        }
        Ok(())
    }
}

impl Contraction {
    /// Packs factors that are made of constants, once for all runs.
    pub(super) fn pack(&mut self, constants: &Operands<'_>) -> Result<(), Failure> {
        let micro = Micro::best();
        let extents: Vec<usize> = self.dims.iter().chain(&self.over).copied().collect();
        let step_axes: Vec<usize> = (self.dims.len()..extents.len()).collect();
        let count: usize = self.over.iter().product();
        let mut at = vec![0; extents.len()];
        if self.is_constant(&self.a, constants) {
            let rows = self.a.count(&extents);
            let mut packed = filled(rows.next_multiple_of(micro.rows) * count, 0.0)?;
            let mut packer = Packer::new(&self.a, &extents, &step_axes, micro.rows);
            pack_rows(&mut packer, constants, &mut at, rows, count, &mut packed)?;
            self.a.packed = Some(Arc::new(packed));
        }
        if self.is_constant(&self.b, constants) {
            let columns = self.b.count(&extents);
            let mut packed = filled(columns.next_multiple_of(micro.columns) * count, 0.0)?;
            let mut packer = Packer::new(&self.b, &extents, &step_axes, micro.columns);
            for columns in blocks(columns, block(columns, count, micro)) {
                let packed = &mut packed[columns.start * count..];
                pack_columns(&mut packer, constants, &mut at, columns, count, packed)?;
            }
            self.b.packed = Some(Arc::new(packed));
        }
        Ok(())
    }

    /// Whether a factor is the same in all runs and for all positions of the axes that both depend on.
    fn is_constant(&self, side: &Side, constants: &Operands<'_>) -> bool {
        let is_known = |operand: usize| constants.get(operand).is_some_and(Option::is_some);
        let are_known = side.program.instrs.iter().all(|instr| match instr {
            Instr::Load { operand, .. }
            | Instr::LoadWhere { operand, .. }
            | Instr::Gather { operand, .. } => is_known(*operand),
            _ => true,
        });
        are_known && !self.is_of(side, &self.both)
    }

    /// Whether a factor depends on one of some axes.
    fn is_of(&self, side: &Side, axes: &[usize]) -> bool {
        let depends = depends(&side.program, self.dims.len() + self.over.len());
        axes.iter().any(|&axis| depends[axis])
    }
}

impl Nest {
    /// Packs factors of a matrix product that are made of these operands, which are the same in all runs.
    pub(crate) fn pack_constants(&mut self, constants: &Operands<'_>) -> Result<(), Failure> {
        self.contraction.as_mut().map_or(Ok(()), |contraction| contraction.pack(constants))
    }
}

/// As many columns as the cache holds with all their steps, in whole tiles.
fn block(columns: usize, count: usize, micro: Micro) -> usize {
    let block = (CACHED / count).clamp(micro.columns, COLUMNS);
    block.min(columns).next_multiple_of(micro.columns)
}

/// Packs all rows: for each block of steps, tile after tile.
fn pack_rows(
    packer: &mut Packer<'_>,
    operands: &Operands<'_>,
    at: &mut [usize],
    rows: usize,
    count: usize,
    out: &mut [f32],
) -> Result<(), Failure> {
    let whole = out.len() / count;
    for steps in blocks(count, STEPS) {
        let out = &mut out[steps.start * whole..][..steps.len() * whole];
        packer.pack(operands, at, 0..rows, steps, out)?;
    }
    Ok(())
}

/// Packs a block of columns likewise.
fn pack_columns(
    packer: &mut Packer<'_>,
    operands: &Operands<'_>,
    at: &mut [usize],
    columns: Range<usize>,
    count: usize,
    out: &mut [f32],
) -> Result<(), Failure> {
    let wide = columns.len().next_multiple_of(packer.tile());
    for steps in blocks(count, STEPS) {
        let out = &mut out[steps.start * wide..][..steps.len() * wide];
        packer.pack(operands, at, columns.clone(), steps, out)?;
    }
    Ok(())
}

/// All numbers below one in blocks.
fn blocks(count: usize, block: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(block).map(move |first| first..count.min(first + block))
}

/// The tiles of a block, of which `a` has rows and `b` columns for `n` steps.
#[allow(clippy::too_many_arguments, reason = "two matrices, their product, and how large they are")]
fn tiles(
    micro: Micro,
    n: usize,
    a: &[f32],
    b: &[f32],
    totals: &mut [f32],
    stride: usize,
    [rows, columns]: [usize; 2],
    is_first: bool,
) {
    for (left, b) in (0..columns).step_by(micro.columns).zip(b.chunks_exact(n * micro.columns)) {
        for (top, a) in (0..rows).step_by(micro.rows).zip(a.chunks_exact(n * micro.rows)) {
            let size = [micro.rows.min(rows - top), micro.columns.min(columns - left)];
            micro.run(a, b, &mut totals[top * stride + left..], stride, size, is_first);
        }
    }
}
