//! Derivatives that depend on attributes, types or shapes, a file for each family of operators.

pub(crate) mod contract;
pub(crate) mod cumulative;
pub(crate) mod determinant;
pub(crate) mod elementwise;
pub(crate) mod equation;
pub(crate) mod fourier;
pub(crate) mod movement;
pub(crate) mod norm;
pub(crate) mod placement;
pub(crate) mod recurrent;
pub(crate) mod reduce;
pub(crate) mod sample;
pub(crate) mod window;

use crate::dims::Dim;
use onnx_ir::ElemType;

/// A size, if it is a number.
pub(super) fn known(dim: &Dim) -> Option<i64> {
    match dim {
        Dim::Const(n) => Some(*n),
        Dim::Unknown | Dim::Expr(_) => None,
    }
}

/// A number below all others of a type of floats that matter, and finite.
pub(crate) fn least(elem: ElemType) -> f64 {
    match elem {
        ElemType::FLOAT16 => -65504.0,
        ElemType::DOUBLE => -1e300,
        _ => -3e38,
    }
}
