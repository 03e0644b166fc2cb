//! The operators of ONNX: signatures of every version, type and shape inference, and semantics.
//!
//! ```
//! use onnx_ops::infer::{InferOptions, apply, infer};
//! use onnx_ops::schema::Registry;
//!
//! let text = r#"<ir_version: 10, opset_import: ["": 21]>
//!     g (float[N,2] x, float[2,3] w) => (float[N,3] y) { t = MatMul(x, w) y = Relu(t) }"#;
//! let mut model = onnx_text::read_model(text).value;
//! let mut inferred = infer(&model, Registry::builtin(), &InferOptions::default());
//! apply(&mut model, &mut inferred.facts);
//! assert!(onnx_text::print_model(&model, &Default::default()).contains("float[N,3] t"));
//! ```

#![forbid(unsafe_code)]

mod bodies;
mod change;
pub mod check;
pub mod convert;
pub mod cost;
mod definition;
mod derivative;
pub mod dims;
mod engine;
mod facts;
pub mod functions;
pub mod gradient;
pub mod infer;
pub mod interrupt;
mod lint;
pub mod literals;
pub mod meaning;
mod no_ops;
mod operators;
pub mod opset;
pub mod pass;
mod passes;
pub mod schema;
pub mod targets;
mod window;
mod work;

pub use operators::{family, refusal};
