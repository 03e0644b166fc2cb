//! Packs factors in the order in which micro-kernels read them.
//!
//! A factor that loads an operand is copied in runs ([`Stretches`]); any other factor is computed by its program.

use super::kind::Kind;
use super::micro::Micro;
use super::stretches::{Loaded, Stretches};
use super::{Bytes, Flip, Side, place};
use crate::budget::spend;
use crate::failure::{Failure, fail};
use crate::lanes::strip::Strip;
use crate::lanes::view::Operands;
use crate::lanes::{LANES, Registers};
use crate::program::Program;
use crate::program::interpret::{numbers, run};
use std::ops::Range;

/// Packs a factor.
pub(super) struct Packer<'p, T> {
    side: &'p Side,
    extents: &'p [usize],
    steps: &'p [usize],
    /// The registers of its program, once it was run.
    regs: Option<Registers>,
    /// Rows or columns of a tile.
    tile: usize,
    /// The steps that are contiguous for each row or column: one group or several.
    interleave: usize,
    /// The steps of a tile.
    rows: Vec<T>,
}

impl<'p, T: Kind> Packer<'p, T> {
    /// Packs tiles of so many rows or columns, with so many contiguous steps for each.
    pub(super) fn new(
        side: &'p Side,
        extents: &'p [usize],
        steps: &'p [usize],
        [tile, interleave]: [usize; 2],
    ) -> Self {
        Packer { side, extents, steps, regs: None, tile, interleave, rows: Vec::new() }
    }

    /// Packs rows for a micro-kernel.
    pub(super) fn of_rows(side: &'p Side, extents: &'p [usize], steps: &'p [usize], micro: Micro<T>) -> Self {
        Packer::new(side, extents, steps, [micro.rows, micro.interleaved_steps()])
    }

    /// Packs columns for a micro-kernel.
    pub(super) fn of_columns(
        side: &'p Side,
        extents: &'p [usize],
        steps: &'p [usize],
        micro: Micro<T>,
    ) -> Self {
        Packer::new(side, extents, steps, [micro.columns, T::GROUP])
    }

    /// Rows or columns of a tile.
    pub(super) fn tile(&self) -> usize {
        self.tile
    }

    /// The steps that are contiguous for each row or column.
    pub(super) fn interleave(&self) -> usize {
        self.interleave
    }

    /// Packs a range of its own positions and of steps: tile by tile, in a tile the steps that are together by those. Missing steps
    /// of the last of them become zeros; missing positions of the last tile are unspecified.
    pub(super) fn pack(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        own: Range<usize>,
        steps: Range<usize>,
        out: &mut [T],
    ) -> Result<(), Failure> {
        let n = steps.len();
        if let Some(loaded) = Loaded::of(self.side, operands, padding(self.side, operands, at)?) {
            let Packer { side, extents, steps: step_axes, tile, interleave, .. } = *self;
            let stretches = Stretches { loaded, side, extents, step_axes, tile, interleave };
            stretches.pack(at, own, steps, &mut self.rows, out)?;
        } else {
            self.compute(operands, at, own, steps, out)?;
        }
        T::flip(out, self.side.bytes.as_ref().map_or(Flip::None, |bytes| bytes.flip).bits());
        let interleave = self.interleave;
        let missing = n.next_multiple_of(interleave) - n;
        if missing > 0 {
            let tile = self.tile * interleave;
            for out in out.chunks_exact_mut(n.div_ceil(interleave) * tile) {
                let (_, last) = out.split_at_mut(out.len() - tile);
                for steps in last.chunks_exact_mut(interleave) {
                    steps[interleave - missing..].fill(T::number(0.0, 0));
                }
            }
        }
        Ok(())
    }

