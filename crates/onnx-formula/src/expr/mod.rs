//! Expressions of elements, and their builders: `(x * alpha + beta).max(Expr::float(0.0))`.

mod index;

pub use index::Index;

use crate::{Binary, Cast, Number, Unary, is_float};
use onnx_ir::ElemType;

/// An element.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// The element of an input at a position, with an index for each of its dimensions.
    Load(usize, Vec<Index>),
    /// A number, which adopts the type of the other operand.
    Number(Number),
    /// An index as a number, `int64`.
    Index(Index),
    /// The accumulator; only in `then` of a [`Formula`](crate::Formula).
    Total,
    /// An operation on one element.
    Unary(Unary, Box<Expr>),
    /// An operation on two elements of one type.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// The second if the first is true, otherwise the third; only the selected one is evaluated.
    Select(Box<[Expr; 3]>),
    /// A conversion to another type, or rounding to the same type.
    Cast(Cast, Box<Expr>),
    /// The bits of an element of the first type as an element of the second type of the same width.
    Bits(ElemType, ElemType, Box<Expr>),
}

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
        if is_float(elem) { Expr::float(n as f64) } else { Expr::int(n) }
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
    pub fn into_type(self, from: ElemType, to: ElemType) -> Expr {
        if from == to { self } else { self.cast(to) }
    }

    /// The maximum of two; NaN if one is NaN.
    pub fn max(self, other: Expr) -> Expr {
        self.binary(Binary::Max, other)
    }

    /// The minimum of two; NaN if one is NaN.
    pub fn min(self, other: Expr) -> Expr {
        self.binary(Binary::Min, other)
    }

    /// Whether this is less than the other.
    pub fn less(self, other: Expr) -> Expr {
        self.binary(Binary::Less, other)
    }

    /// Whether this is greater than the other.
    pub fn greater(self, other: Expr) -> Expr {
        self.binary(Binary::Greater, other)
    }

    /// Whether both are equal.
    pub fn equal(self, other: Expr) -> Expr {
        self.binary(Binary::Equal, other)
    }

    /// Whether both conditions are true.
    pub fn and(self, other: Expr) -> Expr {
        self.binary(Binary::And, other)
    }

    /// The conjunction; `None` without conditions.
    pub fn all(conditions: impl IntoIterator<Item = Expr>) -> Option<Expr> {
        conditions.into_iter().reduce(Expr::and)
    }

    /// This where the condition is true, if there is one, otherwise the other.
    pub fn guarded(self, condition: Option<Expr>, other: Expr) -> Expr {
        match condition {
            Some(condition) => self.if_else(condition, other),
            None => self,
        }
    }

    /// A number selected by an index below their count. Conditions are nested as in a binary search, to limit the depth.
    pub fn table(index: &Index, numbers: &[Number]) -> Option<Expr> {
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
    pub fn fold(mut all: Vec<Expr>, op: Binary) -> Option<Expr> {
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
