//! The operators of ONNX: what each version of each takes and gives, the types and shapes of its results, its meaning.

#![forbid(unsafe_code)]

pub mod check;
pub mod convert;
pub mod cost;
pub mod dims;
pub mod functions;
pub mod gradient;
pub mod infer;
pub mod meaning;
pub mod opset;
pub mod pass;
mod passes;
mod rules;
pub mod schema;
pub mod targets;

pub use rules::family;
