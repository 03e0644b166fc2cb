//! Stencils: reductions of few elements each, which neighbouring results share.
//!
//! Examples are depthwise convolutions and pooling. The operands of a strip are first copied into padded patches: then there are
//! no bounds, each step of the reduction reads one chunk per row, and accumulators stay in hardware registers.
//!
//! ```text
//! y[i0, i1] = sum over k0 < 3, k1 < 3 of x[2*i0 + k0 - 1, i1 + k1 - 1] * w[k0, k1]
//!   patch 0: rows  2*i0 - 1,  for k0 = 0 and, one row further, k0 = 2
//!   patch 1: rows  2*i0,      for k0 = 1
//! ```
//! Steps share a patch if their distance is a whole number of result steps along the last two axes.

use super::tiles::{Combining, Greatest, GreatestOrNone, HIGH, Least, LeastOrNone, Steps, Sums, WIDE};
use super::{Elements, Stencil, TapLoad, TapStep};
use crate::lanes::Linear;
use crate::lanes::multiversion::Body;
use crate::lanes::narrow::{bf16_to_f32, f16_to_f32};
use crate::lanes::strip::Strip;
use crate::program::Bound;
use onnx_formula::Combine;
use smallvec::SmallVec;
use std::ops::Range;

/// Steps at a greater distance do not share a patch.
const MAX_PATCH_DISTANCE: i64 = 32;
/// With more patches it is not a stencil.
const MAX_PATCHES: usize = 64;
/// Fewer rows are accumulated along their lanes.
const MIN_ROWS: usize = 3;

/// How the steps of a reduction read from patches.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    patches: Vec<WindowPatch>,
    /// First the runs of three steps, then of two, then of one.
    runs: Vec<StepRun>,
}

/// Up to three steps, each reading one row after the previous one.
#[derive(Clone, Debug)]
struct StepRun {
    patch: usize,
    /// The offset of the first step in rows and columns.
    row: i64,
    column: i64,
    steps: SmallVec<[usize; 3]>,
}

/// Elements at distances of whole result steps.
#[derive(Clone, Debug)]
struct WindowPatch {
    /// The contribution of its first step to offsets and to functions with bounds.
    place: i64,
    bounds: SmallVec<[i64; 2]>,
    /// The rows and columns that are read, relative to those of the strip.
    rows: [i64; 2],
    columns: [i64; 2],
}

/// The reduction of a strip.
pub(crate) struct Window<'w> {
    pub(crate) windows: &'w Windows,
    pub(crate) taps: &'w Stencil,
    pub(crate) strip: Strip,
    pub(crate) x: Elements<'w>,
    /// The factors, and the offset of the first.
    pub(crate) factors: Option<(Elements<'w>, i64)>,
    /// The zero points of the factors of each plane.
    pub(crate) zeros: SmallVec<[f32; 4]>,
    /// The offset of the elements for the first lane, and the values of functions with bounds there.
    pub(crate) start: i64,
    pub(crate) values: SmallVec<[i64; 4]>,
    pub(crate) patches: &'w mut Vec<f32>,
    /// The accumulators, with room after them.
    pub(crate) out: &'w mut [f32],
}

impl Windows {
    /// The stencil of some steps, if copying to patches is worth it.
    pub(crate) fn of(
        x: &TapLoad,
        factor: Option<&TapLoad>,
        steps: &[TapStep],
        along: usize,
    ) -> Option<Windows> {
        let step_of = |function: &Linear| {
            let [_, row, lane] = steps_of(function, along);
            [row, lane]
        };
        if factor.is_some_and(|factor| step_of(&factor.place) != [0, 0]) {
            return None;
        }
        let by = step_of(&x.place);
        let bounds: SmallVec<[[i64; 2]; 2]> = x.bounds.iter().map(|bound| step_of(&bound.function)).collect();
        if by[1] <= 0 {
            return None;
        }
        let mut windows = Windows { patches: Vec::new(), runs: Vec::new() };
        let mut reads = Vec::with_capacity(steps.len());
        for (i, step) in steps.iter().enumerate() {
            let found = windows.patches.iter().enumerate().find_map(|(i, patch)| {
                let added = step.bounds.iter().zip(&patch.bounds).map(|(new, old)| new - old);
                let added: SmallVec<[i64; 2]> = added.collect();
                Some((i, apart(step.x - patch.place, by, &added, &bounds)?))
            });
            let (at, [row, column]) = found.unwrap_or((windows.patches.len(), [0, 0]));
            if at == windows.patches.len() {
                let (place, bounds) = (step.x, step.bounds.clone());
                windows.patches.push(WindowPatch { place, bounds, rows: [0, 0], columns: [0, 0] });
            }
            let patch = windows.patches.get_mut(at)?;
            patch.rows = [patch.rows[0].min(row), patch.rows[1].max(row)];
            patch.columns = [patch.columns[0].min(column), patch.columns[1].max(column)];
            reads.push((at, column, row, i));
            if windows.patches.len() > MAX_PATCHES {
                return None;
            }
        }
        let is_shared = reads.len() >= 2 * windows.patches.len();
        reads.sort_unstable();
        for (patch, column, row, step) in reads {
            match windows.runs.last_mut() {
                Some(run)
                    if (run.patch, run.column, run.row + run.steps.len() as i64) == (patch, column, row)
                        && run.steps.len() < 3 =>
                {
                    run.steps.push(step);
                }
                Some(_) | None => {
                    windows.runs.push(StepRun { patch, row, column, steps: SmallVec::from_slice(&[step]) });
                }
            }
        }
        windows.runs.sort_by_key(|run| std::cmp::Reverse(run.steps.len()));
        (is_shared || by[1] > 1 || !x.bounds.is_empty()).then_some(windows)
    }
}

