//! The rows of a product, in tiles for micro-kernels.
//!
//! Rows are prepacked, read in place, read from a padded copy ([`Image`], [`FarTaps`]), or packed. Rows in place or from an image have a
//! constant stride along one axis: tiles do not cross its end, and an axis is divided evenly, so that 14 pixels are two
//! tiles of 7, not one of 12 and one of 2.

use super::columns::ROWS_TO_PACK;
use super::computed::ComputedRows;
use super::image::{FarTaps, Image, StepLists};
use super::kind::Kind;
use super::micro::{LineBreak, Micro, Rows, StepList};
use super::pack::{Packer, padding};
use super::prepacked::Prepacked;
use super::read::{Strided, are_listed, packed_steps, step_bytes, steps_of, sums};
use super::{Contraction, Flip, Side, Start, pack_rows};
use crate::failure::Failure;
use crate::lanes::view::Operands;
use crate::program::Instr;
use crate::scratch::{Scratch, scratch};
use std::ops::Range;

/// Rows at a multiple of this distance in bytes compete for the same few lines of the first-level cache, too few for a tile.
const ALIASING_STRIDE: usize = 1 << 12;
/// With at most this many columns, rows are read too rarely for that to matter.
const FEW_COLUMNS: usize = 64;
/// Steps this far apart in bytes, and so many of them, compete for the same lines and pages: of two such factors, one is packed.
const ALIASING_STEP_BYTES: usize = 256;
const MANY_STEPS: usize = 512;
/// Tiles of fewer rows are slower than packing.
const MIN_TILE_ROWS: usize = 4;

