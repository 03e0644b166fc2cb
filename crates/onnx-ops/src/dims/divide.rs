//! Quotients rounded down, and what they leave.
//!
//! By a number: `floor((N*4+2)/6)` is `floor((N*2+1)/3)`, `floor(floor(N/2)/3)` is `floor(N/6)`; what remains is the
//! work of [`settle`](super::settle). By an expression: multiples are taken out (`floor((N*M+K)/N)` is
//! `M+floor(K/N)`), and what both have in common is cancelled.

use super::expr::{Atom, AtomId};
use super::extreme::End;
use super::poly::{Monomial, Poly, cancel, common, floor_div, gcd};
use super::{Dim, Dims};

/// Steps of a division of sums; more than any sum of the size that is allowed needs.
const MAX_STEPS: usize = 256;

/// The next simplification of a fraction of sums, before rounding.
enum Fraction {
    /// `whole + rest / divisor`, where `whole` is not 0.
    Mixed(Poly, Poly),
    /// Both without what they have in common, which is a product.
    Cancelled(Poly, Poly, Poly),
    /// Both times -1, so that the divisor begins with a positive term in the basis.
    Negated(Poly, Poly),
    Lowest,
}

impl Dims {
    /// `floor(a / b)`; not both are numbers.
    pub(super) fn quotient(&mut self, a: Dim, b: Dim) -> Dim {
        match b {
            Dim::Unknown | Dim::Const(0) => Dim::Unknown,
            Dim::Const(divisor) if divisor < 0 => {
                let (a, b) = (self.neg(a), self.neg(b));
                self.floor_div(a, b)
            }
            Dim::Const(divisor) => {
                let base = self.expand_dim(a).and_then(|a| self.base_floor(&a, divisor));
                base.map_or(Dim::Unknown, |base| self.show(base))
            }
            Dim::Expr(_) => self.quotient_by_sum(a, b).unwrap_or(Dim::Unknown),
        }
    }

    /// A quotient of a quotient, or of a minimum or maximum, as one of what is inside.
    pub(super) fn join_quotient(&mut self, a: &Poly, divisor: i64) -> Option<Dim> {
        let flat = self.flatten_quotient(a, divisor);
        flat.or_else(|| self.distribute_quotient(a, divisor)).filter(|joined| *joined != Dim::Unknown)
    }

    /// `floor(max(x, y) / q)` is `max(floor(x/q), floor(y/q))`, where that is simpler: `ceil(max(N-1, 0)/2)` is
    /// `floor(N/2)`.
    fn distribute_quotient(&mut self, a: &Poly, divisor: i64) -> Option<Dim> {
        let (end, (args, sign, number)) =
            [End::Max, End::Min].into_iter().find_map(|end| Some((end, self.nested(end, a)?)))?;
        let mut quotients = Vec::new();
        for &arg in &args {
            let arg = if sign < 0 { self.neg(arg) } else { arg };
            let arg = self.add(arg, Dim::Const(number));
            quotients.push(self.floor_div(arg, Dim::Const(divisor)));
        }
        let distributed = self.extreme(end, &quotients);
        // The two functions and the divisor, and what they are of.
        let size = args.iter().fold(3, |size: u32, &arg| size.saturating_add(self.arena.facts(arg).size));
        (self.arena.facts(distributed).size < size).then_some(distributed)
    }

    /// `floor((floor(x/m) + r) / q)` is `floor((x + m*r) / (m*q))`, and `-floor(x/m)` is `floor((m-1-x) / m)`.
    fn flatten_quotient(&mut self, a: &Poly, divisor: i64) -> Option<Dim> {
        for &i in &self.arena.order_of_terms(a) {
            let term = &a.terms[usize::from(i)];
            let Some((atom, x, m)) = self.floor_by_number(term.bare()) else { continue };
            let modulus = term.coefficient.rem_euclid(divisor);
            let sign = if modulus == 1 {
                1
            } else if modulus == divisor - 1 {
                -1
            } else {
                continue;
            };
            let whole = (term.coefficient.checked_sub(sign)?) / divisor;
            let rest = a.add_scaled(&Poly::atom(atom), term.coefficient.checked_neg()?)?;
            let x = self.poly(x)?;
            let x = if sign == 1 { x } else { x.scaled(-1)?.plus(m - 1)? };
            let dividend = x.add_scaled(&rest, m)?;
            let inner = Dim::Const(m.checked_mul(divisor)?);
            let dividend = self.settle(Some(dividend));
            let flat = self.floor_div(dividend, inner);
            let whole = self.settle(Poly::atom(atom).scaled(whole));
            return Some(self.add(flat, whole));
        }
        None
    }

