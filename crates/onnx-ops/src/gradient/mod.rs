//! Reverse-mode differentiation: replaces `Gradient` nodes by ordinary operators.
//!
//! ```text
//! before:  g (float[N] x, float[1] w) => (float[1] by_w) {
//!             y = Mul(x, w)
//!             by_w = ai.onnx.preview.training.Gradient <xs = ["w"], zs = ["x"], y = "y"> (w, x)
//!          }
//! after:   g (float[N] x, float[1] w) => (float[1] by_w) {
//!             y = Mul(x, w)
//!             … d_y = ConstantOfShape(shape)      product = Mul(d_y, x)      by_w = ReduceSum(product, axes)
//!          }
//! ```
//!
//! The row of an operator names its derivative, which is in `gradient.rs` of its family: lines of ONNX text, a function that builds such
//! lines for a node, or a body of simpler operators that is differentiated instead. Without one, the row has the reason. Shared parts are here:
//! `positions`, `window` and `sample`. `reverse` walks backwards over the nodes
//! between `xs` and `y` and appends a call for each derivative to the graph; then the calls are inlined like functions, and
//! repeated or unused computations are removed. `recompute` saves memory: derivatives compute again what they read.
//!
//! `docs/gradient.md` lists the derivatives of all operators.

mod calls;
mod cell;
mod control;
mod derivative;
mod expand;
mod list;
mod positions;
mod recompute;
mod reverse;
pub(crate) mod sample;
pub(crate) mod sequences;
pub(crate) mod shapes;
mod through;
pub(crate) mod window;

pub(crate) use cell::{Cell, Done, least, number, numbers};
pub(crate) use derivative::{
    Derivative, GENERATED, INTEGERS, MAPS, NOT_NUMBERS, OPTIMIZERS, STEPS, is_float,
};
pub use expand::{Results, expand_gradient, expand_gradient_recomputing, expand_gradient_with};
pub(crate) use expand::{has_gradient, is_trained, lost_gradients};
pub use list::{Differentiable, differentiable, document};
pub(crate) use positions::{add_at, by_position};
