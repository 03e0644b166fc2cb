//! Softmax row by row: maximum, exponentials, their sum and the quotients of a row while it is in the first-level cache.
//!
//! ```text
//! m[r] = max over i of x[r, i]
//! e[r, i] = exp(x[r, i] - m[r])
//! s[r] = sum over i of e[r, i]
//! y[r, i] = e[r, i] / s[r]                                 may be missing: then another kernel divides
//! ```
//! These nests are run one after the other for a block of rows, which then comes from the second-level cache four times, and memory waits
//! while the exponentials are computed. Each operation is that of its own nest, so results are equal bit for bit.

use super::greatest_of_row;
use super::sums::sum_of_row;
use crate::budget::spend;
use crate::failure::{Failure, fail};
use crate::lanes::math;
use crate::lanes::multiversion::{Body, fetch, widest};
use crate::lanes::view::{Operands, View};
use crate::pipeline::divide;
use crate::zip::zip;
use std::ops::Range;

/// The nests of a softmax of rows.
#[derive(Clone, Debug)]
pub struct Softmax {
    /// The operand whose rows are reduced.
    pub(crate) operand: Place,
    /// The number of rows, and of elements of a row.
    pub(crate) rows: usize,
    pub(crate) lanes: usize,
    /// Whether the last nest is the quotient.
    pub(crate) is_divided: bool,
}

/// The results for some rows: maxima, exponentials, sums and quotients.
pub struct Results<'o> {
    /// The greatest element of each row.
    pub most: &'o mut [u8],
    /// The exponentials.
    pub exps: &'o mut [u8],
    /// The sum of each row of exponentials.
    pub sums: &'o mut [u8],
    /// The exponentials divided by their sums, if they are wanted.
    pub quotients: Option<&'o mut [u8]>,
}

impl Softmax {
    /// The number of nests.
    pub fn nests(&self) -> usize {
        if self.is_divided { 4 } else { 3 }
    }

    /// Whether the quotient is among the nests.
    pub fn is_divided(&self) -> bool {
        self.is_divided
    }

    /// Computes all results for some elements of the first nest, which are rows.
    pub fn run(
        &self,
        operands: &Operands<'_>,
        rows: Range<usize>,
        results: Results<'_>,
    ) -> Result<(), Failure> {
        spend(0)?;
        if rows.end > self.rows {
            fail!("a softmax has fewer rows than are computed");
        }
        let Some(view) = operands.get(self.operand.operand).copied().flatten() else {
            fail!("an input is left out");
        };
        let Some((x, by)) = self.rows_in(view, &rows) else { fail!("an index is out of bounds") };
        let Results { most, exps, sums, quotients } = results;
        let singles = |bytes| bytemuck::try_cast_slice_mut::<u8, f32>(bytes).ok();
        let (Some(most), Some(exps), Some(sums)) = (singles(most), singles(exps), singles(sums)) else {
            fail!("results are not aligned");
        };
        let quotients = match quotients.map(singles) {
            Some(None) => fail!("results are not aligned"),
            Some(Some(quotients)) if quotients.len() != exps.len() => fail!("a result has another size"),
            quotients => quotients.flatten(),
        };
        if [most.len(), exps.len(), sums.len()] != [rows.len(), rows.len() * self.lanes, rows.len()] {
            fail!("a result has another size");
        }
        widest(Rows { lanes: self.lanes, x, by, most, exps, sums, quotients });
        Ok(())
    }

    /// The elements of some rows, and the strides of rows and lanes.
    fn rows_in<'v>(&self, view: View<'v>, rows: &Range<usize>) -> Option<(&'v [f32], [usize; 2])> {
        let Place { base, by, .. } = self.operand;
        let by = [usize::try_from(by[0]).ok()?, usize::try_from(by[1]).ok()?];
        let first = i64::try_from(rows.start * by[0]).ok()? + base - view.first;
        let count = by[0] * rows.len().checked_sub(1)? + by[1] * (self.lanes - 1) + 1;
        Some((view.words().get(usize::try_from(first).ok()?..)?.get(..count)?, by))
    }
}

