//! Packing of operand elements in runs.
//!
//! The offset of an element is a sum of a part that depends on its own position and a part that depends on the step; so are the
//! functions with bounds (padding). Steps with equal contributions to all bounds (for a convolution, steps that differ only in the
//! channel) have the same in-bounds positions in a tile; these are computed once for all of them, as runs to copy.

use super::kind::Kind;
use super::{Side, blocks, place};
use crate::budget::spend;
use crate::copy::transpose::{SIDE, TransposeBody, Transposer, transposing};
use crate::failure::{Failure, fail};
use crate::lanes::Linear;
use crate::lanes::view::Operands;
use crate::program::{Bound, Instr};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::OnceLock;

/// A factor that loads an operand, or yields a number out of bounds.
pub(super) struct Loaded<'l, T> {
    from: &'l [T],
    /// The offset of the first element.
    first: i64,
    place: &'l Linear,
    bounds: &'l [Bound],
    otherwise: T,
}

impl<'l, T: Kind> Loaded<'l, T> {
    /// The factor in this form, if it has it; `padding` replaces the number out of bounds.
    pub(super) fn of(side: &'l Side, operands: &Operands<'l>, padding: Option<T>) -> Option<Self> {
        let [instr] = &side.program.instrs[..] else { return None };
        let (to, operand, elem, place, bounds, otherwise) = match instr {
            Instr::Load { to, operand, elem, place } => (to, operand, elem, place, &[][..], (0.0, 0)),
            Instr::LoadWhere { to, operand, elem, place, bounds, otherwise } => {
                (to, operand, elem, place, &bounds[..], *otherwise)
            }
            _ => return None,
        };
        let view = operands.get(*operand).copied().flatten()?;
        let is_it = side.program.result == Some(*to) && T::is_element(*elem) && view.elem == *elem;
        let (from, first) = (view.words(), view.first);
        let otherwise = padding.unwrap_or_else(|| T::number(otherwise.0, otherwise.1));
        is_it.then_some(Loaded { from, first, place, bounds, otherwise })
    }
}

/// A factor to be packed. Memory after its last position is not written.
pub(super) struct Stretches<'s, T> {
    pub(super) loaded: Loaded<'s, T>,
    pub(super) side: &'s Side,
    pub(super) extents: &'s [usize],
    pub(super) step_axes: &'s [usize],
    /// Rows or columns of a tile.
    pub(super) tile: usize,
    /// The steps that are contiguous for each.
    pub(super) interleave: usize,
}

/// Values of functions with bounds.
pub(crate) type Values = SmallVec<[i64; 3]>;

/// A step.
#[derive(Debug)]
struct StepOffset {
    /// Its contribution to offsets.
    place: i64,
    /// The index of its contributions to bounds.
    values: usize,
}

/// The steps of a factor, block by block; computed once for all runs.
pub(crate) type StepBlocks = OnceLock<Vec<StepBlock>>;

/// The steps of a block, and the different contributions to bounds that they have.
#[derive(Default, Debug)]
pub(crate) struct StepBlock {
    values: Vec<Values>,
    steps: Vec<StepOffset>,
}

/// Consecutive positions of a tile, or steps of a block, along one axis.
struct PositionRun {
    /// The first position in the tile or block.
    at: usize,
    length: usize,
    place: i64,
    /// The values of functions with bounds.
    values: Values,
}

/// The runs of a step in a tile.
#[derive(Default)]
struct TileRuns {
    /// In-bounds positions of the tile, with the offset of the first.
    inside: Vec<(Range<usize>, i64)>,
    /// Positions that are out of bounds.
    outside: Vec<Range<usize>>,
}

