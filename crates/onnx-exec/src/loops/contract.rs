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
//!     for each block of steps
//!       b packed likewise
//!       for each tile of columns, for each tile of rows: the micro-kernel adds to the totals
//!     what is computed from the totals, stored
//! ```
//! Packing runs the programs of `a` and `b`, so whatever they compute is computed once for each block, and nothing but blocks
//! is ever stored of it.

use super::lanes::Registers;
use super::memory::store;
use super::micro::Micro;
use super::program::{Instr, Program, Reg};
use super::run::{numbers, run};
use super::view::Operands;
use super::{Class, LANES};
use crate::budget::filled;
use crate::failure::{Failure, fail};
use crate::tensor::{strides, width};
use onnx_ir::ElemType;

/// Steps of which totals are added up in registers.
const STEPS: usize = 384;
/// Columns of a block: with its steps, they stay in the second cache.
const COLUMNS: usize = 256;

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
    pub(super) fn run(&self, operands: &Operands<'_>, result: &mut [u8]) -> Result<(), Failure> {
        let micro = Micro::best();
        let extents: Vec<usize> = self.dims.iter().chain(&self.over).copied().collect();
        let steps: Vec<usize> = (self.dims.len()..extents.len()).collect();
        let (rows, columns) = (self.a.count(&extents), self.b.count(&extents));
        let count: usize = self.over.iter().product();
        let batches: usize = self.both.iter().map(|&axis| extents[axis]).product();
        let mut at = vec![0; extents.len()];
        let mut a = Packer::new(&self.a, &extents, &steps, micro.rows);
        let mut b = Packer::new(&self.b, &extents, &steps, micro.columns);
        let mut finish = Finish::new(self, &extents);
        let tile_rows = rows.next_multiple_of(micro.rows);
        let block = COLUMNS.min(columns.next_multiple_of(micro.columns));
        let mut totals = filled(tile_rows * block, 0.0)?;
        let mut packed_a = filled(tile_rows * count, 0.0)?;
        let mut packed_b = filled(block * STEPS.min(count), 0.0)?;
        for batch in 0..batches {
            place(&mut at, &self.both, &extents, batch);
            // Each block of steps lies together.
            for first in (0..count).step_by(STEPS) {
                let n = STEPS.min(count - first);
                a.pack(
                    operands,
                    &mut at,
                    0..rows,
                    first..first + n,
                    &mut packed_a[first * tile_rows..][..n * tile_rows],
                )?;
            }
            for left in (0..columns).step_by(COLUMNS) {
                let wide = COLUMNS.min(columns - left);
                totals.fill(0.0);
                for first in (0..count).step_by(STEPS) {
                    let n = STEPS.min(count - first);
                    let tiles = wide.next_multiple_of(micro.columns);
                    let packed_b = &mut packed_b[..tiles * n];
                    b.pack(operands, &mut at, left..left + wide, first..first + n, packed_b)?;
                    let packed_a = &packed_a[first * tile_rows..][..n * tile_rows];
                    for (i, b) in packed_b.chunks_exact(n * micro.columns).enumerate() {
                        let left = i * micro.columns;
                        for (j, a) in packed_a.chunks_exact(n * micro.rows).enumerate() {
                            let top = j * micro.rows;
                            let size = [micro.rows.min(rows - top), micro.columns.min(wide - left)];
                            micro.run(a, b, &mut totals[top * block + left..], block, size);
                        }
                    }
                }
                finish.store(operands, &mut at, left..left + wide, &totals, block, result)?;
            }
        }
        Ok(())
    }
}

/// Packs a factor.
struct Packer<'p> {
    side: &'p Side,
    extents: &'p [usize],
    steps: &'p [usize],
    regs: Registers,
    /// Rows or columns of a tile.
    tile: usize,
}

impl<'p> Packer<'p> {
    fn new(side: &'p Side, extents: &'p [usize], steps: &'p [usize], tile: usize) -> Self {
        let mut regs = Registers::new(side.program.counts);
        numbers(&side.program, &mut regs);
        Packer { side, extents, steps, regs, tile }
    }