/// The place of rows: an operand, the offset of the first element, and the strides of rows and lanes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Place {
    pub(crate) operand: usize,
    pub(crate) base: i64,
    pub(crate) by: [i64; 2],
}

/// Rows with other strides have at most this many elements together: larger ones are read in another order than row by row.
pub(crate) const MAX_STRIDED_ELEMENTS: usize = 1 << 12;

/// Elements that are computed together, and elements of a cache line.
const TOGETHER: usize = 64;
const LINE: usize = 16;
/// Rows between the one that is computed and the one that is prefetched.
const ROWS_AHEAD: usize = 2;

/// The rows to compute.
struct Rows<'r> {
    lanes: usize,
    x: &'r [f32],
    /// The strides of rows and lanes in it.
    by: [usize; 2],
    most: &'r mut [f32],
    exps: &'r mut [f32],
    sums: &'r mut [f32],
    quotients: Option<&'r mut [f32]>,
}

impl Body for Rows<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Rows { lanes, x, by, most, exps, sums, mut quotients } = self;
        for (row, exps) in exps.chunks_exact_mut(lanes).enumerate() {
            let from = &x[row * by[0]..];
            let to = match &quotients {
                Some(all) => &all[row * lanes..],
                None => &[],
            };
            if by[1] == 1 {
                let x = &from[..lanes];
                most[row] = greatest_of_row(x);
                let ahead = Some((from, ROWS_AHEAD * by[0], to));
                of_each::<FUSED, _>(x, exps, Exponentials { most: most[row], ahead });
            } else {
                for (to, x) in exps.iter_mut().zip(from.iter().step_by(by[1])) {
                    *to = *x;
                }
                most[row] = greatest_of_row(exps);
                in_place::<FUSED, _>(exps, Exponentials { most: most[row], ahead: None });
            }
            sums[row] = sum_of_row(exps) as f32;
            if let Some(all) = &mut quotients {
                of_each::<FUSED, _>(exps, &mut all[row * lanes..][..lanes], Quotients(sums[row]));
            }
        }
    }
}

/// A function of elements. No closures here: they would be functions for every processor.
trait Compute {
    /// Computes in place; receives the index of the first element in its row.
    fn compute<const FUSED: bool>(&self, x: &mut [f32; TOGETHER], at: usize);
}

/// Copies elements and computes with them in place.
#[inline(always)]
fn of_each<const FUSED: bool, C: Compute>(x: &[f32], to: &mut [f32], of: C) {
    let (from, from_rest) = x.as_chunks::<TOGETHER>();
    let (to, to_rest) = to.as_chunks_mut::<TOGETHER>();
    let mut at = 0;
    for (x, to) in zip(from, to) {
        *to = *x;
        of.compute::<FUSED>(to, at);
        at += TOGETHER;
    }
    to_rest.copy_from_slice(from_rest);
    in_full::<FUSED, C>(to_rest, at, &of);
}

#[inline(always)]
fn in_place<const FUSED: bool, C: Compute>(x: &mut [f32], of: C) {
    let (all, rest) = x.as_chunks_mut::<TOGETHER>();
    let mut at = 0;
    for x in all {
        of.compute::<FUSED>(x, at);
        at += TOGETHER;
    }
    in_full::<FUSED, C>(rest, at, &of);
}

/// Computes with the last elements of a row and others behind them, which are not stored.
#[inline(always)]
fn in_full<const FUSED: bool, C: Compute>(x: &mut [f32], at: usize, of: &C) {
    if let Some(first) = x.first() {
        let mut full = [*first; TOGETHER];
        full[..x.len()].copy_from_slice(x);
        of.compute::<FUSED>(&mut full, at);
        x.copy_from_slice(&full[..x.len()]);
    }
}

/// Exponentials of differences.
struct Exponentials<'r> {
    most: f32,
    /// The row, the distance of a later one, and the row of quotients: while exponentials are computed, memory has time for both.
    ahead: Option<(&'r [f32], usize, &'r [f32])>,
}

