//! Sizes that are computed as floating-point numbers: `Floor(Cast(H) * 0.5)`, `Ceil(Cast(N) / 3.0) * 3.0`.
//!
//! A fraction represents the result of floating-point arithmetic. Rounding never reaches the next integer as long as sizes
//! and denominators together have fewer bits than the significand, as they do for everything that fits in memory.

use crate::dims::{Dim, Dims};
use crate::facts::Elem;

/// A dimension divided by an integer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Fraction {
    over: Dim,
    /// The denominator, at least 1.
    under: i64,
}

/// Larger denominators are not ratios of sizes.
const MAX_UNDER: i64 = 1 << 16;

impl Fraction {
    /// The fraction of an element, if it is certainly one.
    pub(crate) fn of(elem: Elem) -> Option<Fraction> {
        match elem {
            Elem::Int(Dim::Unknown) | Elem::Quotient(Dim::Unknown, _) | Elem::Unknown => None,
            Elem::Int(over) => Some(Fraction { over, under: 1 }),
            Elem::Quotient(over, under) => Some(Fraction { over, under }),
            Elem::Float(x) => {
                const EXACT: f64 = (1u64 << 53) as f64;
                let mut under = 1;
                while (x * under as f64).fract() != 0.0 && under < MAX_UNDER {
                    under *= 2;
                }
                let over = x * under as f64;
                let is_exact = over.fract() == 0.0 && over.abs() < EXACT;
                is_exact.then_some(Fraction { over: Dim::Const(over as i64), under })
            }
        }
    }

    /// The fraction as an element of a tensor of floating-point numbers.
    pub(crate) fn elem(self, dims: &mut Dims) -> Elem {
        match self.over {
            Dim::Unknown => Elem::Unknown,
            Dim::Const(over) => Elem::Float(over as f64 / self.under as f64),
            over if self.under == 1 => Elem::Int(over),
            over if dims.modulo(over, Dim::Const(self.under)) == Dim::Const(0) => {
                Elem::Int(dims.div_exact(over, Dim::Const(self.under)))
            }
            over => Elem::Quotient(over, self.under),
        }
    }

    /// Both numbers with a common denominator: the numerators and the denominator.
    pub(crate) fn common(self, dims: &mut Dims, other: Fraction) -> Option<(Dim, Dim, i64)> {
        if self.under == other.under {
            return Some((self.over, other.over, self.under));
        }
        let under = self.under.checked_mul(other.under).filter(|&n| n <= MAX_UNDER)?;
        let [a, b] =
            [(self.over, other.under), (other.over, self.under)].map(|(d, n)| dims.mul(d, Dim::Const(n)));
        Some((a, b, under))
    }

    pub(crate) fn times(self, dims: &mut Dims, other: Fraction) -> Option<Fraction> {
        let under = self.under.checked_mul(other.under).filter(|&n| n <= MAX_UNDER)?;
        Some(Fraction { over: dims.mul(self.over, other.over), under })
    }

    /// The quotient; by a symbolic number only if it is an integer for all sizes.
    pub(crate) fn divided(self, dims: &mut Dims, other: Fraction) -> Option<Fraction> {
        let over = dims.mul(self.over, Dim::Const(other.under));
        if let Dim::Const(by) = other.over {
            let over = if by < 0 { dims.neg(over) } else { over };
            let under = by.checked_abs().filter(|&n| n > 0)?.checked_mul(self.under)?;
            return (under <= MAX_UNDER).then_some(Fraction { over, under });
        }
        let by = dims.mul(other.over, Dim::Const(self.under));
        (dims.modulo(over, by) == Dim::Const(0))
            .then(|| Fraction { over: dims.div_exact(over, by), under: 1 })
    }

    pub(crate) fn new(over: Dim, under: i64) -> Fraction {
        Fraction { over, under }
    }

    pub(crate) fn over(self) -> Dim {
        self.over
    }

    pub(crate) fn floor(self, dims: &mut Dims) -> Dim {
        dims.floor_div(self.over, Dim::Const(self.under))
    }

    pub(crate) fn ceil(self, dims: &mut Dims) -> Dim {
        dims.ceil_div(self.over, Dim::Const(self.under))
    }

    /// The nearest integer; ties to even.
    pub(crate) fn round(self, dims: &mut Dims) -> Dim {
        // Ties occur only for even denominators.
        let Some(twice) = self.under.checked_mul(2).filter(|_| self.under % 2 == 1) else {
            return Dim::Unknown;
        };
        let doubled = dims.mul(self.over, Dim::Const(2));
        let shifted = dims.add(doubled, Dim::Const(self.under));
        dims.floor_div(shifted, Dim::Const(twice))
    }

    /// The fraction with another numerator.
    pub(crate) fn map(self, dims: &mut Dims, f: impl Fn(&mut Dims, Dim) -> Dim) -> Elem {
        Fraction { over: f(dims, self.over), ..self }.elem(dims)
    }

    /// The integer part, if the sign is known.
    pub(crate) fn trunc(self, dims: &mut Dims) -> Dim {
        if dims.lower_bound(self.over).is_some_and(|n| n >= 0) {
            return self.floor(dims);
        }
        if dims.upper_bound(self.over).is_some_and(|n| n <= 0) { self.ceil(dims) } else { Dim::Unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_fractions_where_they_are_exact() {
        let of = |x| Fraction::of(Elem::Float(x));
        assert_eq!(of(0.5), Some(Fraction::new(Dim::Const(1), 2)));
        assert_eq!(of(-3.0), Some(Fraction::new(Dim::Const(-3), 1)));
        assert_eq!(of(f64::from(1.0f32 / 3.0)), None);
        assert_eq!(of(f64::NAN), None);
        assert_eq!(of(f64::INFINITY), None);
        assert_eq!(of(1e300), None);
    }

    #[test]
    fn half_an_extent_is_rounded_when_somebody_rounds_it() {
        let mut dims = Dims::new();
        let n = dims.symbol("N");
        let half =
            Fraction::of(Elem::Int(n)).unwrap().times(&mut dims, Fraction::new(Dim::Const(1), 2)).unwrap();
        assert_eq!(half.elem(&mut dims), Elem::Quotient(n, 2));
        let (floor, ceil) = (dims.parse("floor(N/2)"), dims.parse("ceil(N/2)"));
        assert_eq!(half.floor(&mut dims), floor);
        assert_eq!(half.ceil(&mut dims), ceil);
        assert_eq!(half.trunc(&mut dims), floor);
        let whole = half.times(&mut dims, Fraction::new(Dim::Const(4), 1)).unwrap();
        let twice = dims.parse("N*2");
        assert_eq!(whole.elem(&mut dims), Elem::Int(twice));
    }

    #[test]
    fn quotients_by_nothing_are_not_known() {
        let mut dims = Dims::new();
        let n = Fraction::of(Elem::Int(dims.symbol("N"))).unwrap();
        assert_eq!(n.divided(&mut dims, Fraction::new(Dim::Const(0), 1)), None);
        let third = n.divided(&mut dims, Fraction::new(Dim::Const(-3), 1)).unwrap();
        let negative = dims.parse("0-N");
        assert_eq!(third, Fraction::new(negative, 3));
    }
}
