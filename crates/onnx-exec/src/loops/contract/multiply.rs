//! The loops of a product.

use super::columns::Columns;
use super::finish::{Finish, Run};
use super::kind::Kind;
use super::known::Known;
use super::pack::Packer;
use super::read::{Lying, Read, are_listed, packed_steps, steps_of};
use super::zeros::Zeros;
use super::{Contraction, ROWS, Side, blocks, pack_rows, place};
use crate::budget::spend;
use crate::failure::Failure;
use crate::loops::micro::{Micro, Steps, Tile};
use crate::loops::scratch::{Scratch, scratch};
use crate::loops::view::Operands;
use std::ops::Range;

/// Rows that are a multiple of so many numbers apart want the same lines of the first cache, which has too few for all of a tile.
const ALIKE: usize = 1 << 10;
/// Columns by which rows are read too seldom for that to matter.
const FEW: usize = 64;

/// How rows lie, if they are read where they do by so many columns.
pub(super) fn lying_rows(
    side: &Side,
    extents: &[usize],
    step_axes: &[usize],
    columns: usize,
) -> Option<Lying> {
    let lying = Lying::of(side, extents).filter(|_| are_listed(extents, step_axes))?;
    let is_apart = !lying.apart.is_multiple_of(ALIKE) || columns <= FEW;
    (lying.outer == 0 && is_apart).then_some(lying)
}

impl Contraction {
    /// Computes all, which begins at a position of the first axis of what may be packed.
    pub(super) fn part<T: Kind>(
        &self,
        operands: &Operands<'_>,
        first: usize,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let micro = Micro::<T>::best();
        let (extents, step_axes) = self.axes();
        let (rows, columns) = (self.a.count(&extents), self.b.count(&extents));
        let count: usize = self.over.iter().product();
        let depth = count.next_multiple_of(T::GROUP);
        let batches: usize = self.both.iter().map(|&axis| extents[axis]).product();
        let mut at = vec![0; extents.len()];

        // Rows before those of this part.
        let before = if self.a.axes.contains(&0) { first * (rows / self.dims[0]) } else { 0 };
        let known_a = self.a.known.as_deref().filter(|_| before.is_multiple_of(micro.rows));
        let lying_a = lying_rows(&self.a, &extents, &step_axes, columns).filter(|_| known_a.is_none());
        let steps_a = match &lying_a {
            Some(_) => steps_of(&self.a.program, &extents, &step_axes),
            None => packed_steps::<T>(micro.rows),
        };
        let whole = known_a.map_or(rows.next_multiple_of(micro.rows), |known| known.len::<T>() / depth);
        let before = if known_a.is_some() { before } else { 0 };
        let is_packed_a = known_a.is_none() && lying_a.is_none();
        let mut packed_a = scratch(if is_packed_a { whole * depth } else { 0 })?;
        let mut a = Packer::<T>::new(&self.a, &extents, &step_axes, micro.rows);
        let is_same_a = !self.is_of(&self.a, &self.both);

        // Columns likewise.
        let left = if self.b.axes.contains(&0) { first * (columns / self.dims[0]) } else { 0 };
        let known_b = self.b.known.as_deref().filter(|known| known.has_blocks_of(left, columns));
        let known_b = known_b.map(|known| (known, left));
        let mut b = Columns::<T>::new(self, micro, &extents, &step_axes, known_b, rows)?;

        let stride = b.widest();
        let group = (ROWS / micro.rows * micro.rows).min(rows.next_multiple_of(micro.rows));
        let mut product = Product {
            micro,
            rows,
            count,
            group,
            stride,
            totals: scratch(group * stride)?,
            finish: Finish::new(self, &extents, stride),
            zeros: Zeros::of(self, &extents),
        };
        for batch in 0..batches {
            place(&mut at, &self.both, &extents, batch);
            if is_packed_a && (batch == 0 || !is_same_a) {
                pack_rows(&mut a, operands, &mut at, rows, count, &mut packed_a)?;
            }
            let lying = lying_a.as_ref().map(|lying| {
                let numbers = lying.numbers(&self.a, operands, &mut at, &step_axes);
                (numbers.unwrap_or(&[]), lying.apart)
            });
            let packed = known_a.map_or(&packed_a[..], Known::numbers);
            if let Some(zeros) = &mut product.zeros {
                let sums = known_a.map(|known| &known.sums()[before..]);
                zeros.rows(operands, &mut at, rows)?;
                zeros.sum_rows(micro, sums, packed, rows, count);
            }
            let read = |rows: &Range<usize>, steps: &Range<usize>| match lying {
                Some((numbers, apart)) => Read {
                    numbers: numbers.get(rows.start * apart..).unwrap_or(&[]),
                    tile: micro.rows * apart,
                    apart,
                    steps: Steps::of(&steps_a[steps.clone()]),
                },
                None => {
                    let n = steps.len().next_multiple_of(T::GROUP);
                    let numbers = &packed[steps.start * whole + (before + rows.start) * n..];
                    Read::packed(numbers, micro.rows, &steps_a[..n / T::GROUP])
                }
            };
            b.each(operands, &mut at, &mut product, &read, out)?;
        }
        Ok(())
    }
}

/// Some rows for some steps.
pub(super) type ReadRows<'f, 'a, T> = &'f dyn Fn(&Range<usize>, &Range<usize>) -> Read<'a, T>;

/// What blocks of columns are multiplied with.
pub(super) struct Product<'p, T: Kind> {
    micro: Micro<T>,
    rows: usize,
    count: usize,
    /// Rows of a block.
    group: usize,
    /// How far apart rows of totals are.
    stride: usize,
    totals: Scratch<T::Total>,
    finish: Finish<'p, T>,
    pub(super) zeros: Option<Zeros<'p>>,
}

impl<T: Kind> Product<'_, T> {
    /// Computes the elements of all rows and some columns, whose totals are among those of so many.
    pub(super) fn block<'a, 'b>(
        &mut self,
        (operands, at): (&Operands<'_>, &mut [usize]),
        (runs, columns): (&[Run], usize),
        a: ReadRows<'_, 'a, T>,
        b: &dyn Fn(&Range<usize>) -> Read<'b, T>,
        out: &mut [u8],
    ) -> Result<(), Failure>
    where
        T: 'a + 'b,
    {
        spend(0)?;
        for rows in blocks(self.rows, self.group) {
            for steps in blocks(self.count, T::STEPS) {
                self.tiles(&a(&rows, &steps), &b(&steps), [rows.len(), columns], steps.start == 0);
            }
            if let Some(zeros) = &self.zeros {
                let totals = bytemuck::cast_slice_mut(&mut self.totals[..]);
                zeros.put_right(rows.clone(), columns, self.stride, totals);
            }
            self.finish.store(operands, at, rows, runs, &self.totals, out)?;
        }
        Ok(())
    }

    /// Adds the products of some steps to totals.
    fn tiles(&mut self, a: &Read<'_, T>, b: &Read<'_, T>, [rows, columns]: [usize; 2], is_first: bool) {
        let Product { micro, stride, totals, .. } = self;
        for left in (0..columns).step_by(micro.columns) {
            let b = b.columns(left / micro.columns);
            for top in (0..rows).step_by(micro.rows) {
                let size = [micro.rows.min(rows - top), micro.columns.min(columns - left)];
                let (a, c) = (a.rows(top / micro.rows), &mut totals[top * *stride + left..]);
                micro.run(Tile { a, b, c, stride: *stride, size, is_first });
            }
        }
    }
}