/// The distance of two steps in rows and columns of the result, if it is a whole number of them, given what the second step adds
/// to the offset and to functions with bounds.
fn apart(place: i64, by: [i64; 2], added: &[i64], bounds: &[[i64; 2]]) -> Option<[i64; 2]> {
    let of_row = added.iter().zip(bounds).find(|(_, by)| by[0] != 0 && by[1] == 0);
    let row = match of_row {
        Some((added, by)) => added / by[0],
        None if by[0] > 0 => (2 * place + by[0]).div_euclid(2 * by[0]),
        None => 0,
    };
    let column = (place - row * by[0]) / by[1];
    let is_it = |added: i64, by: [i64; 2]| added == row * by[0] + column * by[1];
    let is_all = is_it(place, by) && added.iter().zip(bounds).all(|(added, by)| is_it(*added, *by));
    (is_all && row.abs() <= MAX_PATCH_DISTANCE && column.abs() <= MAX_PATCH_DISTANCE).then_some([row, column])
}

/// The increments of a function per plane, row and lane.
pub(crate) fn steps_of(function: &Linear, along: usize) -> [i64; 3] {
    let before = |by: usize| along.checked_sub(by).map_or(0, |axis| function.by[axis]);
    [before(2), before(1), function.by[along]]
}

impl Body for Window<'_> {
    /// Whether all reads are in range.
    type Out = bool;

    #[inline(always)]
    fn run<const FUSED: bool>(mut self) -> bool {
        let columns = self.windows.patches.iter().map(|patch| patch.columns[1] - patch.columns[0]);
        let pitch = (self.strip.lanes() + columns.max().unwrap_or(0) as usize).next_multiple_of(WIDE);
        let mut starts: SmallVec<[usize; 16]> = SmallVec::new();
        let mut count = 0;
        for patch in &self.windows.patches {
            starts.push(count);
            count += (self.strip.height() + (patch.rows[1] - patch.rows[0]) as usize) * pitch;
        }
        // Padding for reads past the last row and lane.
        let behind = HIGH * (pitch + WIDE);
        if self.patches.len() < count + behind {
            self.patches.resize(count + behind, 0.0);
        }
        let is_high = self.strip.height() >= MIN_ROWS;
        let mut steps = self.steps(&starts, pitch, is_high);
        for plane in 0..self.strip.n() / (self.strip.height() * self.strip.lanes()).max(1) {
            if !self.lay(plane, pitch, &starts) || !self.factors(plane, &mut steps) {
                return false;
            }
            let is_number = || self.patches[..count].iter().fold(true, |all, x| all & !x.is_nan());
            let is_done = match self.taps.combine {
                Combine::Sum => self.plane::<Sums, FUSED>(plane, &steps, pitch, is_high),
                Combine::Max if is_number() => self.plane::<Greatest, FUSED>(plane, &steps, pitch, is_high),
                Combine::Max => self.plane::<GreatestOrNone, FUSED>(plane, &steps, pitch, is_high),
                _ if is_number() => self.plane::<Least, FUSED>(plane, &steps, pitch, is_high),
                _ => self.plane::<LeastOrNone, FUSED>(plane, &steps, pitch, is_high),
            };
            if is_done.is_none() {
                return false;
            }
        }
        true
    }
}

