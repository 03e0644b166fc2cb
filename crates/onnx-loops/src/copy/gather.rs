//! Row gathers: `y[i0, i1] = x[rows[i0], i1]`.
//!
//! If the elements of a result row are contiguous in the operand, only the offset of the first one is computed, by the steps of
//! the program that compute offsets, for as many rows at once as a strip has lanes.

use crate::budget::spend;
use crate::failure::{Failure, fail};
use crate::lanes::strip::Strip;
use crate::lanes::view::Operands;
use crate::lanes::{Class, LANES, Reg, Registers};
use crate::program::interpret::{numbers, run};
use crate::program::{Instr, Program};
use smallvec::SmallVec;
use std::ops::Range;

/// The offsets of rows.
#[derive(Clone, Debug)]
pub(crate) struct Gathered {
    /// Computes the offsets of first elements, with lanes along the row axis.
    pub(super) program: Program,
    places: Reg,
}

impl Gathered {
    /// The row gather of a program whose last step gathers whole rows.
    pub(crate) fn of(dims: &[usize], body: &Program) -> Option<Gathered> {
        let [before @ .., Instr::Gather { places, .. }] = &body.instrs[..] else { return None };
        let last = dims.len().checked_sub(1).filter(|last| *last > 0)?;
        // The increment of each register from one element of a row to the next, if known; constants have 0.
        let mut steps = body.counts.map(|count| vec![Some(0i64); count]);
        for instr in before {
            let mut reads: Vec<Reg> = Vec::new();
            instr.clone().each_reg(&mut |reg| reads.push(*reg));
            let to = reads.pop()?;
            let of = |reg: &Reg| steps[reg.class as usize][reg.at];
            let stands = reads.iter().all(|reg| of(reg) == Some(0));
            let step = match instr {
                Instr::Ramp { function, .. } => Some(function.by[last]),
                Instr::Load { place, .. } => (place.by[last] == 0).then_some(0),
                Instr::LoadWhere { place, bounds, .. } => {
                    let stands = bounds.iter().all(|bound| bound.function.by[last] == 0);
                    (stands && place.by[last] == 0).then_some(0)
                }
                Instr::Inside { bounds, .. } => {
                    bounds.iter().all(|bound| bound.function.by[last] == 0).then_some(0)
                }
                Instr::Step { sum, index, by, .. } => {
                    let sum = sum.as_ref().map_or(Some(0), of)?;
                    of(index)?.checked_mul(*by)?.checked_add(sum)
                }
                _ => stands.then_some(0),
            };
            steps[to.class as usize][to.at] = Some(step?);
        }
        let is_row = steps[Class::Int as usize][places.at] == Some(1);
        let program = Program {
            along: last - 1,
            instrs: before.to_vec(),
            numbers: body.numbers.clone(),
            counts: body.counts,
            result: Some(*places),
            total: None,
            chain: None,
        };
        is_row.then_some(Gathered { program, places: *places })
    }

    /// Copies a range of elements of the result, in row-major order.
    pub(crate) fn run<T: Copy>(
        &self,
        operands: &Operands<'_>,
        dims: &[usize],
        (from, first): (&[T], i64),
        elements: Range<usize>,
        out: &mut [T],
    ) -> Result<(), Failure> {
        let Some((row, outer)) = dims.split_last().filter(|(row, _)| **row > 0) else { return Ok(()) };
        let mut regs = Registers::new(self.program.counts, LANES);
        numbers(&self.program, &mut regs);
        let mut at: SmallVec<[usize; 8]> = SmallVec::from_elem(0, dims.len());
        let mut index = elements.start / row;
        let mut rows = elements.end.div_ceil(*row) - index;
        for (at, d) in at.iter_mut().zip(outer).rev() {
            (*at, index) = (index % d, index / d);
        }
        // The first row may be entered in the middle.
        let mut column = elements.start % row;
        let mut out = out;
        while rows > 0 {
            spend(0)?;
            let strip = Strip::at(&at[..outer.len()], outer, rows);
            run(&self.program, &mut regs, operands, strip, &at, None)?;
            for place in &regs.int[self.places.at][..strip.n()] {
                let n = (row - column).min(out.len());
                let (now, later) = std::mem::take(&mut out).split_at_mut(n);
                let start = usize::try_from(place - first).ok().map(|start| start + column);
                let Some(from) = start.and_then(|start| from.get(start..)?.get(..n)) else {
                    fail!("an index is out of bounds")
                };
                now.copy_from_slice(from);
                (out, column) = (later, 0);
            }
            rows -= strip.n();
            strip.pass(&mut at[..outer.len()], outer);
        }
        Ok(())
    }
}