impl<T: Kind> Stretches<'_, T> {
    /// Packs a range of its own positions and of steps, see [`Packer`](super::pack::Packer). `rows` is a buffer for steps.
    pub(super) fn pack(
        &self,
        at: &mut [usize],
        own: Range<usize>,
        steps: Range<usize>,
        rows: &mut Vec<T>,
        out: &mut [T],
    ) -> Result<(), Failure> {
        let n = steps.len();
        let all = n.next_multiple_of(self.interleave) * self.tile;
        let tiles = own.clone().step_by(self.tile).map(|first| first..own.end.min(first + self.tile));
        let tiles = tiles.zip(out.chunks_exact_mut(all));
        if self.is_across() {
            let steps = self.step_runs(at, steps);
            for (tile, out) in tiles {
                spend(0)?;
                let positions = self.runs(at, &self.side.axes, tile, false);
                if self.interleave == 1 {
                    transposing(Across { stretches: self, positions: &positions, steps: &steps, out })?;
                } else {
                    self.across(&positions, &steps, out)?;
                }
            }
            return Ok(());
        }
        let block = &self.side.step_blocks.get_or_init(|| self.step_blocks(at))[steps.start / T::STEPS];
        for &axis in self.step_axes {
            at[axis] = 0;
        }
        // With one step at a time, the result is in packed order already.
        let is_alone = self.interleave == 1;
        rows.resize(if is_alone { 0 } else { TOGETHER * n * self.tile }, T::ONE);
        let together = if block.values.len() > 1 { TOGETHER } else { 1 };
        let mut pieces = Vec::new();
        let firsts = own.clone().step_by(self.tile * together);
        for (first, out) in firsts.zip(out.chunks_mut(all * together)) {
            let tiles = (first..own.end).step_by(self.tile).take(together);
            let mut count = 0;
            for first in tiles {
                spend(0)?;
                let runs = self.runs(at, &self.side.axes, first..own.end.min(first + self.tile), true);
                pieces.resize_with(pieces.len().max((count + 1) * block.values.len()), TileRuns::default);
                let pieces = pieces[count * block.values.len()..].iter_mut();
                block
                    .values
                    .iter()
                    .zip(pieces)
                    .for_each(|(values, pieces)| self.pieces(&runs, values, pieces));
                count += 1;
            }
            if is_alone {
                self.along(block, &pieces, out, all, count)?;
                continue;
            }
            self.along(block, &pieces, rows, n * self.tile, count)?;
            let each = rows.chunks_exact(n * self.tile).zip(out.chunks_exact_mut(all));
            each.take(count).for_each(|(rows, out)| T::group(rows, self.tile, self.interleave, out));
        }
        Ok(())
    }

    /// The steps of each block.
    pub(super) fn step_blocks(&self, at: &mut [usize]) -> Vec<StepBlock> {
        let count = self.step_axes.iter().map(|&axis| self.extents[axis]).product();
        blocks(count, T::STEPS).map(|steps| self.block(at, steps)).collect()
    }

    /// The steps of a block with their contributions.
    fn block(&self, at: &mut [usize], steps: Range<usize>) -> StepBlock {
        for &axis in self.step_axes {
            at[axis] = 0;
        }
        let bounds = self.loaded.bounds;
        let origin = self.loaded.place.at(at);
        let origins: Values = bounds.iter().map(|bound| bound.function.at(at)).collect();
        let mut block = StepBlock::default();
        let mut last = 0;
        for step in steps {
            place(at, self.step_axes, self.extents, step);
            let values = bounds.iter().zip(&origins).map(|(bound, origin)| bound.function.at(at) - origin);
            let values: Values = values.collect();
            if block.values.get(last) != Some(&values) {
                let known = block.values.iter().position(|known| *known == values);
                last = known.unwrap_or_else(|| {
                    block.values.push(values);
                    block.values.len() - 1
                });
            }
            block.steps.push(StepOffset { place: self.loaded.place.at(at) - origin, values: last });
        }
        block
    }

    /// Whether to copy along the last reduction axis, position by position, instead of along its own last axis: where that has longer
    /// runs, as in the gradient of weights of a convolution, or elements of its own are far apart.
    fn is_across(&self) -> bool {
        let of =
            |axes: &[usize]| axes.last().map(|&axis| (self.extents[axis], self.loaded.place.by[axis].abs()));
        match (of(&self.side.axes), of(self.step_axes)) {
            (Some((own, by)), Some((steps, by_steps))) => {
                let is_near = by <= MAX_NEAR_DISTANCE;
                if self.loaded.bounds.is_empty() && !is_near {
                    return true;
                }
                own < SHORT_RUN && steps > own && (by_steps <= MAX_NEAR_DISTANCE || !is_near)
            }
            (None, Some(_)) => true,
            (_, None) => false,
        }
    }

    /// Positions of some axes as runs along the last of them, or one by one; those of other axes are as they are.
    fn runs(&self, at: &mut [usize], axes: &[usize], all: Range<usize>, is_along: bool) -> Vec<PositionRun> {
        let last = axes.last().copied().filter(|_| is_along);
        let mut runs = Vec::new();
        let mut position = all.start;
        while position < all.end {
            place(at, axes, self.extents, position);
            let length = last.map_or(1, |axis| (self.extents[axis] - at[axis]).min(all.end - position));
            let values = self.loaded.bounds.iter().map(|bound| bound.function.at(at)).collect();
            let place = self.loaded.place.at(at) - self.loaded.first;
            runs.push(PositionRun { at: position - all.start, length, place, values });
            position += length;
        }
        runs
    }

    /// Runs of steps, with what they contribute to offsets and bounds. Leaves the first step behind.
    fn step_runs(&self, at: &mut [usize], steps: Range<usize>) -> Vec<PositionRun> {
        let mut runs = self.runs(at, self.step_axes, steps, true);
        for &axis in self.step_axes {
            at[axis] = 0;
        }
        let origin = self.loaded.place.at(at) - self.loaded.first;
        for run in &mut runs {
            run.place -= origin;
            for (value, bound) in run.values.iter_mut().zip(self.loaded.bounds) {
                *value -= bound.function.at(at);
            }
        }
        runs
    }

    /// The positions of a run that are in the bounds asked for, where functions with bounds have these values more.
    fn inside(
        &self,
        run: &PositionRun,
        axis: Option<usize>,
        values: &[i64],
        is_asked: impl Fn(&Bound) -> bool,
    ) -> Range<usize> {
        let mut lanes = 0..run.length;
        let bounds = self.loaded.bounds.iter().zip(values).zip(&run.values);
        for ((bound, value), own) in bounds.filter(|((bound, _), _)| is_asked(bound)) {
            let mine = bound.of(value + own, axis.map_or(0, |axis| bound.function.by[axis]), run.length);
            lanes = lanes.start.max(mine.start)..lanes.end.min(mine.end);
        }
        lanes
    }

    /// The positions of the runs of a tile that are in bounds, and those that are not, where functions with bounds have these values more.
    fn pieces(&self, runs: &[PositionRun], values: &[i64], pieces: &mut TileRuns) {
        let last = self.side.axes.last().copied();
        let by = last.map_or(1, |axis| self.loaded.place.by[axis]);
        pieces.inside.clear();
        pieces.outside.clear();
        let mut end = 0;
        for run in runs {
            let lanes = self.inside(run, last, values, |_| true);
            if !lanes.is_empty() {
                let at = run.at + lanes.start;
                pieces.outside.push(end..at);
                end = at + lanes.len();
                pieces.inside.push((at..end, run.place + by * lanes.start as i64));
            }
        }
        pieces.outside.push(end..runs.last().map_or(end, |run| run.at + run.length));
        pieces.outside.retain(|gap| !gap.is_empty());
    }

    /// Copies the pieces of `count` tiles, which are `apart` numbers apart, step by step: what a step reads for adjacent tiles is
    /// adjacent, and steps of a channel follow each other. Tile by tile, images whose channels compete for the same cache lines would be
    /// read from memory for each step.
    fn along(
        &self,
        block: &StepBlock,
        pieces: &[TileRuns],
        out: &mut [T],
        apart: usize,
        count: usize,
    ) -> Result<(), Failure> {
        for (at, step) in block.steps.iter().enumerate() {
            if count == 1 {
                self.step(&pieces[step.values], step.place, &mut out[at * self.tile..][..self.tile])?;
                continue;
            }
            let of_step = pieces[step.values..].iter().step_by(block.values.len());
            for (pieces, out) in of_step.zip(out.chunks_mut(apart)).take(count) {
                self.step(pieces, step.place, &mut out[at * self.tile..][..self.tile])?;
            }
        }
        Ok(())
    }

    /// Copies the pieces of a tile for a step.
    #[inline(always)]
    fn step(&self, pieces: &TileRuns, of_step: i64, out: &mut [T]) -> Result<(), Failure> {
        let Loaded { from, place, otherwise, .. } = &self.loaded;
        let by = self.side.axes.last().map_or(1, |axis| place.by[*axis]);
        for (at, place) in &pieces.inside {
            if !copy(from, place + of_step, by, out, at.clone()) {
                fail!("an index is out of bounds")
            }
        }
        // The copies may have overwritten the padding.
        for gap in &pieces.outside {
            out[gap.clone()].fill(*otherwise);
        }
        Ok(())
    }

    /// Copies runs of steps, position by position.
    fn across(&self, positions: &[PositionRun], steps: &[PositionRun], out: &mut [T]) -> Result<(), Failure> {
        let Loaded { from, place, otherwise, .. } = &self.loaded;
        let last = self.step_axes.last().copied();
        let by = last.map_or(1, |axis| place.by[axis]);
        let Stretches { tile, interleave, .. } = *self;
        for position in positions {
            let slot =
                |step: usize| (step / interleave * tile + position.at) * interleave + step % interleave;
            for run in steps {
                let lanes = self.inside(run, last, &position.values, |_| true);
                for lane in (0..lanes.start).chain(lanes.end..run.length) {
                    out[slot(run.at + lane)] = *otherwise;
                }
                if lanes.is_empty() {
                    continue;
                }
                let start = position.place + run.place + by * lanes.start as i64;
                let Some(stretch) = stretch(from, start, by, lanes.len()) else {
                    fail!("an index is out of bounds")
                };
                let first = run.at + lanes.start;
                match stretch {
                    Ok(stretch) if first.is_multiple_of(interleave) => {
                        let mut groups = out[slot(first)..].chunks_mut(tile * interleave);
                        let whole = stretch.chunks_exact(interleave);
                        let rest = whole.remainder();
                        for (group, out) in whole.zip(&mut groups) {
                            out[..interleave].copy_from_slice(group);
                        }
                        if let Some(out) = groups.next().filter(|_| !rest.is_empty()) {
                            out[..rest.len()].copy_from_slice(rest);
                        }
                    }
                    Ok(stretch) => {
                        stretch.iter().enumerate().for_each(|(i, x)| out[slot(first + i)] = *x);
                    }
                    Err(apart) => apart.enumerate().for_each(|(i, x)| out[slot(first + i)] = *x),
                }
            }
        }
        Ok(())
    }
}

