//! Packing of operand elements in runs.
//!
//! The offset of an element is a sum of a part that depends on its own position and a part that depends on the step; so are the
//! functions with bounds (padding). Steps with equal contributions to all bounds (for a convolution, steps that differ only in
//! the
//! channel) have the same in-bounds positions in a tile; these are computed once for the group, as runs to copy.

use super::kind::Kind;
use super::{Side, blocks, place};
use crate::failure::{Failure, fail};
use crate::loops::Linear;
use crate::loops::program::{Bound, Instr};
use crate::loops::view::Operands;
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
}

/// Values of functions with bounds.
pub(in crate::loops) type Values = SmallVec<[i64; 3]>;

/// A step.
#[derive(Debug)]
pub(in crate::loops) struct StepOffset {
    at: usize,
    /// Its contribution to offsets.
    place: i64,
}

/// The steps of a factor, block by block, grouped by their contributions to bounds; computed once for all runs.
pub(in crate::loops) type Alike = OnceLock<Vec<Groups>>;

/// Steps with equal contributions to bounds.
pub(super) type Groups = Vec<(Values, Vec<StepOffset>)>;

/// Consecutive positions of a tile along one axis.
struct PositionRun {
    /// The first position in the tile.
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
    /// Packs a range of its own positions and `n` steps, see [`Packer`](super::pack::Packer). `rows` is a buffer for steps.
    pub(super) fn pack(
        &self,
        at: &mut [usize],
        own: Range<usize>,
        n: usize,
        alike: &Groups,
        rows: &mut Vec<T>,
        out: &mut [T],
    ) -> Result<(), Failure> {
        for &axis in self.step_axes {
            at[axis] = 0;
        }
        let mut pieces = TileRuns::default();
        let all = n.next_multiple_of(T::GROUP) * self.tile;
        for (first, out) in own.clone().step_by(self.tile).zip(out.chunks_exact_mut(all)) {
            let last = own.end.min(first + self.tile);
            let runs = self.runs(at, first..last);
            if self.loaded.bounds.is_empty() && runs.iter().all(|run| run.length == 1) {
                for (_, steps) in alike {
                    self.across(&runs, steps, out)?;
                }
                continue;
            }
            // With one step per group, the result is in packed order already.
            let is_alone = T::GROUP == 1;
            rows.resize(if is_alone { 0 } else { n * self.tile }, T::ONE);
            let to = if is_alone { &mut *out } else { &mut rows[..] };
            for (values, steps) in alike {
                self.along(&runs, values, steps, &mut pieces, to)?;
            }
            if !is_alone {
                T::group(rows, self.tile, out);
            }
        }
        Ok(())
    }

    /// The groups of each block of steps.
    pub(super) fn alike(&self, at: &mut [usize]) -> Vec<Groups> {
        let count = self.step_axes.iter().map(|&axis| self.extents[axis]).product();
        blocks(count, T::STEPS).map(|steps| self.groups(at, steps)).collect()
    }

    /// Groups steps by their contributions to bounds.
    fn groups(&self, at: &mut [usize], steps: Range<usize>) -> Groups {
        for &axis in self.step_axes {
            at[axis] = 0;
        }
        let bounds = self.loaded.bounds;
        let origin = self.loaded.place.at(at);
        let origins: Values = bounds.iter().map(|bound| bound.function.at(at)).collect();
        let mut groups: Groups = Vec::new();
        let mut group = 0;
        for (i, step) in steps.enumerate() {
            place(at, self.step_axes, self.extents, step);
            let values = bounds.iter().zip(&origins).map(|(bound, origin)| bound.function.at(at) - origin);
            let values: Values = values.collect();
            if groups.get(group).is_none_or(|(known, _)| *known != values) {
                group = groups.iter().position(|(known, _)| *known == values).unwrap_or(groups.len());
            }
            if group == groups.len() {
                groups.push((values, Vec::new()));
            }
            groups[group].1.push(StepOffset { at: i, place: self.loaded.place.at(at) - origin });
        }
        groups
    }

