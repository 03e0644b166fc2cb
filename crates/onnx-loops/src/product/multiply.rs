//! The loop nest of a product.

use super::columns::Columns;
use super::finish::{ColumnRun, Finish};
use super::image::StepLists;
use super::kind::Kind;
use super::micro::{End, Micro, Rows, Tile};
use super::read::Read;
use super::rows::{RowSource, RowTile};
use super::zeros::Zeros;
use super::{Contraction, ROWS, Start, blocks, place};
use crate::budget::spend;
use crate::failure::Failure;
use crate::lanes::view::Operands;
use crate::scratch::{Scratch, scratch};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::ops::Range;

/// Accumulators for rows that are not packed fit into the first-level caches.
const TOTALS: usize = 1 << 14;
/// The most bytes of panels that stay in the first-level cache.
const PANELS_BYTES: usize = 1 << 15;

impl Contraction {
    /// Computes the product, which is a part of one that begins elsewhere.
    pub(super) fn part<T: Kind>(
        &self,
        operands: &Operands<'_>,
        start: Start,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        if let Some(weights) = self.winograd.as_ref().and_then(|it| it.weights.as_deref()) {
            return self.by_winograd(weights, operands, out);
        }
        let micro = self.micro::<T>();
        let _session = micro.session();
        let (extents, step_axes) = self.axes();
        let (rows, columns) = (self.a.count(&extents), self.b.count(&extents));
        let count: usize = self.over.iter().product();
        let batches: usize = self.both.iter().map(|&axis| extents[axis]).product();
        let mut at = vec![0; extents.len()];

        let mut a = RowSource::<T>::new(self, micro, &extents, &step_axes, start)?;
        let is_same_a = !self.is_of(&self.a, &self.both);

        let left = start.before(&self.b, columns, &self.dims);
        let known_b = self.b.known.as_deref().filter(|known| known.has_tiles_of(left, columns));
        let known_b = known_b.map(|known| (known, left));
        let size = (rows, a.are_packed());
        let mut b = Columns::<T>::new(self, micro, &extents, &step_axes, known_b, size)?;

        let stride = b.widest();
        let group = group(a.are_packed(), micro, stride).min(rows.next_multiple_of(micro.rows));
        let mut product = Product {
            micro,
            count,
            group,
            stride,
            totals: scratch(group * stride)?,
            ordered: Vec::new(),
            lists: StepLists::default(),
            finish: Finish::new(self, &extents, stride),
            runs: Vec::new(),
            zeros: Zeros::of(self, &extents),
        };
        for batch in 0..batches {
            place(&mut at, &self.both, &extents, batch);
            b.batch = self.batch(&at, start);
            a.begin(operands, &mut at, b.batch, batch > 0 && is_same_a)?;
            if let Some(zeros) = &mut product.zeros {
                zeros.rows(operands, &mut at, rows)?;
            }
            for band in a.bands() {
                a.band(operands, &mut at, &band)?;
                if let Some(zeros) = &mut product.zeros {
                    zeros.sum_rows(micro, &a, count);
                }
                b.each(operands, &mut at, &mut product, &a, out)?;
            }
        }
        Ok(())
    }
}

/// The most rows of a block of so many columns.
pub(super) fn group<T: Kind>(are_packed: bool, micro: Micro<T>, columns: usize) -> usize {
    let most = if are_packed { ROWS } else { (TOTALS / columns).clamp(2 * micro.rows, ROWS) };
    most / micro.rows * micro.rows
}

/// Where the columns of a block come from, steps after steps.
pub(super) trait ColumnSource<T> {
    /// The columns for some steps.
    fn read(&mut self, steps: &Range<usize>) -> Result<Read<'_, T>, Failure>;
}

/// Columns that are there for all steps.
pub(super) struct InPlaceColumns<'r, T, F>(F, PhantomData<&'r T>);

