//! Sums of products of atoms with integer coefficients.
//!
//! Terms are in the order of their atoms' ids, which is quick and has no meaning; what people see and what decides
//! anything goes by the order of [`order`](super::order). `None` is a number that does not fit.

use super::expr::AtomId;
use smallvec::SmallVec;

/// A power of an atom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Factor {
    pub(super) atom: AtomId,
    /// At least 1.
    pub(super) power: u32,
}

/// A product of atoms, each once, by id; never empty in a term.
pub(super) type Monomial = SmallVec<[Factor; 2]>;

/// A product with a coefficient other than 0.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(super) struct Term {
    pub(super) factors: Monomial,
    pub(super) coefficient: i64,
}

/// A sum.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Poly {
    pub(super) terms: SmallVec<[Term; 2]>,
    pub(super) constant: i64,
}

/// A product is Unknown beyond this many terms, before terms are joined.
const MAX_PRODUCT: usize = 1024;

/// `a / b` rounded down; `None` by zero or where it does not fit.
pub(super) fn floor_div(a: i64, b: i64) -> Option<i64> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    if rest != 0 && (rest < 0) != (b < 0) { quotient.checked_sub(1) } else { Some(quotient) }
}

/// The greatest common divisor of the absolute values; 0 of zeros.
pub(super) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    // 2^63 does not fit; 1 divides as well, and only a simplification is lost.
    i64::try_from(a).unwrap_or(1)
}

impl Clone for Term {
    /// As one block, where the derived one goes factor by factor; sums are cloned all the time.
    fn clone(&self) -> Self {
        Self { factors: Monomial::from_slice(&self.factors), coefficient: self.coefficient }
    }
}

impl Term {
    /// The atom if this is one with a coefficient.
    pub(super) fn bare(&self) -> Option<AtomId> {
        match self.factors[..] {
            [Factor { atom, power: 1 }] => Some(atom),
            _ => None,
        }
    }

    /// The sum of the powers.
    pub(super) fn degree(&self) -> u32 {
        self.factors.iter().fold(0, |degree, f| degree.saturating_add(f.power))
    }
}

impl Poly {
    pub(super) fn constant(constant: i64) -> Self {
        Self { terms: SmallVec::new(), constant }
    }

    pub(super) fn atom(atom: AtomId) -> Self {
        Self::term(SmallVec::from_slice(&[Factor { atom, power: 1 }]), 1)
    }

    /// A product alone; the empty one is a number.
    pub(super) fn term(factors: Monomial, coefficient: i64) -> Self {
        if factors.is_empty() {
            return Self::constant(coefficient);
        }
        let mut terms = SmallVec::new();
        if coefficient != 0 {
            terms.push(Term { factors, coefficient });
        }
        Self { terms, constant: 0 }
    }

    /// The number, if it has no atoms.
    pub(super) fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The atom, if it is one and nothing else.
    pub(super) fn as_atom(&self) -> Option<AtomId> {
        match &self.terms[..] {
            [term] if term.coefficient == 1 && self.constant == 0 => term.bare(),
            _ => None,
        }
    }

    /// How many summands are written, with the number if it is not 0.
    pub(super) fn len(&self) -> usize {
        self.terms.len() + usize::from(self.constant != 0)
    }

    /// The coefficient of a product, 0 if it does not occur.
    pub(super) fn coefficient(&self, factors: &Monomial) -> i64 {
        match self.terms.binary_search_by(|term| term.factors.cmp(factors)) {
            Ok(at) => self.terms[at].coefficient,
            Err(_) => 0,
        }
    }

