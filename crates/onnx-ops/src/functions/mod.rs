//! Function bodies of operators, in ONNX text.
//!
//! A body that is valid for all uses of an operator is a file in `bodies/text`; one that depends on attributes, types or present inputs
//! is built by a function, which the row of the operator names. Both have a minimum version of ai.onnx, because the operators that they use change
//! between versions; the newest valid one is used, and it imports what its user imports.
//!
//! ```text
//! <domain: "ai.onnx", opset_import: ["": 24]>
//! Swish <alpha: float = 1.0> (X) => (Y)
//! {
//!     alpha_float = Constant <value_float: float = @alpha> ()
//!     alpha = CastLike (alpha_float, X)
//!     scaled = Mul (alpha, X)
//!     gate = Sigmoid (scaled)
//!     Y = Mul (X, gate)
//! }
//! ```
//!
//! Inference uses a body where there is no rule, and bodies can be inlined.

mod alone;
mod expand;

pub use crate::operators::{body_of, has_body};
pub use crate::schema::set::FunctionBody;
pub use alone::alone;
pub use expand::{Expand, expand};
