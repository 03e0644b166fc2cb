//! Expressions as people write them: `N*4+1`, `1-N`, `floor((H+1)/3)`, `ceil(H/2)`, `max(N-1, 0)`.

use super::expr::{Atom, AtomId};
use super::poly::Term;
use super::read::{self, Tree};
use super::{Dim, Dims, ExprId};
use std::fmt::Write as _;

impl Dims {
    /// The canonical text, which [`Dims::parse`] reads as the same extent. Symbols of [`Dims::fresh`] have names in
    /// it, which are read as symbols of these names.
    #[must_use]
    pub fn text(&self, d: Dim) -> String {
        if let Some(symbol) = self.as_symbol(d) {
            let name = &self.arena.symbols[symbol].name;
            let is_plain = match read::read(name) {
                None => !read::is_unknown(name),
                Some(Tree::Name(read)) => *read == **name,
                Some(
                    Tree::Number(..) | Tree::Sum(_) | Tree::Product(_) | Tree::Power(..) | Tree::Call(..),
                ) => false,
            };
            return if is_plain { name.to_string() } else { quoted(name) };
        }
        let mut text = String::new();
        self.write(d, &mut text);
        // `M-N` alone would be read as a name.
        if read::is_joined_name(&text) { text.replace('-', " - ") } else { text }
    }

    fn write(&self, d: Dim, out: &mut String) {
        match d {
            Dim::Unknown => out.push('?'),
            Dim::Const(value) => push(out, value),
            Dim::Expr(id) => {
                self.write_sum(id, self.arena.exprs[id].poly.constant, out);
            }
        }
    }

    /// The terms of a sum and a number: positive terms are first, numbers are last.
    fn write_sum(&self, id: ExprId, constant: i64, out: &mut String) {
        let expr = &self.arena.exprs[id];
        let terms = || self.arena.order(id).iter().map(|&i| &expr.poly.terms[usize::from(i)]);
        let start = out.len();
        for term in terms().filter(|term| term.coefficient > 0) {
            if out.len() > start {
                out.push('+');
            }
            self.write_term(term, out);
        }
        let number_first = out.len() == start && constant > 0;
        if number_first {
            push(out, constant);
        }
        for term in terms().filter(|term| term.coefficient < 0) {
            out.push('-');
            self.write_term(term, out);
        }
        if constant != 0 && !number_first {
            if constant > 0 {
                out.push('+');
            }
            push(out, constant);
        }
    }

    /// Without its sign.
    fn write_term(&self, term: &Term, out: &mut String) {
        for (i, factor) in self.arena.written(&term.factors).iter().enumerate() {
            if i > 0 {
                out.push('*');
            }
            self.write_atom(factor.atom, out);
            if factor.power > 1 {
                out.push_str("**");
                push(out, factor.power);
            }
        }
        if term.coefficient.unsigned_abs() != 1 {
            out.push('*');
            push(out, term.coefficient.unsigned_abs());
        }
    }

    fn write_atom(&self, atom: AtomId, out: &mut String) {
        match &self.arena.atoms[atom].atom {
            Atom::Symbol(symbol) => {
                let name = &self.arena.symbols[*symbol].name;
                if read::is_identifier(name) { out.push_str(name) } else { out.push_str(&quoted(name)) }
            }
            Atom::Floor(a, b) => self.write_quotient(*a, *b, out),
            Atom::Mod(a, b) => self.write_call("mod", &[*a, *b], out),
            Atom::Max(args) => match self.magnitude(args) {
                Some(of) => self.write_call("abs", &[of], out),
                None => self.write_call("max", args, out),
            },
            Atom::Min(args) => self.write_call("min", args, out),
            Atom::Broadcast(args) => self.write_call("broadcast", args, out),
            Atom::BaseFloor(a, b) => self.write_quotient(Dim::Expr(*a), Dim::Const(*b), out),
            Atom::BaseMax(a) => self.write_call("max", &[Dim::Expr(*a), Dim::Const(0)], out),
        }
    }

    /// The expression of which both signs are the arguments.
    fn magnitude(&self, args: &[Dim]) -> Option<Dim> {
        let [Dim::Expr(a), Dim::Expr(b)] = args[..] else { return None };
        let (first, second) = (&self.arena.exprs[a], &self.arena.exprs[b]);
        let begins = first.poly.terms[usize::from(*self.arena.order(a).first()?)].coefficient;
        (first.poly.scaled(-1)? == second.poly).then_some(Dim::Expr(if begins < 0 { b } else { a }))
    }

    fn write_call(&self, name: &str, args: &[Dim], out: &mut String) {
        out.push_str(name);
        out.push('(');
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            self.write(*arg, out);
        }
        out.push(')');
    }

    /// `floor((H+1)/2)` is `ceil(H/2)`.
    fn write_quotient(&self, a: Dim, b: Dim, out: &mut String) {
        let start = out.len();
        out.push_str("floor(");
        match a {
            Dim::Unknown | Dim::Const(_) => self.write(a, out),
            Dim::Expr(id) => {
                let expr = &self.arena.exprs[id];
                let mut constant = expr.poly.constant;
                if let Dim::Const(divisor) = b
                    && constant != 0
                    && constant == divisor - 1
                {
                    out.replace_range(start.., "ceil(");
                    constant = 0;
                }
                let is_product = expr.poly.terms.len() == 1 && constant == 0;
                out.push_str(if is_product { "" } else { "(" });
                self.write_sum(id, constant, out);
                out.push_str(if is_product { "" } else { ")" });
            }
        }
        out.push('/');
        let is_factor = match b {
            Dim::Unknown | Dim::Const(_) => true,
            Dim::Expr(id) => self.arena.exprs[id].poly.as_atom().is_some(),
        };
        out.push_str(if is_factor { "" } else { "(" });
        self.write(b, out);
        out.push_str(if is_factor { ")" } else { "))" });
    }
}

fn push(out: &mut String, value: impl std::fmt::Display) {
    write!(out, "{value}").expect("a string takes everything");
}

fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
}
