//! Expressions and what they are made of, each stored once.

use super::bounds::Interval;
use super::facts::Facts;
use super::poly::Poly;
use super::{Dim, ExprId};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};
use onnx_ir::{EntityId, PrimaryMap, entity};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::hash::BuildHasher;
use std::sync::OnceLock;

entity!(
    /// A term of sums: a symbol or a function of expressions.
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
    /// The remainder of [`Atom::Floor`], which has the sign of the divisor.
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
    /// The bounds, computed on demand.
    pub(super) interval: OnceLock<Interval>,
}

/// A sum with at least one atom.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) poly: Poly,
    pub(super) facts: Facts,
    /// The bounds, computed on demand: most sums are intermediate.
    pub(super) interval: OnceLock<Interval>,
    /// The terms in the order of [`order`](super::order), computed on demand.
    pub(super) order: OnceLock<SmallVec<[u8; 8]>>,
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
    /// The next number to try after a hint.
    numbers: HashMap<String, u32, RandomState>,
    hasher: RandomState,
}

/// Expressions with more terms, deeper functions, higher powers or larger size become Unknown; this bounds time and memory of all
/// operations here.
const MAX_TERMS: usize = 32;
const MAX_BASE_TERMS: usize = 64;
const MAX_LEVEL: u32 = 16;
pub(super) const MAX_DEGREE: u32 = 16;
const MAX_SIZE: u32 = 160;

/// The initial capacity, because growing rehashes every expression.
const USUAL: usize = 200;

/// Hints are cut here.
const MAX_HINT: usize = 60;

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
        if self.expr_table.is_empty() {
            let (exprs, hasher) = (&self.exprs, &self.hasher);
            self.expr_table.reserve(USUAL, |&id| hasher.hash_one(&exprs[id].poly));
        }
        let facts = self.facts_of_poly(&poly);
        let (interval, order) = (OnceLock::new(), OnceLock::new());
        let id = self.exprs.push(Expr { poly, facts, interval, order });
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
        facts.atoms |= bit(self.atoms.next_id());
        let id = self.atoms.push(AtomData { atom, facts, interval: OnceLock::new() });
        let (atoms, hasher) = (&self.atoms, &self.hasher);
        self.atom_table.insert_unique(hash, id, |&id| hasher.hash_one(&atoms[id].atom));
        id
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

    /// The terms of an expression, first the highest degrees.
    pub(super) fn order(&self, id: ExprId) -> &[u8] {
        let expr = &self.exprs[id];
        expr.order.get_or_init(|| self.order_of_terms(&expr.poly))
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
