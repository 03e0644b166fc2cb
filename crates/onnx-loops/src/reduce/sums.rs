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
