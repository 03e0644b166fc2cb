//! What lanes are combined into.

use super::lanes::Registers;
use super::program::Reg;
use super::widest::{Job, widest};
use super::{Class, LANES};
use onnx_ops::meaning::{Combine, Keep};

/// Totals that a strip which is reduced itself is combined into, element after element in turn; these are combined in the end.
const ALONG: usize = 64;

/// Totals of a strip, a lane each; if the strip is reduced itself, the first are combined in the end.
///
/// Single floats are added up in doubles. The order depends on the number of elements alone.
pub(super) struct Totals {
    combine: Combine,
    /// The greatest or least of single floats.
    single: Vec<f32>,
    double: Vec<f64>,
    int: Vec<i64>,
    /// Where the best is, of positions.
    at: Vec<i64>,
    count: i64,
}

impl Totals {
    pub(super) fn new(combine: Combine) -> Self {
        Totals {
            combine,
            single: vec![0.0; LANES],
            double: vec![0.0; LANES],
            int: vec![0; LANES],
            at: vec![0; LANES],
            count: 0,
        }
    }

    /// Begins again, with so many totals, and at least those that strips are pushed along into.
    pub(super) fn clear(&mut self, n: usize) {
        let n = n.max(ALONG);
        self.count = 0;
        let (float, int) = match self.combine {
            Combine::Sum => (0.0, 0),
            Combine::Product => (1.0, 1),
            Combine::Max | Combine::ArgMax(_) => (f64::NEG_INFINITY, i64::MIN),
            Combine::Min | Combine::ArgMin(_) => (f64::INFINITY, i64::MAX),
        };
        self.single[..n].fill(float as f32);
        self.double[..n].fill(float);
        self.int[..n].fill(int);
        self.at[..n].fill(0);
    }

    /// The first totals, of single floats and of doubles, for who sets them.
    pub(super) fn first(&mut self, n: usize) -> (&mut [f32], &mut [f64]) {
        (&mut self.single[..n], &mut self.double[..n])
    }

    /// Adds a lane of `x` to each total.
    pub(super) fn push(&mut self, n: usize, regs: &Registers, x: Reg) {
        let Totals { combine, single, double, int, at, count } = self;
        let (combine, at) = (*combine, &mut at[..n]);
        match (x.class, combine) {
            (Class::Single, Combine::Sum | Combine::Product) => {
                widest(Push { combine, totals: &mut double[..n], at, count: *count, x: &regs.single[x.at] });
            }
            (Class::Single, _) => {
                widest(Push { combine, totals: &mut single[..n], at, count: *count, x: &regs.single[x.at] });
            }
            (Class::Double, _) => {
                widest(Push { combine, totals: &mut double[..n], at, count: *count, x: &regs.double[x.at] });
            }
            (Class::Int, _) => {
                widest(Push { combine, totals: &mut int[..n], at, count: *count, x: &regs.int[x.at] });
            }
        }
        *count += 1;
    }

    /// Adds `n` lanes of `x` to the first totals, as one after the other. Positions go on where they were.
    pub(super) fn push_along(&mut self, n: usize, regs: &Registers, x: Reg) {
        let Totals { combine, single, double, int, at, count } = self;
        let combine = *combine;
        match (x.class, combine) {
            (Class::Single, Combine::Sum | Combine::Product) => {
                let x = &regs.single[x.at][..n];
                *count = widest(PushAlong { combine, totals: double, at, count: *count, x });
            }
            (Class::Single, _) => {
                let x = &regs.single[x.at][..n];
                *count = widest(PushAlong { combine, totals: single, at, count: *count, x });
            }
            (Class::Double, _) => {
                let x = &regs.double[x.at][..n];
                *count = widest(PushAlong { combine, totals: double, at, count: *count, x });
            }
            (Class::Int, _) => {
                let x = &regs.int[x.at][..n];
                *count = widest(PushAlong { combine, totals: int, at, count: *count, x });
            }
        }
    }

    /// Combines the totals that strips were pushed along into, and begins again with the result in lane `to` of a register.
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

