//! Facts of expressions that are computed once.

use super::bounds::Interval;
use super::expr::{Arena, Atom, AtomData, AtomId, Expr, MAX_DEGREE};
use super::poly::{Factor, Monomial, Poly};
use super::{Dim, ExprId};
use onnx_ir::EntityId;

/// The facts of an expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// How deep functions nest; 0 for sums of symbols.
    pub(super) level: u32,
    /// The number of atoms; traversing an expression takes time proportional to it.
    pub(super) size: u32,
    /// A bit for each atom anywhere inside; bits are shared.
    pub(super) atoms: u64,
    /// One more than the newest anonymous symbol inside; 0 without one.
    pub(super) newest: u32,
    /// Whether there is a broadcast anywhere inside.
    pub(super) is_open: bool,
}

impl Facts {
    const NUMBER: Self = Self { level: 0, size: 1, atoms: 0, newest: 0, is_open: false };

    /// The facts of something with two parts.
    fn with(self, other: Self) -> Self {
        Self {
            level: self.level.max(other.level),
            size: self.size.saturating_add(other.size),
            atoms: self.atoms | other.atoms,
            newest: self.newest.max(other.newest),
            is_open: self.is_open | other.is_open,
        }
    }
}

impl Arena {
    pub(super) fn facts(&self, dim: Dim) -> Facts {
        match dim {
            Dim::Unknown | Dim::Const(_) => Facts::NUMBER,
            Dim::Expr(id) => self.exprs[id].facts,
        }
    }

    /// The bounds of a dimension.
    pub(super) fn interval(&self, dim: Dim) -> Interval {
        match dim {
            Dim::Unknown => Interval::ANY,
            Dim::Const(value) => Interval::point(value),
            Dim::Expr(id) => self.interval_of_expr(id),
        }
    }

    fn interval_of_expr(&self, id: ExprId) -> Interval {
        let Expr { poly, interval, .. } = &self.exprs[id];
        *interval.get_or_init(|| self.relaxed(poly, self.interval_of_poly(poly)))
    }

    /// The bounds of an atom.
    pub(super) fn interval_of_atom(&self, id: AtomId) -> Interval {
        let AtomData { atom, interval, .. } = &self.atoms[id];
        *interval.get_or_init(|| self.find_interval(atom))
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
            return self.interval_of_atom(atom);
        }
        let mut product = Interval::point(1);
        for factor in factors {
            for _ in 0..factor.power.min(MAX_DEGREE + 1) {
                product = product.times(self.interval_of_atom(factor.atom));
            }
        }
        product
    }

    pub(super) fn facts_of_poly(&self, poly: &Poly) -> Facts {
        let mut facts = Facts { size: 0, ..Facts::NUMBER };
        for factor in poly.terms.iter().flat_map(|term| &term.factors) {
            facts = facts.with(self.atoms[factor.atom].facts);
        }
        facts
    }

    pub(super) fn facts_of_atom(&self, atom: &Atom) -> Facts {
        let (pair, sum);
        let args: &[Dim] = match atom {
            Atom::Symbol(id) => {
                let newest = match self.symbols[*id].hint {
                    Some(_) => u32::try_from(id.index() + 1).unwrap_or(u32::MAX),
                    None => 0,
                };
                return Facts { newest, ..Facts::NUMBER };
            }
            Atom::Floor(a, b) | Atom::Mod(a, b) => {
                pair = [*a, *b];
                &pair
            }
            Atom::Max(args) | Atom::Min(args) | Atom::Broadcast(args) => args,
            Atom::BaseFloor(a, _) | Atom::BaseMax(a) => {
                sum = [Dim::Expr(*a)];
                &sum
            }
        };
        let mut facts = Facts::NUMBER;
        for arg in args {
            facts = facts.with(self.facts(*arg));
        }
        facts.level += 1;
        facts.is_open |= matches!(atom, Atom::Broadcast(_));
        facts
    }

    fn find_interval(&self, atom: &Atom) -> Interval {
        match atom {
            Atom::Symbol(_) => Interval::EXTENT,
            Atom::Floor(a, b) => self.interval(*a).floor_div(self.interval(*b)),
            Atom::Mod(a, b) => self.interval(*a).modulo(self.interval(*b)),
            Atom::Max(args) => {
                let mut interval = self.fold(args, Interval::max);
                interval.low = interval.low.max(self.mean(args).low);
                interval
            }
            Atom::Min(args) => {
                let mut interval = self.fold(args, Interval::min);
                interval.high = interval.high.min(self.mean(args).high);
                interval
            }
            Atom::Broadcast(args) => self.fold(args, Interval::either),
            Atom::BaseFloor(a, b) => self.interval_of_expr(*a).floor_div(Interval::point(*b)),
            Atom::BaseMax(a) => self.interval_of_expr(*a).max(Interval::point(0)),
        }
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
