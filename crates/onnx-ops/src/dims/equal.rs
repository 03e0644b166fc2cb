//! Equalities that a model implies, and their consequences.
//!
//! An equality of two expressions is solved for a symbol if it can be: `N*4 = 8` binds N to 2, `K = M+N` binds K.
//! Solutions are integers only, so `N*4 = 6` is a contradiction. What has no solution is kept, and tried again when
//! one of its symbols becomes known: `M*N = 12`, then `M = 3`.

use super::expr::{Atom, AtomId, SymbolId, bit};
use super::poly::{Poly, gcd};
use super::{Dim, Dims, ExprId};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::cmp::Reverse;

/// Two extents that were said to be equal and cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contradiction {
    /// The first, as far as it is known.
    pub left: Dim,
    /// The second, as far as it is known.
    pub right: Dim,
}

/// The equalities recorded up to some time; see [`Dims::mark`].
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    trail: usize,
    open: usize,
    atoms: u64,
}

/// The known equalities.
#[derive(Clone, Default)]
pub(super) struct Equalities {
    /// Symbols to expressions of symbols that had none when this was recorded; other atoms to numbers.
    pub(super) bindings: HashMap<AtomId, Dim, RandomState>,
    /// The previous bindings before each change.
    trail: Vec<(AtomId, Option<Dim>)>,
    /// Equalities without a solution.
    open: Vec<(Dim, Dim)>,
    /// The bits of all bound atoms; see [`bit`].
    pub(super) atoms: u64,
    /// Counts changes, to invalidate cached results.
    pub(super) generation: u64,
    /// Resolved expressions, with the generation.
    pub(super) resolved: HashMap<ExprId, (u64, Dim), RandomState>,
}

/// The consequence of an equality.
enum Solution {
    Holds,
    Never,
    Bind(AtomId, Dim),
    /// As much as that another extent is a number.
    Means(Dim, i64),
    None,
}

/// Which symbol an equality is solved for, least first: one whose value is an extent for certain, the newest one.
type Preference = (bool, Reverse<SymbolId>);

/// Equalities without a solution beyond these are forgotten: each is tried again whenever a symbol becomes known.
const MAX_OPEN: usize = 64;
/// How many equalities one can bring about.
const MAX_STEPS: usize = 200;

impl Dims {
    /// Records that two extents are equal, and gives the better known one of them. A number is better known than an
    /// expression, which is better known than one with symbols of [`Dims::fresh`]; of two symbols the older one
    /// stays. Nothing is recorded if they cannot be equal; the contradiction may be between others, which were said
    /// to be equal before.
    pub fn equate(&mut self, a: Dim, b: Dim) -> Result<Dim, Contradiction> {
        match (a, b) {
            (Dim::Const(x), Dim::Const(y)) if x == y => return Ok(a),
            (Dim::Const(_), Dim::Const(_)) => return Err(Contradiction { left: a, right: b }),
            (Dim::Unknown, other) | (other, Dim::Unknown) => return Ok(self.resolve(other)),
            (Dim::Expr(_), Dim::Const(_) | Dim::Expr(_)) | (Dim::Const(_), Dim::Expr(_)) => {}
        }
        let mark = self.mark();
        if let Err(contradiction) = self.assume(a, b) {
            self.undo(mark);
            return Err(contradiction);
        }
        let (a, b) = (self.resolve(a), self.resolve(b));
        let rank = |d: Dim| {
            let facts = self.arena.facts(d);
            (self.as_const(d).is_none(), facts.newest > 0, facts.size)
        };
        Ok(if rank(b) < rank(a) { b } else { a })
    }

    /// A number that changes whenever something is learned, or forgotten.
    pub(crate) fn generation(&self) -> u64 {
        self.equalities.generation
    }

    fn assume(&mut self, a: Dim, b: Dim) -> Result<(), Contradiction> {
        let mut todo = vec![(a, b)];
        for _ in 0..MAX_STEPS {
            let Some((a, b)) = todo.pop() else { break };
            let (left, right) = (self.resolve(a), self.resolve(b));
            match self.solve(left, right) {
                Solution::Holds => {}
                Solution::Never => return Err(Contradiction { left, right }),
                Solution::Bind(atom, value) => {
                    self.bind(atom, value);
                    self.equalities.generation += 1;
                    let touched = |d: Dim| self.arena.facts(d).atoms & bit(atom) != 0;
                    todo.extend(self.equalities.open.iter().filter(|(a, b)| touched(*a) || touched(*b)));
                    if !matches!(self.arena.atoms[atom].atom, Atom::Symbol(_)) {
                        self.keep(left, right);
                    }
                }
                Solution::Means(dim, value) => todo.push((dim, Dim::Const(value))),
                Solution::None => self.keep(left, right),
            }
        }
        Ok(())
    }

    fn keep(&mut self, left: Dim, right: Dim) {
        let open = &mut self.equalities.open;
        if open.len() < MAX_OPEN && !open.contains(&(left, right)) {
            open.push((left, right));
        }
    }

    pub(super) fn bind(&mut self, atom: AtomId, value: Dim) {
        let before = self.equalities.bindings.insert(atom, value);
        self.equalities.trail.push((atom, before));
        self.equalities.atoms |= bit(atom);
    }

