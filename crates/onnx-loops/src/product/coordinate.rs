//! Spatial coordinates of the columns of a convolution.

use super::read::sums;
use crate::lanes::Linear;
use crate::program::Bound;
use smallvec::SmallVec;
use std::ops::Range;

/// With more remainders, packing is faster.
const MAX_REMAINDERS: usize = 8;

/// A spatial coordinate: a function of one column axis and of reduction axes (taps).
pub(super) struct Coordinate<'c> {
    pub(super) axis: Option<usize>,
    pub(super) extent: usize,
    /// The bound on the function, if it can be out of bounds.
    pub(super) function: Option<&'c Linear>,
    pub(super) within: Range<i64>,
    /// The increment per column.
    pub(super) stride: i64,
    /// The distance of adjacent values in the operand.
    pub(super) by: i64,
    /// The shift per step of each reduction axis.
    pub(super) shifts: SmallVec<[(usize, i64); 2]>,
    pub(super) least: i64,
    pub(super) most: i64,
    /// The remainders of shifts modulo the stride.
    pub(super) remainders: SmallVec<[usize; 2]>,
}

impl<'p> Coordinate<'p> {
    /// The coordinate of an axis; without an axis it has one value.
    pub(super) fn of(
        axis: Option<usize>,
        place_of: &Linear,
        bounds: &'p [Bound],
        steps: &[usize],
        extents: &[usize],
    ) -> Option<Self> {
        let mut mine = bounds.iter().filter(|bound| axis.is_some_and(|axis| bound.function.by[axis] != 0));
        let mut coordinate = Coordinate {
            axis,
            extent: axis.map_or(1, |axis| extents[axis]),
            function: None,
            within: i64::MIN..i64::MAX,
            stride: 1,
            by: axis.map_or(0, |axis| place_of.by[axis]),
            shifts: SmallVec::new(),
            least: 0,
            most: 0,
            remainders: SmallVec::new(),
        };
        if let (Some(axis), Some(bound)) = (axis, mine.next()) {
            let function = &bound.function;
            let stride = function.by[axis];
            let is_it = stride > 0 && coordinate.by % stride == 0;
            (is_it && mine.next().is_none()).then_some(())?;
            (coordinate.stride, coordinate.by) = (stride, coordinate.by / stride);
            coordinate.within = bound.from..bound.to;
            coordinate.function = Some(function);
            for &step in steps.iter().filter(|step| function.by[**step] != 0) {
                let by = function.by[step];
                (Some(place_of.by[step]) == coordinate.by.checked_mul(by)).then_some(())?;
                let reach = by.checked_mul(extents[step] as i64 - 1)?;
                coordinate.least = coordinate.least.checked_add(reach.min(0))?;
                coordinate.most = coordinate.most.checked_add(reach.max(0))?;
                coordinate.shifts.push((step, by));
            }
        }
        let axes: SmallVec<[usize; 2]> = coordinate.shifts.iter().map(|(axis, _)| *axis).collect();
        for shift in sums(extents, &axes, |axis| coordinate.shift_of(axis)) {
            let (_, remainder) = coordinate.divided(shift);
            if !coordinate.remainders.contains(&remainder) {
                coordinate.remainders.push(remainder);
            }
            (coordinate.remainders.len() <= MAX_REMAINDERS).then_some(())?;
        }
        Some(coordinate)
    }

    /// The shift per step of a reduction axis.
    pub(super) fn shift_of(&self, axis: usize) -> i64 {
        self.shifts.iter().find(|(other, _)| *other == axis).map_or(0, |(_, by)| *by)
    }

    /// A shift as columns and a remainder.
    pub(super) fn divided(&self, shift: i64) -> (usize, usize) {
        let (shift, stride) = ((shift - self.least) as usize, self.stride as usize);
        if stride == 1 { (shift, 0) } else { (shift / stride, shift % stride) }
    }

    /// The number of positions beyond the columns.
    pub(super) fn more(&self) -> usize {
        ((self.most - self.least) / self.stride) as usize
    }

    /// The greatest shift minus the least.
    pub(super) fn more_values(&self) -> usize {
        (self.most - self.least) as usize
    }

    /// The number of values from the first to the last.
    pub(super) fn reach(&self) -> usize {
        self.stride as usize * self.extent.saturating_sub(1) + self.more_values() + 1
    }

    /// The in-bounds values that some column reads.
    pub(super) fn values(&self, origin: i64) -> Range<i64> {
        let end = self.stride * (self.extent as i64 - 1) + self.most + 1;
        self.within.start.max(origin + self.least)..self.within.end.min(origin + end)
    }
}
