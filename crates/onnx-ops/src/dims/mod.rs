//! Arithmetic on symbolic dimensions: `N*4+1`, `floor(H/2)+1`, `max(N-1, 0)`.
//!
//! A [`Dim`] is a small value; what expressions are made of lives in a [`Dims`], each once. An expression is a sum of
//! products of atoms with integer coefficients; an atom is a symbol or a function of expressions. Operations give
//! results in a form of their own, so equal expressions are mostly equal values, and print the same in whatever
//! order they came up:
//!
//! | module | what it does |
//! | --- | --- |
//! | `poly` | sums and their arithmetic |
//! | `expr`, `facts`, `order` | storage of expressions; their cached facts; their order |
//! | `bounds`, `relax` | bounds of expressions |
//! | `arith`, `divide`, `extreme` | the operations |
//! | `settle`, `forms` | the one form among those that are equal |
//! | `equal`, `resolve` | equalities that a model implies |
//! | `text`, `parse`, `read` | to text and back; `grammar/dimensions.md` says what is read |
//! | `eval` | numbers for symbols |
//!
//! A symbol stands for an extent, so it is at least 0. What is divided by is not 0: a form may be defined where the
//! expression it came from was not (`N*4/N` is 4). [`Dim::Unknown`] is the result of all that is not known, not
//! defined, or too large; no operation fails for it.

mod arith;
mod bounds;
mod divide;
mod equal;
mod eval;
mod expr;
mod extreme;
mod facts;
mod forms;
mod order;
mod parse;
mod poly;
mod read;
mod relax;
mod resolve;
mod settle;

#[cfg(test)]
mod tests;
mod text;

use arith::Op;
use equal::Equalities;
pub use equal::{Contradiction, Mark};
use expr::{Arena, Atom, AtomId};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use onnx_ir::entity;
use poly::Poly;

entity!(
    /// An expression of one [`Dims`].
    ExprId,
    "expr"
);

/// An extent, or any other integer that a shape is calculated with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    /// Nothing is known.
    Unknown,
    /// A number.
    Const(i64),
    /// An expression with at least one symbol.
    Expr(ExprId),
}

/// Expressions, symbols, and the equalities between them.
///
/// No expression is ever forgotten, and a result does not depend on equalities: what they say is asked for with
/// [`Dims::resolve`].
#[derive(Clone, Default)]
pub struct Dims {
    arena: Arena,
    results: HashMap<(Op, Dim, Dim), Dim, RandomState>,
    /// Atoms in the basis of `settle`; `None` where that is too large.
    bases: HashMap<AtomId, Option<Poly>, RandomState>,
    /// Sums of that basis in the form that is shown.
    shown: HashMap<ExprId, Dim, RandomState>,
    /// Whether expressions are 0: always, never, or it depends.
    zeros: HashMap<ExprId, Option<bool>, RandomState>,
    texts: HashMap<Box<str>, Dim, RandomState>,
    equalities: Equalities,
    /// How many operations and searches for a form are inside of one another now.
    depth: u32,
    /// The last sum or product of two extents that does not fit into 64 bits.
    overflow: Option<Overflow>,
}

/// A sum or product of two extents that does not fit into 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Overflow {
    pub(crate) a: i64,
    pub(crate) sign: char,
    pub(crate) b: i64,
}

/// The largest [`Dims::depth`]. What is inside is simpler, so only the deepest expressions come near; beyond, results
/// are Unknown, and the stack holds.
const MAX_DEPTH: u32 = 60;

impl Dims {
    /// No symbols and no equalities.
    pub fn new() -> Self {
        Self::default()
    }

    /// The sum or product that has been too large since this was last asked.
    pub(crate) fn take_overflow(&mut self) -> Option<Overflow> {
        self.overflow.take()
    }

    /// The symbol of this name, whatever the name looks like.
    pub fn symbol(&mut self, name: &str) -> Dim {
        let symbol = self.arena.named(name);
        self.symbol_atom(symbol)
    }

    /// A new symbol, for an extent that depends on data. Its name is made from `hint`; no other symbol has it, and it
    /// changes if a symbol is named so later.
    pub fn fresh(&mut self, hint: &str) -> Dim {
        let symbol = self.arena.anonymous(hint);
        self.symbol_atom(symbol)
    }

    fn symbol_atom(&mut self, symbol: expr::SymbolId) -> Dim {
        let atom = self.arena.intern_atom(Atom::Symbol(symbol));
        self.arena.seal(Poly::atom(atom))
    }

    /// Whether this is one symbol of [`Dims::fresh`] and nothing else.
    pub fn is_fresh(&self, d: Dim) -> bool {
        self.as_symbol(d).is_some_and(|symbol| self.arena.symbols[symbol].hint.is_some())
    }

    /// Whether all symbols of [`Dims::fresh`] in an extent are older than another such symbol.
    pub fn is_older(&self, d: Dim, symbol: Dim) -> bool {
        self.arena.facts(d).newest < self.arena.facts(symbol).newest
    }

    /// Whether an extent says how it follows from others, which all have names: `N*2`, and not `N` alone.
    pub(crate) fn is_formula(&self, d: Dim) -> bool {
        self.is_of_named_symbols(d) && self.as_symbol(d).is_none()
    }

    /// Whether an extent is made of symbols that the model names, and says which extent it is.
    pub(crate) fn is_of_named_symbols(&self, d: Dim) -> bool {
        let facts = self.arena.facts(d);
        matches!(d, Dim::Expr(_)) && facts.newest == 0 && !facts.is_open
    }

    /// Whether an extent leaves open which of several extents it is, as one axis of a broadcast does.
    pub(crate) fn is_open(&self, d: Dim) -> bool {
        self.arena.facts(d).is_open
    }

    fn as_symbol(&self, d: Dim) -> Option<expr::SymbolId> {
        let Dim::Expr(id) = d else { return None };
        let Atom::Symbol(symbol) = self.arena.atoms[self.arena.exprs[id].poly.as_atom()?].atom else {
            return None;
        };
        Some(symbol)
    }

    /// The number that this is.
    pub fn as_const(&self, d: Dim) -> Option<i64> {
        match d {
            Dim::Const(value) => Some(value),
            Dim::Unknown | Dim::Expr(_) => None,
        }
    }

    /// A number that no value is below, by what the expression looks like; equalities count after
    /// [`Dims::resolve`] only.
    pub fn lower_bound(&self, d: Dim) -> Option<i64> {
        match d {
            Dim::Const(value) => Some(value),
            Dim::Unknown | Dim::Expr(_) => self.arena.interval(d).lower(),
        }
    }

    /// A number that no value is above; see [`Dims::lower_bound`].
    pub fn upper_bound(&self, d: Dim) -> Option<i64> {
        match d {
            Dim::Const(value) => Some(value),
            Dim::Unknown | Dim::Expr(_) => self.arena.interval(d).upper(),
        }
    }
}
