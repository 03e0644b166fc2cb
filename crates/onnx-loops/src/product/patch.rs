//! Padded copies of images, which micro-kernels read at shifted offsets.
//!
//! ```text
//! sum over c, k, l of w[m, c, k, l] * (x[c, i + k - 1, j + l - 1] if that is in bounds else 0)
//!
//! a b c        0 0 0 0 0       The columns of a tap are contiguous, from some offset on: those of (0, 1) from the second
//! d e f   ──▶  0 a b c 0       number on, as 0 0 0 | 0 0 | a b c | 0 0 | d e f. Two of each five belong to no column, and what
//!              0 d e f 0       is computed of them is left.
//!              0 0 0 0 0
//! ```
//! So the copy has each number once, not once per tap. If columns have the stride `s`, the copy is split into one image for each
//! remainder modulo `s` that a tap needs.

use super::columns::is_worth_it;
use super::coordinate::Coordinate;
use super::finish::ColumnRun;
use super::read::sums;
use super::stretches::copy;
use super::{CACHED, Side, place};
use crate::failure::{Failure, fail};
use crate::lanes::Linear;
use crate::lanes::view::Operands;
use crate::program::{Bound, Instr};
use onnx_ir::ElemType;
use smallvec::SmallVec;
use std::ops::Range;

/// How columns are read from a padded copy.
pub(super) struct Patch<'p> {
    operand: usize,
    place: &'p Linear,
    otherwise: f32,
    /// The last but one column axis and the last one.
    down: Coordinate<'p>,
    along: Coordinate<'p>,
    /// The outer column axes.
    pub(super) outer: &'p [usize],
    /// The reduction axes that do not shift columns.
    planes: Vec<usize>,
    /// Bounds that do not depend on the column.
    elsewhere: Vec<&'p Bound>,
    extents: &'p [usize],
    /// The rows and columns of an image that are copied at a time.
    region: [usize; 2],
}

impl<'p> Patch<'p> {
    /// Reads columns from a copy, if that is faster for `rows` rows than packing them.
    pub(super) fn of(side: &'p Side, extents: &'p [usize], steps: &[usize], rows: usize) -> Option<Self> {
        let [Instr::LoadWhere { to, operand, elem: ElemType::FLOAT, place, bounds, otherwise }] =
            &side.program.instrs[..]
        else {
            return None;
        };
        if side.bytes.is_some() || side.program.result != Some(*to) {
            return None;
        }
        let (last, outer) = side.axes.split_last()?;
        let (down, outer) = outer.split_last().map_or((None, outer), |(down, outer)| (Some(*down), outer));
        let along = Coordinate::of(Some(*last), place, bounds, steps, extents)?;
        let down = Coordinate::of(down, place, bounds, steps, extents)?;
        let asks = |bound: &Bound, axis: usize| bound.function.by[axis] != 0;
        let shifts = |step: usize| {
            let of = |it: &Coordinate<'_>| it.shifts.iter().any(|(axis, _)| *axis == step);
            (of(&down), of(&along))
        };
        let (mut planes, mut elsewhere) = (Vec::new(), Vec::new());
        for &step in steps {
            match shifts(step) {
                (false, false) => planes.push(step),
                (true, true) => return None,
                (true, false) | (false, true) => {}
            }
        }
        for bound in bounds {
            match (down.axis.is_some_and(|axis| asks(bound, axis)), asks(bound, *last)) {
                (true, true) => return None,
                (false, false) => elsewhere.push(bound),
                (true, false) | (false, true) => {}
            }
        }
        let is_of_plane = |bound: &&Bound| steps.iter().all(|s| !asks(bound, *s) || planes.contains(s));
        elsewhere.iter().all(is_of_plane).then_some(())?;
        let region = [down.extent, along.extent];
        let mut patch = Patch {
            operand: *operand,
            place,
            otherwise: otherwise.0 as f32,
            down,
            along,
            outer,
            planes,
            elsewhere,
            extents,
            region,
        };
        patch.region = patch.region_in(CACHED)?;
        let count: usize = steps.iter().map(|axis| extents[*axis]).product();
        patch.is_worth_it(count, rows).then_some(patch)
    }

    /// The largest region whose copy has at most `most` numbers: rows of an image, or columns of a row.
    fn region_in(&self, most: usize) -> Option<[usize; 2]> {
        let [rows, columns] = self.region;
        let images = self.images();
        if rows > 1 {
            let height = most / images.saturating_mul(columns.saturating_add(self.along.more())).max(1);
            let rows = height.checked_sub(self.down.more())?.min(rows);
            return (rows > 0).then_some([rows, columns]);
        }
        let height = self.down.more().saturating_add(1);
        let columns =
            (most / images.saturating_mul(height).max(1)).checked_sub(self.along.more())?.min(columns);
        (columns > 0).then_some([rows, columns])
    }

    /// Whether the products wasted on padding columns take less time than packing.
    fn is_worth_it(&self, count: usize, rows: usize) -> bool {
        let [height, width] = self.region;
        let outer: usize = self.outer.iter().map(|axis| self.extents[*axis]).product();
        let regions = outer * self.down.extent.div_ceil(height) * self.along.extent.div_ceil(width);
        let columns = outer * self.down.extent * self.along.extent;
        regions * self.len() <= count * columns / 2 && is_worth_it([regions, self.columns()], columns, rows)
    }

    /// The number of different copies.
    fn images(&self) -> usize {
        let planes = self.planes.iter().fold(1, |n: usize, axis| n.saturating_mul(self.extents[*axis]));
        planes.saturating_mul(self.down.remainders.len() * self.along.remainders.len())
    }

