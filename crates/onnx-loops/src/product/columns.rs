//! The columns of a product, block by block.

use super::finish::ColumnRun;
use super::kind::Kind;
use super::micro::{Micro, Steps};
use super::multiply::{ColumnSource, InPlaceColumns, Product, group};
use super::pack::Packer;
use super::patch::Patch;
use super::prepacked::Prepacked;
use super::read::{Read, Strided, are_listed, packed_steps, step_bytes, steps_of};
use super::rows::RowSource;
use super::{COLUMNS, Contraction, Side, block, blocks, pack_columns, place};
use crate::failure::Failure;
use crate::lanes::view::Operands;
use crate::scratch::{Scratch, scratch};
use std::ops::Range;

/// With this many rows, columns are packed even if they could be read in place: packed ones are contiguous.
pub(super) const ROWS_TO_PACK: usize = 512;

/// With this many rows, columns whose steps lie in different pages are packed: their lines compete for the same sets of the first-level
/// cache, and each tile of rows would look up all pages again. Measured on AVX2: 1x1 convolutions of 64 to 176 channels, 97x97, 1.1.
const FAR_ROWS_TO_PACK: usize = 128;
const FAR_STEP_BYTES: usize = 1 << 12;

/// With this many rows, columns are packed.
fn rows_to_pack(side: &Side, step_axes: &[usize]) -> usize {
    if step_bytes::<f32>(side, step_axes) >= FAR_STEP_BYTES { FAR_ROWS_TO_PACK } else { ROWS_TO_PACK }
}

/// How far ahead prepacked numbers are fetched. Measured on Emerald Rapids with weights in memory, the time without for each unit of
/// time with it: one row 1.0, two rows 1.1, four 1.15, eight 1.25, twelve 1.4; twice as far is not faster, and four times as far slower.
const AHEAD_BYTES: usize = 1 << 12;

/// The width that the last columns are padded to, for any processor.
const PADDED_COLUMNS: usize = 16;
/// Packing a column takes as long as computing it for this many rows.
const ROWS_OF_PACKING: usize = 20;

/// Whether computing `groups` groups of `each` columns is faster than packing `columns` columns.
pub(super) fn is_worth_it([groups, each]: [usize; 2], columns: usize, rows: usize) -> bool {
    let together = |columns: usize| columns.next_multiple_of(PADDED_COLUMNS);
    let more = (groups * together(each)).saturating_sub(together(columns));
    more.saturating_mul(rows) <= columns * ROWS_OF_PACKING
}

pub(super) struct Columns<'c, T: Kind> {
    micro: Micro<T>,
    side: &'c Side,
    extents: &'c [usize],
    step_axes: &'c [usize],
    /// The numbers of columns and of steps.
    columns: usize,
    count: usize,
    /// The most columns of a block.
    block: usize,
    packer: Packer<'c, T>,
    /// Whether a block is packed for some steps at a time, while they are multiplied.
    is_streamed: bool,
    packed: Scratch<T>,
    /// The offsets of steps, in a packed tile and in unpacked columns.
    packed_steps: Vec<usize>,
    steps: Vec<usize>,
    way: ColumnAccess<'c>,
    /// The index of the prepacked matrix.
    pub(super) batch: usize,
}

