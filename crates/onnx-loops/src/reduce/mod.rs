//! Accumulators of reductions.

pub(super) mod softmax;
pub(super) mod sums;
pub(super) mod total;

use super::lanes::multiversion::{Body, Lane, widest};
use super::lanes::view::Operands;
use super::lanes::{Class, Reg, Registers};
use crate::zip::zip;
use onnx_formula::{Combine, Keep};
use std::ops::Range;
use sums::{AddAlong, AddColumns, AddPending, AddRows, AddSingles, Columns};

/// The number of partial accumulators for a strip along the reduction, which are combined at the end.
pub(super) const ALONG: usize = 64;

/// The accumulators of a strip, one per lane; along the reduction, the first [`ALONG`] are combined at the end.
///
/// Single floats are summed in doubles, see `sums`. The order depends only on the number of elements.
pub(super) struct Totals {
    combine: Combine,
    /// Maxima or minima of single floats, or partial sums of each lane that are not yet added to doubles, with their count.
    single: Vec<f32>,
    pending: usize,
    double: Vec<f64>,
    int: Vec<i64>,
    /// For arg reductions, the index of the best element.
    at: Vec<i64>,
    count: i64,
}

impl Totals {
    /// Accumulators for strips of `lanes` lanes of a class.
    pub(super) fn new(combine: Combine, class: Class, lanes: usize) -> Self {
        let lanes = lanes.max(ALONG);
        let is_added = matches!(combine, Combine::Sum | Combine::Product);
        let count = |is_wanted: bool| if is_wanted { lanes } else { 0 };
        Totals {
            combine,
            single: vec![0.0; count(class == Class::Single)],
            pending: 0,
            double: vec![0.0; count(class == Class::Double || class == Class::Single && is_added)],
            int: vec![0; count(class == Class::Int)],
            at: vec![0; count(is_place(combine))],
            count: 0,
        }
    }

    /// Resets `n` accumulators, at least [`ALONG`].
    pub(super) fn clear(&mut self, n: usize) {
        let n = n.max(ALONG);
        (self.count, self.pending) = (0, 0);
        let (float, int) = match self.combine {
            Combine::Sum => (0.0, 0),
            Combine::Product => (1.0, 1),
            Combine::Max | Combine::ArgMax(_) => (f64::NEG_INFINITY, i64::MIN),
            Combine::Min | Combine::ArgMin(_) => (f64::INFINITY, i64::MAX),
        };
        first(&mut self.single, n).fill(float as f32);
        first(&mut self.double, n).fill(float);
        first(&mut self.int, n).fill(int);
        first(&mut self.at, n).fill(0);
    }

    /// The first single and double accumulators, for writing.
    pub(super) fn first(&mut self, n: usize) -> (&mut [f32], &mut [f64]) {
        (first(&mut self.single, n), first(&mut self.double, n))
    }

    /// Adds a lane of `x` to each accumulator.
    pub(super) fn push(&mut self, n: usize, x: Strips<'_>) {
        let Totals { combine, single, pending, double, int, at, count } = self;
        let (combine, at, count_now) = (*combine, first(at, n), *count);
        match x {
            Strips::Single(x) if combine == Combine::Sum => {
                widest(AddPending { single: first(single, n), double: first(double, n), pending, x });
            }
            Strips::Single(x) if matches!(combine, Combine::Sum | Combine::Product) => {
                widest(Push { combine, totals: first(double, n), at, count: count_now, x });
            }
            Strips::Single(x) => widest(Push { combine, totals: first(single, n), at, count: count_now, x }),
            Strips::Double(x) => widest(Push { combine, totals: first(double, n), at, count: count_now, x }),
            Strips::Int(x) => widest(Push { combine, totals: first(int, n), at, count: count_now, x }),
        }
        *count += 1;
    }

    /// Adds all rows of some columns to the first `n` accumulators of sums, which are empty.
    pub(super) fn add_columns(&mut self, columns: Columns<'_>, n: usize) {
        widest(AddColumns { columns, totals: first(&mut self.double, n) });
    }