    /// The parts of an atom that is `floor(x / number)`.
    fn floor_by_number(&self, atom: Option<AtomId>) -> Option<(AtomId, Dim, i64)> {
        let Atom::Floor(x, Dim::Const(m)) = self.arena.atoms[atom?].atom else { return None };
        Some((atom?, x, m))
    }

    fn quotient_by_sum(&mut self, a: Dim, b: Dim) -> Option<Dim> {
        let (x, y) = (self.poly(a)?, self.poly(b)?);
        match self.fraction(&x, &y)? {
            Fraction::Negated(x, y) | Fraction::Cancelled(x, y, _) => {
                let (x, y) = (self.settle(Some(x)), self.settle(Some(y)));
                return Some(self.floor_div(x, y));
            }
            Fraction::Mixed(whole, rest) => {
                let (whole, rest) = (self.settle(Some(whole)), self.settle(Some(rest)));
                if self.is_simpler(rest, a) {
                    let floor = self.floor_div(rest, b);
                    return Some(self.add(whole, floor));
                }
            }
            Fraction::Lowest => {}
        }
        if x.as_constant() == Some(0) {
            return Some(Dim::Const(0));
        }
        if self.arena.interval(b).is_extent() {
            let shared = gcd(gcd(x.content(), y.content()), y.constant);
            if shared > 1 && !x.terms.is_empty() {
                let (x, y) = (x.divided(shared)?, y.divided(shared)?);
                let (x, y) = (self.settle(Some(x)), self.settle(Some(y)));
                return Some(self.floor_div(x, y));
            }
            if let Some(value) = self.small_quotient(a, b) {
                return Some(Dim::Const(value));
            }
            for &i in &self.arena.order_of_terms(&x) {
                let term = &x.terms[usize::from(i)];
                let Some((atom, inner, m)) = self.floor_by_number(term.bare()) else { continue };
                if term.coefficient == 1 {
                    let rest = x.add_scaled(&Poly::atom(atom), -1)?;
                    let dividend = self.poly(inner)?.add_scaled(&rest, m)?;
                    let (dividend, divisor) = (self.settle(Some(dividend)), self.settle(y.scaled(m)));
                    return Some(self.floor_div(dividend, divisor));
                }
            }
        }
        let atom = self.arena.intern_atom(Atom::Floor(a, b));
        Some(self.settle(Some(Poly::atom(atom))))
    }

    /// Whether a dividend is nearer to the end than the one before it, which can come back in another form.
    fn is_simpler(&self, a: Dim, b: Dim) -> bool {
        let size = |d: Dim| {
            let sum = self.poly(d).unwrap_or_default();
            let sizes = sum.terms.iter().map(|term| term.coefficient.unsigned_abs());
            (sum.len(), sizes.fold(sum.constant.unsigned_abs(), u64::saturating_add))
        };
        a != Dim::Unknown && size(a) < size(b)
    }

    /// `floor(a / b)` where bounds say it, for a divisor that is at least 0.
    fn small_quotient(&mut self, a: Dim, b: Dim) -> Option<i64> {
        let interval = self.arena.interval(a);
        if interval.is_extent() {
            let above = self.sub(b, a);
            return (self.arena.interval(above).low > 0).then_some(0);
        }
        let above = self.add(a, b);
        (interval.high < 0 && self.arena.interval(above).is_extent()).then_some(-1)
    }

    /// `a - floor(a/b)*b`; not both are numbers.
    pub(super) fn rest(&mut self, a: Dim, b: Dim) -> Dim {
        match b {
            Dim::Unknown => Dim::Unknown,
            Dim::Const(_) => {
                let floor = self.floor_div(a, b);
                let whole = self.mul(floor, b);
                self.sub(a, whole)
            }
            Dim::Expr(_) => self.rest_by_sum(a, b).unwrap_or(Dim::Unknown),
        }
    }

