//! The forms in which an atom of the basis can be shown, and which one a sum takes.
//!
//! Each form is the atom times a number, and what has to be added to the sum for it: `BaseFloor(N, 2)` is also
//! `N - floor((N+1)/2)` or `(N - mod(N, 2)) / 2`. The form with the fewest summands outside and inside is taken, then
//! the one with few signs, then the one with small coefficients.

use super::expr::{Arena, Atom, AtomId};
use super::extreme::End;
use super::poly::{Poly, Term, gcd};
use super::settle::mirror;
use super::{Dim, Dims, ExprId};
use smallvec::SmallVec;

/// One way to show an atom of the basis with its coefficient: `atom * times + rest`.
struct Form {
    function: Function,
    times: i64,
    /// The whole sum without it, in the basis.
    rest: Poly,
}

enum Function {
    Floor(Poly, i64),
    Mod(Poly, i64),
    Max(Poly, Poly),
    Min(Poly, Poly),
    /// The larger of a sum and its negation.
    Abs(Poly),
    /// `max(min(sum, high), low)`.
    Clamp(Poly, i64, i64),
}

/// Less is better, in this order.
type Cost = (i64, usize, bool, u64);

impl Dims {
    /// The sum with an atom of the basis, which has this coefficient in it, in the form that is shown.
    pub(super) fn show_atom(&mut self, sum: &Poly, atom: AtomId, coefficient: i64) -> Option<Poly> {
        let rest = sum.add_scaled(&Poly::atom(atom), coefficient.checked_neg()?)?;
        let forms = match self.arena.atoms[atom].atom {
            Atom::BaseFloor(dividend, divisor) => {
                let dividend = self.arena.exprs[dividend].poly.clone();
                if self.has_quotient(&rest)
                    && let Some(joined) = self.joined_halves(&dividend, divisor, coefficient, &rest)
                {
                    return Some(joined);
                }
                self.floor_forms(&dividend, divisor, coefficient, &rest)?
            }
            Atom::BaseMax(of) => self.max_forms(of, coefficient, &rest)?,
            Atom::Symbol(_)
            | Atom::Floor(..)
            | Atom::Mod(..)
            | Atom::Max(_)
            | Atom::Min(_)
            | Atom::Broadcast(_) => return None,
        };
        let best = forms.into_iter().min_by_key(|form| form.cost(&self.arena))?;
        let shown = match best.function {
            Function::Floor(dividend, divisor) => Atom::Floor(self.show_part(dividend)?, Dim::Const(divisor)),
            Function::Mod(dividend, divisor) => match self.show_part(centred(&dividend, divisor))? {
                // Its bounds say it, where those of the quotient did not.
                Dim::Const(value) => {
                    return best.rest.plus(value.rem_euclid(divisor).checked_mul(best.times)?);
                }
                dividend @ (Dim::Unknown | Dim::Expr(_)) => Atom::Mod(dividend, Dim::Const(divisor)),
            },
            Function::Max(a, b) => Atom::Max(self.show_pair(a, b)?),
            Function::Min(a, b) => Atom::Min(self.show_pair(a, b)?),
            Function::Abs(sum) => {
                let negated = sum.scaled(-1)?;
                Atom::Max(self.show_pair(sum, negated)?)
            }
            Function::Clamp(sum, high, low) => {
                let inner = Atom::Min(self.show_pair(sum, Poly::constant(high))?);
                let inner = Poly::atom(self.arena.intern_atom(inner));
                Atom::Max(Box::new([self.arena.seal(inner), Dim::Const(low)]))
            }
        };
        let shown = self.arena.intern_atom(shown);
        best.rest.add_scaled(&Poly::atom(shown), best.times)
    }

    fn show_part(&mut self, base: Poly) -> Option<Dim> {
        Some(self.show(base)).filter(|&part| part != Dim::Unknown)
    }

    /// Two arguments, which are sums as they are shown.
    fn show_pair(&mut self, a: Poly, b: Poly) -> Option<Box<[Dim]>> {
        let mut pair = [self.settle(Some(a)), self.settle(Some(b))];
        pair.sort_by(|&a, &b| self.arena.compare(a, b));
        (!pair.contains(&Dim::Unknown)).then_some(Box::new(pair))
    }

    /// `floor(dividend / divisor) * times + rest`.
    fn floor_forms(&mut self, dividend: &Poly, divisor: i64, times: i64, rest: &Poly) -> Option<Vec<Form>> {
        let (mirror, sum) = mirror(dividend, divisor)?;
        let other = rest.add_scaled(&sum, times)?;
        let has_others = self.has_quotient(rest);
        let mut forms = Vec::new();
        for (dividend, times, rest) in [(dividend, times, rest), (&mirror, times.checked_neg()?, &other)] {
            let function = Function::Floor(dividend.clone(), divisor);
            forms.push(Form { function, times, rest: rest.clone() });
            forms.extend(absorbed(dividend, divisor, times, rest));
            if has_others && let Some((both, other)) = self.halves(dividend, divisor) {
                let rest = rest.add_scaled(&both, times)?;
                let function = Function::Floor(other, divisor);
                forms.push(Form { function, times: times.checked_neg()?, rest });
            }
            // floor(N/6)*3 is floor(N/2) - mod(floor(N/2), 3), and floor(N/6)*6 is N - mod(N, 6).
            let modulus = gcd(times, divisor);
            if modulus > 1 {
                let of = self.base_floor(dividend, divisor / modulus)?;
                let times = (times / modulus).checked_neg()?;
                let rest = rest.add_scaled(&of, times.checked_neg()?)?;
                forms.push(Form { function: Function::Mod(of, modulus), times, rest });
            }
        }
        Some(forms)
    }

