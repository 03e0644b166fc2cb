//! What lanes are combined into.

use super::lanes::Registers;
use super::program::Reg;
use super::{Class, LANES};
use onnx_ops::meaning::{Combine, Keep};

/// Totals of a strip, a lane each; if the strip is reduced itself, they are combined in the end.
pub(super) struct Totals {
    combine: Combine,
    double: Vec<f64>,
    int: Vec<i64>,
    /// Where the best is, of positions.
    at: Vec<i64>,
    count: i64,
}

impl Totals {
    pub(super) fn new(combine: Combine) -> Self {
        Totals { combine, double: vec![0.0; LANES], int: vec![0; LANES], at: vec![0; LANES], count: 0 }
    }

    /// Begins again.
    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.at.fill(0);
        let (float, int) = match self.combine {
            Combine::Sum => (0.0, 0),
            Combine::Product => (1.0, 1),
            Combine::Max | Combine::ArgMax(_) => (f64::NEG_INFINITY, i64::MIN),
            Combine::Min | Combine::ArgMin(_) => (f64::INFINITY, i64::MAX),
        };
        self.double.fill(float);
        self.int.fill(int);
    }

    /// Adds a lane of `x` to each total.
    pub(super) fn push(&mut self, n: usize, regs: &Registers, x: Reg) {
        let (double, int, at) = (&mut self.double[..n], &mut self.int[..n], &mut self.at[..n]);
        match x.class {
            Class::Single => push(self.combine, double, at, self.count, &regs.single[x.at], f64::from, Float),
            Class::Double => push(self.combine, double, at, self.count, &regs.double[x.at], |x| x, Float),
            Class::Int => push(self.combine, int, at, self.count, &regs.int[x.at], |x| x, Int),
        }
        self.count += 1;
    }

    /// Adds `n` lanes of `x` to the first totals, as one after the other. Positions go on where they were.
    pub(super) fn push_along(&mut self, n: usize, regs: &Registers, x: Reg) {
        if !matches!(self.combine, Combine::ArgMax(_) | Combine::ArgMin(_)) {
            return self.push(n, regs, x);
        }
        for lane in 0..n {
            let (double, int, at) = (&mut self.double[..1], &mut self.int[..1], &mut self.at[..1]);
            match x.class {
                Class::Single => {
                    push(self.combine, double, at, self.count, &regs.single[x.at][lane..], f64::from, Float);
                }
                Class::Double => {
                    push(self.combine, double, at, self.count, &regs.double[x.at][lane..], |x| x, Float)
                }
                Class::Int => push(self.combine, int, at, self.count, &regs.int[x.at][lane..], |x| x, Int),
            }
            self.count += 1;
        }
    }

    /// Combines all lanes, and begins again with the result in lane `to` of a register.
    pub(super) fn fold(&mut self, regs: &mut Registers, total: Reg, to: usize) {
        match self.combine {
            Combine::ArgMax(_) | Combine::ArgMin(_) => {}
            Combine::Sum | Combine::Product | Combine::Max | Combine::Min => {
                let mut at = [0];
                let (first, rest) = self.double.split_at_mut(1);
                for x in rest {
                    push(self.combine, first, &mut at, 1, &[*x], |x| x, Float);
                }
                let (first, rest) = self.int.split_at_mut(1);
                for x in rest {
                    push(self.combine, first, &mut at, 1, &[*x], |x| x, Int);
                }
            }
        }
        self.put(1, regs, total, to);
        self.clear();
    }

    /// Puts `n` totals into a register, from a lane on.
    pub(super) fn put(&self, n: usize, regs: &mut Registers, total: Reg, first: usize) {
        let is_place = matches!(self.combine, Combine::ArgMax(_) | Combine::ArgMin(_));
        match total.class {
            Class::Single => {
                for (to, x) in regs.single[total.at][first..].iter_mut().zip(&self.double[..n]) {
                    *to = *x as f32;
                }
            }
            Class::Double => regs.double[total.at][first..first + n].copy_from_slice(&self.double[..n]),
            Class::Int => {
                let from = if is_place { &self.at } else { &self.int };
                regs.int[total.at][first..first + n].copy_from_slice(&from[..n]);
            }
        }
    }

    /// Whether nothing was combined, where nothing has no total.
    pub(super) fn is_missing(&self, is_empty: bool) -> bool {
        is_empty && matches!(self.combine, Combine::ArgMax(_) | Combine::ArgMin(_))
    }
}

/// Sums and products of a kind of number.
trait Arithmetic<T> {
    fn add(&self, a: T, b: T) -> T;
    fn mul(&self, a: T, b: T) -> T;
    fn is_nan(&self, x: T) -> bool;
}

struct Float;
struct Int;

impl Arithmetic<f64> for Float {
    fn add(&self, a: f64, b: f64) -> f64 {
        a + b
    }
    fn mul(&self, a: f64, b: f64) -> f64 {
        a * b
    }
    fn is_nan(&self, x: f64) -> bool {
        x.is_nan()
    }
}

impl Arithmetic<i64> for Int {
    fn add(&self, a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }
    fn mul(&self, a: i64, b: i64) -> i64 {
        a.wrapping_mul(b)
    }
    fn is_nan(&self, _: i64) -> bool {
        false
    }
}

fn push<A: Copy, T: Copy + PartialOrd>(
    combine: Combine,
    totals: &mut [T],
    at: &mut [i64],
    count: i64,
    x: &[A],
    convert: impl Fn(A) -> T,
    arithmetic: impl Arithmetic<T>,
) {
    let pairs = totals.iter_mut().zip(x);
    match combine {
        Combine::Sum => pairs.for_each(|(total, x)| *total = arithmetic.add(*total, convert(*x))),
        Combine::Product => pairs.for_each(|(total, x)| *total = arithmetic.mul(*total, convert(*x))),
        Combine::Max => pairs.for_each(|(total, x)| {
            let x = convert(*x);
            if x > *total || arithmetic.is_nan(x) {
                *total = x;
            }
        }),
        Combine::Min => pairs.for_each(|(total, x)| {
            let x = convert(*x);
            if x < *total || arithmetic.is_nan(x) {
                *total = x;
            }
        }),
        Combine::ArgMax(keep) | Combine::ArgMin(keep) => {
            let is_max = matches!(combine, Combine::ArgMax(_));
            for ((total, x), at) in pairs.zip(at) {
                let x = convert(*x);
                let beats = |a: T, b: T| {
                    let is_beyond = if is_max { a > b } else { a < b };
                    is_beyond || arithmetic.is_nan(a) && !arithmetic.is_nan(b)
                };
                if count == 0 || beats(x, *total) || keep == Keep::Last && !beats(*total, x) {
                    (*total, *at) = (x, count);
                }
            }
        }
    }
}