    fn rest_by_sum(&mut self, a: Dim, b: Dim) -> Option<Dim> {
        let (x, y) = (self.poly(a)?, self.poly(b)?);
        match self.fraction(&x, &y)? {
            Fraction::Negated(x, y) => {
                let (x, y) = (self.settle(Some(x)), self.settle(Some(y)));
                let rest = self.modulo(x, y);
                return Some(self.neg(rest));
            }
            Fraction::Cancelled(x, y, factor) => {
                let (x, y) = (self.settle(Some(x)), self.settle(Some(y)));
                let (rest, factor) = (self.modulo(x, y), self.settle(Some(factor)));
                return Some(self.mul(rest, factor));
            }
            Fraction::Mixed(_, rest) => {
                let rest = self.settle(Some(rest));
                if self.is_simpler(rest, a) {
                    return Some(self.modulo(rest, b));
                }
            }
            Fraction::Lowest => {}
        }
        if x.as_constant() == Some(0) {
            return Some(Dim::Const(0));
        }
        if self.arena.interval(b).is_extent() {
            match self.small_quotient(a, b) {
                Some(0) => return Some(a),
                Some(_) => return Some(self.add(a, b)),
                None => {}
            }
        }
        let atom = self.arena.intern_atom(Atom::Mod(a, b));
        Some(self.settle(Some(Poly::atom(atom))))
    }

    /// The first simplification of a fraction whose divisor is not a number. `None` on overflow.
    fn fraction(&mut self, x: &Poly, y: &Poly) -> Option<Fraction> {
        // Forms of `y` and `-y` can begin alike, but not in the basis.
        let base = self.expand(y)?;
        if self.leading(&base).is_some_and(|(_, coefficient)| coefficient < 0) {
            return Some(Fraction::Negated(x.scaled(-1)?, y.scaled(-1)?));
        }
        if x.as_constant() == Some(0) {
            return Some(Fraction::Lowest);
        }
        let (lead, coefficient) = self.leading(y)?;
        let mut factors = if x.constant != 0 || y.constant != 0 { Monomial::new() } else { lead.clone() };
        let mut number = gcd(x.constant, y.constant);
        for term in x.terms.iter().chain(&y.terms) {
            factors = common(&factors, &term.factors);
            number = gcd(number, term.coefficient);
        }
        if factors.is_empty() && number <= 1 {
            let (whole, rest) = self.divide(x, y, &lead, coefficient)?;
            return Some(if whole.len() > 0 { Fraction::Mixed(whole, rest) } else { Fraction::Lowest });
        }
        let without = |poly: &Poly| {
            let mut quotient = Poly::constant(floor_div(poly.constant, number)?);
            for term in &poly.terms {
                let part = Poly::term(cancel(&term.factors, &factors)?, floor_div(term.coefficient, number)?);
                quotient = quotient.add_scaled(&part, 1)?;
            }
            Some(quotient)
        };
        Some(Fraction::Cancelled(without(x)?, without(y)?, Poly::term(factors.clone(), number)))
    }

    /// The first term of a sum as it is ordered; `None` of a number.
    pub(super) fn leading(&self, poly: &Poly) -> Option<(Monomial, i64)> {
        let first = poly.terms.iter().min_by(|a, b| self.arena.compare_products(&a.factors, &b.factors))?;
        Some((first.factors.clone(), first.coefficient))
    }

    /// Quotient and rest of sums: no term of the rest is a multiple of the divisor's first one, but for
    /// coefficients from 0 up to the size of that one's.
    fn divide(&mut self, x: &Poly, y: &Poly, lead: &Monomial, coefficient: i64) -> Option<(Poly, Poly)> {
        let (mut whole, mut rest) = (Poly::default(), x.clone());
        for _ in 0..MAX_STEPS {
            let divisible = rest.terms.iter().filter_map(|term| {
                let times = term.coefficient.checked_div_euclid(coefficient).filter(|&times| times != 0)?;
                Some((&term.factors, cancel(&term.factors, lead)?, times))
            });
            let first = divisible.min_by(|a, b| self.arena.compare_products(a.0, b.0));
            let Some((_, factors, times)) = first else { return Some((whole, rest)) };
            let part = Poly::term(factors, times);
            rest = rest.add_scaled(&self.multiply(y, &part)?, -1)?;
            whole = whole.add_scaled(&part, 1)?;
        }
        None
    }
}
