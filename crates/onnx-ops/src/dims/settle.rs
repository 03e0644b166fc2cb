//! The one form among sums that are equal.
//!
//! `ceil(N/2)`, `N-floor(N/2)` and `floor((N+1)/2)` are the same; so are `max(N, 1)`, `max(N-1, 0)+1` and
//! `N-min(N, 1)+1`. To find that out, a sum is written in a basis, in which functions of one or two expressions have
//! one form each:
//!
//! - `BaseFloor(p, q)` is `floor(p/q)`, where p has coefficients from 1 to q-1 and a number from 0 to q-1; of
//!   `floor((N+1)/2)` and its mirror `floor(N/2) = N - floor((N+1)/2)` it is the one that is ordered first.
//! - `mod(p, q)` is `p - floor(p/q)*q`.
//! - `BaseMax(p)` is `max(p, 0)`, where p begins with a positive term and has no common divisor;
//!   `max(a, b)` is `a + max(b-a, 0)`, `min(a, b)` is `a - max(a-b, 0)`.
//!
//! Then each atom of the basis is shown in the form that makes the sum short; see [`forms`](super::forms). Both ways
//! are exact, and the second depends on the sum in the basis only: sums that are equal there are shown the same.
//!
//! This is done for summands that are one atom with a coefficient. In products, atoms stay as they are.

use super::bounds::Interval;
use super::expr::{Atom, AtomId};
use super::extreme::End;
use super::poly::{Poly, Term, gcd};
use super::{Dim, Dims, MAX_DEPTH};

/// How often forms of factors are looked up; they hardly ever have factors with other forms.
const MAX_ROUNDS: usize = 4;

impl Dims {
    /// The extent that a sum is. `None`, a number that does not fit, is Unknown.
    pub(super) fn settle(&mut self, sum: Option<Poly>) -> Dim {
        let Some(sum) = sum else { return Dim::Unknown };
        if !sum.terms.iter().any(|term| self.derived(term).is_some()) {
            return self.arena.seal(sum);
        }
        match self.expand(&sum) {
            Some(base) => self.show(base),
            None => self.arena.seal(sum),
        }
    }

    /// The atom of a summand that has another form in the basis.
    fn derived(&self, term: &Term) -> Option<AtomId> {
        let atom = term.bare()?;
        let derived = match &self.arena.atoms[atom].atom {
            Atom::Floor(_, divisor) | Atom::Mod(_, divisor) => matches!(divisor, Dim::Const(_)),
            Atom::Max(args) | Atom::Min(args) => args.len() == 2,
            Atom::Symbol(_) | Atom::Broadcast(_) | Atom::BaseFloor(..) | Atom::BaseMax(_) => false,
        };
        derived.then_some(atom)
    }

    /// The product of sums as they are shown. An atom is shown one way in one sum and another way in another one; as a
    /// factor it is what it is alone.
    pub(super) fn multiply(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        match (a.as_constant(), b.as_constant()) {
            (Some(number), _) => b.scaled(number),
            (_, Some(number)) => a.scaled(number),
            (None, None) => self.alone(a)?.product(&self.alone(b)?),
        }
    }

    fn alone(&mut self, sum: &Poly) -> Option<Poly> {
        let mut alone = sum.clone();
        for _ in 0..MAX_ROUNDS {
            let mut next = Poly::constant(alone.constant);
            for term in &alone.terms {
                let shown = match self.derived(term) {
                    Some(atom) => {
                        let base = self.base(atom)?;
                        let shown = self.show(base);
                        self.poly(shown)?
                    }
                    None => Poly::term(term.factors.clone(), 1),
                };
                next = next.add_scaled(&shown, term.coefficient)?;
            }
            if next == alone {
                break;
            }
            alone = next;
        }
        Some(alone)
    }

    /// The sum in the basis.
    pub(super) fn expand(&mut self, sum: &Poly) -> Option<Poly> {
        let mut base = Poly::constant(sum.constant);
        for term in &sum.terms {
            base = match self.derived(term) {
                Some(atom) => base.add_scaled(&self.base(atom)?, term.coefficient)?,
                None => base.add_scaled(&Poly::term(term.factors.clone(), term.coefficient), 1)?,
            };
        }
        Some(base)
    }

    fn base(&mut self, atom: AtomId) -> Option<Poly> {
        if let Some(known) = self.bases.get(&atom) {
            return known.clone();
        }
        let base = self.find_base(atom);
        self.bases.insert(atom, base.clone());
        base
    }

