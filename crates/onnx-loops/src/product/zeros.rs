//! The contribution of zero points to sums of products of bytes.
//!
//! ```text
//! sum of (a - x) * (b - y)  =  sum of a * b  -  y * sum of a  -  x * (sum of b - steps * y)
//! ```
//! `x` is constant in a row, `y` in a column. Row and column sums are products with ones, computed by the same
//! micro-kernel. All of this is modulo 2^32, as the sum is.

use super::kind::Kind;
use super::micro::{Columns, Micro, Rows, Steps, Tile};
use super::read::packed_steps;
use super::rows::RowSource;
use super::{Contraction, Side, blocks, depends, place};
use crate::failure::{Failure, fail};
use crate::lanes::multiversion::{Body, widest};
use crate::lanes::strip::Strip;
use crate::lanes::view::Operands;
use crate::lanes::{LANES, Registers};
use crate::program::interpret::{numbers, run};
use crate::zip::zip;
use std::ops::Range;

/// The zero points of a contraction.
pub(super) struct Zeros<'z> {
    a: Offsets<'z>,
    b: Offsets<'z>,
    /// That of rows, if it is the same for all.
    of_rows: Option<i32>,
    /// The amount that they add to the totals of each column, if it is equal in all rows.
    of_columns: Option<Vec<i32>>,
}

impl<'z> Zeros<'z> {
    /// The zero points of a contraction of bytes.
    pub(super) fn of(contraction: &'z Contraction, extents: &'z [usize]) -> Option<Self> {
        let Contraction { a, b, .. } = contraction;
        Some(Zeros {
            a: Offsets::of(a, extents)?,
            b: Offsets::of(b, extents)?,
            of_rows: None,
            of_columns: None,
        })
    }

    /// Computes the zero points of all rows.
    pub(super) fn rows(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        rows: usize,
    ) -> Result<(), Failure> {
        self.a.find(operands, at, 0..rows)?;
        let first = self.a.zeros.first().copied();
        self.of_rows = first.filter(|first| self.a.zeros.iter().all(|zero| zero == first));
        Ok(())
    }

    /// Computes the zero points of a block of columns.
    pub(super) fn columns(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        columns: Range<usize>,
    ) -> Result<(), Failure> {
        self.b.find(operands, at, columns)
    }

    /// Sums the rows of a band, if the sums are needed and not prepacked.
    pub(super) fn sum_rows<T: Kind>(&mut self, micro: Micro<T>, rows: &RowSource<'_, '_, T>, count: usize) {
        let Offsets { sums, zeros, .. } = &mut self.a;
        sums.resize(zeros.len(), 0);
        if self.b.is_nothing {
            return;
        }
        match rows.sums() {
            Some(known) => sums.iter_mut().zip(known).for_each(|(sum, known)| *sum = *known),
            None => {
                for tile in &rows.tiles {
                    let sums = &mut sums[tile.first..tile.first + tile.count];
                    sum_tile(micro, count, |steps| rows.read(tile, steps), sums);
                }
            }
        }
    }

    /// Sums a block of packed columns, minus the contribution of their zero points.
    pub(super) fn sum_columns<T: Kind>(
        &mut self,
        micro: Micro<T>,
        known: Option<&[i32]>,
        packed: &[T],
        columns: usize,
        count: usize,
    ) {
        self.b.sums = match known {
            _ if self.a.is_nothing => vec![0; columns],
            Some(known) => known[..columns].to_vec(),
            None => sums_of_columns(micro, packed, count),
        };
        for (sum, zero) in self.b.sums.iter_mut().zip(&self.b.zeros) {
            // Both are modulo 2^32.
            *sum = sum.wrapping_sub(zero.wrapping_mul(count as i32));
        }
        let has_columns = self.b.zeros.iter().any(|zero| *zero != 0);
        let of_rows = self.of_rows.filter(|_| !has_columns);
        let of_column = |zero: i32| self.b.sums.iter().map(|sum| sum.wrapping_mul(zero)).collect();
        self.of_columns = of_rows.map(of_column);
    }

    /// The contribution of zero points to the totals of each column of the block, if that is the same in all rows.
    pub(super) fn of_columns(&self) -> Option<&[i32]> {
        self.of_columns.as_deref()
    }

    /// Subtracts the contribution of zero points from the accumulators of a block.
    pub(super) fn put_right(&self, rows: Range<usize>, columns: usize, stride: usize, totals: &mut [i32]) {
        let has_columns = self.b.zeros.iter().any(|zero| *zero != 0);
        let of_rows = self.a.zeros[rows.clone()].iter().zip(&self.a.sums[rows]);
        for ((zero, sum), totals) in of_rows.zip(totals.chunks_mut(stride)) {
            if has_columns || *zero != 0 {
                widest(Row {
                    totals: &mut totals[..columns],
                    zero: *zero,
                    sum: *sum,
                    zeros: &self.b.zeros,
                    sums: &self.b.sums,
                });
            }
        }
    }
}

/// The zero points of a side and the sums of its bytes, by position.
struct Offsets<'o> {
    side: &'o Side,
    extents: &'o [usize],
    shift: i32,
    /// Whether all zero points are known to be 0.
    is_nothing: bool,
    regs: Registers,
    zeros: Vec<i32>,
    sums: Vec<i32>,
}

