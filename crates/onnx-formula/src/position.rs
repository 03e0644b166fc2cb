//! Positions as sums, simplified by the extents of indices.
//!
//! A position is a number plus multiples of indices, quotients, remainders and elements. Quotients and remainders from one
//! reshape cancel against a later one:
//!
//! ```text
//! (64*i0 + i1) / 64          i1 < 64      i0
//! (64*i0 + i1) % 64                       i1
//! 64 * (i0 / 64) + i0 % 64                i0
//! ```

use crate::{Expr, Index};

/// A number plus multiples of atoms.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Position {
    /// The number that is added to all multiples.
    pub offset: i64,
    /// The atoms, each of them once, with their factors.
    pub(crate) terms: Vec<(Atom, i64)>,
}

/// An atom of a position.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Atom {
    /// An index.
    Index(usize),
    /// A quotient, rounded down.
    Quotient(Box<Position>, i64),
    /// A remainder, which is not negative.
    Remainder(Box<Position>, i64),
    /// An element of an operand.
    Element(Box<Expr>),
}

impl Position {
    /// The position of an index; `None` on overflow, and for divisors that are not positive.
    pub fn of(index: &Index) -> Option<Position> {
        match index {
            Index::Affine(offset, terms) => {
                terms.iter().try_fold(Position::number(*offset), |sum, (index, by)| {
                    sum.plus(&Position::index(*index), *by)
                })
            }
            Index::Sum(parts) => parts
                .iter()
                .try_fold(Position::default(), |sum, (part, by)| sum.plus(&Position::of(part)?, *by)),
            Index::Div(x, by) if *by > 0 => {
                Some(Position::atom(Atom::Quotient(Box::new(Position::of(x)?), *by)))
            }
            Index::Rem(x, by) if *by > 0 => {
                Some(Position::atom(Atom::Remainder(Box::new(Position::of(x)?), *by)))
            }
            Index::Div(..) | Index::Rem(..) => None,
            Index::Element(x) => Some(Position::atom(Atom::Element(x.clone()))),
        }
    }

    /// A fixed position.
    pub fn number(offset: i64) -> Self {
        Position { offset, terms: Vec::new() }
    }

    /// The value of an index.
    pub fn index(index: usize) -> Self {
        Position { offset: 0, terms: vec![(Atom::Index(index), 1)] }
    }

    fn atom(atom: Atom) -> Self {
        Position { offset: 0, terms: vec![(atom, 1)] }
    }

    /// Adds `by` times another position; `None` on overflow.
    pub fn plus(mut self, other: &Position, by: i64) -> Option<Self> {
        self.offset = self.offset.checked_add(other.offset.checked_mul(by)?)?;
        for (atom, of) in &other.terms {
            let of = of.checked_mul(by)?;
            match self.terms.iter_mut().find(|(mine, _)| mine == atom) {
                Some((_, sum)) => *sum = sum.checked_add(of)?,
                None => self.terms.push((atom.clone(), of)),
            }
        }
        self.terms.retain(|(_, by)| *by != 0);
        self.joined()
    }

    /// Merges `d * k * (x / d) + k * (x % d)` to `k * x`.
    fn joined(mut self) -> Option<Self> {
        let pair = self.terms.iter().enumerate().find_map(|(i, (atom, k))| {
            let Atom::Remainder(x, d) = atom else { return None };
            let whole = Atom::Quotient(x.clone(), *d);
            let j = self
                .terms
                .iter()
                .position(|(other, by)| *other == whole && Some(*by) == k.checked_mul(*d))?;
            Some((i, j, x.clone(), *k))
        });
        let Some((i, j, x, k)) = pair else { return Some(self) };
        let mut at = 0;
        self.terms.retain(|_| {
            at += 1;
            at - 1 != i && at - 1 != j
        });
        self.plus(&x, k)
    }

    /// The least and greatest value, if they are known.
    pub fn range(&self, extents: &[usize]) -> Option<(i128, i128)> {
        let (mut least, mut most) = (i128::from(self.offset), i128::from(self.offset));
        for (atom, by) in &self.terms {
            let (low, high) = match atom {
                Atom::Index(index) => (0, *extents.get(*index)? as i128 - 1),
                Atom::Quotient(x, d) => {
                    let (low, high) = x.range(extents)?;
                    (low.div_euclid((*d).into()), high.div_euclid((*d).into()))
                }
                Atom::Remainder(_, d) => (0, i128::from(*d) - 1),
                Atom::Element(_) => return None,
            };
            let (a, b) = (low.checked_mul((*by).into())?, high.checked_mul((*by).into())?);
            (least, most) = (least.checked_add(a.min(b))?, most.checked_add(a.max(b))?);
        }
        Some((least, most))
    }

