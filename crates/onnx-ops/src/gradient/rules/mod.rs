//! Derivatives that depend on attributes, types or shapes, a file for each family of operators.

pub(super) mod contract;
pub(super) mod cumulative;
pub(super) mod determinant;
pub(super) mod elementwise;
pub(super) mod equation;
pub(super) mod fourier;
pub(super) mod movement;
pub(super) mod norm;
pub(super) mod placement;
pub(super) mod recurrent;
pub(super) mod reduce;
pub(super) mod sample;
pub(super) mod window;

use crate::dims::Dim;

/// A size, if it is a number.
pub(super) fn known(dim: &Dim) -> Option<i64> {
    match dim {
        Dim::Const(n) => Some(*n),
        Dim::Unknown | Dim::Expr(_) => None,
    }
}