    /// Adds lanes of `x` along the reduction. Arg reductions continue counting.
    pub(super) fn push_along(&mut self, x: Strips<'_>) {
        let Totals { combine, single, double, int, at, count, .. } = self;
        let combine = *combine;
        *count = match x {
            Strips::Single(x) if combine == Combine::Sum => {
                widest(AddAlong { totals: double, x });
                *count + x.len() as i64
            }
            Strips::Single(x) if matches!(combine, Combine::Sum | Combine::Product) => {
                widest(PushAlong { combine, totals: double, at, count: *count, x })
            }
            Strips::Single(x) => widest(PushAlong { combine, totals: single, at, count: *count, x }),
            Strips::Double(x) => widest(PushAlong { combine, totals: double, at, count: *count, x }),
            Strips::Int(x) => widest(PushAlong { combine, totals: int, at, count: *count, x }),
        };
    }

    /// Reduces rows of `lanes` lanes of `x` each, and writes the results to lanes of a register from `to` on.
    pub(super) fn rows(&mut self, lanes: usize, x: Strips<'_>, regs: &mut Registers, total: Reg, to: usize) {
        let combine = self.combine;
        let is_added = matches!(combine, Combine::Sum | Combine::Product);
        match (x, total.class) {
            (_, Class::Int) if is_place(combine) => {
                for row in 0..x.len() / lanes {
                    self.clear(ALONG);
                    self.push_along(x.part(row * lanes..(row + 1) * lanes));
                    regs.int[total.at][to + row] = self.at.first().copied().unwrap_or(0);
                }
            }
            (Strips::Single(x), Class::Double) if combine == Combine::Sum => {
                widest(AddRows { lanes, x, totals: &mut regs.double[total.at][to..] });
            }
            (Strips::Single(x), Class::Double) if is_added => {
                widest(Rows { combine, lanes, x, totals: &mut regs.double[total.at][to..] });
            }
            (Strips::Single(x), Class::Single) if !is_added => {
                widest(Rows { combine, lanes, x, totals: &mut regs.own(total)[to..] });
            }
            (Strips::Double(x), Class::Double) => {
                widest(Rows { combine, lanes, x, totals: &mut regs.double[total.at][to..] });
            }
            (Strips::Int(x), Class::Int) => {
                widest(Rows { combine, lanes, x, totals: &mut regs.int[total.at][to..] });
            }
            // Accumulators have the class of `total_class`.
            (Strips::Single(_) | Strips::Double(_) | Strips::Int(_), _) => {}
        }
    }

    /// Combines the partial accumulators, writes the result to lane `to` of a register, and resets them.
    pub(super) fn fold(&mut self, regs: &mut Registers, total: Reg, to: usize) {
        let combine = self.combine;
        match total.class {
            _ if is_place(combine) => {}
            Class::Single => widest(Fold { combine, totals: &mut self.single }),
            Class::Double => widest(Fold { combine, totals: &mut self.double }),
            Class::Int => widest(Fold { combine, totals: &mut self.int }),
        }
        self.put(1, regs, total, to);
        self.clear(ALONG);
    }

    /// Writes `n` accumulators to a register, from a lane on.
    pub(super) fn put(&mut self, n: usize, regs: &mut Registers, total: Reg, first: usize) {
        if self.pending > 0 {
            self.pending = 0;
            widest(AddSingles { double: &mut self.double[..n], single: &self.single[..n] });
        }
        let lanes = first..first + n;
        match total.class {
            Class::Single => regs.own(total)[lanes].copy_from_slice(&self.single[..n]),
            Class::Double => regs.double[total.at][lanes].copy_from_slice(&self.double[..n]),
            Class::Int => {
                let from = if is_place(self.combine) { &self.at } else { &self.int };
                regs.int[total.at][lanes].copy_from_slice(&from[..n]);
            }
        }
    }