impl Window<'_> {
    /// The offsets of steps without factors: for some rows at once or, if there are few, for some chunks of a row.
    #[inline(always)]
    fn steps(&self, starts: &[usize], pitch: usize, is_high: bool) -> Steps {
        let mut steps = Steps::default();
        for run in &self.windows.runs {
            let patch = &self.windows.patches[run.patch];
            let row = (run.row - patch.rows[0]) as usize;
            let at = starts[run.patch] + row * pitch + (run.column - patch.columns[0]) as usize;
            match run.steps.len() {
                3 if is_high => steps.threes.push((at, [1.0; 3])),
                2 if is_high => steps.twos.push((at, [1.0; 2])),
                n => steps.ones.extend((0..n).map(|i| (at + i * pitch, [1.0]))),
            }
        }
        steps
    }

    /// Sets the factors for a plane; returns whether they are in range.
    #[inline(always)]
    fn factors(&self, plane: usize, steps: &mut Steps) -> bool {
        let Stencil { factor, along, steps: all, .. } = self.taps;
        let (Some(source), Some((factors, first))) = (factor, self.factors) else { return true };
        let first = first + steps_of(&source.place, *along)[0] * plane as i64;
        let zero = self.zeros.get(plane).copied().unwrap_or_default();
        let factor = |step: &usize| {
            let place = usize::try_from(first + all.get(*step)?.factor).ok()?;
            Some(factors.get(place)? - zero)
        };
        let mut order = self.windows.runs.iter().flat_map(|run| &run.steps);
        let mut set = |to: &mut [f32]| {
            for to in to {
                let Some(factor) = order.next().and_then(factor) else { return false };
                *to = factor;
            }
            true
        };
        steps.threes.iter_mut().all(|(_, factors)| set(factors))
            && steps.twos.iter_mut().all(|(_, factors)| set(factors))
            && steps.ones.iter_mut().all(|(_, factors)| set(factors))
    }

    /// The accumulators of a plane. If rows are shorter than a chunk, each overwrites the padding of the previous one.
    #[inline(always)]
    fn plane<C: Combining, const FUSED: bool>(
        &mut self,
        plane: usize,
        steps: &Steps,
        pitch: usize,
        is_high: bool,
    ) -> Option<()> {
        let (height, lanes) = (self.strip.height(), self.strip.lanes());
        let out = self.out.get_mut(plane * height * lanes..)?;
        let (rows, columns) = if is_high { (HIGH, WIDE) } else { (1, HIGH * WIDE) };
        for row in (0..height).step_by(rows) {
            for column in (0..lanes).step_by(columns) {
                // The last chunk of a row overlaps the one before.
                let column = if is_high { column.min(lanes.saturating_sub(WIDE)) } else { column };
                let from = self.patches.get(row * pitch + column..)?;
                let first = row * lanes + column;
                // One call of `totals`, which is inlined: of as many rows, or of as many chunks of a row.
                let [of_patch, of_out, count] = match is_high {
                    true => [pitch, lanes, height - row],
                    false => [WIDE, WIDE, (lanes - column).div_ceil(WIDE)],
                };
                let totals = steps.totals::<C, FUSED>(from, of_patch)?;
                for (i, totals) in totals.iter().enumerate().take(count) {
                    *out.get_mut(first + i * of_out..)?.first_chunk_mut::<WIDE>()? = *totals;
                }
            }
        }
        Some(())
    }

    /// Fills the patches of a plane; returns whether their operands are in range.
    #[inline(always)]
    fn lay(&mut self, plane: usize, pitch: usize, starts: &[usize]) -> bool {
        let Stencil { x: source, along, .. } = self.taps;
        let by = steps_of(&source.place, *along);
        for (patch, start) in self.windows.patches.iter().zip(starts) {
            let [first, last] = patch.columns;
            let n = self.strip.lanes() + (last - first) as usize;
            let mut columns = 0..n;
            let mut rows: SmallVec<[(&Bound, i64, [i64; 3]); 2]> = SmallVec::new();
            for ((bound, value), added) in source.bounds.iter().zip(&self.values).zip(&patch.bounds) {
                let by = steps_of(&bound.function, *along);
                let value = value + added + by[0] * plane as i64 + by[1] * patch.rows[0] + by[2] * first;
                match by[1] {
                    // Equal for all rows.
                    0 => columns = both(columns, bound.of(value, by[2], n)),
                    _ => rows.push((bound, value, by)),
                }
            }
            let place = self.start + patch.place + by[0] * plane as i64 + by[1] * patch.rows[0];
            let mut place = place + by[2] * first;
            let mut to = *start;
            for _ in patch.rows[0]..patch.rows[1] + self.strip.height() as i64 {
                let mut inside = columns.clone();
                for (bound, value, by) in &mut rows {
                    match by[2] {
                        0 if *value >= bound.from && *value < bound.to => {}
                        0 => inside.end = inside.start,
                        of_lane => inside = both(inside, bound.of(*value, of_lane, n)),
                    }
                    *value += by[1];
                }
                let start = place + by[2] * inside.start as i64;
                let Some(line) = self.patches.get_mut(to..) else { return false };
                let (at, otherwise) = ((start, by[2]), source.otherwise);
                let is_there = match self.x {
                    Elements::Single(x) => lay_line(line, n, inside, x, at, otherwise, |x| x),
                    Elements::F16(x) => lay_line(line, n, inside, x, at, otherwise, f16_to_f32),
                    Elements::Bf16(x) => lay_line(line, n, inside, x, at, otherwise, bf16_to_f32),
                    Elements::Unsigned(x, zero) => {
                        lay_line(line, n, inside, x, at, otherwise, |x| f32::from(x) - zero)
                    }
                    Elements::Signed(x, zero) => {
                        lay_line(line, n, inside, x, at, otherwise, |x| f32::from(x) - zero)
                    }
                };
                if is_there.is_none() {
                    return false;
                }
                (to, place) = (to + pitch, place + by[1]);
            }
        }
        true
    }
}