impl<'r, T, F: Fn(&Range<usize>) -> Read<'r, T>> InPlaceColumns<'r, T, F> {
    pub(super) fn new(of: F) -> Self {
        InPlaceColumns(of, PhantomData)
    }
}

impl<'r, T, F: Fn(&Range<usize>) -> Read<'r, T>> ColumnSource<T> for InPlaceColumns<'r, T, F> {
    fn read(&mut self, steps: &Range<usize>) -> Result<Read<'_, T>, Failure> {
        Ok(self.0(steps))
    }
}

/// The state of multiplying a block of columns.
pub(super) struct Product<'p, T: Kind> {
    micro: Micro<T>,
    count: usize,
    /// The most rows of a block.
    group: usize,
    /// The distance between rows of accumulators.
    stride: usize,
    totals: Scratch<T::Total>,
    /// Room for steps in the order of a tile of columns.
    ordered: Vec<usize>,
    /// The steps of tiles of rows that do not have all.
    lists: StepLists,
    finish: Finish<'p, T>,
    /// Room for runs of columns.
    runs: Vec<ColumnRun>,
    pub(super) zeros: Option<Zeros<'p>>,
}

impl<T: Kind> Product<'_, T> {
    /// Computes all rows for a block of columns.
    pub(super) fn block(
        &mut self,
        (operands, at): (&Operands<'_>, &mut [usize]),
        (runs, columns): (&[ColumnRun], usize),
        a: &RowSource<'_, '_, T>,
        b: &mut dyn ColumnSource<T>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let mut room = std::mem::take(&mut self.runs);
        let runs = self.finish.contiguous(runs, &mut room);
        let mut rest = &a.tiles[..];
        while let Some(first) = rest.first() {
            spend(0)?;
            // As many tiles of rows as are multiplied at once.
            let (mut n, mut rows) = (1, first.first..first.first + first.count);
            while let Some(tile) =
                rest.get(n).filter(|tile| tile.first + tile.count <= rows.start + self.group)
            {
                (n, rows.end) = (n + 1, tile.first + tile.count);
            }
            let (tiles, later) = rest.split_at(n);
            rest = later;
            // Integers that are the same in all rows are taken away at the end, others before.
            let less = self.zeros.as_ref().and_then(Zeros::of_columns).filter(|_| self.finish.takes_less());
            let put_right = self.zeros.as_ref().filter(|_| less.is_none());
            let (totals, finish) = (&mut self.totals[..], &mut self.finish);
            let mut end = match runs {
                [run] if put_right.is_none() && self.count > 0 && run.from == 0 => {
                    finish.end(operands, at, &rows, run, less, out)?
                }
                _ => None,
            };
            // The columns that are whole registers; after the run, there may be columns without results.
            let valid = runs.last().map_or(0, |run| run.columns.len());
            let ended = match end {
                Some(_)
                    if valid == columns && (valid % self.micro.columns).is_multiple_of(self.micro.lanes) =>
                {
                    valid
                }
                Some(_) => valid / self.micro.columns * self.micro.columns,
                None => 0,
            };
            // All steps, block by block; the last one computes the results where the kernel can.
            for steps in blocks(self.count, T::STEPS) {
                if steps.start > 0 {
                    spend(0)?;
                }
                let read: SmallVec<[Rows<'_, T>; 16]> =
                    tiles.iter().map(|tile| a.read(tile, &steps)).collect();
                let is_last = steps.end == self.count;
                let mut block = Block {
                    micro: self.micro,
                    stride: self.stride,
                    totals,
                    is_first: steps.start == 0,
                    end: end.as_mut().filter(|_| is_last),
                    ended,
                };
                let b = b.read(&steps)?;
                a.list(tiles, &steps, b.steps.offsets(), &mut self.lists)?;
                block.tiles((tiles, &read), &self.lists, &b, columns, &mut self.ordered);
            }
            if let Some(zeros) = put_right {
                let totals = bytemuck::cast_slice_mut(totals);
                zeros.put_right(rows.clone(), columns, self.stride, totals);
            }
            // The results that the kernel has not computed, and functions of those that it has.
            match runs {
                [run] if ended > 0 => {
                    if self.finish.has_function() {
                        let columns = run.columns.start..run.columns.start + ended;
                        let done = ColumnRun { columns, from: run.from };
                        self.finish.function(at, rows.clone(), &[done], out)?;
                    }
                    let left = run.columns.start + ended..run.columns.end;
                    if !left.is_empty() {
                        let left = ColumnRun { columns: left, from: run.from + ended };
                        self.finish.store(operands, at, rows, &[left], (&self.totals, less), out)?;
                    }
                }
                _ => self.finish.store(operands, at, rows, runs, (&self.totals, less), out)?,
            }
        }
        self.runs = room;
        Ok(())
    }
}

/// The accumulators of a block for some steps.
struct Block<'b, 'e, T: Kind> {
    micro: Micro<T>,
    stride: usize,
    totals: &'b mut [T::Total],
    is_first: bool,
    /// The epilogue after the last steps, for the first `ended` columns.
    end: Option<&'b mut End<'e>>,
    ended: usize,
}

impl<T: Kind> Block<'_, '_, T> {
    /// Adds the products of the steps.
    fn tiles(
        &mut self,
        (tiles, rows): (&[RowTile], &[Rows<'_, T>]),
        lists: &StepLists,
        b: &Read<'_, T>,
        columns: usize,
        ordered: &mut Vec<usize>,
    ) {
        let Block { micro, stride, is_first, ended, .. } = *self;
        let (Some(first), Some(of_first)) = (tiles.first().map(|tile| tile.first), rows.first()) else {
            return;
        };
        let panels = self.panels(tiles, b);
        let mut left = 0;
        while left < columns {
            let order = b.order.and_then(|order| order.of(left / micro.columns));
            // All tiles of rows have the same steps.
            let steps = order.map(|order| of_first.steps.in_order(order, ordered));
            let b = b.columns(left / micro.columns);
            // As many panels as there are, all of which have the end or none.
            let is_whole = |wide: &usize| left + wide <= columns && (ended <= left || left + wide <= ended);
            let all = [panels, panels / 2].map(|panels| panels * micro.columns).into_iter();
            let wide = all.filter(|wide| *wide > 0).find(is_whole).unwrap_or(micro.columns);
            for (number, (tile, a)) in tiles.iter().zip(rows).enumerate() {
                let (mut a, mut b) = (Rows { steps: steps.unwrap_or(a.steps), ..*a }, b);
                // The other tiles of rows find in the cache what the first one has fetched.
                if number > 0 {
                    b.ahead = 0;
                }
                if let Some(own) = lists.of(number) {
                    [a.steps, b.steps] = own;
                }
                let size = [tile.count, wide.min(columns - left)];
                let end = self.end.as_mut().filter(|_| left < ended);
                let end = end.and_then(|end| end.from(tile.first - first, left));
                if a.steps.offsets().is_empty() && !is_first && end.is_none() {
                    continue;
                }
                // Totals that are not needed any more are all in one place, which stays in the first-level cache.
                let (c, stride) = match (&end, is_first) {
                    (Some(_), true) => (&mut self.totals[..], wide),
                    _ => (&mut self.totals[(tile.first - first) * stride + left..], stride),
                };
                micro.run(Tile { a, b, c, stride, size, is_first, end });
            }
            left += wide;
        }
    }

    /// The most panels of columns that are multiplied at once. Those that several tiles of rows read stay in the first-level cache.
    fn panels(&self, tiles: &[RowTile], b: &Read<'_, T>) -> usize {
        if b.order.is_some() {
            return 1;
        }
        let panels = self.micro.panels(tiles.iter().map(|tile| tile.count).max().unwrap_or(0));
        let each = (b.steps.offsets().len() * self.micro.columns * T::GROUP * size_of::<T>()).max(1);
        if tiles.len() == 1 { panels } else { panels.min(PANELS_BYTES / each).max(1) }
    }
}
