//! What operators mean: formulas that say what each element of a result is.
//!
//! A [`Formula`] has loads from the inputs at positions that are computed from the indices of the result, arithmetic on
//! them, and possibly a reduction over further indices. It says nothing of the order in which elements are computed, so that
//! it can be evaluated element by element, as in `eval`, or be scheduled. `y = Add(x, b)` with `x: float[2,3]` and
//! `b: float[3]`:
//!
//! ```text
//! float[2,3] y[i0, i1] = x[i0, i1] + b[i1]
//! ```
//! `y = ReduceMean(x, axes)` along axis 0, and `y = Gather(x, i)`:
//! ```text
//! float[3] y[i0] = (sum over i1 < 2 of x[i1, i0]) / 2
//! int64[4] y[i0] = x[i[i0] + (3 if i[i0] < 0 else 0)]
//! ```
//! A node's [`Definition`] has one formula or several: later ones load what earlier ones give, counted on after the inputs of
//! the node. `y = Softmax(x)` with `x: float[2,3]`:
//! ```text
//! float[2,1] m[i0, i1] = max over i2 < 3 of x[i0, i2]
//! float[2,1] s[i0, i1] = sum over i2 < 3 of exp(x[i0, i2] - m[i0, 0])
//! float[2,3] y[i0, i1] = exp(x[i0, i1] - m[i0, 0]) / s[i0, 0]
//! ```
//!
//! [`define`] makes the definition of a node whose element types and extents are known ([`Cx`]); the elements themselves are
//! asked for only where a shape depends on them ([`value_inputs`]). `rows` has the operators. What is no formula (sorting,
//! recurrences, shapes that depend on data, strings) has no definition.
//!
//! # Numbers
//!
//! Integers wrap around. Floats are computed in double precision, sums of them as well, and rounded to the type of the result
//! once, at its end; where a result depends on rounding before that, the formula says so with a [`Cast`]. At the edges there are
//! two [`Mode`]s: constants are only folded to what is the same to the bit everywhere, and where anything runs, it gives what
//! the reference evaluator gives.

mod attributes;
mod build;
mod cast;
mod cx;
mod eval;
mod exact;
mod float;
mod lex;
mod moves;
mod number;
mod ops;
mod read;
mod rows;
mod show;
mod sound;
mod tensor;

#[cfg(test)]
mod tests;

pub use attributes::Attributes;
pub use cast::{Cast, Rounding};
pub use cx::{Cx, Operand, Output};
pub use lex::Token;
pub use moves::Source;
pub use number::Number;
pub use ops::{Binary, Unary};
pub use read::{Mistake, Reader};
pub use rows::{define, has_definition, open_shape, value_inputs};
pub use show::{line, quoted};
pub use tensor::{Dense, Elements};

use onnx_ir::ElemType;

/// What a node gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Definition {
    /// Formulas in order. A load from input `n` of the node has number `n`, one from what formula `f` gives has the number
    /// [`inputs`](Self::inputs)` + f`, and only formulas behind `f` have it.
    pub formulas: Vec<Formula>,
    /// The number of inputs of the node, those that are omitted included.
    pub inputs: usize,
    /// The formula of each output, `None` for outputs that are omitted.
    pub outputs: Vec<Option<usize>>,
}

/// What each element of a tensor is.
#[derive(Clone, PartialEq, Debug)]
pub struct Formula {
    /// The element type of the result.
    pub elem: ElemType,
    /// The extents of the result: index `n` of a position is below extent `n`.
    pub dims: Vec<usize>,
    /// A reduction, if there is one.
    pub over: Option<Reduction>,
    /// The element, or what is combined.
    pub expr: Expr,
    /// The element, computed from what was combined ([`Expr::Total`]) and from loads at the indices of the result; without it
    /// the element is the total itself.
    pub then: Option<Expr>,
}

/// A reduction over further indices.
#[derive(Clone, PartialEq, Debug)]
pub struct Reduction {
    /// Their extents; the indices are counted on from those of the result.
    pub dims: Vec<usize>,
    /// How what they give is combined.
    pub combine: Combine,
    /// The type of the total: integers wrap around in it. Floats may be added up in it; [`Definition::evaluate`] does it in
    /// double precision.
    pub elem: ElemType,
}

/// How elements are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    /// The sum; 0 of none.
    Sum,
    /// The product; 1 of none.
    Product,
    /// The greatest, and what is no number if there is one; the least that the type has of none.
    Max,
    /// The least, likewise.
    Min,
    /// The position of the greatest in row-major order of the indices of the reduction, as `int64`.
    ArgMax(Keep),
    /// The position of the least.
    ArgMin(Keep),
}

/// Which of several equal elements counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Keep {
    First,
    Last,
}

/// An element.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// The element of an input at a position, with an index for each of its dimensions.
    Load(usize, Vec<Index>),
    /// A number, of the type that it meets.
    Number(Number),
    /// An index as a number, `int64`.
    Index(Index),
    /// What the reduction gives; only in `then` of a [`Formula`].
    Total,
    /// An operation on one element.
    Unary(Unary, Box<Expr>),
    /// An operation on two elements of one type.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// The second if the first is true, else the third; only that is computed.
    Select(Box<[Expr; 3]>),
    /// An element of another type, or rounded to its own.
    Cast(Cast, Box<Expr>),
    /// The bits of an element of the first type as an element of the second, which has as many.
    Bits(ElemType, ElemType, Box<Expr>),
}

/// A position along one dimension.
#[derive(Clone, PartialEq, Debug)]
pub enum Index {
    /// A number plus multiples of indices, each of them once.
    Affine(i64, Vec<(usize, i64)>),
    /// Multiples of what are no indices.
    Sum(Vec<(Index, i64)>),
    /// Divided by an extent, rounded down.
    Div(Box<Index>, i64),
    /// The remainder of that.
    Rem(Box<Index>, i64),
    /// What an input says.
    Element(Box<Expr>),
}

/// What the edges of arithmetic give.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Only what is the same to the bit wherever it is computed; nothing at a division by zero, a cast of what the type has
    /// not, for what is no number, and where one of two zeros is chosen.
    Portable,
    /// What the reference evaluator gives on x86-64; an integer divided by 0 is 0, and so is the remainder.
    Reference,
}