impl<'o> Offsets<'o> {
    fn of(side: &'o Side, extents: &'o [usize]) -> Option<Self> {
        let bytes = side.bytes.as_ref()?;
        let counts = bytes.zero.as_ref().map_or([0; 3], |zero| zero.counts);
        let mut regs = Registers::new(counts, LANES);
        if let Some(zero) = &bytes.zero {
            numbers(zero, &mut regs);
        }
        let shift = bytes.flip.shift();
        let is_nothing = shift == 0 && bytes.zero.is_none();
        Some(Offsets { side, extents, shift, is_nothing, regs, zeros: Vec::new(), sums: Vec::new() })
    }

    fn find(&mut self, operands: &Operands<'_>, at: &mut [usize], own: Range<usize>) -> Result<(), Failure> {
        let Offsets { side, extents, shift, regs, zeros, .. } = self;
        zeros.clear();
        let Some(zero) = side.bytes.as_ref().and_then(|bytes| bytes.zero.as_ref()) else {
            zeros.resize(own.len(), *shift);
            return Ok(());
        };
        let Some(result) = zero.result else { fail!("a program has no result") };
        let depends = depends(zero, extents.len());
        if !side.axes.iter().any(|axis| depends[*axis]) {
            place(at, &side.axes, extents, own.start);
            run(zero, regs, operands, Strip::line(zero.along, 1), at, None)?;
            zeros.resize(own.len(), regs.int[result.at][0] as i32 + *shift);
            return Ok(());
        }
        let extent = side.axes.last().map_or(1, |&axis| extents[axis]).max(1);
        let mut i = own.start;
        while i < own.end {
            place(at, &side.axes, extents, i);
            // Up to the end of the axis.
            let n = LANES.min(own.end - i).min(extent - i % extent);
            run(zero, regs, operands, Strip::line(zero.along, n), at, None)?;
            // Zero points have 8 bits.
            zeros.extend(regs.int[result.at][..n].iter().map(|zero| *zero as i32 + *shift));
            i += n;
        }
        Ok(())
    }
}

/// The sums of packed rows over all steps.
pub(super) fn sums_of_rows<T: Kind>(micro: Micro<T>, packed: &[T], rows: usize, count: usize) -> Vec<i32> {
    let interleave = micro.interleaved_steps();
    let whole = packed.len() / count.next_multiple_of(interleave);
    let of_rows = packed_steps::<T>([micro.rows, interleave]);
    let mut sums = vec![0; rows];
    for (tile, sums) in sums.chunks_mut(micro.rows).enumerate() {
        let read = |steps: &Range<usize>| {
            let n = steps.len().next_multiple_of(interleave);
            let numbers = &packed[steps.start * whole + tile * micro.rows * n..][..n * micro.rows];
            let groups = steps.len().div_ceil(T::GROUP);
            Rows::of(numbers, interleave, Steps::of(&of_rows[..groups]))
        };
        sum_tile(micro, count, read, sums);
    }
    sums
}

/// The sums of the rows of a tile over all steps.
fn sum_tile<'a, T: Kind + 'a>(
    micro: Micro<T>,
    count: usize,
    read: impl Fn(&Range<usize>) -> Rows<'a, T>,
    sums: &mut [i32],
) {
    let ones = vec![T::ONE; T::GROUP * micro.columns];
    // All groups of ones share the first.
    let none = vec![0; T::STEPS / T::GROUP];
    let mut totals = vec![T::NO_TOTAL; micro.rows * micro.columns];
    for steps in blocks(count, T::STEPS) {
        let steps_of_ones = Steps::of(&none[..steps.len().div_ceil(T::GROUP)]);
        let b = Columns::of(&ones, steps_of_ones);
        let (a, c, size) = (read(&steps), &mut totals[..], [sums.len(), 1]);
        micro.run(Tile { a, b, c, stride: micro.columns, size, is_first: steps.start == 0, end: None });
    }
    let totals: &[i32] = bytemuck::cast_slice(&totals);
    sums.iter_mut().zip(totals.iter().step_by(micro.columns)).for_each(|(sum, total)| *sum = *total);
}

/// The sums of a block of packed columns over all steps, padded to a whole tile.
pub(super) fn sums_of_columns<T: Kind>(micro: Micro<T>, packed: &[T], count: usize) -> Vec<i32> {
    let wide = packed.len() / count.next_multiple_of(T::GROUP);
    let ones = vec![T::ONE; T::GROUP];
    // All groups of ones share the first.
    let (none, of_columns) = (vec![0; T::STEPS / T::GROUP], packed_steps::<T>([micro.columns, T::GROUP]));
    let mut sums = vec![T::NO_TOTAL; wide];
    for steps in blocks(count, T::STEPS) {
        let n = steps.len().next_multiple_of(T::GROUP);
        let packed = packed[steps.start * wide..].chunks_exact(n * micro.columns);
        for (sums, b) in sums.chunks_exact_mut(micro.columns).zip(packed) {
            let groups = n / T::GROUP;
            let a = Rows::of(&ones, 0, Steps::of(&none[..groups]));
            let b = Columns::of(b, Steps::of(&of_columns[..groups]));
            let (stride, size) = (micro.columns, [1, micro.columns]);
            micro.run(Tile { a, b, c: sums, stride, size, is_first: steps.start == 0, end: None });
        }
    }
    bytemuck::cast_vec(sums)
}

/// Corrects the accumulators of a row.
struct Row<'r> {
    totals: &'r mut [i32],
    zero: i32,
    sum: i32,
    zeros: &'r [i32],
    sums: &'r [i32],
}

impl Body for Row<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Row { totals, zero, sum, zeros, sums } = self;
        for ((total, column), sum_of_column) in zip(zip(totals, zeros), sums) {
            let added = column.wrapping_mul(sum).wrapping_add(zero.wrapping_mul(*sum_of_column));
            *total = total.wrapping_sub(added);
        }
    }
}
