//! Images whose taps are far apart, so that much of what they read is padding: most of it is neither copied nor multiplied.
//!
//! ```text
//! sum over k, l, c of x[h + 12*k - 12, w + 12*l - 12, c] * weight[m, c, k, l]
//!
//! of 28 lines, for the first 12 the taps with k = 0 are padding, and for the last 12 those with k = 2; likewise of pixels
//! ```
//! The copy has the lines that taps of a band read, contiguous, and as much padding at their ends as a tile of rows that is partly
//! inside reads. A tile multiplies the steps of those taps that are inside for one of its rows. All other products are zero: so results
//! are the same, if weights are finite.

use super::super::coordinate::Coordinate;
use super::super::kind::Kind;
use super::super::micro::Steps;
use super::super::read::sums;
use super::super::{CACHED, blocks};
use super::Image;
use crate::failure::{Failure, fail};
use crate::lanes::view::Operands;
use crate::program::Bound;
use std::ops::Range;

/// How rows are read from such a copy.
pub(in crate::product) struct FarTaps<'i> {
    /// Its window is what the copy has of each line.
    image: Box<Image<'i>>,
    runs: Vec<StepRun>,
    /// The padding that a tile of rows needs, in pixels.
    span: usize,
    /// The lines of the copy, in ascending order: their values relative to that of the first line.
    lines: Vec<i64>,
}

/// Steps of the same tap, at contiguous numbers of a pixel.
struct StepRun {
    steps: Range<usize>,
    down: i64,
    along: i64,
    /// The number of the pixel that the first step reads.
    channel: usize,
}

/// The steps of tiles, one list after the other.
#[derive(Default)]
pub(in crate::product) struct StepLists {
    of_rows: Vec<usize>,
    of_columns: Vec<usize>,
    /// Where each list ends, and the greatest offsets in rows and in columns.
    ends: Vec<(usize, [usize; 2])>,
}

impl StepLists {
    pub(in crate::product) fn clear(&mut self) {
        self.of_rows.clear();
        self.of_columns.clear();
        self.ends.clear();
    }

    /// The steps of a tile, in its rows and in columns; `None` if tiles have no lists.
    pub(in crate::product) fn of(&self, tile: usize) -> Option<[Steps<'_>; 2]> {
        let (end, [last_of_rows, last_of_columns]) = *self.ends.get(tile)?;
        let start = tile.checked_sub(1).map_or(0, |before| self.ends[before].0);
        let of_rows = Steps::up_to(&self.of_rows[start..end], last_of_rows);
        Some([of_rows, Steps::up_to(&self.of_columns[start..end], last_of_columns)])
    }
}

/// The shifts of a coordinate, and how many of its positions are inside, for all of them together.
fn inside(it: &Coordinate<'_>, extents: &[usize]) -> (Vec<i64>, usize) {
    let axes: Vec<usize> = it.shifts.iter().map(|(axis, _)| *axis).collect();
    let shifts = sums(extents, &axes, |axis| it.shift_of(axis));
    let origin = it.function.map_or(0, |function| function.base);
    let of = |shift: &i64| Bound::lanes_of(it.within.clone(), origin + shift, it.stride, it.extent).len();
    let count = shifts.iter().map(of).sum();
    (shifts, count)
}

/// Whether a coordinate depends on nothing but its axis and taps.
fn is_alone(it: &Coordinate<'_>) -> bool {
    let is_own = |axis: usize| it.axis == Some(axis) || it.shifts.iter().any(|(own, _)| *own == axis);
    it.function
        .is_some_and(|function| (0..function.by.len()).all(|axis| function.by[axis] == 0 || is_own(axis)))
}