    /// Puts `n` totals into a register, from a lane on.
    pub(super) fn put(&self, n: usize, regs: &mut Registers, total: Reg, first: usize) {
        let lanes = first..first + n;
        match total.class {
            Class::Single => regs.single[total.at][lanes].copy_from_slice(&self.single[..n]),
            Class::Double => regs.double[total.at][lanes].copy_from_slice(&self.double[..n]),
            Class::Int => {
                let from = if is_place(self.combine) { &self.at } else { &self.int };
                regs.int[total.at][lanes].copy_from_slice(&from[..n]);
            }
        }
    }

    /// Whether nothing was combined, where nothing has no total.
    pub(super) fn is_missing(&self, is_empty: bool) -> bool {
        is_empty && is_place(self.combine)
    }
}

/// Whether the total is a position.
fn is_place(combine: Combine) -> bool {
    matches!(combine, Combine::ArgMax(_) | Combine::ArgMin(_))
}

/// A kind of number that totals are.
trait Total: Copy + PartialOrd {
    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn is_nan(self) -> bool;
}

macro_rules! float_totals {
    ($($ty:ty),*) => {
        $(impl Total for $ty {
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

/// Combines each total with a lane.
struct Push<'p, A, T> {
    combine: Combine,
    totals: &'p mut [T],
    at: &'p mut [i64],
    count: i64,
    x: &'p [A],
}

impl<A: Copy + Into<T>, T: Total> Job for Push<'_, A, T> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Push { combine, totals, at, count, x } = self;
        match combine {
            Combine::Sum | Combine::Product | Combine::Max | Combine::Min => push(combine, totals, x),
            Combine::ArgMax(keep) | Combine::ArgMin(keep) => {
                for ((total, at), x) in totals.iter_mut().zip(at).zip(x) {
                    if count == 0 || is_better(combine, keep, (*x).into(), *total) {
                        (*total, *at) = ((*x).into(), count);
                    }
                }
            }
        }
    }
}

/// Combines the first [`ALONG`] totals with lanes in turn; of positions, the first. Gives how many there were by now.
struct PushAlong<'p, A, T> {
    combine: Combine,
    totals: &'p mut [T],
    at: &'p mut [i64],
    count: i64,
    x: &'p [A],
}

impl<A: Copy + Into<T>, T: Total> Job for PushAlong<'_, A, T> {
    type Out = i64;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> i64 {
        let PushAlong { combine, totals, at, mut count, x } = self;
        match (combine, totals, at) {
            (Combine::Sum | Combine::Product | Combine::Max | Combine::Min, totals, _) => {
                let (chunks, rest) = x.as_chunks::<ALONG>();
                if let Some(totals) = totals.first_chunk_mut::<ALONG>() {
                    chunks.iter().for_each(|x| push(combine, totals, x));
                    push(combine, totals, rest);
                }
                count += x.len() as i64;
            }
            (Combine::ArgMax(keep) | Combine::ArgMin(keep), [total, ..], [at, ..]) => {
                for x in x {
                    if count == 0 || is_better(combine, keep, (*x).into(), *total) {
                        (*total, *at) = ((*x).into(), count);
                    }
                    count += 1;
                }
            }
            (Combine::ArgMax(_) | Combine::ArgMin(_), _, _) => {}
        }
        count
    }
}

/// Combines the first [`ALONG`] totals: each of the first half with one of the second, and so on.
struct Fold<'p, T> {
    combine: Combine,
    totals: &'p mut [T],
}

impl<T: Total> Job for Fold<'_, T> {
    type Out = ();

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
    let pairs = totals.iter_mut().zip(x);
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
        // Positions are nothing that lanes are combined into.
        Combine::ArgMax(_) | Combine::ArgMin(_) => {}
    }
}

/// Whether an element is to be taken instead of the best before it.
#[inline(always)]
fn is_better<T: Total>(combine: Combine, keep: Keep, x: T, best: T) -> bool {
    let beats = |a: T, b: T| {
        let is_beyond = if matches!(combine, Combine::ArgMax(_)) { a > b } else { a < b };
        is_beyond || a.is_nan() && !b.is_nan()
    };
    beats(x, best) || keep == Keep::Last && !beats(best, x)
}