/// Copies runs of steps to positions of a tile, if groups are of one step: squares of them.
struct Across<'a, T> {
    stretches: &'a Stretches<'a, T>,
    positions: &'a [PositionRun],
    steps: &'a [PositionRun],
    out: &'a mut [T],
}

impl<T: Kind> TransposeBody for Across<'_, T> {
    type Out = Result<(), Failure>;

    #[inline(always)]
    fn with(self, transposer: Transposer) -> Result<(), Failure> {
        let Across { stretches, positions, steps, out } = self;
        let Stretches { loaded: Loaded { from, place, bounds, otherwise, .. }, step_axes, tile, .. } =
            stretches;
        let (from, otherwise, tile) = (*from, *otherwise, *tile);
        let last = step_axes.last().copied();
        let by_step = |function: &Linear| last.map_or(1, |axis| function.by[axis]);
        let by = by_step(place);
        let is_along = |bound: &Bound| by_step(&bound.function) != 0;
        let mut square = [[otherwise; SIDE]; SIDE];
        for (positions, left) in positions.chunks(SIDE).zip((0..).step_by(SIDE)) {
            let width = SIDE.min(tile - left);
            // The lanes of a run that are in those bounds which change along it: the same for many runs.
            let mut lanes: [Range<usize>; SIDE] = Default::default();
            let mut of: Option<&PositionRun> = None;
            for run in steps {
                let is_same = |known: &PositionRun| {
                    let mut values = known.values.iter().zip(&run.values).zip(*bounds);
                    known.length == run.length && values.all(|((a, b), bound)| a == b || !is_along(bound))
                };
                if !of.is_some_and(is_same) {
                    of = Some(run);
                    for (lanes, position) in lanes.iter_mut().zip(positions) {
                        *lanes = stretches.inside(run, last, &position.values, is_along);
                    }
                }
                // Where each position of the square begins, and the lanes that are in all bounds.
                let mut starts = [0; SIDE];
                let mut inside = lanes.clone();
                for ((inside, start), position) in inside.iter_mut().zip(&mut starts).zip(positions) {
                    let values = run.values.iter().zip(&position.values).zip(*bounds);
                    let is_in = |((a, b), bound): ((&i64, &i64), &Bound)| {
                        is_along(bound) || (bound.from..bound.to).contains(&(a + b))
                    };
                    if !values.into_iter().all(is_in) {
                        *inside = 0..0;
                    }
                    *start = position.place + run.place;
                }
                for first in (0..run.length).step_by(SIDE) {
                    let n = SIDE.min(run.length - first);
                    for ((line, inside), start) in square.iter_mut().zip(&inside).zip(&starts) {
                        let lanes = inside.start.max(first)..inside.end.min(first + n);
                        if lanes.is_empty() {
                            *line = [otherwise; SIDE];
                            continue;
                        }
                        let lanes = lanes.start - first..lanes.end - first;
                        if !copy_line(from, start + by * first as i64, by, line, lanes, otherwise) {
                            fail!("an index is out of bounds")
                        }
                    }
                    // The square is transposed and stored step by step.
                    let turned = transposer.square(&square);
                    let mut at = (run.at + first) * tile + left;
                    for line in &turned[..n] {
                        // The next step overwrites the numbers that exceed a narrow tile.
                        let is_all = width == SIDE || tile < SIDE;
                        match out[at..].first_chunk_mut::<SIDE>().filter(|_| is_all) {
                            Some(out) => *out = *line,
                            None => out[at..][..width].copy_from_slice(&line[..width]),
                        }
                        at += tile;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Copies some lanes of a line, of which the place of the first is given; the others become `otherwise`. Returns whether all exist.
#[inline(always)]
fn copy_line<T: Copy>(
    from: &[T],
    start: i64,
    by: i64,
    line: &mut [T; SIDE],
    lanes: Range<usize>,
    otherwise: T,
) -> bool {
    let chunk = || usize::try_from(start).ok().and_then(|start| from.get(start..)?.first_chunk::<SIDE>());
    match (by == 1).then(chunk).flatten() {
        Some(chunk) => *line = *chunk,
        None if !copy(from, start + by * lanes.start as i64, by, line, lanes.clone()) => return false,
        None => {}
    }
    // The copy may have overwritten the padding.
    line[..lanes.start].iter_mut().for_each(|x| *x = otherwise);
    line[lanes.end..].iter_mut().for_each(|x| *x = otherwise);
    true
}

/// The numbers of which the first, their distance and their count are given: contiguous ones, or each of the others. `None` if some
/// do not exist.
fn stretch<T>(from: &[T], start: i64, by: i64, n: usize) -> Option<Result<&[T], impl Iterator<Item = &T>>> {
    let last = start.checked_add(by.checked_mul(n as i64 - 1)?)?;
    let (start, last) = (usize::try_from(start).ok()?, usize::try_from(last).ok()?);
    if start.max(last) >= from.len() {
        return None;
    }
    if by == 1 {
        return Some(Ok(&from[start..=last]));
    }
    Some(Err((0..n).map(move |i| &from[start.wrapping_add_signed(by as isize * i as isize)])))
}

/// The tiles that are packed together.
const TOGETHER: usize = 8;
/// Elements at most so far apart are near each other.
const MAX_NEAR_DISTANCE: i64 = 4;
/// Runs of fewer elements are short.
const SHORT_RUN: usize = 8;
/// Numbers per chunk of a copy.
const CHUNK: usize = 16;

/// Copies a run to some positions, and possibly overwrites those after it; returns whether all of it exists.
#[inline]
pub(super) fn copy<T: Copy>(from: &[T], start: i64, by: i64, out: &mut [T], at: Range<usize>) -> bool {
    let n = at.len();
    let (Ok(start), Ok(by)) = (usize::try_from(start), usize::try_from(by)) else {
        return copy_back(from, start, by, &mut out[at]);
    };
    let Some(from) = from.get(start..) else { return false };
    let Some(stretch) = from.get(..(n - 1) * by + 1) else { return false };
    if by == 1 {
        // With a static length it is not a call of `memcpy`.
        if let (Some(from), Some(to)) =
            (from.first_chunk::<CHUNK>(), out[at.start..].first_chunk_mut::<CHUNK>())
        {
            *to = *from;
            if n <= CHUNK {
                return true;
            }
            if n <= 2 * CHUNK
                && let Some(from) = stretch.last_chunk::<CHUNK>()
                && let Some(to) = out[at.clone()].last_chunk_mut::<CHUNK>()
            {
                *to = *from;
                return true;
            }
        }
        out[at].copy_from_slice(stretch);
    } else if by == 0 {
        out[at].fill(stretch[0]);
    } else if by == 2
        && n <= CHUNK
        && let (Some(from), Some(to)) =
            (from.first_chunk::<{ 2 * CHUNK }>(), out[at.start..].first_chunk_mut::<CHUNK>())
    {
        // Of a static length, by shuffles.
        for i in 0..CHUNK {
            to[i] = from[2 * i];
        }
    } else {
        out[at].iter_mut().zip(stretch.iter().step_by(by)).for_each(|(out, x)| *out = *x);
    }
    true
}

/// Copies in reverse order.
fn copy_back<T: Copy>(from: &[T], start: i64, by: i64, out: &mut [T]) -> bool {
    let mut place = start;
    for out in out {
        match usize::try_from(place).ok().and_then(|place| from.get(place)) {
            Some(x) => *out = *x,
            None => return false,
        }
        place += by;
    }
    true
}
