//! Derivatives that depend on attributes, types or shapes, a file for each family of operators.

pub(crate) mod contract;
pub(crate) mod determinant;
pub(crate) mod equation;
pub(crate) mod fourier;
