//! What operators mean: a formula that says what each element of the result is.
//!
//! A [`Formula`] has loads from the inputs at positions that are computed from the indices of the result, arithmetic on
//! them, and possibly a reduction over further indices. It says nothing of the order in which elements are computed, so that
//! it can be evaluated element by element, as here, or be scheduled. `y = Add(x, b)` with `x: float[2,3]` and `b: float[3]`:
//!
//! ```text
//! float[2,3] y[i0, i1] = x[i0, i1] + b[i1]
//! ```
//! `y = ReduceSum(x, axes)` along axis 0, and `y = Gather(x, i)`:
//! ```text
//! int64[3] y[i0] = sum over i1 < 2 of x[i1, i0]
//! int64[4] y[i0] = x[i[i0] + (3 if i[i0] < 0 else 0)]
//! ```
//!
//! `rows` builds formulas of nodes, `eval` evaluates them. Integers wrap around; what ONNX does not define (a division by 0, a
//! cast of what the type has not) has no value, and neither has the whole result then. Floats are computed with one correct
//! rounding for each operation, so that a result is the same to the bit wherever it is computed; operators of which that
//! cannot be said (`Exp`, sums of floats) have no formula here yet.

mod eval;
mod number;
mod rows;
mod tensor;

#[cfg(test)]
mod tests;

pub use number::{Binary, Number, Unary};
pub(crate) use rows::{Cx, formula};
pub(crate) use tensor::Dense;

use onnx_ir::ElemType;

/// What each element of a tensor is.
#[derive(Clone, PartialEq, Debug)]
pub struct Formula {
    /// The element type of the result.
    pub elem: ElemType,
    /// The extents of the result: index `n` of a position is below extent `n`.
    pub dims: Vec<usize>,
    /// Further indices, counted on from those of the result, with their extents, and how what they give is combined.
    pub over: Option<(Vec<usize>, Combine)>,
    /// The element, or what is combined.
    pub expr: Expr,
}

/// How elements are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Combine {
    Sum,
    Product,
    Max,
    Min,
}

/// An element.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// The element of an input at a position, with an index for each of its dimensions.
    Load(usize, Vec<Index>),
    /// A number.
    Number(Number),
    /// An index as a number.
    Index(Index),
    /// An operation on one element.
    Unary(Unary, Box<Expr>),
    /// An operation on two elements of one type.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// The second if the first is true, else the third; only that is computed.
    Select(Box<[Expr; 3]>),
    /// An element of another type.
    Cast(ElemType, Box<Expr>),
}

/// A position along one dimension.
#[derive(Clone, PartialEq, Debug)]
pub enum Index {
    /// A number plus multiples of indices.
    Affine(i64, Vec<(usize, i64)>),
    /// Divided by an extent, rounded down.
    Div(Box<Index>, i64),
    /// The remainder of that.
    Rem(Box<Index>, i64),
    /// What an input says.
    Element(Box<Expr>),
}

impl Index {
    /// One of the indices.
    pub fn of(index: usize) -> Index {
        Index::Affine(0, vec![(index, 1)])
    }

    /// A fixed position.
    pub fn at(position: i64) -> Index {
        Index::Affine(position, Vec::new())
    }
}
