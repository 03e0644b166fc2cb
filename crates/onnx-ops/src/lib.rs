//! The operators of ONNX: signatures of every version, type and shape inference, and semantics.

#![forbid(unsafe_code)]

pub mod check;
pub mod convert;
pub mod cost;
pub mod dims;
pub mod functions;
pub mod gradient;
pub mod infer;
pub mod meaning;
mod operators;
pub mod opset;
pub mod pass;
mod passes;
pub mod schema;
pub mod targets;

pub use operators::family;
