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
mod control;
mod expand;
mod list;
mod recompute;
mod reverse;
mod sequences;
mod through;

pub(crate) use expand::lost_gradients;
pub use expand::{Results, expand_gradient, expand_gradient_recomputing, expand_gradient_with};
pub use list::{Differentiable, differentiable, document};