    fn find_base(&mut self, atom: AtomId) -> Option<Poly> {
        match self.arena.atoms[atom].atom.clone() {
            Atom::Floor(x, Dim::Const(divisor)) => {
                let x = self.expand_dim(x)?;
                self.base_floor(&x, divisor)
            }
            Atom::Mod(x, Dim::Const(divisor)) => {
                let x = self.expand_dim(x)?;
                let floor = self.base_floor(&x, divisor)?;
                x.add_scaled(&floor, divisor.checked_neg()?)
            }
            Atom::Max(args) => {
                let [a, b] = args[..] else { return Some(Poly::atom(atom)) };
                let (a, b) = (self.expand_dim(a)?, self.expand_dim(b)?);
                self.base_larger(&a, &b)
            }
            Atom::Min(args) => {
                let [a, b] = args[..] else { return Some(Poly::atom(atom)) };
                let (a, b) = (self.expand_dim(a)?, self.expand_dim(b)?);
                self.base_smaller(&a, &b)
            }
            Atom::Symbol(_)
            | Atom::Floor(..)
            | Atom::Mod(..)
            | Atom::Broadcast(_)
            | Atom::BaseFloor(..)
            | Atom::BaseMax(_) => Some(Poly::atom(atom)),
        }
    }

    pub(super) fn expand_dim(&mut self, dim: Dim) -> Option<Poly> {
        let sum = self.poly(dim)?;
        self.expand(&sum)
    }

    /// `floor(x / divisor)` in the basis; the divisor is positive.
    pub(super) fn base_floor(&mut self, x: &Poly, divisor: i64) -> Option<Poly> {
        let shared = gcd(x.content(), divisor);
        let (x, divisor) = (x.divided(shared)?, divisor / shared);
        if let Some(joined) = self.base_joined(&x, divisor) {
            return Some(joined);
        }
        let (whole, rest) = x.split(divisor);
        if rest.terms.is_empty() {
            return Some(whole);
        }
        let shared = gcd(rest.content(), divisor);
        let (rest, divisor) = (rest.divided(shared)?, divisor / shared);
        if let Some(joined) = self.base_joined(&rest, divisor) {
            return whole.add_scaled(&joined, 1);
        }
        let (mirror, sum) = mirror(&rest, divisor)?;
        let bounds = |sum| self.arena.interval_of_poly(sum).floor_div(Interval::point(divisor)).as_point();
        if let Some(value) = bounds(&rest) {
            return whole.plus(value);
        } else if let Some(value) = bounds(&mirror) {
            return whole.add_scaled(&sum, 1)?.plus(value.checked_neg()?);
        }
        let (rest, mirror) = (self.arena.intern_base(rest)?, self.arena.intern_base(mirror)?);
        if self.arena.compare_sums(rest, mirror).is_le() {
            let atom = self.arena.intern_atom(Atom::BaseFloor(rest, divisor));
            return whole.add_scaled(&Poly::atom(atom), 1);
        }
        let atom = self.arena.intern_atom(Atom::BaseFloor(mirror, divisor));
        whole.add_scaled(&sum, 1)?.add_scaled(&Poly::atom(atom), -1)
    }

    /// `floor(x / divisor)` where bounds say it, or where a function is shown in `x` with which it is joined.
    fn base_joined(&mut self, x: &Poly, divisor: i64) -> Option<Poly> {
        let is_function = |term: &Term| term.bare().is_some_and(|atom| self.symbol_of(atom).is_none());
        if !x.terms.iter().any(is_function) {
            return None;
        }
        let shown = self.show(x.clone());
        let range = self.arena.interval(shown).floor_div(Interval::point(divisor));
        if let Some(value) = range.as_point() {
            return Some(Poly::constant(value));
        }
        let shown = self.poly(shown)?;
        let joined = self.join_quotient(&shown, divisor)?;
        self.expand_dim(joined)
    }

    /// `max(a, b)` in the basis.
    pub(super) fn base_larger(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        let more = self.base_positive(b.add_scaled(a, -1)?)?;
        a.add_scaled(&more, 1)
    }

    /// `min(a, b)` in the basis.
    pub(super) fn base_smaller(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        let less = self.base_positive(a.add_scaled(b, -1)?)?;
        a.add_scaled(&less, -1)
    }

    /// `max(x, 0)` in the basis.
    fn base_positive(&mut self, x: Poly) -> Option<Poly> {
        let Some((_, first)) = self.leading(&x) else { return Some(Poly::constant(x.constant.max(0))) };
        let shared = gcd(x.content(), x.constant);
        // `max(-p, 0)` is `max(p, 0) - p`.
        let is_negated = first < 0;
        let part = x.divided(if is_negated { shared.checked_neg()? } else { shared })?;
        let positive = self.base_positive_part(part)?;
        if is_negated { x.add_scaled(&positive, shared) } else { positive.scaled(shared) }
    }

