//! Semantics of operators: formulas for the elements of their results.
//!
//! A [`Formula`] consists of loads from the inputs at positions computed from the indices of the result, arithmetic on them, and
//! optionally a reduction over further indices. It does not specify the order of computation, so it can be evaluated element by
//! element, as in `eval`, or be scheduled. `y = Add(x, b)` with `x: float[2,3]` and `b: float[3]`:
//!
//! ```text
//! float[2,3] y[i0, i1] = x[i0, i1] + b[i1]
//! ```
//! `y = ReduceMean(x, axes)` along axis 0, and `y = Gather(x, i)`:
//! ```text
//! float[3] y[i0] = (sum over i1 < 2 of x[i1, i0]) / 2
//! int64[4] y[i0] = x[i[i0] + (3 if i[i0] < 0 else 0)]
//! ```
//! A node's [`Definition`] has one or more formulas: later ones load results of earlier ones, whose operand numbers follow those
//! of the inputs. `y = Softmax(x)` with `x: float[2,3]`:
//! ```text
//! float[2,1] m[i0, i1] = max over i2 < 3 of x[i0, i2]
//! float[2,1] s[i0, i1] = sum over i2 < 3 of exp(x[i0, i2] - m[i0, 0])
//! float[2,3] y[i0, i1] = exp(x[i0, i1] - m[i0, 0]) / s[i0, 0]
//! ```
//!
//! [`define()`] builds the definition of a node with known element types and sizes ([`Cx`]); elements are needed only where shapes
//! depend on them ([`value_inputs`]). The rows of `operators` have the formulas. Operators that are not formulas (sorting, recurrences,
//! data-dependent shapes, strings) have no definition.
//!
//! # Numbers
//!
//! Integers wrap around. Floats, also sums, are computed in double precision and rounded to the type of the result once at the
//! end; if a result depends on intermediate rounding, the formula has a [`Cast`]. Edge cases depend on the [`Mode`]: constant
//! folding yields only what is equal bit for bit everywhere, and execution yields what the reference evaluator yields.

mod attributes;
pub(crate) mod build;
mod cast;
pub(crate) mod cx;
mod define;
mod eval;
mod exact;
pub(crate) mod float;
mod lex;
mod moves;
pub(crate) mod number;
mod ops;
mod read;
mod show;
mod sound;
mod tensor;
pub mod window;

#[cfg(test)]
mod tests;

pub use attributes::Attributes;
pub use cast::{Cast, Rounding};
pub use cx::{Cx, Operand, Output};
pub use define::{define, has_definition, open_shape, value_inputs};
pub use lex::Token;
pub use moves::ElementSource;
pub use number::Number;
pub use ops::{Binary, Unary};
pub use read::{Mistake, Reader};
pub use show::{line, quoted};
pub use tensor::{Dense, Elements};

use onnx_ir::ElemType;

/// The definition of a node.
#[derive(Clone, PartialEq, Debug)]
pub struct Definition {
    /// Formulas in order. Operand `n` is input `n` of the node; the operand [`inputs`](Self::inputs)` + f` is the result of
    /// formula `f`, which only later formulas can load.
    pub formulas: Vec<Formula>,
    /// The number of inputs of the node, including omitted ones.
    pub inputs: usize,
    /// The formula of each output, `None` for omitted outputs.
    pub outputs: Vec<Option<usize>>,
}

/// The definition of the elements of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct Formula {
    /// The element type of the result.
    pub elem: ElemType,
    /// The sizes of the result: index `n` of a position is below size `n`.
    pub dims: Vec<usize>,
    /// The reduction, if there is one.
    pub over: Option<Reduction>,
    /// The element, or the operand of the reduction.
    pub expr: Expr,
    /// The epilogue: computes the element from the accumulator ([`Expr::Total`]) and from loads at the indices of the result; by
    /// default the accumulator is the element.
    pub then: Option<Expr>,
}

/// A reduction over further indices.
#[derive(Clone, PartialEq, Debug)]
pub struct Reduction {
    /// The sizes; indices are numbered after those of the result.
    pub dims: Vec<usize>,
    /// The combining operation.
    pub combine: Combine,
    /// The type of the accumulator: integers wrap around in it. Floats may be summed in it; [`Definition::evaluate`] sums in
    /// double precision.
    pub elem: ElemType,
}

/// The combining operation of a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    /// The sum; its identity is 0.
    Sum,
    /// The product; its identity is 1.
    Product,
    /// The maximum, NaN if an element is NaN; its identity is the least number of the type.
    Max,
    /// The minimum; its identity is the greatest number of the type.
    Min,
    /// The index of the maximum in row-major order of the reduction, as `int64`.
    ArgMax(Keep),
    /// The index of the minimum.
    ArgMin(Keep),
}

/// Which of several equal elements an arg reduction returns.
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
    /// A number, which adopts the type of the other operand.
    Number(Number),
    /// An index as a number, `int64`.
    Index(Index),
    /// The accumulator; only in `then` of a [`Formula`].
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

/// The behaviour in edge cases of arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Only results that are equal bit for bit everywhere; no result for a division by zero, a conversion out of range, NaN, and
    /// a choice between two zeros.
    Portable,
    /// The results of the reference evaluator on x86-64; integer division by 0 and its remainder are 0.
    Reference,
}
