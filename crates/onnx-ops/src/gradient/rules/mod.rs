//! Derivatives that depend on attributes, types or shapes, a file for each family of operators.

pub(super) mod contract;
pub(super) mod elementwise;
pub(super) mod movement;
pub(super) mod norm;
pub(super) mod recurrent;
pub(super) mod reduce;
pub(super) mod window;