    /// The distance between rows.
    fn pitch(&self) -> usize {
        self.region[1] + self.along.more()
    }

    fn height(&self) -> usize {
        self.region[0] + self.down.more()
    }

    /// The size of a copy.
    pub(super) fn len(&self) -> usize {
        self.images() * self.height() * self.pitch()
    }

    /// The most columns from the first to the last of a region, including those between rows.
    pub(super) fn columns(&self) -> usize {
        let [rows, columns] = self.region;
        (rows - 1) * self.pitch() + columns
    }

    /// Fills one region.
    pub(super) fn columns_of(&self, [rows, columns]: &[Range<usize>; 2]) -> usize {
        (rows.len() - 1) * self.pitch() + columns.len()
    }

    /// The valid columns among a range of a region.
    pub(super) fn runs(
        &self,
        image: usize,
        [rows, columns]: &[Range<usize>; 2],
        block: &Range<usize>,
        out: &mut Vec<ColumnRun>,
    ) {
        let pitch = self.pitch();
        for row in block.start / pitch..block.end.div_ceil(pitch) {
            let first = row * pitch;
            let within = block.start.max(first)..block.end.min(first + columns.len());
            if within.is_empty() {
                continue;
            }
            let before = (image * self.down.extent + rows.start + row) * self.along.extent + columns.start;
            let from = within.start - block.start;
            out.push(ColumnRun { columns: before + within.start - first..before + within.end - first, from });
        }
    }

    /// The regions of an image that are copied one after the other: rows and columns.
    pub(super) fn regions(&self) -> impl Iterator<Item = [Range<usize>; 2]> + use<> {
        let [height, width] = self.region;
        let [rows, columns] = [self.down.extent, self.along.extent];
        super::blocks(rows, height)
            .flat_map(move |rows| super::blocks(columns, width).map(move |columns| [rows.clone(), columns]))
    }

    /// The offset of each step.
    pub(super) fn steps(&self, axes: &[usize]) -> Vec<usize> {
        let count_behind = |axis: usize| {
            let behind = self.planes.iter().skip_while(|other| **other != axis).skip(1);
            behind.map(|axis| self.extents[*axis]).product::<usize>() as i64
        };
        let of_plane = |axis: usize| if self.planes.contains(&axis) { count_behind(axis) } else { 0 };
        let planes = sums(self.extents, axes, of_plane);
        let [down, along] = [&self.down, &self.along].map(|coordinate| {
            let shifts = sums(self.extents, axes, |axis| coordinate.shift_of(axis));
            shifts.into_iter().map(|shift| {
                let (by, remainder) = coordinate.divided(shift);
                (by, coordinate.remainders.iter().position(|other| *other == remainder).unwrap_or(0))
            })
        });
        let of_step = |((plane, (down, of_down)), (along, of_along)): ((i64, _), _)| {
            let plane = plane as usize * self.down.remainders.len() + of_down;
            let image = plane * self.along.remainders.len() + of_along;
            (image * self.height() + down) * self.pitch() + along
        };
        planes.into_iter().zip(down).zip(along).map(of_step).collect()
    }

    /// Copies what the columns of a region read, at a position of the other axes.
    pub(super) fn fill(
        &self,
        operands: &Operands<'_>,
        at: &mut [usize],
        steps: &[usize],
        [rows, columns]: [usize; 2],
        out: &mut [f32],
    ) -> Result<(), Failure> {
        let Some(view) = operands.get(self.operand).copied().flatten() else { fail!("an input is left out") };
        let from: &[f32] = view.words();
        let Patch { down, along, .. } = self;
        let own = down.axis.iter().chain(&along.axis);
        own.chain(steps).for_each(|&axis| at[axis] = 0);
        let origin = |it: &Coordinate<'_>| it.function.map_or(0, |function| function.at(at));
        let (of_down, of_along) = (origin(down), origin(along));
        let in_down = down.values(of_down);
        let in_along = along.values(of_along);
        // The in-bounds values along a row, for each remainder.
        let stretches: SmallVec<[(i64, Range<usize>); 2]> = along
            .remainders
            .iter()
            .map(|remainder| {
                let first = along.stride * columns as i64 + along.least + *remainder as i64;
                let lanes = Bound::lanes_of(in_along.clone(), of_along + first, along.stride, self.pitch());
                (along.by * (first + along.stride * lanes.start as i64), lanes)
            })
            .collect();
        let planes: usize = self.planes.iter().map(|axis| self.extents[*axis]).product();
        let mut lines = out.chunks_exact_mut(self.pitch());
        for plane in 0..planes {
            place(at, &self.planes, self.extents, plane);
            let is_in = |bound: &&Bound| (bound.from..bound.to).contains(&bound.function.at(at));
            let is_plane = self.elsewhere.iter().all(is_in);
            let first = self.place.at(at) - view.first;
            for remainder in &down.remainders {
                // The rows of all remainders are contiguous, image after image.
                for (start, lanes) in &stretches {
                    for row in 0..self.height() {
                        let value = down.stride * (rows + row) as i64 + down.least + *remainder as i64;
                        let Some(line) = lines.next() else { fail!("a copy has too few rows") };
                        if !is_plane || lanes.is_empty() || !in_down.contains(&(of_down + value)) {
                            line.fill(self.otherwise);
                            continue;
                        }
                        let place = first + down.by * value + start;
                        if !copy(from, place, along.by * along.stride, line, lanes.clone()) {
                            fail!("an index is out of bounds")
                        }
                        // The copies may have overwritten the padding.
                        line[..lanes.start].fill(self.otherwise);
                        line[lanes.end..].fill(self.otherwise);
                    }
                }
            }
        }
        Ok(())
    }
}
