//! What is known of expressions without looking into them again.

use super::Dim;
use super::bounds::Interval;
use super::expr::{Arena, Atom, MAX_DEGREE};
use super::poly::{Factor, Monomial, Poly};
use onnx_ir::EntityId;

/// What is known of an expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) interval: Interval,
    /// How deep functions nest; 0 for sums of symbols.
    pub(super) level: u32,
    /// How many atoms there are to write; what walks through an expression takes as long.
    pub(super) size: u32,
    /// A bit for each atom anywhere inside; bits are shared.
    pub(super) atoms: u64,
    /// One more than the newest anonymous symbol inside; 0 without one.
    pub(super) newest: u32,
}

impl Facts {
    const NUMBER: Self = Self { interval: Interval::ANY, level: 0, size: 1, atoms: 0, newest: 0 };

    /// Of something made of two parts, but for the interval.
    fn with(self, other: Self) -> Self {
        Self {
            interval: self.interval,
            level: self.level.max(other.level),
            size: self.size.saturating_add(other.size),
            atoms: self.atoms | other.atoms,
            newest: self.newest.max(other.newest),
        }
    }
}

impl Arena {
    pub(super) fn facts(&self, dim: Dim) -> Facts {
        match dim {
            Dim::Unknown => Facts::NUMBER,
            Dim::Const(value) => Facts { interval: Interval::point(value), ..Facts::NUMBER },
            Dim::Expr(id) => self.exprs[id].facts,
        }
    }

    pub(super) fn interval(&self, dim: Dim) -> Interval {
        self.facts(dim).interval
    }

    pub(super) fn interval_of_poly(&self, poly: &Poly) -> Interval {
        let mut sum = Interval::point(poly.constant);
        for term in &poly.terms {
            sum = sum.plus(self.interval_of_product(&term.factors).times(Interval::point(term.coefficient)));
        }
        sum
    }

    fn interval_of_product(&self, factors: &Monomial) -> Interval {
        if let [Factor { atom, power: 1 }] = factors[..] {
            return self.atoms[atom].facts.interval;
        }
        let mut product = Interval::point(1);
        for factor in factors {
            for _ in 0..factor.power.min(MAX_DEGREE + 1) {
                product = product.times(self.atoms[factor.atom].facts.interval);
            }
        }
        product
    }

    pub(super) fn facts_of_poly(&self, poly: &Poly) -> Facts {
        let mut facts = Facts { interval: self.interval_of_poly(poly), size: 0, ..Facts::NUMBER };
        for factor in poly.terms.iter().flat_map(|term| &term.factors) {
            facts = facts.with(self.atoms[factor.atom].facts);
        }
        facts
    }

    pub(super) fn facts_of_atom(&self, atom: &Atom) -> Facts {
        let (args, interval): (&[Dim], Interval) = match atom {
            Atom::Symbol(id) => {
                let newest = match self.symbols[*id].hint {
                    Some(_) => u32::try_from(id.index() + 1).unwrap_or(u32::MAX),
                    None => 0,
                };
                return Facts { interval: Interval::EXTENT, newest, ..Facts::NUMBER };
            }
            Atom::Floor(a, b) => (&[*a, *b], self.interval(*a).floor_div(self.interval(*b))),
            Atom::Mod(a, b) => (&[*a, *b], self.interval(*a).modulo(self.interval(*b))),
            Atom::Max(args) => {
                let mut interval = self.fold(args, Interval::max);
                interval.low = interval.low.max(self.mean(args).low);
                (args, interval)
            }
            Atom::Min(args) => {
                let mut interval = self.fold(args, Interval::min);
                interval.high = interval.high.min(self.mean(args).high);
                (args, interval)
            }
            Atom::Broadcast(args) => (args, self.fold(args, Interval::either)),
            Atom::BaseFloor(a, b) => {
                let interval = self.exprs[*a].facts.interval.floor_div(Interval::point(*b));
                (&[Dim::Expr(*a)], interval)
            }
            Atom::BaseMax(a) => (&[Dim::Expr(*a)], self.exprs[*a].facts.interval.max(Interval::point(0))),
        };
        let mut facts = Facts { interval, ..Facts::NUMBER };
        for arg in args {
            facts = facts.with(self.facts(*arg));
        }
        facts.level += 1;
        facts
    }

    fn fold(&self, args: &[Dim], join: impl Fn(Interval, Interval) -> Interval) -> Interval {
        args.iter().map(|arg| self.interval(*arg)).reduce(join).unwrap_or(Interval::ANY)
    }

    /// Half of the sum of two arguments, rounded towards each: `max(a, -a)` is at least 0.
    fn mean(&self, args: &[Dim]) -> Interval {
        let [Dim::Expr(a), Dim::Expr(b)] = args[..] else { return Interval::ANY };
        let sum = self.exprs[a].poly.add_scaled(&self.exprs[b].poly, 1);
        let Some(Interval { low, high }) = sum.map(|sum| self.interval_of_poly(&sum)) else {
            return Interval::ANY;
        };
        Interval {
            low: if low == i64::MIN { low } else { low.div_euclid(2) + low.rem_euclid(2) },
            high: if high == i64::MAX { high } else { high.div_euclid(2) },
        }
    }
}
