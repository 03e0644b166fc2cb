//! The language of elements: formulas for the elements of tensors, their arithmetic, evaluation and text.
//!
//! This crate knows element types and numbers, but no operators, nodes or graphs: `onnx-ops` writes formulas for nodes, `onnx-loops`
//! lowers them to loops.
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
//! A [`Definition`] has one or more formulas: later ones load results of earlier ones, whose operand numbers follow those
//! of the inputs. `y = Softmax(x)` with `x: float[2,3]`:
//! ```text
//! float[2,1] m[i0, i1] = max over i2 < 3 of x[i0, i2]
//! float[2,1] s[i0, i1] = sum over i2 < 3 of exp(x[i0, i2] - m[i0, 0])
//! float[2,3] y[i0, i1] = exp(x[i0, i1] - m[i0, 0]) / s[i0, 0]
//! ```
//!
//! # Numbers
//!
//! Integers wrap around. Floats, also sums, are computed in double precision and rounded to the type of the result once at the
//! end; if a result depends on intermediate rounding, the formula has a [`Cast`]. Edge cases depend on the [`Mode`]: constant
//! folding yields only what is equal bit for bit everywhere, and execution yields what the reference evaluator yields.

#![forbid(unsafe_code)]

mod cast;
mod check;
mod eval;
mod exact;
mod expr;
pub mod float;
mod formula;
mod moves;
mod number;
mod ops;
mod position;
mod rewrite;
mod tensor;
mod text;
mod walk;

#[cfg(test)]
mod tests;

pub use cast::Cast;
pub use check::{OperandType, OutputType};
pub use expr::{Expr, Index};
pub use float::Rounding;
pub use formula::{Combine, Definition, Formula, Keep, Reduction};
pub use moves::ElementSource;
pub use number::{Kind, Mode, Number, is_float, wide, wide_float};
pub use ops::{Binary, Cost, Domain, Exactness, Real, Unary, Whole};
pub use position::Position;
pub use rewrite::Rewrite;
pub use tensor::{Dense, Elements, count};
pub use text::{Mistake, Reader, Token, line, quoted};
