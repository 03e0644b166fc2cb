//! Parts that the rules of several families use: parameters that are attributes or inputs, broadcasting, windows, and constraints
//! between inputs with their errors.

pub(crate) mod axes;
pub(crate) mod broadcast;
pub(crate) mod fit;
pub(crate) mod fraction;
pub(crate) mod window;
