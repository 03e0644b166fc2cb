//! The order in which expressions are written, and by which one of two forms is chosen.
//!
//! It goes by names and structure alone, so it is the same in whatever order expressions came up. Anonymous symbols
//! are behind named ones, by what their names were made from, then by age.

use super::expr::{Arena, Atom, AtomId};
use super::poly::{Factor, Monomial};
use super::{Dim, ExprId};
use smallvec::SmallVec;
use std::cmp::Ordering;

impl Arena {
    /// Numbers are behind expressions.
    pub(super) fn compare(&self, a: Dim, b: Dim) -> Ordering {
        match (a, b) {
            (Dim::Expr(a), Dim::Expr(b)) => self.compare_sums(a, b),
            (Dim::Const(a), Dim::Const(b)) => a.cmp(&b),
            (Dim::Expr(_), Dim::Const(_) | Dim::Unknown) | (Dim::Const(_), Dim::Unknown) => Ordering::Less,
            (Dim::Const(_) | Dim::Unknown, Dim::Expr(_)) | (Dim::Unknown, Dim::Const(_)) => Ordering::Greater,
            (Dim::Unknown, Dim::Unknown) => Ordering::Equal,
        }
    }

    pub(super) fn compare_sums(&self, a: ExprId, b: ExprId) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let (a_order, b_order) = (self.order(a), self.order(b));
        let (a, b) = (&self.exprs[a], &self.exprs[b]);
        for (&i, &j) in a_order.iter().zip(b_order) {
            let (x, y) = (&a.poly.terms[usize::from(i)], &b.poly.terms[usize::from(j)]);
            let order =
                self.compare_products(&x.factors, &y.factors).then_with(|| x.coefficient.cmp(&y.coefficient));
            if order.is_ne() {
                return order;
            }
        }
        a_order.len().cmp(&b_order.len()).then_with(|| a.poly.constant.cmp(&b.poly.constant))
    }

    /// Higher degrees are first; then an order that multiplication keeps.
    pub(super) fn compare_products(&self, a: &Monomial, b: &Monomial) -> Ordering {
        let degree = |factors: &Monomial| factors.iter().fold(0, |sum: u32, f| sum.saturating_add(f.power));
        let by_degree = degree(b).cmp(&degree(a));
        if by_degree.is_ne() || a == b {
            return by_degree;
        }
        let (a, b) = (self.written(a), self.written(b));
        for (x, y) in a.iter().zip(&b) {
            let order = self.compare_atoms(x.atom, y.atom).then_with(|| y.power.cmp(&x.power));
            if order.is_ne() {
                return order;
            }
        }
        a.len().cmp(&b.len())
    }

    /// The factors as they are written.
    pub(super) fn written(&self, factors: &Monomial) -> SmallVec<[Factor; 4]> {
        let mut written: SmallVec<[Factor; 4]> = SmallVec::from_slice(factors);
        written.sort_by(|x, y| self.compare_atoms(x.atom, y.atom));
        written
    }

    pub(super) fn compare_atoms(&self, a: AtomId, b: AtomId) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        match (&self.atoms[a].atom, &self.atoms[b].atom) {
            (Atom::Symbol(x), Atom::Symbol(y)) => {
                let (left, right) = (&self.symbols[*x], &self.symbols[*y]);
                match (&left.hint, &right.hint) {
                    (None, None) => left.name.cmp(&right.name),
                    (None, Some(_)) => Ordering::Less,
                    (Some(_), None) => Ordering::Greater,
                    (Some(first), Some(second)) => first.cmp(second).then(x.cmp(y)),
                }
            }
            (Atom::Floor(a, b), Atom::Floor(c, d)) | (Atom::Mod(a, b), Atom::Mod(c, d)) => {
                self.compare(*a, *c).then_with(|| self.compare(*b, *d))
            }
            (Atom::Max(x), Atom::Max(y))
            | (Atom::Min(x), Atom::Min(y))
            | (Atom::Broadcast(x), Atom::Broadcast(y)) => {
                let mut parts = x.iter().zip(y).map(|(a, b)| self.compare(*a, *b));
                parts.find(|order| order.is_ne()).unwrap_or_else(|| x.len().cmp(&y.len()))
            }
            (Atom::BaseFloor(a, m), Atom::BaseFloor(b, n)) => self.compare_sums(*a, *b).then(m.cmp(n)),
            (Atom::BaseMax(a), Atom::BaseMax(b)) => self.compare_sums(*a, *b),
            (x, y) => rank(x).cmp(&rank(y)),
        }
    }
}

fn rank(atom: &Atom) -> u8 {
    match atom {
        Atom::Symbol(_) => 0,
        Atom::Floor(..) => 1,
        Atom::Mod(..) => 2,
        Atom::Max(_) => 3,
        Atom::Min(_) => 4,
        Atom::Broadcast(_) => 5,
        Atom::BaseFloor(..) => 6,
        Atom::BaseMax(_) => 7,
    }
}
