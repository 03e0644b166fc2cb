//! Blocked summation of single floats: blocks are summed in single floats, and their sums in doubles.
//!
//! Converting every element would take longer than adding it. The order depends only on the number of elements.

use super::ALONG;
use crate::lanes::multiversion::Body;
use crate::zip::zip;

/// Elements that are summed in single floats before the sum is added to a double.
pub(crate) const BLOCK: usize = 8;

/// Adds a lane to each pending sum, and full blocks to doubles.
pub(crate) struct AddPending<'p> {
    pub(crate) single: &'p mut [f32],
    pub(crate) double: &'p mut [f64],
    pub(crate) pending: &'p mut usize,
    pub(crate) x: &'p [f32],
}

impl Body for AddPending<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let AddPending { single, double, pending, x } = self;
        *pending += 1;
        match *pending {
            1 => zip(single, x).for_each(|(total, x)| *total = *x),
            BLOCK => {
                *pending = 0;
                zip(double, zip(&*single, x)).for_each(|(total, (sum, x))| *total += f64::from(*sum + x));
            }
            _ => zip(single, x).for_each(|(total, x)| *total += x),
        }
    }
}

/// Columns of a matrix whose rows are contiguous.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'c> {
    /// From the first element of the first row on.
    from: &'c [f32],
    /// The distance between rows.
    by: usize,
    rows: usize,
}

impl<'c> Columns<'c> {
    /// `rows` rows of `lanes` elements from an offset on; `None` if they are not all within the operand.
    pub(crate) fn of(all: &'c [f32], first: usize, by: usize, [rows, lanes]: [usize; 2]) -> Option<Self> {
        let end = by.checked_mul(rows.checked_sub(1)?)?.checked_add(lanes)?;
        let from = all.get(first..first.checked_add(end)?)?;
        Some(Columns { from, by, rows })
    }

    /// The row at a position.
    #[inline(always)]
    fn row(&self, at: usize, lanes: usize) -> Option<&'c [f32]> {
        self.from.get(at * self.by..)?.get(..lanes)
    }
}

/// Adds the rows of columns to sums, in the order of [`AddPending`]: blocks of rows, each read once.
pub(crate) struct AddColumns<'c> {
    pub(crate) columns: Columns<'c>,
    pub(crate) totals: &'c mut [f64],
}

impl Body for AddColumns<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let AddColumns { columns, totals } = self;
        let whole = columns.rows / BLOCK * BLOCK;
        for block in (0..whole).step_by(BLOCK) {
            if add_block_of_rows(&columns, block, totals).is_none() {
                return;
            }
        }
        // Rows after the last block, whose sums of single floats are added once.
        let mut sums = [0.0f32; CHUNK];
        for start in (0..totals.len()).step_by(CHUNK) {
            let lanes = CHUNK.min(totals.len() - start);
            for row in whole..columns.rows {
                let Some(x) = columns.row(row, start + lanes) else { return };
                let pairs = sums.iter_mut().zip(&x[start..]);
                match row == whole {
                    true => pairs.for_each(|(sum, x)| *sum = *x),
                    false => pairs.for_each(|(sum, x)| *sum += x),
                }
            }
            if whole < columns.rows {
                let totals = &mut totals[start..start + lanes];
                totals.iter_mut().zip(&sums).for_each(|(total, sum)| *total += f64::from(*sum));
            }
        }
    }
}

/// The lanes whose sums of single floats are computed at once.
const CHUNK: usize = 64;

/// Adds the sums of [`BLOCK`] rows from one on; `None` if they are not all there.
#[inline(always)]
fn add_block_of_rows(columns: &Columns<'_>, block: usize, totals: &mut [f64]) -> Option<()> {
    const { assert!(BLOCK == 8) };
    let n = totals.len();
    let [a, b, c, d] = [
        columns.row(block, n)?,
        columns.row(block + 1, n)?,
        columns.row(block + 2, n)?,
        columns.row(block + 3, n)?,
    ];
    let [e, f, g, h] = [
        columns.row(block + 4, n)?,
        columns.row(block + 5, n)?,
        columns.row(block + 6, n)?,
        columns.row(block + 7, n)?,
    ];
    let rows = a.iter().zip(b).zip(c).zip(d).zip(e).zip(f).zip(g).zip(h);
    for (total, (((((((a, b), c), d), e), f), g), h)) in totals.iter_mut().zip(rows) {
        *total += f64::from(a + b + c + d + e + f + g + h);
    }
    Some(())
}

/// Adds single floats to doubles.
pub(crate) struct AddSingles<'p> {
    pub(crate) double: &'p mut [f64],
    pub(crate) single: &'p [f32],
}

impl Body for AddSingles<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        zip(self.double, self.single).for_each(|(total, x)| *total += f64::from(*x));
    }
}

/// Adds single floats to the first [`ALONG`] sums in turn.
pub(crate) struct AddAlong<'p> {
    pub(crate) totals: &'p mut [f64],
    pub(crate) x: &'p [f32],
}

impl Body for AddAlong<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        if let Some(totals) = self.totals.first_chunk_mut::<ALONG>() {
            add_along(totals, self.x);
        }
    }
}

/// Sums rows, in the order of [`AddAlong`] and the fold of accumulators.
pub(crate) struct AddRows<'p> {
    pub(crate) lanes: usize,
    pub(crate) x: &'p [f32],
    pub(crate) totals: &'p mut [f64],
}

impl Body for AddRows<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        // A closure with so much in it would be a function for every processor.
        for (total, row) in self.totals.iter_mut().zip(self.x.chunks_exact(self.lanes)) {
            *total = sum_of_row(row);
        }
    }
}

/// The sum of a row.
#[inline(always)]
pub(crate) fn sum_of_row(row: &[f32]) -> f64 {
    let mut all = [0.0; ALONG];
    add_along(&mut all, row);
    let mut n = ALONG;
    while n > 1 {
        n /= 2;
        for i in 0..n {
            all[i] += all[i + n];
        }
    }
    all[0]
}

/// Adds elements to sums in turn: first blocks of [`BLOCK`] per sum, then the rest.
#[inline(always)]
fn add_along(totals: &mut [f64; ALONG], x: &[f32]) {
    let (chunks, rest) = x.as_chunks::<ALONG>();
    let (blocks, chunks) = chunks.as_chunks::<BLOCK>();
    for block in blocks {
        add_block(totals, |lane| {
            let pair = |i: usize| block[i][lane] + block[i + 1][lane];
            (pair(0) + pair(2)) + (pair(4) + pair(6))
        });
    }
    let (blocks, chunks) = chunks.as_chunks::<2>();
    for [a, b] in blocks {
        add_block(totals, |lane| a[lane] + b[lane]);
    }
    for chunk in chunks {
        add_block(totals, |lane| chunk[lane]);
    }
    zip(totals, rest).for_each(|(total, x)| *total += f64::from(*x));
}

/// Adds a block sum to each total.
#[inline(always)]
fn add_block(totals: &mut [f64; ALONG], sum: impl Fn(usize) -> f32) {
    for (lane, total) in totals.iter_mut().enumerate() {
        *total += f64::from(sum(lane));
    }
}