    fn has_quotient(&self, sum: &Poly) -> bool {
        let is_one = |atom| matches!(self.arena.atoms[atom].atom, Atom::BaseFloor(..));
        sum.terms.iter().any(|term| term.bare().is_some_and(is_one))
    }

    /// `floor(N/2)` is `floor(N/4) + floor((N+2)/4)`: the first, in the basis, and the dividend of the last, for the one in
    /// the middle.
    fn halves(&mut self, dividend: &Poly, divisor: i64) -> Option<(Poly, Poly)> {
        if divisor % 2 != 0 {
            return None;
        }
        let half = divisor / 2;
        let both = self.base_floor(dividend, half)?;
        // The number stays below the divisor.
        match dividend.constant < half {
            true => Some((both, dividend.plus(half)?)),
            false => Some((both.plus(-1)?, dividend.plus(-half)?)),
        }
    }

    /// The sum with an atom of the basis and the one that makes two halves with it as one, if both are there.
    fn joined_halves(&mut self, dividend: &Poly, divisor: i64, times: i64, rest: &Poly) -> Option<Poly> {
        let (both, other) = self.halves(dividend, divisor)?;
        let other = self.base_floor(&other, divisor)?;
        let joined = rest.add_scaled(&both, times)?.add_scaled(&other, times.checked_neg()?)?;
        (joined.terms.len() <= rest.terms.len()).then_some(joined)
    }

    /// `max(of, 0) * times + rest`: `of` is the difference of two sums, which can be the arguments.
    fn max_forms(&mut self, of: ExprId, times: i64, rest: &Poly) -> Option<Vec<Form>> {
        let base = self.arena.exprs[of].poly.clone();
        let shown = self.show(base.clone());
        let whole = self.poly(shown)?;
        let mut forms = Vec::new();
        for (a, b) in differences(&whole, times, rest)? {
            let (low, high) = (self.expand(&a)?, self.expand(&b)?);
            if !self.is_nested(&a, &b, End::Max) {
                let rest = rest.add_scaled(&high, times.checked_neg()?)?;
                forms.push(Form { function: Function::Max(a.clone(), b.clone()), times, rest });
            }
            if !self.is_nested(&a, &b, End::Min) {
                let (rest, times) = (rest.add_scaled(&low, times)?, times.checked_neg()?);
                forms.push(Form { function: Function::Min(a, b), times, rest });
            }
        }
        if times % 2 == 0 {
            let (rest, times) = (rest.add_scaled(&base, times / 2)?, times / 2);
            forms.push(Form { function: Function::Abs(whole.clone()), times, rest });
        }
        self.clamp_forms(&base, &whole, times, rest, &mut forms);
        Some(forms)
    }

    /// `max(N, 0) - max(N-3, 0)` is `max(min(N, 3), 0)`.
    fn clamp_forms(&self, base: &Poly, whole: &Poly, times: i64, rest: &Poly, forms: &mut Vec<Form>) {
        for term in &rest.terms {
            let Some(other) = term.bare() else { continue };
            let Atom::BaseMax(of) = self.arena.atoms[other].atom else { continue };
            let is_opposite = (term.coefficient < 0) != (times < 0);
            if !is_opposite || term.coefficient.unsigned_abs() < times.unsigned_abs() {
                continue;
            }
            let difference = base.add_scaled(&self.arena.exprs[of].poly, -1);
            let Some(more) = difference.and_then(|difference| difference.as_constant()) else { continue };
            let rest = rest.add_scaled(&Poly::atom(other), times);
            // The larger one of the two goes up first.
            let (sum, times, high) = if more > 0 {
                (Some(whole.clone()), Some(times), Some(more))
            } else {
                let more = more.checked_neg();
                (more.and_then(|more| whole.plus(more)), times.checked_neg(), more)
            };
            let (Some(rest), Some(sum), Some(times), Some(high)) = (rest, sum, times, high) else { continue };
            let shifts = [0, sum.constant.saturating_neg(), part(rest.constant, times)];
            forms.extend(shifts.into_iter().filter_map(|low| {
                let rest = rest.plus(low.checked_mul(times)?.checked_neg()?)?;
                let function = Function::Clamp(sum.plus(low)?, high.checked_add(low)?, low);
                Some(Form { function, times, rest })
            }));
        }
    }

    /// Whether one of two arguments would be joined with the function that they are of.
    fn is_nested(&self, a: &Poly, b: &Poly, end: End) -> bool {
        [a, b].into_iter().any(|arg| self.nested(end, arg).is_some())
    }
}

