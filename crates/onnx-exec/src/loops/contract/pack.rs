//! Factors in the order in which micro-kernels read them.
//!
//! A factor that is an element of an operand is copied in stretches ([`Stretches`]); any other is computed by its program.

use super::stretches::{Groups, Loaded, Stretches};
use super::{Side, place};
use crate::failure::{Failure, fail};
use crate::loops::interpret::{numbers, run};
use crate::loops::lanes::Registers;
use crate::loops::strip::Strip;
use crate::loops::view::Operands;
use crate::loops::{Class, LANES};
use std::ops::Range;

/// Packs a factor.
pub(super) struct Packer<'p> {
    side: &'p Side,
    extents: &'p [usize],
    steps: &'p [usize],
    regs: Registers,
    /// Rows or columns of a tile.
    tile: usize,
    /// For steps from one on, those that are alike.
    alike: Vec<(usize, Groups)>,
}

impl<'p> Packer<'p> {
    pub(super) fn new(side: &'p Side, extents: &'p [usize], steps: &'p [usize], tile: usize) -> Self {
        let mut regs = Registers::new(side.program.counts, LANES);
        numbers(&side.program, &mut regs);
        Packer { side, extents, steps, regs, tile, alike: Vec::new() }
    }

    /// Rows or columns of a tile.
    pub(super) fn tile(&self) -> usize {
        self.tile
    }

    /// Packs some of its own positions and some steps: tile after tile, in it step after step, the last tile with zeros.
    pub(super) fn pack(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        own: Range<usize>,
        steps: Range<usize>,
        out: &mut [f32],
    ) -> Result<(), Failure> {
        if let Some(loaded) = Loaded::of(self.side, operands) {
            let Packer { side, extents, steps: step_axes, tile, .. } = *self;
            let stretches = Stretches { loaded, side, extents, step_axes, tile };
            let known = self.alike.iter().position(|(first, _)| *first == steps.start);
            let known = known.unwrap_or_else(|| {
                self.alike.push((steps.start, stretches.alike(at, steps.clone())));
                self.alike.len() - 1
            });
            return stretches.pack(at, own, steps.len(), &self.alike[known].1, out);
        }
        let Packer { side, extents, steps: step_axes, regs, tile, .. } = self;
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
                run(&side.program, regs, operands, Strip::line(side.program.along, lanes), at, None)?;
                regs.settle(lanes, result, operands);
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