    /// `max(part, 0)` in the basis, of a sum that begins with a positive term and has no common divisor.
    fn base_positive_part(&mut self, part: Poly) -> Option<Poly> {
        let shown = self.show(part.clone());
        for interval in [self.arena.interval(shown), self.arena.interval_of_poly(&part)] {
            if interval.low >= 0 {
                return Some(part);
            } else if interval.high <= 0 {
                return Some(Poly::default());
            }
        }
        if let Some(larger) = self.larger_of_parts(shown) {
            return Some(larger);
        }
        let negated = self.neg(shown);
        if let Some(larger) = self.larger_of_parts(negated) {
            return part.add_scaled(&larger, 1);
        }
        let part = self.arena.intern_base(part)?;
        Some(Poly::atom(self.arena.intern_atom(Atom::BaseMax(part))))
    }

    /// `max(of, 0)` in the basis where a maximum inside makes it simpler: `max(2*max(a, b) + c, 0)` is the largest of
    /// `2*a+c`, `2*b+c` and 0, of which some are never the largest.
    fn larger_of_parts(&mut self, of: Dim) -> Option<Poly> {
        let sum = self.poly(of)?;
        for &i in &self.arena.order_of_terms(&sum) {
            let term = &sum.terms[usize::from(i)];
            let Some(atom) = term.bare() else { continue };
            let args = match &self.arena.atoms[atom].atom {
                Atom::Max(args) if term.coefficient > 0 => args.clone(),
                Atom::Min(args) if term.coefficient < 0 => args.clone(),
                Atom::Symbol(_)
                | Atom::Floor(..)
                | Atom::Mod(..)
                | Atom::Max(_)
                | Atom::Min(_)
                | Atom::Broadcast(_)
                | Atom::BaseFloor(..)
                | Atom::BaseMax(_) => continue,
            };
            let rest = sum.add_scaled(&Poly::atom(atom), term.coefficient.checked_neg()?)?;
            let mut parts = vec![Dim::Const(0)];
            for &arg in &args {
                let part = rest.add_scaled(&self.poly(arg)?, term.coefficient)?;
                parts.push(self.settle(Some(part)));
            }
            self.drop_beaten(End::Max, &mut parts);
            match parts[..] {
                [one] => return self.expand_dim(one),
                [a, b] => {
                    let (a, b) = (self.expand_dim(a)?, self.expand_dim(b)?);
                    return self.base_larger(&a, &b);
                }
                _ => {}
            }
        }
        None
    }

    /// The extent of a sum in the basis, in the form that is shown.
    pub(super) fn show(&mut self, base: Poly) -> Dim {
        if self.next_base(&base).is_none() {
            return self.arena.seal(base);
        }
        let Some(id) = self.arena.intern_base(base.clone()) else { return Dim::Unknown };
        if let Some(&known) = self.shown.get(&id) {
            return known;
        }
        if self.depth == MAX_DEPTH {
            return Dim::Unknown;
        }
        self.depth += 1;
        let mut sum = Some(base);
        while let Some((atom, coefficient)) = sum.as_ref().and_then(|sum| self.next_base(sum)) {
            sum = sum.and_then(|sum| self.show_atom(&sum, atom, coefficient));
        }
        self.depth -= 1;
        let shown = sum.map_or(Dim::Unknown, |sum| self.arena.seal(sum));
        self.shown.insert(id, shown);
        shown
    }

    /// The atom of the basis to be shown next: deep ones and large divisors bring up others, so they are first.
    fn next_base(&self, sum: &Poly) -> Option<(AtomId, i64)> {
        let base = sum.terms.iter().filter_map(|term| {
            let atom = term.bare()?;
            let divisor = match self.arena.atoms[atom].atom {
                Atom::BaseFloor(_, divisor) => divisor,
                Atom::BaseMax(_) => 1,
                Atom::Symbol(_)
                | Atom::Floor(..)
                | Atom::Mod(..)
                | Atom::Max(_)
                | Atom::Min(_)
                | Atom::Broadcast(_) => return None,
            };
            Some(((self.arena.atoms[atom].facts.level, divisor), atom, term.coefficient))
        });
        let first =
            base.min_by(|&(x, a, _), &(y, b, _)| y.cmp(&x).then_with(|| self.arena.compare_atoms(a, b)));
        first.map(|(_, atom, coefficient)| (atom, coefficient))
    }
}

/// Of a dividend p with coefficients from 1 to the divisor less one, the dividend m for which
/// `floor(p/divisor)` is the sum of p's products less `floor(m/divisor)`; and that sum.
pub(super) fn mirror(dividend: &Poly, divisor: i64) -> Option<(Poly, Poly)> {
    let mut sum = Poly::default();
    for term in &dividend.terms {
        sum.terms.push(Term { factors: term.factors.clone(), coefficient: 1 });
    }
    let mirror = dividend.scaled(-1)?.add_scaled(&sum, divisor)?.plus(divisor - 1)?;
    Some((mirror, sum))
}