    /// Whether the reduction is empty and has no identity.
    pub(super) fn is_missing(&self, is_empty: bool) -> bool {
        is_empty && is_place(self.combine)
    }
}

/// The first accumulators of a class, if it is in use.
fn first<T>(totals: &mut [T], n: usize) -> &mut [T] {
    let n = n.min(totals.len());
    &mut totals[..n]
}

/// Lanes to combine.
#[derive(Clone, Copy)]
pub(super) enum Strips<'l> {
    Single(&'l [f32]),
    Double(&'l [f64]),
    Int(&'l [i64]),
}

impl<'l> Strips<'l> {
    /// The first `n` lanes of a register.
    pub(super) fn of(regs: &'l mut Registers, n: usize, x: Reg, operands: &Operands<'l>) -> Self {
        match x.class {
            Class::Single => Strips::Single(regs.singles(n, x, operands)),
            Class::Double => Strips::Double(&regs.double[x.at][..n]),
            Class::Int => Strips::Int(&regs.int[x.at][..n]),
        }
    }

    fn len(&self) -> usize {
        match self {
            Strips::Single(x) => x.len(),
            Strips::Double(x) => x.len(),
            Strips::Int(x) => x.len(),
        }
    }

    pub(super) fn part(self, lanes: Range<usize>) -> Self {
        match self {
            Strips::Single(x) => Strips::Single(&x[lanes]),
            Strips::Double(x) => Strips::Double(&x[lanes]),
            Strips::Int(x) => Strips::Int(&x[lanes]),
        }
    }
}

/// Whether the result is an index.
fn is_place(combine: Combine) -> bool {
    matches!(combine, Combine::ArgMax(_) | Combine::ArgMin(_))
}

/// A type of accumulators.
trait Total: Copy + PartialOrd + Lane {
    /// Identities of sum and product.
    const ZERO: Self;
    const ONE: Self;
    const LOWEST: Self;
    const HIGHEST: Self;

    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn is_nan(self) -> bool;
}

macro_rules! float_totals {
    ($($ty:ty),*) => {
        $(impl Total for $ty {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LOWEST: Self = <$ty>::NEG_INFINITY;
            const HIGHEST: Self = <$ty>::INFINITY;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                <$ty>::is_nan(self)
            }
        })*
    };
}

float_totals!(f32, f64);

impl Total for i64 {
    const ZERO: Self = 0;
    const ONE: Self = 1;
    const LOWEST: Self = i64::MIN;
    const HIGHEST: Self = i64::MAX;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
}

/// Combines each accumulator with a lane.
struct Push<'p, A, T> {
    combine: Combine,
    totals: &'p mut [T],
    at: &'p mut [i64],
    count: i64,
    x: &'p [A],
}

impl<A: Copy + Into<T>, T: Total> Body for Push<'_, A, T> {
    type Out = ();
    const WIDE: bool = T::IS_FASTER_WIDE;

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Push { combine, totals, at, count, x } = self;
        match combine {
            Combine::Sum | Combine::Product | Combine::Max | Combine::Min => push(combine, totals, x),
            Combine::ArgMax(_) | Combine::ArgMin(_) if count == 0 => {
                zip(zip(totals, at), x).for_each(|((total, at), x)| (*total, *at) = ((*x).into(), 0));
            }
            Combine::ArgMax(keep) | Combine::ArgMin(keep) => {
                // Without branches, for vectors.
                for ((total, at), x) in zip(zip(totals, at), x) {
                    let x: T = (*x).into();
                    let is_better = is_better(combine, keep, x, *total);
                    *total = if is_better { x } else { *total };
                    *at = if is_better { count } else { *at };
                }
            }
        }
    }
}

/// Elements along an arg reduction that are compared with the best one together.
const TOGETHER: usize = 16;

