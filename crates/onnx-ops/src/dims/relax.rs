//! Bounds of sums with dependent terms: `H - floor(H/3)*2` is at least 0, although its terms are unbounded.
//!
//! A function is replaced by a linear lower bound until terms cancel: `floor(p/q)` by `(p-q+1)/q`, `max(a, b)` by either
//! argument, `min(a, b)` by both in turn. Subtracted functions are replaced by upper bounds.

use super::Dim;
use super::bounds::Interval;
use super::expr::{Arena, Atom, AtomId};
use super::poly::Poly;

/// The most consecutive replacements.
const MAX_DEPTH: u32 = 4;
/// Functions with more arguments are not replaced.
const MAX_ARGS: usize = 3;

impl Arena {
    /// An interval with its open ends closed where that can be done.
    pub(super) fn relaxed(&self, sum: &Poly, interval: Interval) -> Interval {
        let has = |is_negative: bool| sum.terms.iter().any(|term| (term.coefficient < 0) == is_negative);
        if !has(true) || !has(false) || self.function_in(sum).is_none() {
            return interval;
        }
        let low = if interval.low == i64::MIN { self.least(sum, MAX_DEPTH) } else { Some(interval.low) };
        let negated = || self.least(&sum.scaled(-1)?, MAX_DEPTH)?.checked_neg();
        let high = if interval.high == i64::MAX { negated() } else { Some(interval.high) };
        Interval { low: low.unwrap_or(interval.low), high: high.unwrap_or(interval.high) }
    }

    /// A number that the sum is never below.
    fn least(&self, sum: &Poly, depth: u32) -> Option<i64> {
        let plain = self.interval_of_poly(sum).lower();
        let (None, Some((atom, times))) = (plain, self.function_in(sum).filter(|_| depth > 0)) else {
            return plain;
        };
        let rest = sum.add_scaled(&Poly::atom(atom), times.checked_neg()?)?;
        let with = |other: &Poly| self.least(&rest.add_scaled(other, times)?, depth - 1);
        let least = match &self.atoms[atom].atom {
            Atom::Floor(dividend, Dim::Const(divisor)) => {
                self.least_of_quotient(&rest, &self.sum(*dividend), *divisor, times, depth)
            }
            Atom::BaseFloor(dividend, divisor) => {
                self.least_of_quotient(&rest, &self.exprs[*dividend].poly, *divisor, times, depth)
            }
            Atom::Max(args) | Atom::Min(args) => {
                let is_max = matches!(self.atoms[atom].atom, Atom::Max(_));
                let all = args.iter().map(|&arg| with(&self.sum(arg)));
                if is_max == (times > 0) { all.flatten().max() } else { all.min().flatten() }
            }
            Atom::BaseMax(of) => {
                let (of, zero) = (with(&self.exprs[*of].poly), with(&Poly::default()));
                if times > 0 { of.max(zero) } else { of.min(zero) }
            }
            Atom::Floor(..) | Atom::Mod(..) | Atom::Symbol(_) | Atom::Broadcast(_) => None,
        };
        let interval = self.interval_of_atom(atom);
        let end = if times > 0 { interval.lower() } else { interval.upper() };
        least.max(end.and_then(|end| with(&Poly::constant(end))))
    }

    /// `rest + floor(dividend / divisor) * times`
    fn least_of_quotient(
        &self,
        rest: &Poly,
        dividend: &Poly,
        divisor: i64,
        times: i64,
        depth: u32,
    ) -> Option<i64> {
        let bound = if times > 0 { dividend.plus(1 - divisor)? } else { dividend.clone() };
        let multiple = rest.scaled(divisor)?.add_scaled(&bound, times)?;
        let least = self.least(&multiple, depth - 1)?;
        // Rounded up: the sum is an integer.
        Some(least.div_euclid(divisor) + i64::from(least.rem_euclid(divisor) != 0))
    }

    /// The function to be replaced first: what it is of has other functions.
    fn function_in(&self, sum: &Poly) -> Option<(AtomId, i64)> {
        let functions = sum.terms.iter().filter_map(|term| {
            let atom = term.bare()?;
            let is_function = match &self.atoms[atom].atom {
                Atom::Floor(_, divisor) | Atom::Mod(_, divisor) => matches!(divisor, Dim::Const(_)),
                Atom::Max(args) | Atom::Min(args) => args.len() <= MAX_ARGS,
                Atom::BaseFloor(..) | Atom::BaseMax(_) => true,
                Atom::Symbol(_) | Atom::Broadcast(_) => false,
            };
            is_function.then_some((atom, term.coefficient))
        });
        let level = |atom: AtomId| self.atoms[atom].facts.level;
        functions.min_by(|&(a, _), &(b, _)| level(b).cmp(&level(a)).then_with(|| self.compare_atoms(a, b)))
    }

    /// The sum that an argument is; arguments are never Unknown.
    fn sum(&self, arg: Dim) -> Poly {
        match arg {
            Dim::Unknown => Poly::default(),
            Dim::Const(value) => Poly::constant(value),
            Dim::Expr(id) => self.exprs[id].poly.clone(),
        }
    }
}
