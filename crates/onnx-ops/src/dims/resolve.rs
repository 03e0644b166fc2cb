//! Expressions with other things in place of their symbols.

use super::expr::{Atom, AtomId, SymbolId};
use super::extreme::End;
use super::poly::Poly;
use super::{Dim, Dims};

/// How deep bindings and functions are followed in one go; what is deeper follows in the next one.
const MAX_DEPTH: u32 = 100;
/// Chains of bindings that are longer stay as they are from there on.
const MAX_ROUNDS: usize = 100_000;

impl Dims {
    /// The extent by the equalities known now.
    pub fn resolve(&mut self, d: Dim) -> Dim {
        let Dim::Expr(id) = d else { return d };
        if self.arena.exprs[id].facts.atoms & self.equalities.atoms == 0 {
            return d;
        }
        let generation = self.equalities.generation;
        if let Some(&(_, known)) = self.equalities.resolved.get(&id).filter(|known| known.0 == generation) {
            return known;
        }
        let mut resolved = d;
        for _ in 0..MAX_ROUNDS {
            let next = self.rewrite(resolved, 0);
            if next == resolved {
                break;
            }
            resolved = next;
        }
        self.equalities.resolved.insert(id, (generation, resolved));
        resolved
    }

    /// One go at an extent; where the result is not defined or too large, it stays as it is.
    fn rewrite(&mut self, d: Dim, depth: u32) -> Dim {
        if self.arena.facts(d).atoms & self.equalities.atoms == 0 || depth > MAX_DEPTH {
            return d;
        }
        if let Dim::Expr(id) = d
            && let Some(atom) = self.arena.exprs[id].poly.as_atom()
        {
            return self.rewrite_atom(atom, depth + 1);
        }
        match self.rebuild(d, &mut |dims, atom| dims.rewrite_atom(atom, depth + 1)) {
            Dim::Unknown => d,
            rewritten @ (Dim::Const(_) | Dim::Expr(_)) => rewritten,
        }
    }

    fn rewrite_atom(&mut self, atom: AtomId, depth: u32) -> Dim {
        let itself = self.atom_dim(atom);
        if self.arena.atoms[atom].facts.atoms & self.equalities.atoms == 0 || depth > MAX_DEPTH {
            return itself;
        }
        if self.symbol_of(atom).is_some() {
            let Some(&bound) = self.equalities.bindings.get(&atom) else { return itself };
            let value = self.rewrite(bound, depth + 1);
            if value != bound {
                // Bound to the end of the chain, so that chains are walked only once.
                self.bind(atom, value);
            }
            return value;
        }
        let value = match self.rebuild_atom(atom, &mut |dims, arg| dims.rewrite(arg, depth + 1)) {
            Dim::Unknown => itself,
            value @ (Dim::Const(_) | Dim::Expr(_)) => value,
        };
        let function = self.poly(value).and_then(|sum| sum.as_atom());
        let function = function.filter(|&function| self.symbol_of(function).is_none());
        let bound = function.and_then(|function| self.equalities.bindings.get(&function));
        bound.copied().unwrap_or(value)
    }

    /// The extent with something else in place of each of its symbols, which `replace` is asked for.
    pub fn substitute(&mut self, d: Dim, replace: &mut dyn FnMut(&mut Self, Dim) -> Dim) -> Dim {
        self.rebuild(d, &mut |dims, atom| {
            if dims.symbol_of(atom).is_some() {
                let symbol = dims.atom_dim(atom);
                replace(dims, symbol)
            } else {
                dims.rebuild_atom(atom, &mut |dims, arg| dims.substitute(arg, replace))
            }
        })
    }

    /// The sum with other values for its atoms.
    fn rebuild(&mut self, d: Dim, value: &mut dyn FnMut(&mut Self, AtomId) -> Dim) -> Dim {
        let (Dim::Expr(_), Some(sum)) = (d, self.poly(d)) else { return d };
        let mut rebuilt = Some(Poly::constant(sum.constant));
        for term in &sum.terms {
            let mut product = Some(Poly::constant(term.coefficient));
            for factor in &term.factors {
                let value = value(self, factor.atom);
                for _ in 0..factor.power {
                    product = product.and_then(|product| self.multiply(&product, &self.poly(value)?));
                }
            }
            rebuilt = rebuilt.and_then(|rebuilt| rebuilt.add_scaled(&product?, 1));
        }
        self.settle(rebuilt)
    }

    /// The function of other arguments.
    fn rebuild_atom(&mut self, atom: AtomId, value: &mut dyn FnMut(&mut Self, Dim) -> Dim) -> Dim {
        let rebuilt = match self.arena.atoms[atom].atom.clone() {
            Atom::Symbol(_) | Atom::BaseFloor(..) | Atom::BaseMax(_) => None,
            Atom::Floor(a, b) => {
                let (x, y) = (value(self, a), value(self, b));
                ((x, y) != (a, b)).then(|| self.floor_div(x, y))
            }
            Atom::Mod(a, b) => {
                let (x, y) = (value(self, a), value(self, b));
                ((x, y) != (a, b)).then(|| self.modulo(x, y))
            }
            Atom::Max(args) => self.changed(&args, value).map(|args| self.extreme(End::Max, &args)),
            Atom::Min(args) => self.changed(&args, value).map(|args| self.extreme(End::Min, &args)),
            Atom::Broadcast(args) => self.changed(&args, value).and_then(|args| {
                args.into_iter().reduce(|joined, arg| self.broadcast(joined, arg).unwrap_or(Dim::Unknown))
            }),
        };
        rebuilt.unwrap_or_else(|| self.atom_dim(atom))
    }

    /// Other arguments; `None` if they are the same.
    fn changed(&mut self, args: &[Dim], value: &mut dyn FnMut(&mut Self, Dim) -> Dim) -> Option<Vec<Dim>> {
        let values: Vec<Dim> = args.iter().map(|&arg| value(self, arg)).collect();
        (values[..] != *args).then_some(values)
    }

    fn atom_dim(&mut self, atom: AtomId) -> Dim {
        self.arena.seal(Poly::atom(atom))
    }

    pub(super) fn symbol_of(&self, atom: AtomId) -> Option<SymbolId> {
        let Atom::Symbol(symbol) = self.arena.atoms[atom].atom else { return None };
        Some(symbol)
    }

    /// Whether one of certain atoms is anywhere in an extent.
    pub(super) fn contains(&self, d: Dim, is_one: &dyn Fn(AtomId) -> bool) -> bool {
        let Dim::Expr(id) = d else { return false };
        let mut atoms = self.arena.exprs[id].poly.terms.iter().flat_map(|term| &term.factors).map(|f| f.atom);
        atoms.any(|atom| {
            is_one(atom)
                || match &self.arena.atoms[atom].atom {
                    Atom::Symbol(_) => false,
                    Atom::Floor(a, b) | Atom::Mod(a, b) => {
                        self.contains(*a, is_one) || self.contains(*b, is_one)
                    }
                    Atom::Max(args) | Atom::Min(args) | Atom::Broadcast(args) => {
                        args.iter().any(|&arg| self.contains(arg, is_one))
                    }
                    Atom::BaseFloor(a, _) | Atom::BaseMax(a) => self.contains(Dim::Expr(*a), is_one),
                }
        })
    }
}