/// Combines lanes with the first [`ALONG`] accumulators in turn; arg reductions use only the first one. Returns the number of
/// lanes so far.
struct PushAlong<'p, A, T> {
    combine: Combine,
    totals: &'p mut [T],
    at: &'p mut [i64],
    count: i64,
    x: &'p [A],
}

impl<A: Copy + Into<T>, T: Total> Body for PushAlong<'_, A, T> {
    type Out = i64;
    const WIDE: bool = T::IS_FASTER_WIDE;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> i64 {
        let PushAlong { combine, totals, at, mut count, x } = self;
        match (combine, totals, at) {
            (Combine::Sum | Combine::Product | Combine::Max | Combine::Min, totals, _) => {
                if let Some(totals) = totals.first_chunk_mut::<ALONG>() {
                    match combine {
                        Combine::Sum => accumulate::<A, T, Added>(totals, x),
                        Combine::Product => accumulate::<A, T, Multiplied>(totals, x),
                        Combine::Max => accumulate::<A, T, Greatest>(totals, x),
                        _ => accumulate::<A, T, Least>(totals, x),
                    }
                }
                count += x.len() as i64;
            }
            (Combine::ArgMax(keep) | Combine::ArgMin(keep), [total, ..], [at, ..]) => {
                for x in x.chunks(TOGETHER) {
                    // Seldom is one better.
                    let best = *total;
                    let any =
                        x.iter().fold(false, |any, x| any | is_better(combine, keep, (*x).into(), best));
                    if any || count == 0 {
                        for (place, x) in (count..).zip(x) {
                            if place == 0 || is_better(combine, keep, (*x).into(), *total) {
                                (*total, *at) = ((*x).into(), place);
                            }
                        }
                    }
                    count += x.len() as i64;
                }
            }
            (Combine::ArgMax(_) | Combine::ArgMin(_), _, _) => {}
        }
        count
    }
}

/// Reduces rows, in the order of [`PushAlong`] and [`Fold`].
struct Rows<'p, A, T> {
    combine: Combine,
    lanes: usize,
    x: &'p [A],
    totals: &'p mut [T],
}

impl<A: Copy + Into<T>, T: Total> Body for Rows<'_, A, T> {
    type Out = ();
    const WIDE: bool = T::IS_FASTER_WIDE;

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        // Without NaN, a maximum is one instruction.
        let are_numbers = || self.x.iter().fold(true, |all, x| all & !(*x).into().is_nan());
        match self.combine {
            Combine::Sum => self.with::<Added>(),
            Combine::Product => self.with::<Multiplied>(),
            Combine::Max if are_numbers() => self.with::<GreatestNumber>(),
            Combine::Max => self.with::<Greatest>(),
            Combine::Min if are_numbers() => self.with::<LeastNumber>(),
            Combine::Min => self.with::<Least>(),
            // Arg reductions do not use this.
            Combine::ArgMax(_) | Combine::ArgMin(_) => {}
        }
    }
}

impl<A: Copy + Into<T>, T: Total> Rows<'_, A, T> {
    #[inline(always)]
    fn with<C: Combining<T>>(self) {
        // A closure with so much in it would be a function for every processor.
        for (total, row) in self.totals.iter_mut().zip(self.x.chunks_exact(self.lanes)) {
            *total = combined::<A, T, C>(row);
        }
    }
}

/// The elements of a row combined.
#[inline(always)]
fn combined<A: Copy + Into<T>, T: Total, C: Combining<T>>(row: &[A]) -> T {
    let mut all = [C::NEUTRAL; ALONG];
    accumulate::<A, T, C>(&mut all, row);
    let mut n = ALONG;
    while n > 1 {
        n /= 2;
        for i in 0..n {
            all[i] = C::combine(all[i], all[i + n]);
        }
    }
    all[0]
}

/// The greatest element of a row, or NaN if there is one.
#[inline(always)]
pub(super) fn greatest_of_row(row: &[f32]) -> f32 {
    if row.iter().fold(true, |all, x| all & !x.is_nan()) {
        return combined::<f32, f32, GreatestNumber>(row);
    }
    combined::<f32, f32, Greatest>(row)
}