/// How rows are read.
pub(super) enum Access<'r> {
    Prepacked(&'r Prepacked),
    InPlace(Strided),
    Image(Box<Image<'r>>),
    Far(Box<FarTaps<'r>>),
    Computed(Box<ComputedRows<'r>>),
    Packed,
}

impl<'r> Access<'r> {
    /// Selects how the rows of a product are read.
    pub(super) fn of<T: Kind>(
        contraction: &'r Contraction,
        extents: &'r [usize],
        steps: &'r [usize],
    ) -> Self {
        let side = &contraction.a;
        if let Some(known) = &side.known {
            return Access::Prepacked(known);
        }
        if !are_listed(extents, steps) {
            return Access::Packed;
        }
        let columns = contraction.b.count(extents);
        if let Some(strided) = Strided::of::<T>(side, extents)
            && (!(strided.apart * size_of::<T>()).is_multiple_of(ALIASING_STRIDE) || columns <= FEW_COLUMNS)
            && strided.is_long(side, extents)
            && !are_both_far::<T>(contraction, extents, steps)
            && (T::GROUP == 1 || groups::<T>(&steps_of(&side.program, extents, steps)).is_some())
        {
            return Access::InPlace(strided);
        }
        // Packing in each run pays off only once per line.
        if let Some(weights) = &contraction.b.known
            && let Some(image) = Image::of::<T>(side, extents, steps)
            && image.size().into_iter().max() >= Some(MIN_TILE_ROWS)
            && groups::<T>(&image.steps(steps)).is_some()
        {
            let rows = contraction.micro::<T>().rows;
            return match FarTaps::of::<T>(Box::new(image), steps, rows, &|| weights.is_finite()) {
                Ok(far) => Access::Far(Box::new(far)),
                Err(image) => Access::Image(image),
            };
        }
        match ComputedRows::of::<T>(side, extents, steps) {
            Some(computed) => Access::Computed(Box::new(computed)),
            None => Access::Packed,
        }
    }
}

/// Whether both factors would be read in place, with many steps that are far apart.
fn are_both_far<T: Kind>(contraction: &Contraction, extents: &[usize], steps: &[usize]) -> bool {
    let Some(&last) = steps.last() else { return false };
    let is_far = |side: &Side| step_bytes::<T>(side, steps) >= ALIASING_STEP_BYTES;
    let Contraction { a, b, .. } = contraction;
    let is_in_place = b.known.is_none() && a.count(extents) < ROWS_TO_PACK;
    is_in_place && extents[last] >= MANY_STEPS && is_far(a) && is_far(b)
}

impl Strided {
    /// Whether there are enough rows with a constant stride.
    fn is_long(&self, side: &Side, extents: &[usize]) -> bool {
        let of = |axes: &[usize]| axes.iter().map(|&axis| extents[axis]).product::<usize>();
        let (outer, inner) = side.axes.split_at(self.outer);
        of(outer) == 1 || of(inner) >= MIN_TILE_ROWS
    }
}

/// The offsets of groups of steps, if each group is contiguous.
fn groups<T: Kind>(steps: &[usize]) -> Option<Vec<usize>> {
    let (groups, rest) = (steps.chunks_exact(T::GROUP), steps.len() % T::GROUP);
    let is_one = |group: &[usize]| group.windows(2).all(|pair| pair[1] == pair[0] + 1);
    (rest == 0 && groups.clone().all(is_one)).then(|| groups.map(|group| group[0]).collect())
}

/// The rows that a micro-kernel processes at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowTile {
    pub(super) first: usize,
    pub(super) count: usize,
    /// The offset of the first number, if rows are not packed.
    offset: usize,
    line_break: LineBreak,
}

impl RowTile {
    fn of(first: usize, count: usize, offset: usize) -> Self {
        RowTile { first, count, offset, line_break: LineBreak::default() }
    }
}

/// The rows of a product with their current position.
pub(super) struct RowSource<'r, 'v, T: Kind> {
    side: &'r Side,
    extents: &'r [usize],
    step_axes: &'r [usize],
    micro: Micro<T>,
    rows: usize,
    count: usize,
    access: Access<'r>,
    /// The prepacked rows before this part, and the number of all prepacked rows.
    before: usize,
    whole: usize,
    /// The index of the prepacked matrix.
    batch: usize,
    packer: Packer<'r, T>,
    memory: Scratch<T>,
    /// The numbers of rows in place.
    there: &'v [T],
    /// The offsets of groups of steps, and the distance between rows.
    steps: StepList,
    apart: usize,
    /// The tiles of the band.
    pub(super) tiles: Vec<RowTile>,
}

impl<'r, 'v, T: Kind> RowSource<'r, 'v, T> {
    /// The rows of a part.
    pub(super) fn new(
        contraction: &'r Contraction,
        micro: Micro<T>,
        extents: &'r [usize],
        step_axes: &'r [usize],
        start: Start,
    ) -> Result<Self, Failure> {
        let side = &contraction.a;
        let (rows, count) = (side.count(extents), contraction.over.iter().product::<usize>());
        let interleave = micro.interleaved_steps();
        let depth = count.next_multiple_of(interleave);
        let before = start.before(side, rows, &contraction.dims);
        let mut access = Access::of::<T>(contraction, extents, step_axes);
        if matches!(access, Access::Prepacked(_)) && !before.is_multiple_of(micro.rows) {
            access = Access::Packed;
        }
        let mut whole = rows.next_multiple_of(micro.rows);
        let (mut steps, mut apart, mut room) = (packed_steps::<T>([micro.rows, interleave]), interleave, 0);
        match &access {
            Access::Prepacked(known) => whole = known.len::<T>() / depth,
            Access::Packed => room = whole * depth,
            Access::InPlace(strided) => {
                steps = groups::<T>(&steps_of(&side.program, extents, step_axes)).unwrap_or_default();
                apart = strided.apart;
            }
            Access::Image(image) => {
                steps = groups::<T>(&image.steps(step_axes)).unwrap_or_default();
                apart = image.apart()[usize::from(image.size()[1] > 1)];
                room = image.len(image.band::<T>());
            }
            Access::Computed(computed) => {
                steps = (0..count).collect();
                apart = computed.pitch;
                room = computed.band(micro.rows).min(rows) * apart;
            }
            Access::Far(far) => {
                steps = Vec::new();
                apart = far.image().apart()[1];
                room = far.len();
            }
        }
        let steps = StepList::of(steps, T::STEPS / T::GROUP);
        let before = if matches!(access, Access::Prepacked(_)) { before } else { 0 };
        let packer = Packer::of_rows(side, extents, step_axes, micro);
        Ok(RowSource {
            side,
            extents,
            step_axes,
            micro,
            rows,
            count,
            access,
            before,
            whole,
            batch: 0,
            packer,
            memory: scratch(room)?,
            there: &[],
            steps,
            apart,
            tiles: Vec::new(),
        })
    }

    /// Moves to a position of the batch axes, by its number; `is_same` if nothing changes for the rows.
    pub(super) fn begin(
        &mut self,
        operands: &Operands<'v>,
        at: &mut [usize],
        batch: usize,
        is_same: bool,
    ) -> Result<(), Failure> {
        self.batch = batch;
        match &self.access {
            Access::Packed if !is_same => {
                pack_rows(&mut self.packer, operands, at, self.rows, self.count, &mut self.memory)
            }
            Access::InPlace(strided) => {
                // Tile offsets are relative to the first row.
                self.side.axes.iter().for_each(|&axis| at[axis] = 0);
                self.there = strided.numbers(self.side, operands, at, self.step_axes).unwrap_or(&[]);
                Ok(())
            }
            Access::Prepacked(_)
            | Access::Packed
            | Access::Image(_)
            | Access::Far(_)
            | Access::Computed(_) => Ok(()),
        }
    }

    /// Whether rows are in packed order.
    pub(super) fn are_packed(&self) -> bool {
        matches!(self.access, Access::Prepacked(_) | Access::Packed)
    }

    /// The parts that are computed one after the other: an image with a range of lines.
    pub(super) fn bands(&self) -> Vec<(usize, Range<usize>)> {
        let image = match &self.access {
            Access::Image(image) => image,
            Access::Far(far) => return far.bands(),
            Access::Computed(computed) => {
                return super::blocks(self.rows, computed.band(self.micro.rows))
                    .map(|rows| (0, rows))
                    .collect();
            }
            Access::Prepacked(_) | Access::InPlace(_) | Access::Packed => return vec![(0, 0..0)],
        };
        let (lines, band) = (image.size()[0], image.band::<T>());
        let of_image = |at: usize| super::blocks(lines, band).map(move |lines| (at, lines));
        (0..image.count()).flat_map(of_image).collect()
    }

    /// Determines the tiles of a band, and copies its image.
    pub(super) fn band(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        (image_at, lines): &(usize, Range<usize>),
    ) -> Result<(), Failure> {
        let most = self.micro.rows;
        let RowSource { tiles, access, side, extents, micro, apart, .. } = self;
        tiles.clear();
        match access {
            Access::Prepacked(_) | Access::Packed => {
                let whole = |first: usize| RowTile::of(first, most.min(self.rows - first), 0);
                tiles.extend((0..self.rows).step_by(most).map(whole));
            }
            Access::InPlace(strided) => {
                let [Instr::Load { place, .. }] = &side.program.instrs[..] else { return Ok(()) };
                let (outer, inner) = side.axes.split_at(strided.outer);
                let inner = inner.iter().map(|&axis| extents[axis]).product();
                for (i, offset) in sums(extents, outer, |axis| place.by[axis]).into_iter().enumerate() {
                    // No offset is negative.
                    part(tiles, most, i * inner, inner, offset as usize, strided.apart);
                }
                if micro.crosses_lines {
                    join(tiles, most / 2, *apart);
                }
            }
            Access::Computed(computed) => {
                part(tiles, most, lines.start, lines.len(), 0, *apart);
                computed.fill(operands, at, lines, &mut self.memory)?;
            }
            Access::Far(far) => {
                let [height, width] = far.image().size();
                for line in lines.clone() {
                    part(tiles, most, (image_at * height + line) * width, width, 0, 0);
                }
                far.fill(operands, at, (*image_at, lines.clone()), &mut self.memory)?;
            }
            Access::Image(image) => {
                let [height, width] = image.size();
                let [down, along] = image.apart();
                let first = (image_at * height + lines.start) * width;
                if width == 1 {
                    part(tiles, most, first, lines.len(), 0, down);
                } else {
                    (0..lines.len())
                        .for_each(|i| part(tiles, most, first + i * width, width, i * down, along));
                }
                if micro.crosses_lines {
                    join(tiles, most / 2, *apart);
                }
                let padding = padding(side, operands, at)?;
                image.fill(operands, at, (*image_at, lines.clone()), padding, &mut self.memory)?;
                let flip = side.bytes.as_ref().map_or(Flip::None, |bytes| bytes.flip);
                T::flip(&mut self.memory[..image.len(lines.len())], flip.bits());
            }
        }
        Ok(())
    }

    /// A tile for some steps.
    pub(super) fn read(&self, tile: &RowTile, steps: &Range<usize>) -> Rows<'_, T> {
        let packed = |numbers: &'_ [T]| -> Range<usize> {
            let n = steps.len().next_multiple_of(self.micro.interleaved_steps());
            steps.start * self.whole + (self.before + tile.first) * n..numbers.len()
        };
        let of_packed = || self.steps.block(0..steps.len().div_ceil(T::GROUP));
        let listed = || self.steps.block(steps.start / T::GROUP..steps.end.div_ceil(T::GROUP));
        let (numbers, steps) = match &self.access {
            Access::Prepacked(known) => {
                let numbers = known.numbers::<T>(self.batch);
                (&numbers[packed(numbers)], of_packed())
            }
            Access::Packed => (&self.memory[packed(&self.memory)], of_packed()),
            Access::InPlace(_) => (self.there.get(tile.offset..).unwrap_or(&[]), listed()),
            Access::Image(_) | Access::Computed(_) => {
                (self.memory.get(tile.offset..).unwrap_or(&[]), listed())
            }
            // Each tile has a list of its own.
            Access::Far(_) => (&self.memory[..], self.steps.block(0..0)),
        };
        Rows { line_break: tile.line_break, ..Rows::of(numbers, self.apart, steps) }
    }

    /// The row sums of prepacked bytes.
    pub(super) fn sums(&self) -> Option<&[i32]> {
        match &self.access {
            Access::Prepacked(known) => known.sums(self.batch).get(self.before..),
            Access::InPlace(_) | Access::Image(_) | Access::Far(_) | Access::Computed(_) | Access::Packed => {
                None
            }
        }
    }

    /// Lists the steps of tiles that do not have all, with their offsets in columns.
    pub(super) fn list(
        &self,
        tiles: &[RowTile],
        steps: &Range<usize>,
        of_columns: &[usize],
        lists: &mut StepLists,
    ) -> Result<(), Failure> {
        lists.clear();
        let Access::Far(far) = &self.access else { return Ok(()) };
        tiles.iter().try_for_each(|tile| far.list([tile.first, tile.count], steps, of_columns, lists))
    }
}

/// Divides rows with a constant stride evenly into tiles.
fn part(tiles: &mut Vec<RowTile>, most: usize, first: usize, rows: usize, offset: usize, apart: usize) {
    let parts = rows.div_ceil(most).max(1);
    for i in 0..parts {
        let (from, to) = (rows * i / parts, rows * (i + 1) / parts);
        tiles.push(RowTile::of(first + from, to - from, offset + from * apart));
    }
}

/// Joins tiles of at most `half` rows with the next ones, where a line ends.
fn join(tiles: &mut Vec<RowTile>, half: usize, apart: usize) {
    tiles.dedup_by(|next, tile| {
        let is_free = tile.line_break.row == 0 && tile.count.max(next.count) <= half;
        let Some(later) = next.offset.checked_sub(tile.offset + tile.count * apart).filter(|_| is_free)
        else {
            return false;
        };
        tile.line_break = LineBreak { row: tile.count, later };
        tile.count += next.count;
        true
    });
}