/// With those products inside that the rest has with the other sign: `floor((M+N)/2) - N` is `floor((M-N)/2)`.
fn absorbed(dividend: &Poly, divisor: i64, times: i64, rest: &Poly) -> Option<Form> {
    let (mut inside, mut outside) = (dividend.clone(), rest.clone());
    for Term { factors, .. } in &dividend.terms {
        let there = rest.coefficient(factors);
        let opposite = (there < 0) != (times < 0) && there.unsigned_abs() >= times.unsigned_abs();
        if there != 0 && opposite {
            inside = inside.add_scaled(&Poly::term(factors.clone(), divisor), -1)?;
            outside = outside.add_scaled(&Poly::term(factors.clone(), times), 1)?;
        }
    }
    (inside != *dividend).then_some(Form { function: Function::Floor(inside, divisor), times, rest: outside })
}

/// A sum as the difference of two: itself and 0; its positive terms and its negative ones, with the number on either
/// side; and such that its terms cancel those of the rest, for a maximum and for a minimum.
fn differences(sum: &Poly, times: i64, rest: &Poly) -> Option<SmallVec<[(Poly, Poly); 5]>> {
    // The part of a term that the second sum has, by its coefficient here and there.
    let positive = |here: i64, _: i64| here.min(0).checked_neg();
    let negative = |here: i64, _: i64| here.max(0).checked_neg();
    let for_max = |_: i64, there: i64| Some(part(there, times));
    let for_min = |here: i64, there: i64| part(there, times).checked_add(here)?.checked_neg();
    let split = |term: &dyn Fn(i64, i64) -> Option<i64>, number: &dyn Fn(i64, i64) -> Option<i64>| {
        let is_number = sum.constant != 0;
        let mut second = Poly::constant(if is_number { number(sum.constant, rest.constant)? } else { 0 });
        for Term { factors, coefficient } in &sum.terms {
            let part = Poly::term(factors.clone(), term(*coefficient, rest.coefficient(factors))?);
            second = second.add_scaled(&part, 1)?;
        }
        Some((sum.add_scaled(&second, 1)?, second))
    };
    let mut differences = SmallVec::new();
    differences.push((sum.clone(), Poly::default()));
    let others = [
        split(&positive, &positive),
        split(&positive, &negative),
        split(&for_max, &for_max),
        split(&for_min, &for_min),
    ];
    for pair in others.into_iter().flatten() {
        if !differences.contains(&pair) {
            differences.push(pair);
        }
    }
    Some(differences)
}

/// How often a number that is added goes into the function beside it; 0 if only with a rest.
fn part(number: i64, times: i64) -> i64 {
    if number.checked_rem(times) == Some(0) { number / times } else { 0 }
}

/// Coefficients above half of the divisor become negative, which changes nothing in a rest.
fn centred(dividend: &Poly, divisor: i64) -> Poly {
    let mut centred = dividend.clone();
    for term in centred.terms.iter_mut().filter(|term| term.coefficient > divisor / 2) {
        term.coefficient -= divisor;
    }
    centred
}

impl Form {
    fn cost(&self, arena: &Arena) -> Cost {
        let mut args: SmallVec<[&Poly; 2]> = SmallVec::new();
        // Inner summands that do not belong to these, minus those that are not written; the weight of signs.
        let (mut others, mut weight) = (0, 1);
        match &self.function {
            Function::Floor(sum, divisor) => {
                args.push(sum);
                others -= i64::from(sum.constant == divisor - 1);
                weight = 2;
            }
            Function::Mod(sum, _) | Function::Abs(sum) => args.push(sum),
            Function::Max(a, b) | Function::Min(a, b) => args.extend([a, b]),
            Function::Clamp(sum, high, low) => {
                args.push(sum);
                others += i64::from(*high != 0) + i64::from(*low != 0);
            }
        }
        // Functions in the rest have summands of their own.
        let is_base = |atom: AtomId| matches!(arena.atoms[atom].atom, Atom::BaseFloor(..) | Atom::BaseMax(_));
        others +=
            self.rest.terms.iter().filter(|term| term.bare().is_some_and(is_base)).fold(1, |sum, _| sum + 1);
        let sums = || args.iter().copied().chain([&self.rest]);
        let summands = sums().fold(others, |sum, poly| sum.saturating_add_unsigned(poly.len() as u64));
        let negative = args.iter().flat_map(|arg| &arg.terms).filter(|term| term.coefficient < 0).count();
        let begins_negative = self.times < 0 && self.rest.terms.iter().all(|term| term.coefficient < 0);
        let numbers = sums().filter(|sum| sum.constant < 0).count();
        let size = |poly: &Poly| -> u64 {
            let terms = poly.terms.iter().map(|term| term.coefficient.unsigned_abs());
            terms.fold(u64::from(poly.constant != 0), u64::saturating_add)
        };
        let sizes = sums().map(size).fold(self.times.unsigned_abs(), u64::saturating_add);
        let signs = (negative * weight + usize::from(begins_negative)) * 2 + numbers;
        (summands, signs, self.times < 0, sizes)
    }
}