    /// Packs some of its own positions and some steps: tile after tile, in it step after step, the last tile with zeros.
    fn pack(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        own: std::ops::Range<usize>,
        steps: std::ops::Range<usize>,
        out: &mut [f32],
    ) -> Result<(), Failure> {
        let Packer { side, extents, steps: step_axes, regs, tile } = self;
        let Some(result) = side.program.result else { fail!("a program has no result") };
        let (tile, n) = (*tile, steps.len());
        let slot = |own: usize, step: usize| (own / tile * n + step) * tile + own % tile;
        if !own.len().is_multiple_of(tile) {
            let first = own.len() / tile * tile * n;
            out[first..].fill(0.0);
        }
        let (outer, inner, last, outer_axes, inner_axes) = match side.is_along_steps {
            true => (own.clone(), steps.clone(), step_axes.last(), &side.axes[..], *step_axes),
            false => (steps.clone(), own.clone(), side.axes.last(), *step_axes, &side.axes[..]),
        };
        let extent = last.map_or(1, |&axis| extents[axis]).max(1);
        for o in outer.clone() {
            place(at, outer_axes, extents, o);
            let mut i = inner.start;
            while i < inner.end {
                place(at, inner_axes, extents, i);
                // As far as the axis goes.
                let lanes = LANES.min(inner.end - i).min(extent - i % extent);
                run(&side.program, regs, operands, lanes, at)?;
                let (o, i0) = (o - outer.start, i - inner.start);
                match result.class {
                    Class::Single if !side.is_along_steps => {
                        let mut from = &regs.single[result.at][..lanes];
                        let mut own = i0;
                        // A stretch of a tile at a time.
                        while !from.is_empty() {
                            let stretch = from.len().min(tile - own % tile);
                            let (now, later) = from.split_at(stretch);
                            out[slot(own, o)..][..stretch].copy_from_slice(now);
                            (from, own) = (later, own + stretch);
                        }
                    }
                    Class::Single => {
                        for (lane, x) in regs.single[result.at][..lanes].iter().enumerate() {
                            out[slot(o, i0 + lane)] = *x;
                        }
                    }
                    Class::Double | Class::Int => fail!("only single floats are packed"),
                }
                i += lanes;
            }
        }
        Ok(())
    }
}

/// Stores what is computed from totals.
struct Finish<'f> {
    contraction: &'f Contraction,
    extents: &'f [usize],
    regs: Registers,
    total: Reg,
    /// How far apart the elements of the result are along its axes.
    strides: Vec<usize>,
}

impl<'f> Finish<'f> {
    fn new(contraction: &'f Contraction, extents: &'f [usize]) -> Self {
        let mut counts = contraction.then.as_ref().map_or([0; 3], |then| then.counts);
        let class = Class::Double;
        counts[class as usize] += 1;
        let own = Reg { class, at: counts[class as usize] - 1 };
        let total = contraction.then.as_ref().and_then(|then| then.total).unwrap_or(own);
        let mut regs = Registers::new(counts);
        if let Some(then) = &contraction.then {
            numbers(then, &mut regs);
        }
        Finish { contraction, extents, regs, total, strides: strides(&contraction.dims) }
    }

    /// The totals of a block of columns.
    fn store(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        columns: std::ops::Range<usize>,
        totals: &[f32],
        stride: usize,
        result: &mut [u8],
    ) -> Result<(), Failure> {
        let Contraction { a, b, dims, elem, then, .. } = self.contraction;
        let Some(width) = width(*elem) else { fail!("the result is of no number") };
        let last = dims.len() - 1;
        at[dims.len()..].fill(0);
        for (row, totals) in totals.chunks_exact(stride).take(a.count(self.extents)).enumerate() {
            place(at, &a.axes, self.extents, row);
            let mut column = columns.start;
            while column < columns.end {
                place(at, &b.axes, self.extents, column);
                let n = LANES.min(columns.end - column).min(dims[last] - at[last]);
                let from = &totals[column - columns.start..][..n];
                let offset: usize = self.strides.iter().zip(&*at).map(|(stride, at)| stride * at).sum();
                let out = &mut result[offset * width..][..n * width];
                if then.is_none() && *elem == ElemType::FLOAT {
                    bytemuck::cast_slice_mut(out).copy_from_slice(from);
                } else {
                    match self.total.class {
                        Class::Single => self.regs.single[self.total.at][..n].copy_from_slice(from),
                        Class::Double => {
                            for (to, x) in self.regs.double[self.total.at].iter_mut().zip(from) {
                                *to = (*x).into();
                            }
                        }
                        Class::Int => fail!("a total is no float"),
                    }
                    let mut from = self.total;
                    if let Some(then) = then {
                        run(then, &mut self.regs, operands, n, at)?;
                        from = then.result.unwrap_or(from);
                    }
                    store(out, *elem, &self.regs, from);
                }
                column += n;
            }
        }
        Ok(())
    }
}
