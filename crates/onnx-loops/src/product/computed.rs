//! Rows that are computed line by line, a band of them at a time, and multiplied from there.
//!
//! ```text
//! sum over k of (x[m, k] * gate[k]) * b[k, n]
//! ```
//! A program computes whole lines, as it computes any tensor, and micro-kernels read them in place. Packing the same rows would take
//! each number to a place of its own.

use super::kind::Kind;
use super::{CACHED, LINE, Side, place};
use crate::budget::spend;
use crate::failure::{Failure, fail};
use crate::lanes::strip::Strip;
use crate::lanes::view::Operands;
use crate::lanes::{LANES, Registers};
use crate::program::Instr;
use crate::program::interpret::{numbers, run};
use std::ops::Range;

/// Lines at a multiple of this distance in numbers compete for the same few lines of the first-level cache.
const ALIASING_STRIDE: usize = 1 << 10;
/// Shorter runs of steps take longer than packing.
const MIN_RUN: usize = 16;

/// How rows are computed.
pub(super) struct ComputedRows<'c> {
    side: &'c Side,
    extents: &'c [usize],
    steps: &'c [usize],
    count: usize,
    /// The distance between lines.
    pub(super) pitch: usize,
    registers: Option<Registers>,
}

impl<'c> ComputedRows<'c> {
    /// The rows of a factor that is not just loaded, whose program goes along the steps.
    pub(super) fn of<T: Kind>(side: &'c Side, extents: &'c [usize], steps: &'c [usize]) -> Option<Self> {
        let is_loaded = matches!(side.program.instrs[..], [Instr::Load { .. } | Instr::LoadWhere { .. }]);
        let run = steps.last().map_or(1, |&axis| extents[axis]);
        if T::GROUP != 1 || is_loaded || !side.is_along_steps || run < MIN_RUN {
            return None;
        }
        let count: usize = steps.iter().map(|&axis| extents[axis]).product();
        let is_alike = count >= LANES && count.is_multiple_of(ALIASING_STRIDE);
        let pitch = if is_alike { count + LINE } else { count };
        Some(ComputedRows { side, extents, steps, count, pitch, registers: None })
    }

    /// The most rows of a band, in whole tiles: they stay in the second-level cache.
    pub(super) fn band(&self, tile: usize) -> usize {
        (CACHED / 2 / self.pitch.max(1)).max(tile) / tile * tile
    }

    /// Computes some rows.
    pub(super) fn fill<T: Kind>(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        rows: &Range<usize>,
        out: &mut [T],
    ) -> Result<(), Failure> {
        let ComputedRows { side, extents, steps, count, pitch, registers } = self;
        let Some(result) = side.program.result else { fail!("a program has no result") };
        let Ok(out) = bytemuck::try_cast_slice_mut::<T, f32>(out) else {
            fail!("rows are not single floats")
        };
        let registers = registers.get_or_insert_with(|| {
            let mut registers = Registers::new(side.program.counts, LANES);
            numbers(&side.program, &mut registers);
            registers
        });
        let along = side.program.along;
        let extent = steps.last().map_or(1, |&axis| extents[axis]).max(1);
        let mut row = rows.start;
        while row < rows.end {
            spend(0)?;
            place(at, &side.axes, extents, row);
            let (mut step, mut lines) = (0, 1);
            while step < *count {
                place(at, steps, extents, step);
                // Up to the end of the axis, or some whole lines.
                let lanes = LANES.min(*count - step).min(extent - step % extent);
                let strip = match side.axes.last().filter(|_| lanes == *count) {
                    Some(&axis) => {
                        lines = (LANES / lanes).min(rows.end - row).min(extents[axis] - at[axis]);
                        Strip::rows(axis, along, lines, lanes)
                    }
                    None => Strip::line(along, lanes),
                };
                let n = strip.n();
                let out = &mut out[(row - rows.start) * *pitch + step..][..n];
                if !run(&side.program, registers, operands, strip, at, Some(&mut *out))? {
                    registers.settle(n, result, operands);
                    f32::take(registers, result, out)?;
                }
                step += lanes;
            }
            row += lines;
        }
        Ok(())
    }
}