    /// `self + other * scale`.
    pub(super) fn add_scaled(&self, other: &Self, scale: i64) -> Option<Self> {
        let mut sum = Self::constant(self.constant.checked_add(other.constant.checked_mul(scale)?)?);
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) => a.factors.cmp(&b.factors),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (None, None) => return Some(sum),
            };
            let mine = if order.is_le() { left.next() } else { None };
            let theirs = if order.is_ge() { right.next() } else { None };
            let added = match theirs {
                Some(term) => term.coefficient.checked_mul(scale)?,
                None => 0,
            };
            let coefficient = mine.map_or(0, |term| term.coefficient).checked_add(added)?;
            if let Some(term) = mine.or(theirs).filter(|_| coefficient != 0) {
                sum.terms.push(Term { factors: Monomial::from_slice(&term.factors), coefficient });
            }
        }
    }

    pub(super) fn scaled(&self, scale: i64) -> Option<Self> {
        Self::default().add_scaled(self, scale)
    }

    pub(super) fn plus(&self, constant: i64) -> Option<Self> {
        Some(Self { terms: self.terms.clone(), constant: self.constant.checked_add(constant)? })
    }

    pub(super) fn product(&self, other: &Self) -> Option<Self> {
        if self.len() * other.len() > MAX_PRODUCT {
            return None;
        }
        let mut terms: Vec<Term> = Vec::new();
        for a in &self.terms {
            for b in &other.terms {
                terms.push(Term {
                    factors: multiply(&a.factors, &b.factors)?,
                    coefficient: a.coefficient.checked_mul(b.coefficient)?,
                });
            }
        }
        terms.sort_by(|a, b| a.factors.cmp(&b.factors));
        let mut product = Self::constant(self.constant.checked_mul(other.constant)?);
        for term in terms {
            match product.terms.last_mut().filter(|last| last.factors == term.factors) {
                Some(last) => last.coefficient = last.coefficient.checked_add(term.coefficient)?,
                None => product.terms.push(term),
            }
        }
        product.terms.retain(|term| term.coefficient != 0);
        let scaled = |poly: &Self| Self { terms: poly.terms.clone(), constant: 0 };
        product.add_scaled(&scaled(self), other.constant)?.add_scaled(&scaled(other), self.constant)
    }

    pub(super) fn power(&self, exponent: u32) -> Option<Self> {
        let mut power = Self::constant(1);
        for _ in 0..exponent {
            power = power.product(self)?;
        }
        Some(power)
    }

    /// The common divisor of all coefficients; 0 for a number.
    pub(super) fn content(&self) -> i64 {
        self.terms.iter().fold(0, |content, term| gcd(content, term.coefficient))
    }

    /// Divided by what divides all coefficients, the number rounded down.
    pub(super) fn divided(&self, divisor: i64) -> Option<Self> {
        let mut quotient = Self::constant(floor_div(self.constant, divisor)?);
        for term in &self.terms {
            let coefficient = floor_div(term.coefficient, divisor)?;
            quotient.terms.push(Term { factors: Monomial::from_slice(&term.factors), coefficient });
        }
        Some(quotient)
    }

    /// Quotient and rest by a positive number, coefficient by coefficient: those of the rest are at least 0 and
    /// smaller than the divisor.
    pub(super) fn split(&self, divisor: i64) -> (Self, Self) {
        let halves = |number: i64| (number.div_euclid(divisor), number.rem_euclid(divisor));
        let (quotient, rest) = halves(self.constant);
        let (mut quotient, mut rest) = (Self::constant(quotient), Self::constant(rest));
        for term in &self.terms {
            let (whole, part) = halves(term.coefficient);
            for (side, coefficient) in [(&mut quotient, whole), (&mut rest, part)] {
                if coefficient != 0 {
                    side.terms.push(Term { factors: Monomial::from_slice(&term.factors), coefficient });
                }
            }
        }
        (quotient, rest)
    }
}

fn multiply(a: &Monomial, b: &Monomial) -> Option<Monomial> {
    let mut product = Monomial::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    while let Some(&&factor) = match (a.peek(), b.peek()) {
        (Some(x), Some(y)) if y.atom < x.atom => b.peek(),
        (Some(_), _) => a.peek(),
        (None, _) => b.peek(),
    } {
        let mine = a.next_if(|x| x.atom == factor.atom).map_or(0, |x| x.power);
        let theirs = b.next_if(|y| y.atom == factor.atom).map_or(0, |y| y.power);
        product.push(Factor { atom: factor.atom, power: mine.checked_add(theirs)? });
    }
    Some(product)
}

/// The product without the factors of another one; `None` if they do not all occur.
pub(super) fn cancel(a: &Monomial, b: &Monomial) -> Option<Monomial> {
    let mut rest = Monomial::new();
    let mut removed = 0;
    for factor in a {
        let power = match b.iter().find(|other| other.atom == factor.atom) {
            Some(other) => {
                removed += 1;
                factor.power.checked_sub(other.power)?
            }
            None => factor.power,
        };
        if power > 0 {
            rest.push(Factor { atom: factor.atom, power });
        }
    }
    (removed == b.len()).then_some(rest)
}

/// The factors that two products have in common.
pub(super) fn common(a: &Monomial, b: &Monomial) -> Monomial {
    a.iter()
        .filter_map(|x| {
            let y = b.iter().find(|y| y.atom == x.atom)?;
            Some(Factor { atom: x.atom, power: x.power.min(y.power) })
        })
        .collect()
}
