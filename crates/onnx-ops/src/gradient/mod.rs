//! `Gradient` as a pass: reverse mode over a graph, which becomes nodes of ordinary operators.
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
//! The derivative of each operator is a row of `table`: lines of ONNX text, a function that puts such lines together for a node,
//! a body of simpler operators that is differentiated in its place, or the reason why there is none. `reverse` goes through the
//! nodes between `xs` and `y` backwards and puts a call for each derivative behind the graph; then the calls are inlined as bodies
//! of functions are, and what is computed twice or not needed goes.
//!
//! `docs/gradient.md` lists what each operator has.

mod calls;
mod cell;
mod control;
mod expand;
mod list;
mod reverse;
mod rules;
mod shapes;
mod table;
mod through;

pub use expand::expand_gradient;
pub use list::{Differentiable, differentiable, document};
