//! Builders for formulas: `(x * alpha + beta).max(Expr::float(0.0))`.

use super::{Binary, Cast, Combine, Expr, Formula, Index, Number, Reduction, Unary};
use onnx_ir::ElemType;

impl Expr {
    /// A number, which adopts the type of the other operand.
    pub fn float(x: f64) -> Expr {
        Expr::Number(Number::Float(x))
    }

    /// An integer.
    pub fn int(n: i64) -> Expr {
        Expr::Number(Number::Int(n.into()))
    }

    /// An integer or a float, depending on the type.
    pub fn number(elem: ElemType, n: i64) -> Expr {
        if super::number::is_float(elem) { Expr::float(n as f64) } else { Expr::int(n) }
    }

    /// An operation on one element.
    pub fn unary(self, op: Unary) -> Expr {
        Expr::Unary(op, Box::new(self))
    }

    /// An operation on two elements.
    pub fn binary(self, op: Binary, other: Expr) -> Expr {
        Expr::Binary(op, Box::new(self), Box::new(other))
    }

    /// This if the condition is true, otherwise the other.
    pub fn if_else(self, condition: Expr, other: Expr) -> Expr {
        Expr::Select(Box::new([condition, self, other]))
    }

    /// A conversion to another type.
    pub fn cast(self, to: impl Into<Cast>) -> Expr {
        Expr::Cast(to.into(), Box::new(self))
    }

    /// Converts from one type to another, if they differ.
    pub(crate) fn into_type(self, from: ElemType, to: ElemType) -> Expr {
        if from == to { self } else { self.cast(to) }
    }

    pub(crate) fn max(self, other: Expr) -> Expr {
        self.binary(Binary::Max, other)
    }

    pub(crate) fn min(self, other: Expr) -> Expr {
        self.binary(Binary::Min, other)
    }

    pub(crate) fn less(self, other: Expr) -> Expr {
        self.binary(Binary::Less, other)
    }

    pub(crate) fn greater(self, other: Expr) -> Expr {
        self.binary(Binary::Greater, other)
    }

    pub(crate) fn equal(self, other: Expr) -> Expr {
        self.binary(Binary::Equal, other)
    }

    pub(crate) fn and(self, other: Expr) -> Expr {
        self.binary(Binary::And, other)
    }

    /// The conjunction; `None` without conditions.
    pub(crate) fn all(conditions: impl IntoIterator<Item = Expr>) -> Option<Expr> {
        conditions.into_iter().reduce(Expr::and)
    }

    /// This where the condition is true, if there is one, otherwise the other.
    pub(crate) fn guarded(self, condition: Option<Expr>, other: Expr) -> Expr {
        match condition {
            Some(condition) => self.if_else(condition, other),
            None => self,
        }
    }

    /// A number selected by an index below their count. Conditions are nested as in a binary search, to limit the depth.
    pub(crate) fn table(index: &Index, numbers: &[Number]) -> Option<Expr> {
        match numbers {
            [] => None,
            [number] => Some(Expr::Number(*number)),
            [first, rest @ ..] if rest.iter().all(|n| n == first) => Some(Expr::Number(*first)),
            _ => Self::search(index, 0, numbers),
        }
    }

    fn search(index: &Index, from: usize, numbers: &[Number]) -> Option<Expr> {
        if let [number] = numbers {
            return Some(Expr::Number(*number));
        }
        let (low, high) = numbers.split_at(numbers.len() / 2);
        let middle = from + low.len();
        let is_low = Expr::Index(index.clone()).less(Expr::int(i64::try_from(middle).ok()?));
        Some(Self::search(index, from, low)?.if_else(is_low, Self::search(index, middle, high)?))
    }

    /// Combines many operands by one operation, as a balanced tree.
    pub(crate) fn fold(mut all: Vec<Expr>, op: Binary) -> Option<Expr> {
        while all.len() > 1 {
            let mut next = Vec::with_capacity(all.len().div_ceil(2));
            let mut rest = all.into_iter();
            while let Some(a) = rest.next() {
                next.push(match rest.next() {
                    Some(b) => a.binary(op, b),
                    None => a,
                });
            }
            all = next;
        }
        all.pop()
    }
}

macro_rules! operators {
    ($($name:ident $method:ident;)*) => {
        $(impl std::ops::$name for Expr {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr {
                self.binary(Binary::$name, other)
            }
        })*
    };
}

operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl std::ops::Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        self.unary(Unary::Neg)
    }
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
    pub(crate) fn div(self, by: i64) -> Index {
        if by == 1 { self } else { Index::Div(Box::new(self), by) }
    }

    /// The remainder.
    pub(crate) fn rem(self, by: i64) -> Index {
        if by == 1 { Index::at(0) } else { Index::Rem(Box::new(self), by) }
    }

    /// The sum of two, affine if both are. Numbers that overflow 64 bits are not in any tensor.
    pub(crate) fn plus(self, other: Index) -> Index {
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
    pub(crate) fn times(self, by: i64) -> Index {
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

impl Formula {
    /// Adds a reduction.
    pub(crate) fn over(self, dims: Vec<usize>, combine: Combine, elem: ElemType) -> Formula {
        Formula { over: Some(Reduction { dims, combine, elem }), ..self }
    }

    /// Adds an epilogue.
    pub(crate) fn then(self, then: Expr) -> Formula {
        Formula { then: Some(then), ..self }
    }
}

/// The type in which functions of possibly integer elements are computed.
pub(crate) fn wide_float(elem: ElemType) -> ElemType {
    let is_single = super::number::is_float(elem) && elem != ElemType::DOUBLE;
    if is_single { ElemType::FLOAT } else { ElemType::DOUBLE }
}

/// The type in which floats are summed: at least single precision.
pub(crate) fn wide(elem: ElemType) -> ElemType {
    let is_narrow = super::number::is_float(elem) && elem != ElemType::DOUBLE;
    if is_narrow { ElemType::FLOAT } else { elem }
}