impl<'i> FarTaps<'i> {
    /// Reads an image like this, for tiles of so many rows, if that is faster than to multiply all padding; otherwise, the image.
    pub(in crate::product) fn of<T: Kind>(
        mut image: Box<Image<'i>>,
        steps: &[usize],
        rows: usize,
        are_finite: &dyn Fn() -> bool,
    ) -> Result<Self, Box<Image<'i>>> {
        let Image { down, along, extents, .. } = &*image;
        let is_zero = T::GROUP == 1 && image.otherwise.0 == 0.0;
        if !is_zero || along.extent < 2 || !is_alone(down) || !is_alone(along) {
            return Err(image);
        }
        let ((of_down, in_down), (of_along, in_along)) = (inside(down, extents), inside(along, extents));
        let all = of_down.len() * down.extent * of_along.len() * along.extent;
        let is_padding = in_down * in_along <= all / 4 * 3;
        // The lines of the copies of all bands.
        let height = down.extent;
        let copied = |band: usize, lines: usize| height.div_ceil(band) * lines;
        let dense = image.band::<T>();
        let dense = copied(dense, (image.len(dense) / image.line.max(1)).min(Self::lines_there(&image)));
        // The values that a tile reads that is partly inside.
        let span = along.stride as usize * (rows - 1);
        let (origin, wide) = (Self::origin(along), span as i64);
        let first = (along.within.start - wide - origin).max(along.least);
        let last = along.stride * (along.extent as i64 - 1) + along.most;
        let end = (along.within.end + wide - origin).min(last + 1);
        if in_down * in_along == 0 || first >= end {
            return Err(image);
        }
        let before = (image.window, image.line);
        image.window = (first, (end - first) as usize);
        image.line = image.window.1 * image.pixel;
        let mut far = FarTaps { image, runs: Vec::new(), span, lines: Vec::new() };
        let band = far.band();
        let is_twice = dense > 2 * copied(band, far.most_lines(band));
        if !(is_padding || is_twice) || !are_finite() {
            (far.image.window, far.image.line) = before;
            return Err(far.image);
        }
        far.runs = far.runs_of(steps);
        Ok(far)
    }

    /// The value of a coordinate at its first position, without a shift.
    fn origin(it: &Coordinate<'_>) -> i64 {
        it.function.map_or(0, |function| function.base)
    }

    /// The lines of the image that some tap reads.
    fn lines_there(image: &Image<'_>) -> usize {
        let values = image.down.values(Self::origin(&image.down));
        usize::try_from(values.end - values.start).unwrap_or(0)
    }

    /// The most lines that a band reads.
    fn most_lines(&self, band: usize) -> usize {
        let down = &self.image.down;
        let taps: usize = down.shifts.iter().map(|(axis, _)| self.image.extents[*axis]).product();
        let dense = down.stride as usize * (band - 1) + down.more_values() + 1;
        (taps * band).min(dense).min(Self::lines_there(&self.image))
    }

    /// The number of result lines for each copy: all if they fit into the second-level cache.
    pub(in crate::product) fn band(&self) -> usize {
        let (height, line) = (self.image.down.extent.max(1), self.image.line.max(1));
        if self.most_lines(height) * line <= CACHED {
            return height;
        }
        // As many as half of the cache has room for; more lines never need fewer.
        let (mut least, mut most) = (1, height);
        while least < most {
            let band = (least + most).div_ceil(2);
            if self.most_lines(band) * line <= CACHED / 2 { least = band } else { most = band - 1 }
        }
        least
    }

    /// The size of the copy.
    pub(in crate::product) fn len(&self) -> usize {
        let lines = self.most_lines(self.band());
        lines.saturating_mul(self.image.line).saturating_add((self.span + 1) * self.image.pixel)
    }

    /// The image.
    pub(in crate::product) fn image(&self) -> &Image<'i> {
        &self.image
    }

    /// The steps as runs.
    fn runs_of(&self, steps: &[usize]) -> Vec<StepRun> {
        let Image { down, along, extents, .. } = &*self.image;
        let down = sums(extents, steps, |axis| down.shift_of(axis));
        let along = sums(extents, steps, |axis| along.shift_of(axis));
        let channels = sums(extents, steps, |axis| self.image.of_channel(axis));
        let mut runs: Vec<StepRun> = Vec::new();
        for (step, ((down, along), channel)) in down.into_iter().zip(along).zip(channels).enumerate() {
            let channel = channel as usize;
            match runs.last_mut() {
                Some(run)
                    if (run.down, run.along) == (down, along) && run.channel + run.steps.len() == channel =>
                {
                    run.steps.end = step + 1;
                }
                Some(_) | None => runs.push(StepRun { steps: step..step + 1, down, along, channel }),
            }
        }
        runs
    }

    /// Copies what a band of lines of an image reads.
    pub(in crate::product) fn fill<T: Kind>(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        (image, lines): (usize, Range<usize>),
        out: &mut [T],
    ) -> Result<(), Failure> {
        let Image { down, extents, .. } = &*self.image;
        let (shifts, _) = inside(down, extents);
        let origin = Self::origin(down);
        self.lines.clear();
        for line in lines {
            let value = down.stride * line as i64;
            let there = shifts.iter().map(|shift| value + shift);
            self.lines.extend(there.filter(|value| down.within.contains(&(origin + value))));
        }
        self.lines.sort_unstable();
        self.lines.dedup();
        self.image.fill_lines(operands, at, image, self.lines.iter().copied(), None, out)
    }

    /// Adds the list of a tile, which begins at a row and has so many, for some steps with these offsets in columns.
    pub(in crate::product) fn list(
        &self,
        [row, rows]: [usize; 2],
        steps: &Range<usize>,
        of_columns: &[usize],
        lists: &mut StepLists,
    ) -> Result<(), Failure> {
        let Image { down, along, pixel, line, window, .. } = &*self.image;
        let (height, width) = (down.extent.max(1), along.extent.max(1));
        let (y, x) = ((row / width % height) as i64, (row % width) as i64);
        let mut last = [0; 2];
        let first = self.runs.partition_point(|run| run.steps.end <= steps.start);
        for run in self.runs[first..].iter().take_while(|run| run.steps.start < steps.end) {
            let (of_down, of_along) = (down.stride * y + run.down, along.stride * x + run.along);
            let value = Self::origin(along) + of_along;
            let end = value + along.stride * (rows as i64 - 1);
            if !down.within.contains(&(Self::origin(down) + of_down))
                || value >= along.within.end
                || end < along.within.start
            {
                continue;
            }
            let (Ok(slot), Ok(place)) =
                (self.lines.binary_search(&of_down), usize::try_from(of_along - window.0))
            else {
                fail!("a tile is not in the copy of its image")
            };
            let now = run.steps.start.max(steps.start)..run.steps.end.min(steps.end);
            let first = slot * line + place * pixel + run.channel + now.start - run.steps.start;
            lists.of_rows.extend(first..first + now.len());
            let of_columns = &of_columns[now.start - steps.start..now.end - steps.start];
            lists.of_columns.extend_from_slice(of_columns);
            last = [last[0].max(first + now.len() - 1), of_columns.iter().copied().fold(last[1], usize::max)];
        }
        lists.ends.push((lists.of_rows.len(), last));
        Ok(())
    }

    /// The bands of all images.
    pub(in crate::product) fn bands(&self) -> Vec<(usize, Range<usize>)> {
        let (lines, band) = (self.image.down.extent, self.band());
        (0..self.image.count()).flat_map(|at| blocks(lines, band).map(move |lines| (at, lines))).collect()
    }
}
