//! The front door for programs that work with ONNX models.

#![deny(missing_docs)]

pub mod diff;
pub mod edit;
pub mod golden;
