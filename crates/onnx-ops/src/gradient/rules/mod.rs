//! Derivatives that depend on attributes, types or shapes, a file for each family of operators.

pub(crate) mod contract;
pub(crate) mod elementwise;
pub(crate) mod movement;
pub(crate) mod norm;
pub(crate) mod recurrent;
pub(crate) mod reduce;
pub(crate) mod window;