    fn is_below(&self, bound: i64, extents: &[usize]) -> bool {
        self.range(extents).is_some_and(|(least, most)| least >= 0 && most < bound.into())
    }

    /// Separates the multiples of a divisor, divided by it, from the rest.
    fn parted(self, by: i64) -> (Position, Position) {
        let whole = Position::number(self.offset.div_euclid(by));
        let rest = Position::number(self.offset.rem_euclid(by));
        self.terms.into_iter().fold((whole, rest), |(mut whole, mut rest), (atom, of)| {
            if of % by == 0 {
                whole.terms.push((atom, of / by));
            } else {
                rest.terms.push((atom, of));
            }
            (whole, rest)
        })
    }

    /// Divides by a positive number, rounded down.
    pub fn divided(self, by: i64, extents: &[usize]) -> Option<Self> {
        (by > 0).then_some(())?;
        let (whole, mut rest) = self.parted(by);
        if by == 1 || rest.is_below(by, extents) {
            return Some(whole);
        }
        if let [(Atom::Quotient(x, d), 1)] = &rest.terms[..]
            && rest.offset == 0
        {
            return whole.plus(&(**x).clone().divided(d.checked_mul(by)?, extents)?, 1);
        }
        let common = rest.terms.iter().fold(by, |common, (_, of)| gcd(common, *of));
        if common > 1 {
            rest = rest.shrunk(common);
            return whole.plus(&rest.divided(by / common, extents)?, 1);
        }
        whole.plus(&Position::atom(Atom::Quotient(Box::new(rest), by)), 1)
    }

    /// The remainder of a division by a positive number.
    pub fn remainder(self, by: i64, extents: &[usize]) -> Option<Self> {
        (by > 0).then_some(())?;
        let (_, rest) = self.parted(by);
        if by == 1 {
            return Some(Position::default());
        }
        if rest.is_below(by, extents) {
            return Some(rest);
        }
        if let [(Atom::Quotient(x, d), 1)] = &rest.terms[..]
            && rest.offset == 0
        {
            let all = d.checked_mul(by)?;
            let (_, x) = (**x).clone().parted(all);
            if x.is_below(all, extents) {
                return x.divided(*d, extents);
            }
        }
        let common = rest.terms.iter().fold(by, |common, (_, of)| gcd(common, *of));
        if common > 1 && rest.offset == 0 {
            let inner = rest.shrunk(common).remainder(by / common, extents)?;
            return Position::default().plus(&inner, common);
        }
        Some(Position::atom(Atom::Remainder(Box::new(rest), by)))
    }

    /// Divides by a common divisor of all factors; the rest of the offset is smaller than the divisor.
    fn shrunk(mut self, by: i64) -> Self {
        self.offset = self.offset.div_euclid(by);
        self.terms.iter_mut().for_each(|(_, of)| *of /= by);
        self
    }

    /// The factor of each index, if the position consists only of indices.
    pub fn linear(&self, indices: usize) -> Option<Vec<i64>> {
        let mut by = vec![0; indices];
        for (atom, of) in &self.terms {
            let Atom::Index(index) = atom else { return None };
            *by.get_mut(*index)? = *of;
        }
        Some(by)
    }

    /// Converts to the index of a formula.
    pub fn into_index(self) -> Index {
        let mut affine = Vec::new();
        let mut others = Vec::new();
        for (atom, by) in self.terms {
            match atom {
                Atom::Index(index) => affine.push((index, by)),
                Atom::Quotient(x, d) => others.push((Index::Div(Box::new(x.into_index()), d), by)),
                Atom::Remainder(x, d) => others.push((Index::Rem(Box::new(x.into_index()), d), by)),
                Atom::Element(x) => others.push((Index::Element(x), by)),
            }
        }
        affine.sort_unstable();
        let affine_part = Index::Affine(self.offset, affine);
        if others.is_empty() {
            return affine_part;
        }
        if affine_part != Index::Affine(0, Vec::new()) {
            others.insert(0, (affine_part, 1));
        }
        match &mut others[..] {
            [(_, 1)] => others.remove(0).0,
            _ => Index::Sum(others),
        }
    }

