//! Comparisons: of two models, of their results, and of two operator sets.

pub(crate) mod onnx_runtime;
pub(crate) mod operator_sets;
pub(crate) mod pair;
pub(crate) mod tolerance;