/// Combines elements with accumulators in turn, a hardware register at a time.
#[inline(always)]
fn accumulate<A: Copy + Into<T>, T: Total, C: Combining<T>>(totals: &mut [T; ALONG], x: &[A]) {
    let (chunks, rest) = x.as_chunks::<ALONG>();
    if size_of::<T>() == 4 {
        four::<A, T, C, 16>(totals, chunks, 0);
    } else {
        four::<A, T, C, 8>(totals, chunks, 0);
        four::<A, T, C, 8>(totals, chunks, ALONG / 2);
    }
    zip(totals, rest).for_each(|(total, x)| *total = C::combine(*total, (*x).into()));
}

/// [`accumulate`] for `4 * N` of the accumulators.
#[inline(always)]
fn four<A: Copy + Into<T>, T: Total, C: Combining<T>, const N: usize>(
    totals: &mut [T; ALONG],
    chunks: &[[A; ALONG]],
    first: usize,
) {
    let ([to_a, to_b, to_c, to_d], _) = totals[first..first + 4 * N].as_chunks_mut::<N>() else { return };
    // Separate variables stay in hardware registers, unlike an array of arrays.
    let (mut a, mut b, mut c, mut d) = (*to_a, *to_b, *to_c, *to_d);
    for chunk in chunks {
        let ([p, q, r, s], _) = chunk[first..first + 4 * N].as_chunks::<N>() else { return };
        (a, b) = (with_each::<A, T, C, N>(a, p), with_each::<A, T, C, N>(b, q));
        (c, d) = (with_each::<A, T, C, N>(c, r), with_each::<A, T, C, N>(d, s));
    }
    (*to_a, *to_b, *to_c, *to_d) = (a, b, c, d);
}

#[inline(always)]
fn with_each<A: Copy + Into<T>, T: Total, C: Combining<T>, const N: usize>(
    totals: [T; N],
    x: &[A; N],
) -> [T; N] {
    let mut combined = totals;
    for i in 0..N {
        combined[i] = C::combine(totals[i], x[i].into());
    }
    combined
}

/// A combining operation.
trait Combining<T> {
    const NEUTRAL: T;

    fn combine(a: T, b: T) -> T;
}

struct Added;
struct Multiplied;
struct Greatest;
struct Least;
/// The greater or lesser number where neither accumulators nor elements are NaN.
struct GreatestNumber;
struct LeastNumber;

impl<T: Total> Combining<T> for Added {
    const NEUTRAL: T = T::ZERO;

    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        a.add(b)
    }
}

impl<T: Total> Combining<T> for Multiplied {
    const NEUTRAL: T = T::ONE;

    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        a.mul(b)
    }
}

impl<T: Total> Combining<T> for Greatest {
    const NEUTRAL: T = T::LOWEST;

    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        let most = if b > a { b } else { a };
        if b.is_nan() { b } else { most }
    }
}

impl<T: Total> Combining<T> for Least {
    const NEUTRAL: T = T::HIGHEST;

    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        let least = if b < a { b } else { a };
        if b.is_nan() { b } else { least }
    }
}

impl<T: Total> Combining<T> for GreatestNumber {
    const NEUTRAL: T = T::LOWEST;

    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        if b > a { b } else { a }
    }
}

impl<T: Total> Combining<T> for LeastNumber {
    const NEUTRAL: T = T::HIGHEST;

    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        if b < a { b } else { a }
    }
}

/// Combines the first [`ALONG`] accumulators pairwise: the first half with the second half, and so on.
struct Fold<'p, T> {
    combine: Combine,
    totals: &'p mut [T],
}

impl<T: Total> Body for Fold<'_, T> {
    type Out = ();
    const WIDE: bool = T::IS_FASTER_WIDE;

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let mut n = ALONG;
        while n > 1 {
            n /= 2;
            let (first, second) = self.totals[..2 * n].split_at_mut(n);
            push(self.combine, first, second);
        }
    }
}

