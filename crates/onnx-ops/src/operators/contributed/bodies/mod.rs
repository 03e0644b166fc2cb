//! Function bodies of operators of ONNX Runtime.

pub(super) mod added;
pub(super) mod fused;
pub(super) mod heads;
pub(super) mod linear;
pub(super) mod old;
pub(super) mod products;
pub(super) mod states;
pub(super) mod streams;