    /// Runs the program.
    fn compute(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        own: Range<usize>,
        steps: Range<usize>,
        out: &mut [T],
    ) -> Result<(), Failure> {
        let Packer { side, extents, steps: step_axes, regs, tile, interleave, rows } = self;
        let Some(result) = side.program.result else { fail!("a program has no result") };
        let (tile, interleave) = (*tile, *interleave);
        let regs = regs.get_or_insert_with(|| {
            let mut regs = Registers::new(side.program.counts, LANES);
            numbers(&side.program, &mut regs);
            regs
        });
        let n = steps.len().next_multiple_of(interleave);
        let slot = |own: usize, step: usize| {
            ((own / tile * n + step / interleave * interleave) * tile)
                + own % tile * interleave
                + step % interleave
        };
        if !own.len().is_multiple_of(tile) {
            let first = own.len() / tile * tile * n;
            out[first..].fill(T::number(0.0, 0));
        }
        rows.resize(LANES, T::number(0.0, 0));
        // Strips go along the steps or along the own positions; lines are the others.
        let (outer, inner, last, outer_axes, inner_axes) = match side.is_along_steps {
            true => (own.clone(), steps.clone(), step_axes.last(), &side.axes[..], *step_axes),
            false => (steps.clone(), own.clone(), side.axes.last(), *step_axes, &side.axes[..]),
        };
        let extent = last.map_or(1, |&axis| extents[axis]).max(1);
        // If there are few steps, several lines are computed at once.
        let next = side.axes.last().filter(|_| side.is_along_steps && inner.len() <= extent);
        let mut o = outer.start;
        while o < outer.end {
            spend(0)?;
            place(at, outer_axes, extents, o);
            let mut i = inner.start;
            let mut lines = 1;
            while i < inner.end {
                place(at, inner_axes, extents, i);
                // Up to the end of the axis.
                let lanes = LANES.min(inner.end - i).min(extent - i % extent);
                let strip = match next.filter(|_| lanes == inner.len()) {
                    Some(&axis) => {
                        lines = (LANES / lanes).min(outer.end - o).min(extents[axis] - at[axis]);
                        Strip::rows(axis, side.program.along, lines, lanes)
                    }
                    None => Strip::line(side.program.along, lanes),
                };
                let n = strip.n();
                run(&side.program, regs, operands, strip, at, None)?;
                regs.settle(n, result, operands);
                T::take(regs, result, &mut rows[..n])?;
                // The strip goes to the places of its lines, tile by tile and group by group.
                let (first, i0) = (o - outer.start, i - inner.start);
                for (line, from) in rows[..n].chunks_exact(lanes).enumerate() {
                    let (mut from, o) = (from, first + line);
                    if !side.is_along_steps {
                        let mut own = i0;
                        // One run of a tile at a time.
                        while !from.is_empty() {
                            let stretch = from.len().min(tile - own % tile);
                            let (now, later) = from.split_at(stretch);
                            let out = &mut out[slot(own, o)..];
                            if interleave == 1 {
                                out[..stretch].copy_from_slice(now);
                            } else {
                                out.iter_mut().step_by(interleave).zip(now).for_each(|(out, x)| *out = *x);
                            }
                            (from, own) = (later, own + stretch);
                        }
                    } else if interleave == 1 {
                        let out = out[slot(o, i0)..].iter_mut().step_by(tile);
                        out.zip(from).for_each(|(out, x)| *out = *x);
                    } else {
                        let mut step = i0;
                        // One run of a group at a time.
                        while !from.is_empty() {
                            let stretch = from.len().min(interleave - step % interleave);
                            let (now, later) = from.split_at(stretch);
                            out[slot(o, step)..][..stretch].copy_from_slice(now);
                            (from, step) = (later, step + stretch);
                        }
                    }
                }
                i += lanes;
            }
            o += lines;
        }
        Ok(())
    }
}

/// The padding value of a factor, if it is a zero point that is only known in the run.
pub(super) fn padding<T: Kind>(
    side: &Side,
    operands: &Operands<'_>,
    at: &[usize],
) -> Result<Option<T>, Failure> {
    match side.bytes.as_ref().filter(|bytes| bytes.is_padded) {
        Some(Bytes { zero: Some(zero), .. }) => Ok(Some(T::number(0.0, only(zero, operands, at)?))),
        Some(_) | None => Ok(None),
    }
}

/// The integer that a program yields at all positions.
fn only(program: &Program, operands: &Operands<'_>, at: &[usize]) -> Result<i64, Failure> {
    let mut regs = Registers::new(program.counts, 1);
    numbers(program, &mut regs);
    run(program, &mut regs, operands, Strip::line(program.along, 1), at, None)?;
    let Some(result) = program.result else { fail!("a program has no result") };
    Ok(regs.int[result.at][0])
}
