//! Expressions and what they are made of, each stored once.

use super::bounds::Interval;
use super::poly::{Monomial, Poly};
use super::{Dim, ExprId};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};
use onnx_ir::{EntityId, PrimaryMap, entity};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::hash::BuildHasher;

entity!(
    /// What sums are made of: a symbol or a function of expressions.
    AtomId,
    "atom"
);

entity!(
    /// A symbol; ids are in the order in which symbols were introduced.
    SymbolId,
    "symbol"
);

/// A symbol or a function of expressions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Atom {
    Symbol(SymbolId),
    /// The quotient rounded down.
    Floor(Dim, Dim),
    /// What [`Atom::Floor`] leaves, which has the sign of the divisor.
    Mod(Dim, Dim),
    /// Two or more, in the order of [`order`](super::order), each once.
    Max(Box<[Dim]>),
    Min(Box<[Dim]>),
    /// One axis of a broadcast: the one that is not 1. Not defined where two differ and none is 1.
    Broadcast(Box<[Dim]>),
    /// Only in the basis of [`settle`](super::settle): `floor(sum / number)`.
    BaseFloor(ExprId, i64),
    /// Only in the basis of [`settle`](super::settle): `max(sum, 0)`.
    BaseMax(ExprId),
}

/// An atom and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct AtomData {
    pub(super) atom: Atom,
    pub(super) facts: Facts,
}

/// A sum with at least one atom.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) poly: Poly,
    pub(super) facts: Facts,
    /// The terms in the order of [`order`](super::order).
    pub(super) order: SmallVec<[u8; 8]>,
}

/// What is known of an expression without looking into it again.
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

/// A symbol.
#[derive(Clone, Debug)]
pub(super) struct Symbol {
    pub(super) name: Box<str>,
    /// For an anonymous symbol, what its name was made from: other than the name it never changes.
    pub(super) hint: Option<Box<str>>,
}

/// All expressions, atoms and symbols.
#[derive(Clone, Default)]
pub(super) struct Arena {
    pub(super) exprs: PrimaryMap<ExprId, Expr>,
    pub(super) atoms: PrimaryMap<AtomId, AtomData>,
    pub(super) symbols: PrimaryMap<SymbolId, Symbol>,
    expr_table: HashTable<ExprId>,
    atom_table: HashTable<AtomId>,
    by_name: HashMap<Box<str>, SymbolId, RandomState>,
    /// The next number to try behind a hint.
    numbers: HashMap<String, u32, RandomState>,
    hasher: RandomState,
}

/// More terms, deeper functions, higher powers or larger expressions are Unknown: nobody reads them, and time and
/// memory of everything here is bounded by these.
const MAX_TERMS: usize = 32;
const MAX_BASE_TERMS: usize = 64;
const MAX_LEVEL: u32 = 16;
const MAX_DEGREE: u32 = 16;
const MAX_SIZE: u32 = 160;

