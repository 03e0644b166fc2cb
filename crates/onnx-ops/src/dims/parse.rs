//! Parses a `dim_param`.

use super::extreme::End;
use super::poly::gcd;
use super::read::{self, Call, Link, Sign, Tree};
use super::{Dim, Dims};

/// A value that need not be an integer yet.
#[derive(Clone, Copy)]
struct Ratio {
    over: Dim,
    under: Dim,
}

impl Dims {
    /// The extent that a text says: an expression if it reads as one as a whole, and otherwise, or where its value
    /// would be Unknown, the symbol whose name is the text. Nothing and `?` are Unknown.
    pub fn parse(&mut self, text: &str) -> Dim {
        if let Some(&known) = self.texts.get(text) {
            return known;
        }
        let dim = if read::is_unknown(text) {
            Dim::Unknown
        } else if read::is_identifier(text) {
            self.symbol(text)
        } else {
            let value = read::read(text).and_then(|tree| self.integer_of(&tree));
            value.unwrap_or_else(|| self.symbol(text))
        };
        self.texts.insert(text.into(), dim);
        dim
    }

    /// The value, rounded down if it is not an integer.
    fn integer_of(&mut self, tree: &Tree<'_>) -> Option<Dim> {
        let Ratio { over, under } = self.ratio_of(tree)?;
        known(self.floor_div(over, under))
    }

    fn ratio_of(&mut self, tree: &Tree<'_>) -> Option<Ratio> {
        match tree {
            Tree::Number(over, under) => {
                let shared = gcd(*over, *under).max(1);
                Some(Ratio { over: Dim::Const(over / shared), under: Dim::Const(under / shared) })
            }
            Tree::Name(name) => Some(whole(self.symbol(name))),
            Tree::Sum(terms) => {
                let mut sum = whole(Dim::Const(0));
                for (sign, term) in terms {
                    let term = self.ratio_of(term)?;
                    sum = self.ratio_sum(sum, *sign, term)?;
                }
                Some(sum)
            }
            Tree::Product(factors) => {
                let mut product = whole(Dim::Const(1));
                for (link, factor) in factors {
                    let factor = self.ratio_of(factor)?;
                    product = self.ratio_product(product, *link, factor)?;
                }
                Some(product)
            }
            Tree::Power(base, exponent) => {
                let base = self.ratio_of(base)?;
                let mut power = whole(Dim::Const(1));
                for _ in 0..*exponent {
                    power = self.ratio_product(power, Link::Times, base)?;
                }
                Some(power)
            }
            Tree::Call(call, args) => self.call_of(*call, args),
        }
    }

    fn ratio_sum(&mut self, a: Ratio, sign: Sign, b: Ratio) -> Option<Ratio> {
        let (mut left, mut right, mut under) = (a.over, b.over, a.under);
        if a.under != b.under {
            left = self.mul(a.over, b.under);
            right = self.mul(b.over, a.under);
            under = self.mul(a.under, b.under);
        }
        let over = match sign {
            Sign::Plus => self.add(left, right),
            Sign::Minus => self.sub(left, right),
        };
        Some(Ratio { over: known(over)?, under: known(under)? })
    }

    fn ratio_product(&mut self, a: Ratio, link: Link, b: Ratio) -> Option<Ratio> {
        let b = match link {
            Link::Times => b,
            Link::Over | Link::FloorOver | Link::Mod => Ratio { over: b.under, under: b.over },
        };
        if b.under == Dim::Const(0) {
            return None;
        }
        let (over, under) = (self.mul(a.over, b.over), self.mul(a.under, b.under));
        let quotient = Ratio { over: known(over)?, under: known(under)? };
        match link {
            Link::Times | Link::Over => Some(quotient),
            Link::FloorOver => Some(whole(known(self.floor_div(quotient.over, quotient.under))?)),
            Link::Mod => {
                // a - floor(a/b)*b, which need not be an integer.
                let floor = known(self.floor_div(quotient.over, quotient.under))?;
                if (a.under, b.over) == (Dim::Const(1), Dim::Const(1)) {
                    return Some(whole(known(self.modulo(a.over, b.under))?));
                }
                let multiple =
                    self.ratio_product(Ratio { over: b.under, under: b.over }, Link::Times, whole(floor))?;
                self.ratio_sum(a, Sign::Minus, multiple)
            }
        }
    }

    fn joined(&mut self, a: &Tree<'_>, link: Link, b: &Tree<'_>) -> Option<Ratio> {
        let (a, b) = (self.ratio_of(a)?, self.ratio_of(b)?);
        self.ratio_product(a, link, b)
    }

    fn call_of(&mut self, call: Call, args: &[Tree<'_>]) -> Option<Ratio> {
        match (call, args) {
            (Call::Same, [a]) => self.ratio_of(a),
            (Call::Floor, [a]) => Some(whole(self.integer_of(a)?)),
            (Call::Ceil, [a]) => {
                let Ratio { over, under } = self.ratio_of(a)?;
                Some(whole(known(self.ceil_div(over, under))?))
            }
            (Call::CeilDiv, [a, b]) => {
                let (a, b) = (self.integer_of(a)?, self.integer_of(b)?);
                Some(whole(known(self.ceil_div(a, b))?))
            }
            (Call::Abs, [a]) => {
                let a = self.integer_of(a)?;
                Some(whole(known(self.abs(a))?))
            }
            (Call::Over, [a, b]) => self.joined(a, Link::Over, b),
            (Call::FloorDiv, [a, b]) => self.joined(a, Link::FloorOver, b),
            (Call::Mod, [a, b]) => self.joined(a, Link::Mod, b),
            (Call::ModularIndexing, [a, b, c]) => {
                let (a, b, c) = (self.integer_of(a)?, self.integer_of(b)?, self.integer_of(c)?);
                let quotient = self.floor_div(a, b);
                Some(whole(known(self.modulo(quotient, c))?))
            }
            (Call::Max | Call::Min, args) => {
                let args = args.iter().map(|arg| self.integer_of(arg)).collect::<Option<Vec<_>>>()?;
                let end = if call == Call::Max { End::Max } else { End::Min };
                Some(whole(known(self.extreme(end, &args))?))
            }
            (Call::Broadcast, [first, others @ ..]) => {
                let mut result = self.integer_of(first)?;
                for other in others {
                    let other = self.integer_of(other)?;
                    result = known(self.broadcast(result, other).ok()?)?;
                }
                Some(whole(result))
            }
            // The reader lets through no other number of arguments.
            (_, _) => None,
        }
    }
}

fn whole(value: Dim) -> Ratio {
    Ratio { over: value, under: Dim::Const(1) }
}

fn known(dim: Dim) -> Option<Dim> {
    (dim != Dim::Unknown).then_some(dim)
}