impl Compute for Exponentials<'_> {
    #[inline(always)]
    fn compute<const FUSED: bool>(&self, x: &mut [f32; TOGETHER], at: usize) {
        if let Some((from, by, to)) = self.ahead {
            for line in (at..at + TOGETHER).step_by(LINE) {
                fetch(from, line + by);
                fetch(to, line);
            }
        }
        let mut are_within = true;
        for x in x.iter() {
            are_within &= math::is_within(*x - self.most);
        }
        if are_within {
            for x in x {
                *x = math::exp_within::<FUSED>(*x - self.most);
            }
        } else {
            for x in x {
                *x = math::exp::<FUSED>(*x - self.most);
            }
        }
    }
}

/// Quotients by a number.
struct Quotients(f32);

impl Compute for Quotients {
    #[inline(always)]
    fn compute<const FUSED: bool>(&self, x: &mut [f32; TOGETHER], _: usize) {
        divide::<FUSED>(x, self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results as separate loops compute them.
    struct Plain<'r>(Rows<'r>);

    impl Body for Plain<'_> {
        type Out = ();

        #[inline(always)]
        fn run<const FUSED: bool>(self) {
            let Rows { lanes, x, by, most, exps, sums, quotients } = self.0;
            let quotients = quotients.expect("they are wanted");
            for row in 0..most.len() {
                let row_of = row * lanes..(row + 1) * lanes;
                let x: Vec<f32> = (0..lanes).map(|lane| x[row * by[0] + lane * by[1]]).collect();
                most[row] = greatest_of_row(&x);
                for (at, x) in row_of.clone().zip(&x) {
                    exps[at] = math::exp::<FUSED>(x - most[row]);
                }
                sums[row] = sum_of_row(&exps[row_of.clone()]) as f32;
                row_of.for_each(|at| quotients[at] = exps[at] / sums[row]);
            }
        }
    }

    #[test]
    fn rows_at_once_are_rows_one_by_one() {
        for lanes in [1, 3, 63, 64, 65, 128, 200, 1000] {
            let rows = 7;
            let x: Vec<f32> = (0..rows * lanes)
                .map(|i| match (i / lanes, i % lanes) {
                    (1, 0) => f32::NAN,
                    (2, _) => f32::NEG_INFINITY,
                    (3, 0) => f32::INFINITY,
                    // Some far below the greatest, whose exponentials are subnormal or 0.
                    (4, at) => at as f32 * -0.7,
                    (row, at) => ((at * 7919 + row * 31) % 1013) as f32 / 97.0 - 5.0,
                })
                .collect();
            let results = |is_plain: bool, is_wide: bool, by: [usize; 2]| {
                let (mut most, mut sums) = (vec![0.0; rows], vec![0.0; rows]);
                let (mut exps, mut quotients) = (vec![0.0; x.len()], vec![0.0; x.len()]);
                let (x, quotients_to) = (&x[..], Some(&mut quotients[..]));
                let it = Rows {
                    lanes,
                    x,
                    by,
                    most: &mut most,
                    exps: &mut exps,
                    sums: &mut sums,
                    quotients: quotients_to,
                };
                match (is_plain, is_wide) {
                    (true, true) => widest(Plain(it)),
                    (false, true) => widest(it),
                    (true, false) => Plain(it).run::<false>(),
                    (false, false) => it.run::<false>(),
                }
                let all = most.into_iter().chain(exps).chain(sums).chain(quotients);
                // All NaN are equal.
                all.map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect::<Vec<u32>>()
            };
            for (is_wide, by) in
                [true, false].into_iter().flat_map(|w| [[lanes, 1], [1, rows]].map(|by| (w, by)))
            {
                let (found, expected) = (results(false, is_wide, by), results(true, is_wide, by));
                assert_eq!(found, expected, "{lanes} lanes by {by:?}, widest: {is_wide}");
            }
        }
    }
}