/// Hints are cut here.
const MAX_HINT: usize = 60;

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
    /// The extent of a sum that is in its final form; Unknown if it is too large.
    pub(super) fn seal(&mut self, poly: Poly) -> Dim {
        if poly.terms.is_empty() {
            return Dim::Const(poly.constant);
        }
        if poly.terms.len() > MAX_TERMS || poly.terms.iter().any(|t| t.degree() > MAX_DEGREE) {
            return Dim::Unknown;
        }
        let id = self.intern(poly);
        let Facts { level, size, .. } = self.exprs[id].facts;
        if level > MAX_LEVEL || size > MAX_SIZE { Dim::Unknown } else { Dim::Expr(id) }
    }

    /// The id of a sum in the basis of [`settle`](super::settle); `None` if it is too large.
    pub(super) fn intern_base(&mut self, poly: Poly) -> Option<ExprId> {
        if poly.terms.len() > MAX_BASE_TERMS {
            return None;
        }
        let id = self.intern(poly);
        (self.exprs[id].facts.size <= 2 * MAX_SIZE).then_some(id)
    }

    fn intern(&mut self, poly: Poly) -> ExprId {
        let hash = self.hasher.hash_one(&poly);
        if let Some(&id) = self.expr_table.find(hash, |&id| self.exprs[id].poly == poly) {
            return id;
        }
        let facts = self.facts_of_poly(&poly);
        let order = self.order_of_terms(&poly);
        let id = self.exprs.push(Expr { poly, facts, order });
        let (exprs, hasher) = (&self.exprs, &self.hasher);
        self.expr_table.insert_unique(hash, id, |&id| hasher.hash_one(&exprs[id].poly));
        id
    }

    pub(super) fn intern_atom(&mut self, atom: Atom) -> AtomId {
        let hash = self.hasher.hash_one(&atom);
        if let Some(&id) = self.atom_table.find(hash, |&id| self.atoms[id].atom == atom) {
            return id;
        }
        let mut facts = self.facts_of_atom(&atom);
        facts.atoms |= bit(AtomId::from_index(self.atoms.len()));
        let id = self.atoms.push(AtomData { atom, facts });
        let (atoms, hasher) = (&self.atoms, &self.hasher);
        self.atom_table.insert_unique(hash, id, |&id| hasher.hash_one(&atoms[id].atom));
        id
    }

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
        let mut product = Interval::point(1);
        for factor in factors {
            for _ in 0..factor.power.min(MAX_DEGREE + 1) {
                product = product.times(self.atoms[factor.atom].facts.interval);
            }
        }
        product
    }

    fn facts_of_poly(&self, poly: &Poly) -> Facts {
        let mut facts = Facts { interval: self.interval_of_poly(poly), size: 0, ..Facts::NUMBER };
        for factor in poly.terms.iter().flat_map(|term| &term.factors) {
            facts = facts.with(self.atoms[factor.atom].facts);
        }
        facts
    }

    fn facts_of_atom(&self, atom: &Atom) -> Facts {
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
            Atom::Max(args) => (args, self.fold(args, Interval::max)),
            Atom::Min(args) => (args, self.fold(args, Interval::min)),
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

    /// The symbol of this name. An anonymous one that is printed so gets another name.
    pub(super) fn named(&mut self, name: &str) -> SymbolId {
        if let Some(&id) = self.by_name.get(name) {
            let Some(hint) = self.symbols[id].hint.clone() else { return id };
            self.by_name.remove(name);
            let other = self.free_name(&hint, name);
            self.by_name.insert(other.clone(), id);
            self.symbols[id].name = other;
        }
        let id = self.symbols.push(Symbol { name: name.into(), hint: None });
        self.by_name.insert(name.into(), id);
        id
    }

    /// A new symbol.
    pub(super) fn anonymous(&mut self, hint: &str) -> SymbolId {
        let mut hint: String =
            hint.chars().take(MAX_HINT).map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        if !hint.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            hint.insert(0, 'd');
        }
        let name =
            if self.by_name.contains_key(&*hint) { self.free_name(&hint, "") } else { hint.as_str().into() };
        let id = self.symbols.push(Symbol { name: name.clone(), hint: Some(hint.into()) });
        self.by_name.insert(name, id);
        id
    }

    fn free_name(&mut self, hint: &str, taken: &str) -> Box<str> {
        let number = self.numbers.entry_ref(hint).or_insert(1);
        loop {
            let name = format!("{hint}_{number}");
            *number = number.saturating_add(1);
            if name != taken && !self.by_name.contains_key(&*name) {
                return name.into();
            }
        }
    }

    /// The terms of a sum, first the highest degrees.
    pub(super) fn order_of_terms(&self, poly: &Poly) -> SmallVec<[u8; 8]> {
        let mut order: SmallVec<[u8; 8]> = (0..=u8::MAX).take(poly.terms.len()).collect();
        if order.len() > 1 {
            order.sort_by(|&a, &b| -> Ordering {
                self.compare_products(
                    &poly.terms[usize::from(a)].factors,
                    &poly.terms[usize::from(b)].factors,
                )
            });
        }
        order
    }
}

/// The bit of an atom in [`Facts::atoms`].
pub(super) fn bit(atom: AtomId) -> u64 {
    1 << (atom.index() % 64)
}