    /// The consequences of the equality of two resolved dimensions.
    fn solve(&mut self, left: Dim, right: Dim) -> Solution {
        match self.always_equal(left, right) {
            Some(true) => return Solution::Holds,
            Some(false) => return Solution::Never,
            None => {}
        }
        let difference = self.sub(left, right);
        let Some(sum) = self.poly(difference) else { return Solution::None };
        let Some(sum) = sum.divided(sum.content().max(1)) else { return Solution::None };
        let mut best: Option<(Preference, AtomId, Dim)> = None;
        for term in sum.terms.iter().filter(|term| term.coefficient.unsigned_abs() == 1) {
            let Some((atom, symbol)) = term.bare().and_then(|atom| Some((atom, self.symbol_of(atom)?)))
            else {
                continue;
            };
            let rest = Poly::term(term.factors.clone(), -term.coefficient);
            let value = sum.add_scaled(&rest, 1).and_then(|rest| rest.scaled(-term.coefficient));
            let value = self.settle(value);
            let is_named = self.arena.symbols[symbol].hint.is_none();
            let may_stand = value != Dim::Unknown
                && !(is_named && self.arena.facts(value).newest > 0)
                && !self
                    .contains(value, &|other| other == atom || self.equalities.bindings.contains_key(&other));
            if may_stand {
                let key = (!self.arena.interval(value).is_extent(), Reverse(symbol));
                if best.is_none_or(|(least, ..)| key < least) {
                    best = Some((key, atom, value));
                }
            }
        }
        if let Some((_, atom, value)) = best {
            return Solution::Bind(atom, value);
        }
        match &sum.terms[..] {
            [term] if term.coefficient.unsigned_abs() == 1 => match (term.bare(), sum.constant.checked_neg())
            {
                (Some(atom), Some(value)) => self.solve_atom(atom, value * term.coefficient),
                (_, _) => Solution::None,
            },
            _ => Solution::None,
        }
    }

    /// The consequences of the value of an atom: `max(N, 2) = 5` implies that N is 5.
    fn solve_atom(&self, atom: AtomId, value: i64) -> Solution {
        match &self.arena.atoms[atom].atom {
            Atom::Max(args) | Atom::Min(args) => match args[..] {
                [other, Dim::Const(limit)] if limit != value => Solution::Means(other, value),
                _ => Solution::Bind(atom, Dim::Const(value)),
            },
            Atom::Symbol(_)
            | Atom::Floor(..)
            | Atom::Mod(..)
            | Atom::Broadcast(_)
            | Atom::BaseFloor(..)
            | Atom::BaseMax(_) => Solution::Bind(atom, Dim::Const(value)),
        }
    }

    /// Whether two extents are equal for all values of their symbols (`true`), or for none (`false`), by the
    /// equalities known now. Values for which one is not defined do not count.
    pub fn known_equal(&mut self, a: Dim, b: Dim) -> Option<bool> {
        let (a, b) = (self.resolve(a), self.resolve(b));
        self.always_equal(a, b)
    }

    /// As [`Dims::known_equal`], without equalities.
    pub(super) fn always_equal(&mut self, a: Dim, b: Dim) -> Option<bool> {
        if let (Dim::Unknown, _) | (_, Dim::Unknown) = (a, b) {
            return None;
        }
        if a == b {
            return Some(true);
        }
        match self.sub(a, b) {
            Dim::Unknown => None,
            Dim::Const(difference) => Some(difference == 0),
            Dim::Expr(difference) => {
                if let Some(&known) = self.zeros.get(&difference) {
                    return known;
                }
                let is_zero = self.is_zero(difference);
                // Where a limit is near, less is found.
                if self.depth == 0 {
                    self.zeros.insert(difference, is_zero);
                }
                is_zero
            }
        }
    }

    /// Whether an expression is 0 for all values of its symbols, or for none.
    fn is_zero(&mut self, difference: ExprId) -> Option<bool> {
        if !self.arena.interval(Dim::Expr(difference)).contains(0) {
            return Some(false);
        }
        let sum = self.arena.exprs[difference].poly.clone();
        for sum in [self.expand_products(&sum), Some(sum)].into_iter().flatten() {
            match sum.as_constant() {
                Some(difference) => return Some(difference == 0),
                None if gcd(sum.content(), sum.constant) != sum.content() => return Some(false),
                None => {}
            }
        }
        None
    }

    /// The sum in the basis of [`settle`](super::settle), inside of products too.
    fn expand_products(&mut self, sum: &Poly) -> Option<Poly> {
        let mut base = Poly::constant(sum.constant);
        for term in &sum.terms {
            let mut product = Poly::constant(term.coefficient);
            for factor in &term.factors {
                let atom = if let Atom::Mod(a, b @ Dim::Expr(_)) = self.arena.atoms[factor.atom].atom {
                    let floor = Poly::atom(self.arena.intern_atom(Atom::Floor(a, b)));
                    self.expand_dim(a)?.add_scaled(&self.expand_dim(b)?.product(&floor)?, -1)?
                } else {
                    self.expand(&Poly::atom(factor.atom))?
                };
                product = product.product(&atom.power(factor.power)?)?;
            }
            base = base.add_scaled(&product, 1)?;
        }
        Some(base)
    }

    /// The equalities known now, for [`Dims::undo`].
    pub fn mark(&self) -> Mark {
        let Equalities { trail, open, atoms, .. } = &self.equalities;
        Mark { trail: trail.len(), open: open.len(), atoms: *atoms }
    }

    /// Forgets the equalities recorded since. Marks made since are void.
    pub fn undo(&mut self, mark: Mark) {
        let equalities = &mut self.equalities;
        if equalities.trail.len() > mark.trail {
            for (atom, before) in equalities.trail.drain(mark.trail..).rev() {
                match before {
                    Some(before) => equalities.bindings.insert(atom, before),
                    None => equalities.bindings.remove(&atom),
                };
            }
            equalities.generation += 1;
            equalities.atoms = mark.atoms;
        }
        equalities.open.truncate(mark.open);
    }
}