/// The intersection.
#[inline(always)]
fn both(a: Range<usize>, b: Range<usize>) -> Range<usize> {
    a.start.max(b.start)..a.end.min(b.end)
}

/// Fills a row of `n` elements, those `inside` from an offset on with a stride, as single floats. What follows the row becomes
/// unspecified.
#[inline(always)]
fn lay_line<X: Copy>(
    line: &mut [f32],
    n: usize,
    inside: Range<usize>,
    x: &[X],
    (place, by): (i64, i64),
    otherwise: f32,
    single: impl Fn(X) -> f32,
) -> Option<()> {
    let by = usize::try_from(by).ok().filter(|by| *by > 0)?;
    if inside.is_empty() {
        return beside(line, 0..n, otherwise);
    }
    let (inside, place) = there(inside, place, by, x.len());
    let x = x.get(place..)?;
    beside(line, 0..inside.start, otherwise)?;
    let (to, count) = (line.get_mut(inside.start..)?, inside.len());
    let mut done = 0;
    match by {
        1 => {
            while done < count
                && let Some(x) = x.get(done..).and_then(|x| x.first_chunk::<WIDE>())
            {
                let to = to.get_mut(done..)?.first_chunk_mut::<WIDE>()?;
                for lane in 0..WIDE {
                    to[lane] = single(x[lane]);
                }
                done += WIDE;
            }
        }
        2 => {
            while done < count
                && let Some(x) = x.get(2 * done..).and_then(|x| x.first_chunk::<{ 2 * WIDE }>())
            {
                let to = to.get_mut(done..)?.first_chunk_mut::<WIDE>()?;
                for lane in 0..WIDE {
                    to[lane] = single(x[2 * lane]);
                }
                done += WIDE;
            }
        }
        _ => {}
    }
    if done < count {
        let rest = x.get(done * by..)?.iter().step_by(by);
        to.get_mut(done..count)?.iter_mut().zip(rest).for_each(|(to, x)| *to = single(*x));
    }
    beside(line, inside.end..n, otherwise)
}

/// The existing columns of those inside, and the offset of the first: a patch has all columns for all its rows, including unused
/// ones.
#[inline(always)]
fn there(inside: Range<usize>, place: i64, by: usize, length: usize) -> (Range<usize>, usize) {
    if let Ok(place) = usize::try_from(place)
        && place + (inside.len() - 1) * by < length
    {
        return (inside, place);
    }
    let before = usize::try_from(-place).unwrap_or(0).div_ceil(by).min(inside.len());
    let place = usize::try_from(place + (before * by) as i64).unwrap_or(usize::MAX);
    let count = length.saturating_sub(place).div_ceil(by).min(inside.len() - before);
    let start = inside.start + before;
    (start..start + count, place.min(length))
}

/// Fills the padding around elements, and possibly beyond.
#[inline(always)]
fn beside(line: &mut [f32], columns: Range<usize>, otherwise: f32) -> Option<()> {
    for column in columns.step_by(WIDE) {
        *line.get_mut(column..)?.first_chunk_mut::<WIDE>()? = [otherwise; WIDE];
    }
    Some(())
}