#[inline(always)]
fn push<A: Copy + Into<T>, T: Total>(combine: Combine, totals: &mut [T], x: &[A]) {
    let pairs = zip(totals, x);
    match combine {
        Combine::Sum => pairs.for_each(|(total, x)| *total = total.add((*x).into())),
        Combine::Product => pairs.for_each(|(total, x)| *total = total.mul((*x).into())),
        Combine::Max => pairs.for_each(|(total, x)| {
            let x: T = (*x).into();
            *total = if (x > *total) | x.is_nan() { x } else { *total };
        }),
        Combine::Min => pairs.for_each(|(total, x)| {
            let x: T = (*x).into();
            *total = if (x < *total) | x.is_nan() { x } else { *total };
        }),
        // Arg reductions do not use this.
        Combine::ArgMax(_) | Combine::ArgMin(_) => {}
    }
}

/// Whether an element replaces the best one so far. Without branches: vectors of elements are compared.
#[inline(always)]
fn is_better<T: Total>(combine: Combine, keep: Keep, x: T, best: T) -> bool {
    let beats = |a: T, b: T| {
        let is_beyond = if matches!(combine, Combine::ArgMax(_)) { a > b } else { a < b };
        is_beyond | a.is_nan() & !b.is_nan()
    };
    beats(x, best) | (keep == Keep::Last) & !beats(best, x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The place of the best element: one after the other, NaN before everything.
    fn place_of_best(combine: Combine, x: &[f32]) -> i64 {
        let (is_greatest, keep) = match combine {
            Combine::ArgMax(keep) => (true, keep),
            Combine::ArgMin(keep) => (false, keep),
            _ => unreachable!(),
        };
        let key = |x: f32| if is_greatest { x } else { -x };
        let mut best = 0;
        for (i, x_now) in x.iter().enumerate() {
            let (now, then) = (key(*x_now), key(x[best]));
            let is_equal = now == then || now.is_nan() && then.is_nan();
            if now > then || now.is_nan() && !then.is_nan() || is_equal && keep == Keep::Last {
                best = i;
            }
        }
        best as i64
    }

    #[test]
    fn arg_reductions_find_the_place_of_the_best() {
        let mut random = Random::new(11);
        let args = [Combine::ArgMax, Combine::ArgMin].map(|arg| [Keep::First, Keep::Last].map(arg));
        for count in [1, 2, 15, 16, 17, 40, 200] {
            for odds in [0, 3, 100] {
                let mut element = || match random.bits() % 100 {
                    n if n < odds => f32::NAN,
                    n => (n % 9) as f32 - 4.0,
                };
                let rows: Vec<[f32; 5]> = (0..count).map(|_| std::array::from_fn(|_| element())).collect();
                for combine in args.as_flattened() {
                    let column = |lane: usize| rows.iter().map(|row| row[lane]).collect::<Vec<f32>>();
                    let expected: [i64; 5] = std::array::from_fn(|i| place_of_best(*combine, &column(i)));
                    let (mut totals, mut at) = ([0.0f32; 5], [0; 5]);
                    for (count, x) in (0..).zip(&rows) {
                        let (totals, at) = (&mut totals[..], &mut at[..]);
                        widest(Push { combine: *combine, totals, at, count, x });
                    }
                    assert_eq!(at, expected, "{combine:?} of {rows:?} across");
                    // In parts, as strips come.
                    let (mut totals, mut at, mut so_far) = ([0.0f32], [0], 0);
                    for x in column(0).chunks(23) {
                        let (totals, at) = (&mut totals[..], &mut at[..]);
                        so_far = widest(PushAlong { combine: *combine, totals, at, count: so_far, x });
                    }
                    assert_eq!((at[0], so_far), (expected[0], count), "{combine:?} of {rows:?} along");
                }
            }
        }
    }
}
