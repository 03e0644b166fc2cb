//! Function bodies of operators of ONNX Runtime.

pub(super) mod added;
pub(super) mod fused;
pub(super) mod heads;
pub(super) mod linear;
pub(super) mod products;