    /// Unravels a row-major offset into a position in a shape.
    pub fn spread(self, dims: &[usize], extents: &[usize]) -> Option<Vec<Position>> {
        let mut stride = 1i64;
        let mut spread = Vec::with_capacity(dims.len());
        let first = dims.iter().position(|d| *d != 1);
        for (axis, d) in dims.iter().enumerate().rev() {
            let d = i64::try_from(*d).ok()?;
            spread.push(if d == 1 {
                Position::default()
            } else {
                let whole = self.clone().divided(stride, extents)?;
                if first == Some(axis) { whole } else { whole.remainder(d, extents)? }
            });
            stride = stride.checked_mul(d.max(1))?;
        }
        spread.reverse();
        Some(spread)
    }

    /// The row-major offset of a position in a shape.
    pub fn place(position: &[Position], dims: &[usize]) -> Option<Position> {
        let mut stride = 1i64;
        let mut place = Position::default();
        for (position, d) in position.iter().zip(dims).rev() {
            place = place.plus(position, stride)?;
            stride = stride.checked_mul(i64::try_from(*d).ok()?.max(1))?;
        }
        Some(place)
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a position.
    fn value(position: &Position, at: &[usize]) -> i64 {
        position.terms.iter().fold(position.offset, |sum, (atom, by)| {
            sum + by
                * match atom {
                    Atom::Index(index) => at[*index] as i64,
                    Atom::Quotient(x, d) => value(x, at).div_euclid(*d),
                    Atom::Remainder(x, d) => value(x, at).rem_euclid(*d),
                    Atom::Element(_) => panic!("there are no elements here"),
                }
        })
    }

    #[test]
    fn a_reshape_and_back_is_nothing() {
        let extents = [6, 20];
        let place = Position::place(&[Position::index(0), Position::index(1)], &extents).expect("small");
        for dims in [[4, 30], [30, 4], [8, 15], [1, 120], [12, 10]] {
            let there = place.clone().spread(&dims, &extents).expect("small");
            let back =
                Position::place(&there, &dims).expect("small").spread(&extents, &extents).expect("small");
            for at in (0..6).flat_map(|i| (0..20).map(move |j| [i, j])) {
                let flat = at[0] * 20 + at[1];
                assert_eq!(value(&there[0], &at), (flat / dims[1]) as i64, "{dims:?}");
                assert_eq!(value(&there[1], &at), (flat % dims[1]) as i64, "{dims:?}");
                assert_eq!([value(&back[0], &at), value(&back[1], &at)], at.map(|i| i as i64));
            }
            assert_eq!(back, [Position::index(0), Position::index(1)], "{dims:?}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit_and_divisors_of_zero_are_refused() {
        for index in [Index::Div(Box::new(Index::of(0)), 0), Index::Rem(Box::new(Index::of(0)), -1)] {
            assert_eq!(Position::of(&index), None);
            assert_eq!(Position::of(&Index::Sum(vec![(index, 1)])), None);
        }
        let sum = (0..3).try_fold(Position::default(), |sum, i| sum.plus(&Position::index(i), i64::MAX));
        let sum = sum.expect("three terms");
        assert_eq!(sum.range(&[usize::MAX; 3]), None);
        assert_eq!(sum.range(&[1; 3]), Some((0, 0)));
    }

    #[test]
    fn quotients_keep_their_values() {
        let extents = [5, 7, 4];
        for (a, b, c, offset) in [(28, 4, 1, 0), (12, 5, 3, -7), (6, 9, 15, 2), (1, 5, 35, 11)] {
            let mut position = Position::number(offset);
            for (index, by) in [a, b, c].into_iter().enumerate() {
                position = position.plus(&Position::index(index), by).expect("small");
            }
            for (d, e) in [(4, 7), (28, 5), (3, 2), (6, 6)] {
                let quotient = position.clone().divided(d, &extents).expect("small");
                let both = quotient.clone().remainder(e, &extents).expect("small");
                let rest = position.clone().remainder(d, &extents).expect("small");
                let sum = rest.clone().plus(&quotient, d).expect("small");
                for at in (0..5).flat_map(|i| (0..7).flat_map(move |j| (0..4).map(move |k| [i, j, k]))) {
                    let x = value(&position, &at);
                    assert_eq!(value(&quotient, &at), x.div_euclid(d));
                    assert_eq!(value(&both, &at), x.div_euclid(d).rem_euclid(e));
                    assert_eq!(value(&rest, &at), x.rem_euclid(d));
                    assert_eq!(value(&sum, &at), x);
                }
            }
        }
    }
}