    /// The runs of a tile.
    fn runs(&self, at: &mut [usize], own: Range<usize>) -> Vec<PositionRun> {
        let last = self.side.axes.last().copied();
        let mut runs = Vec::new();
        let mut position = own.start;
        while position < own.end {
            place(at, &self.side.axes, self.extents, position);
            let left = last.map_or(1, |axis| self.extents[axis] - at[axis]);
            let is_along = last.is_some_and(|axis| self.along_axis(axis));
            let length = if is_along { left.min(own.end - position) } else { 1 };
            let values = self.loaded.bounds.iter().map(|bound| bound.function.at(at)).collect();
            let place = self.loaded.place.at(at) - self.loaded.first;
            runs.push(PositionRun { at: position - own.start, length, place, values });
            position += length;
        }
        runs
    }

    /// Whether to copy along the axis of positions instead of the steps.
    fn along_axis(&self, axis: usize) -> bool {
        self.loaded.place.by[axis].abs() <= 4 || !self.loaded.bounds.is_empty()
    }

    /// Copies runs of positions, step by step.
    fn along(
        &self,
        runs: &[PositionRun],
        values: &[i64],
        steps: &[StepOffset],
        pieces: &mut TileRuns,
        out: &mut [T],
    ) -> Result<(), Failure> {
        let Loaded { from, bounds, place, otherwise, .. } = &self.loaded;
        let last = self.side.axes.last().copied();
        let by = last.map_or(1, |axis| place.by[axis]);
        pieces.inside.clear();
        pieces.outside.clear();
        let mut end = 0;
        for run in runs {
            let mut lanes = 0..run.length;
            for ((bound, value), own) in bounds.iter().zip(values).zip(&run.values) {
                let mine = bound.of(value + own, last.map_or(0, |axis| bound.function.by[axis]), run.length);
                lanes = lanes.start.max(mine.start)..lanes.end.min(mine.end);
            }
            if !lanes.is_empty() {
                let at = run.at + lanes.start;
                pieces.outside.push(end..at);
                end = at + lanes.len();
                pieces.inside.push((at..end, run.place + by * lanes.start as i64));
            }
        }
        pieces.outside.push(end..runs.last().map_or(end, |run| run.at + run.length));
        pieces.outside.retain(|gap| !gap.is_empty());
        for step in steps {
            let out = &mut out[step.at * self.tile..][..self.tile];
            for (at, place) in &pieces.inside {
                if !copy(from, place + step.place, by, out, at.clone()) {
                    fail!("an index is out of bounds")
                }
            }
            // The copies may have overwritten the padding.
            for gap in &pieces.outside {
                out[gap.clone()].fill(*otherwise);
            }
        }
        Ok(())
    }

    /// Copies runs of steps, position by position.
    fn across(&self, runs: &[PositionRun], steps: &[StepOffset], out: &mut [T]) -> Result<(), Failure> {
        let Loaded { from, .. } = &self.loaded;
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return Ok(()) };
        let is_one = last.place - first.place == steps.len() as i64 - 1
            && steps.windows(2).all(|pair| pair[1].place == pair[0].place + 1);
        for run in runs {
            let start = usize::try_from(run.place + first.place).ok();
            let stretch = start.and_then(|start| from.get(start..)?.get(..steps.len()));
            match stretch.filter(|_| is_one) {
                Some(stretch) => {
                    let mut groups = out.chunks_exact_mut(self.tile * T::GROUP);
                    let whole = stretch.chunks_exact(T::GROUP);
                    let rest = whole.remainder();
                    for (group, out) in whole.zip(&mut groups) {
                        out[run.at * T::GROUP..][..T::GROUP].copy_from_slice(group);
                    }
                    if let Some(out) = groups.next() {
                        out[run.at * T::GROUP..][..rest.len()].copy_from_slice(rest);
                    }
                }
                None => {
                    for step in steps {
                        let place = usize::try_from(run.place + step.place).ok();
                        let Some(x) = place.and_then(|place| from.get(place)) else {
                            fail!("an index is out of bounds")
                        };
                        let (group, of) = (step.at / T::GROUP, step.at % T::GROUP);
                        out[(group * self.tile + run.at) * T::GROUP + of] = *x;
                    }
                }
            }
        }
        Ok(())
    }
}

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
    } else {
        out[at].iter_mut().zip(stretch.iter().step_by(by)).for_each(|(out, x)| *out = *x);
    }
    true
}

/// The same in reverse order.
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
