//! Positions along dimensions, and their arithmetic.

use crate::Expr;

/// A position along one dimension.
#[derive(Clone, PartialEq, Debug)]
pub enum Index {
    /// A number plus multiples of indices, each of them once.
    Affine(i64, Vec<(usize, i64)>),
    /// A sum of multiples of non-affine indices.
    Sum(Vec<(Index, i64)>),
    /// Division by an extent, rounded down.
    Div(Box<Index>, i64),
    /// The remainder of a division by an extent.
    Rem(Box<Index>, i64),
    /// An element of an input.
    Element(Box<Expr>),
}

impl Index {
    /// An index.
    pub fn of(index: usize) -> Index {
        Index::Affine(0, vec![(index, 1)])
    }

    /// A fixed position.
    pub fn at(position: i64) -> Index {
        Index::Affine(position, Vec::new())
    }

    /// Divides by an extent.
    #[expect(clippy::should_implement_trait, reason = "the divisor is a number, not an index")]
    pub fn div(self, by: i64) -> Index {
        if by == 1 { self } else { Index::Div(Box::new(self), by) }
    }

    /// The remainder.
    #[expect(clippy::should_implement_trait, reason = "the divisor is a number, not an index")]
    pub fn rem(self, by: i64) -> Index {
        if by == 1 { Index::at(0) } else { Index::Rem(Box::new(self), by) }
    }

    /// The sum of two, affine if both are. Numbers that overflow 64 bits are not in any tensor.
    pub fn plus(self, other: Index) -> Index {
        match (self, other) {
            (Index::Affine(a, mut terms), Index::Affine(b, others)) => {
                for (index, by) in others {
                    match terms.iter_mut().find(|(i, _)| *i == index) {
                        Some((_, sum)) => *sum = sum.saturating_add(by),
                        None => terms.push((index, by)),
                    }
                }
                terms.retain(|(_, by)| *by != 0);
                Index::Affine(a.saturating_add(b), terms)
            }
            (a, b) => Index::Sum(vec![(a, 1), (b, 1)]),
        }
    }

    /// A multiple, affine if the index is.
    pub fn times(self, by: i64) -> Index {
        match self {
            Index::Affine(offset, terms) => {
                let terms = terms.into_iter().map(|(i, of)| (i, of.saturating_mul(by)));
                Index::Affine(offset.saturating_mul(by), terms.collect())
            }
            other if by == 1 => other,
            other => Index::Sum(vec![(other, by)]),
        }
    }
}