/// How columns are read.
pub(super) enum ColumnAccess<'c> {
    Packed,
    /// Prepacked; the number of columns before this part.
    Prepacked(&'c Prepacked, usize),
    Strided(Strided),
    Copied(Box<Patch<'c>>),
}

impl<'c> ColumnAccess<'c> {
    /// Selects how columns that are not prepacked are read for `rows` rows.
    pub(super) fn of(side: &'c Side, extents: &'c [usize], step_axes: &[usize], rows: usize) -> Self {
        if !are_listed(extents, step_axes) {
            return ColumnAccess::Packed;
        }
        let strided = Strided::of::<f32>(side, extents).filter(|strided| {
            let [outer, inner] = [&side.axes[..strided.outer], &side.axes[strided.outer..]]
                .map(|axes| axes.iter().map(|&axis| extents[axis]).product::<usize>());
            strided.apart == 1
                && rows < rows_to_pack(side, step_axes)
                && is_worth_it([outer, inner], outer * inner, rows)
        });
        let copied = || Patch::of(side, extents, step_axes, rows);
        match strided {
            Some(strided) => ColumnAccess::Strided(strided),
            None => copied().map_or(ColumnAccess::Packed, |patch| ColumnAccess::Copied(Box::new(patch))),
        }
    }
}

impl<'c, T: Kind> Columns<'c, T> {
    pub(super) fn new(
        contraction: &'c Contraction,
        micro: Micro<T>,
        extents: &'c [usize],
        step_axes: &'c [usize],
        known: Option<(&'c Prepacked, usize)>,
        (rows, are_packed): (usize, bool),
    ) -> Result<Self, Failure> {
        let side = &contraction.b;
        let (columns, count): (usize, usize) = (side.count(extents), contraction.over.iter().product());
        let way = match known {
            Some((known, left)) => ColumnAccess::Prepacked(known, left),
            None => ColumnAccess::of(side, extents, step_axes, rows),
        };
        let depth = count.next_multiple_of(T::GROUP);
        let most = |columns: usize| COLUMNS.min(columns).next_multiple_of(micro.columns);
        // All rows at once, whose accumulators stay in the cache: then steps are packed once, and rows are read once.
        let is_streamed = matches!(way, ColumnAccess::Packed)
            && contraction.is_float()
            && block(columns, depth, micro) < most(columns)
            && rows <= group(are_packed, micro, most(columns));
        let (block, room, steps) = match &way {
            ColumnAccess::Packed if is_streamed => (most(columns), most(columns) * T::STEPS, Vec::new()),
            ColumnAccess::Packed => {
                let block = block(columns, depth, micro);
                (block, block * depth, Vec::new())
            }
            ColumnAccess::Prepacked(..) => (block(columns, depth, micro), 0, Vec::new()),
            // A partial tile at the end of the operand is packed.
            ColumnAccess::Strided(_) => {
                (most(columns), micro.columns * depth, steps_of(&side.program, extents, step_axes))
            }
            ColumnAccess::Copied(patch) => {
                (most(patch.columns()), patch.len() + micro.columns, patch.steps(step_axes))
            }
        };
        let packer = Packer::of_columns(side, extents, step_axes, micro);
        let packed_steps = packed_steps::<T>([micro.columns, T::GROUP]);
        let packed = scratch(room)?;
        Ok(Columns {
            micro,
            side,
            extents,
            step_axes,
            columns,
            count,
            block,
            packer,
            is_streamed,
            packed,
            packed_steps,
            steps,
            way,
            batch: 0,
        })
    }

    /// The most columns of a block, in whole tiles.
    pub(super) fn widest(&self) -> usize {
        self.block
    }

    /// Multiplies all columns, at a position of the batch axes.
    pub(super) fn each(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        product: &mut Product<'_, T>,
        rows: &RowSource<'_, '_, T>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        match &self.way {
            ColumnAccess::Packed | ColumnAccess::Prepacked(..) => {
                for columns in blocks(self.columns, self.block) {
                    self.packed(operands, at, columns, product, rows, out)?;
                }
                Ok(())
            }
            ColumnAccess::Strided(_) => self.strided(operands, at, product, rows, out),
            ColumnAccess::Copied(_) => self.copied(operands, at, product, rows, out),
        }
    }

    /// Multiplies a block of packed columns.
    fn packed(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        columns: Range<usize>,
        product: &mut Product<'_, T>,
        rows: &RowSource<'_, '_, T>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let depth = self.count.next_multiple_of(T::GROUP);
        let wide = columns.len().next_multiple_of(self.micro.columns);
        let n = columns.len();
        let run = [ColumnRun { columns: columns.clone(), from: 0 }];
        if self.is_streamed {
            let Columns { packer, packed, packed_steps, .. } = self;
            let mut streamed = Streamed { packer, packed, packed_steps, operands, at: at.to_vec(), columns };
            return product.block((operands, at), (&run, n), rows, &mut streamed, out);
        }
        if let ColumnAccess::Prepacked(known, left) = self.way {
            let first = left + columns.start;
            let numbers = &known.numbers(self.batch)[first * depth..][..wide * depth];
            if let Some(zeros) = &mut product.zeros {
                let sums = known.sums(self.batch).get(first..).unwrap_or(&[]);
                zeros.columns(operands, at, columns.clone())?;
                zeros.sum_columns(self.micro, Some(sums), numbers, columns.len(), self.count);
            }
            let read = |steps: &Range<usize>| {
                let groups = steps.len().div_ceil(T::GROUP);
                let before = steps.start * known.tile();
                Read {
                    numbers: &numbers[before..],
                    tile: depth * known.tile(),
                    steps: Steps::of(&self.packed_steps[..groups]),
                    order: known.order::<T>(self.batch, first * depth + before, [groups, depth / T::GROUP]),
                    ahead: AHEAD_BYTES / size_of::<T>(),
                }
            };
            return product.block((operands, at), (&run, n), rows, &mut InPlaceColumns::new(read), out);
        }
        let packed = &mut self.packed[..wide * depth];
        pack_columns(&mut self.packer, operands, at, columns.clone(), self.count, packed)?;
        let numbers = &*packed;
        if let Some(zeros) = &mut product.zeros {
            zeros.columns(operands, at, columns.clone())?;
            zeros.sum_columns(self.micro, None, numbers, columns.len(), self.count);
        }
        let read = |steps: &Range<usize>| {
            let n = steps.len().next_multiple_of(T::GROUP);
            let (tile, groups) = (self.micro.columns, n / T::GROUP);
            let numbers = &numbers[steps.start * wide..][..n * wide];
            Read::packed(numbers, tile, &self.packed_steps[..groups])
        };
        product.block((operands, at), (&run, n), rows, &mut InPlaceColumns::new(read), out)
    }

    /// Multiplies columns in place.
    fn strided(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        product: &mut Product<'_, T>,
        rows: &RowSource<'_, '_, T>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let ColumnAccess::Strided(strided) = self.way else { return Ok(()) };
        let tile = self.micro.columns;
        let last = self.steps.iter().copied().max().unwrap_or(0);
        let (outer, inner) = self.side.axes.split_at(strided.outer);
        let inner: usize = inner.iter().map(|&axis| self.extents[axis]).product();
        for before in (0..self.columns).step_by(inner.max(1)) {
            place(at, outer, self.extents, before / inner);
            let numbers = strided.numbers(self.side, operands, at, self.step_axes).unwrap_or(&[]);
            // Tiles are read as a whole.
            let there = numbers.len().saturating_sub(last) / tile * tile;
            let mut first = 0;
            while first < inner {
                let n = self.block.min(inner - first);
                let n =
                    if first + n.next_multiple_of(tile) <= there { n } else { there.saturating_sub(first) };
                if n == 0 {
                    let columns = first..inner.min(first + tile);
                    first = columns.end;
                    let columns = before + columns.start..before + columns.end;
                    self.packed(operands, at, columns, product, rows, out)?;
                    continue;
                }
                let read = |steps: &Range<usize>| Read {
                    numbers: &numbers[first..],
                    tile,
                    steps: Steps::of(&self.steps[steps.clone()]),
                    order: None,
                    ahead: 0,
                };
                let run = ColumnRun { columns: before + first..before + first + n, from: 0 };
                product.block((operands, at), (&[run], n), rows, &mut InPlaceColumns::new(read), out)?;
                first += n;
            }
        }
        Ok(())
    }

    /// Multiplies columns that are read from padded copies of images.
    fn copied(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        product: &mut Product<'_, T>,
        rows: &RowSource<'_, '_, T>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let ColumnAccess::Copied(patch) = &self.way else { return Ok(()) };
        let outer: usize = patch.outer.iter().map(|&axis| self.extents[axis]).product();
        let mut runs = Vec::new();
        for (outer_at, region) in (0..outer).flat_map(|outer| patch.regions().map(move |it| (outer, it))) {
            place(at, patch.outer, self.extents, outer_at);
            let copy = bytemuck::cast_slice_mut(&mut self.packed[..patch.len()]);
            patch.fill(operands, at, self.step_axes, [region[0].start, region[1].start], copy)?;
            let numbers = &self.packed[..];
            for block in blocks(patch.columns_of(&region), self.block) {
                runs.clear();
                patch.runs(outer_at, &region, &block, &mut runs);
                let read = |steps: &Range<usize>| Read {
                    numbers: &numbers[block.start..],
                    tile: self.micro.columns,
                    steps: Steps::of(&self.steps[steps.clone()]),
                    order: None,
                    ahead: 0,
                };
                product.block(
                    (operands, at),
                    (&runs, block.len()),
                    rows,
                    &mut InPlaceColumns::new(read),
                    out,
                )?;
            }
        }
        Ok(())
    }
}

/// A block of columns that is packed for some steps at a time.
struct Streamed<'s, 'p, T: Kind> {
    packer: &'s mut Packer<'p, T>,
    packed: &'s mut Scratch<T>,
    packed_steps: &'s [usize],
    operands: &'s Operands<'s>,
    at: Vec<usize>,
    columns: Range<usize>,
}

impl<T: Kind> ColumnSource<T> for Streamed<'_, '_, T> {
    fn read(&mut self, steps: &Range<usize>) -> Result<Read<'_, T>, Failure> {
        let tile = self.packer.tile();
        let n = steps.len().next_multiple_of(T::GROUP);
        let packed = &mut self.packed[..n * self.columns.len().next_multiple_of(tile)];
        self.packer.pack(self.operands, &mut self.at, self.columns.clone(), steps.clone(), packed)?;
        Ok(Read::packed(packed, tile, &self.packed_steps[..n / T::GROUP]))
    }
}
