//! Strips: contiguous lanes along an axis, and if it is short, along the axes before it.

use super::{LANES, Linear};
use std::ops::Range;

// Functions are inlined so that strips stay in registers: a read from memory right after a write of another width would wait for
// all earlier stores.

/// The lanes of a strip: planes of rows of lanes, in row-major order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strip {
    /// The axes of planes, rows and lanes; missing ones have extent 1.
    axes: [usize; 3],
    extents: [usize; 3],
}

/// The offsets of the lanes of a strip: start, and for planes, rows and lanes the extents and strides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    pub(crate) start: i64,
    pub(crate) extents: [usize; 3],
    pub(crate) by: [i64; 3],
}

impl Strip {
    /// Lanes along one axis.
    #[inline(always)]
    pub(crate) fn line(along: usize, n: usize) -> Strip {
        Strip { axes: [along; 3], extents: [1, 1, n] }
    }

    /// Rows along `across`, with lanes along `along`.
    #[inline(always)]
    pub(crate) fn rows(across: usize, along: usize, rows: usize, lanes: usize) -> Strip {
        Strip { axes: [along, across, along], extents: [1, rows, lanes] }
    }

    /// The longest strip from a position on, with at most `left` lanes.
    pub(crate) fn at(at: &[usize], dims: &[usize], left: usize) -> Strip {
        Strip::at_most(at, dims, left, LANES)
    }

    /// A strip of at most `most` lanes, which may be more than registers have.
    #[inline(always)]
    pub(crate) fn at_most(at: &[usize], dims: &[usize], left: usize, most: usize) -> Strip {
        let last = dims.len() - 1;
        let most = most.min(left);
        let lanes = most.min(dims[last] - at[last]);
        let mut strip = Strip::line(last, lanes);
        if lanes < dims[last] || last == 0 {
            return strip;
        }
        let rows = (most / lanes).min(dims[last - 1] - at[last - 1]).max(1);
        strip.axes[1] = last - 1;
        strip.extents[1] = rows;
        if rows == dims[last - 1] && last > 1 {
            strip.axes[0] = last - 2;
            strip.extents[0] = (most / (lanes * rows)).min(dims[last - 2] - at[last - 2]).max(1);
        }
        strip
    }

    /// The first row of the strip.
    #[inline(always)]
    pub(crate) fn first_row(self) -> Strip {
        Strip::line(self.axes[2], self.extents[2])
    }

    /// The first plane of the strip.
    #[inline(always)]
    pub(crate) fn first_plane(self) -> Strip {
        let [_, rows, lanes] = self.extents;
        Strip { extents: [1, rows, lanes], ..self }
    }

    /// Whether lanes are along an axis.
    pub(crate) fn is_along(&self, axis: usize) -> bool {
        self.axes[2] == axis
    }

    /// The number of lanes.
    #[inline(always)]
    pub(crate) fn n(&self) -> usize {
        self.extents.iter().product()
    }

    /// The numbers of planes, rows per plane and lanes per row.
    #[inline(always)]
    pub(crate) fn extents(&self) -> [usize; 3] {
        self.extents
    }

    /// Lanes per row.
    #[inline]
    pub(crate) fn lanes(&self) -> usize {
        self.extents[2]
    }

    /// Rows per plane.
    #[inline]
    pub(crate) fn height(&self) -> usize {
        self.extents[1]
    }

    /// Advances a position past the strip.
    pub(crate) fn pass(&self, at: &mut [usize], dims: &[usize]) {
        let outermost = self.extents.iter().position(|d| *d > 1).unwrap_or(2);
        let axis = self.axes[outermost];
        at[axis] += self.extents[outermost];
        for axis in (0..=axis).rev() {
            if axis > 0 && at[axis] >= dims[axis] {
                at[axis] = 0;
                at[axis - 1] += 1;
            }
        }
    }

    /// The values of a function on the strip.
    #[inline(always)]
    pub(crate) fn walk(&self, function: &Linear, at: &[usize]) -> Walk {
        let [planes, rows, lanes] = self.axes;
        let by = [function.by[planes], function.by[rows], function.by[lanes]];
        Walk { start: function.at(at), extents: self.extents, by }
    }

    /// Visits the rows: the lanes of each, and its offset along the axes of planes and rows.
    pub(crate) fn each_row<E>(
        &self,
        mut visit: impl FnMut(Range<usize>, [usize; 2]) -> Result<(), E>,
    ) -> Result<(), E> {
        let [planes, rows, lanes] = self.extents;
        for plane in 0..planes {
            for row in 0..rows {
                let first = (plane * rows + row) * lanes;
                visit(first..first + lanes, [plane, row])?;
            }
        }
        Ok(())
    }

    /// Moves a position along the axes of planes and rows.
    pub(crate) fn moved(&self, at: &mut [usize], by: [usize; 2]) {
        at[self.axes[0]] += by[0];
        at[self.axes[1]] += by[1];
    }

    /// Undoes `moved`.
    pub(crate) fn back(&self, at: &mut [usize], by: [usize; 2]) {
        at[self.axes[0]] -= by[0];
        at[self.axes[1]] -= by[1];
    }
}

impl Walk {
    /// Lanes from a start on with a stride.
    #[inline(always)]
    pub(crate) fn line(start: i64, by: i64, n: usize) -> Walk {
        Walk { start, extents: [1, 1, n], by: [0, 0, by] }
    }

    /// The stride of all lanes, if it also holds between rows.
    #[inline(always)]
    pub(crate) fn stride(&self) -> Option<i64> {
        let [planes, rows, lanes] = self.extents;
        let [of_plane, of_row, by] = self.by;
        let are_one = |count: usize, step: i64, n: usize| count == 1 || step == by * n as i64;
        (are_one(rows, of_row, lanes) && are_one(planes, of_plane, lanes * rows)).then_some(by)
    }

    /// The walk with rows merged where they form one longer row.
    #[inline(always)]
    pub(crate) fn merged(self) -> Walk {
        let [planes, rows, lanes] = self.extents;
        let [of_plane, of_row, by] = self.by;
        if of_row == by * lanes as i64 || rows == 1 {
            return Walk { extents: [1, planes, rows * lanes], by: [0, of_plane, by], ..self };
        }
        self
    }

    /// The offset of a row.
    #[inline]
    pub(crate) fn row(&self, [plane, row]: [usize; 2]) -> i64 {
        self.start + self.by[0] * plane as i64 + self.by[1] * row as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_pass_all_elements_in_order() {
        for dims in
            [&[5][..], &[3000], &[7, 300], &[2, 3, 49], &[3, 40, 7, 9], &[2, 3, 1, 1500], &[2000, 1, 1]]
        {
            let count: usize = dims.iter().product();
            let mut strides = vec![1i64; dims.len()];
            (0..dims.len() - 1).rev().for_each(|i| strides[i] = strides[i + 1] * dims[i + 1] as i64);
            let flat = Linear { base: 0, by: strides.into_iter().collect() };
            let mut at = vec![0; dims.len()];
            let mut done = 0;
            while done < count {
                let strip = Strip::at(&at, dims, count - done);
                let walk = strip.walk(&flat, &at);
                assert_eq!((walk.start, walk.stride()), (done as i64, Some(1)), "{dims:?} {strip:?}");
                assert!((1..=LANES).contains(&strip.n()));
                done += strip.n();
                strip.pass(&mut at, dims);
            }
            assert_eq!(done, count, "{dims:?}");
        }
    }
}
