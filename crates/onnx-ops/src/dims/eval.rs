//! Numbers for symbols, and which symbols there are.

use super::expr::Atom;
use super::{Dim, Dims};

impl Dims {
    /// The value for these values of the symbols; `None` where one is not known, where the expression is not defined
    /// (a division by 0, a broadcast of 2 and 3), and where the value does not fit.
    pub fn eval(&self, d: Dim, value_of: impl Fn(&str) -> Option<i64>) -> Option<i64> {
        i64::try_from(self.value(d, &value_of)?).ok()
    }

    /// The names of the symbols in an extent, each once, in the order in which they appear.
    pub fn symbols_of(&self, d: Dim) -> Vec<&str> {
        let mut names = Vec::new();
        self.add_symbols(d, &mut names);
        names
    }

    fn add_symbols<'d>(&'d self, d: Dim, names: &mut Vec<&'d str>) {
        let Dim::Expr(id) = d else { return };
        for factor in self.arena.exprs[id].poly.terms.iter().flat_map(|term| &term.factors) {
            match &self.arena.atoms[factor.atom].atom {
                Atom::Symbol(symbol) => {
                    let name: &str = &self.arena.symbols[*symbol].name;
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                Atom::Floor(a, b) | Atom::Mod(a, b) => {
                    [*a, *b].into_iter().for_each(|of| self.add_symbols(of, names));
                }
                Atom::Max(args) | Atom::Min(args) | Atom::Broadcast(args) => {
                    args.iter().for_each(|of| self.add_symbols(*of, names));
                }
                Atom::BaseFloor(of, _) | Atom::BaseMax(of) => self.add_symbols(Dim::Expr(*of), names),
            }
        }
    }

    fn value(&self, d: Dim, value_of: &dyn Fn(&str) -> Option<i64>) -> Option<i128> {
        let sum = match d {
            Dim::Unknown => return None,
            Dim::Const(value) => return Some(value.into()),
            Dim::Expr(id) => &self.arena.exprs[id].poly,
        };
        let mut total = i128::from(sum.constant);
        for term in &sum.terms {
            let mut product = i128::from(term.coefficient);
            for factor in &term.factors {
                let value = self.value_of_atom(&self.arena.atoms[factor.atom].atom, value_of)?;
                product = product.checked_mul(value.checked_pow(factor.power)?)?;
            }
            total = total.checked_add(product)?;
        }
        Some(total)
    }

    fn value_of_atom(&self, atom: &Atom, value_of: &dyn Fn(&str) -> Option<i64>) -> Option<i128> {
        let values =
            |args: &[Dim]| args.iter().map(|arg| self.value(*arg, value_of)).collect::<Option<Vec<_>>>();
        match atom {
            Atom::Symbol(symbol) => value_of(&self.arena.symbols[*symbol].name).map(i128::from),
            Atom::Floor(a, b) => floor_div(self.value(*a, value_of)?, self.value(*b, value_of)?),
            Atom::Mod(a, b) => {
                let (a, b) = (self.value(*a, value_of)?, self.value(*b, value_of)?);
                a.checked_sub(b.checked_mul(floor_div(a, b)?)?)
            }
            Atom::Max(args) => values(args)?.into_iter().max(),
            Atom::Min(args) => values(args)?.into_iter().min(),
            Atom::Broadcast(args) => {
                let mut others = values(args)?.into_iter().filter(|&value| value != 1);
                let value = others.next().unwrap_or(1);
                others.all(|other| other == value).then_some(value)
            }
            Atom::BaseFloor(a, b) => floor_div(self.value(Dim::Expr(*a), value_of)?, (*b).into()),
            Atom::BaseMax(a) => Some(self.value(Dim::Expr(*a), value_of)?.max(0)),
        }
    }
}

fn floor_div(a: i128, b: i128) -> Option<i128> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    if rest != 0 && (rest < 0) != (b < 0) { quotient.checked_sub(1) } else { Some(quotient) }
}
