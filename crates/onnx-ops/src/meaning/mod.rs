//! Semantics of operators: formulas for the elements of their results, in the language of [`onnx_formula`].
//!
//! [`define()`] builds the definition of a node with known element types and sizes ([`Cx`]); elements are needed only where shapes
//! depend on them ([`value_inputs`]). The rows of `operators` have the formulas. Operators that are not formulas (sorting, recurrences,
//! data-dependent shapes, strings) have no definition.

mod define;

pub use crate::definition::{
    Attributes, Binary, Cast, Combine, Cx, Definition, Dense, ElementSource, Elements, Expr, Formula, Index,
    Keep, Mistake, Mode, Number, Operand, Output, Reader, Reduction, Rounding, Token, Unary, line, quoted,
    window,
};
pub use crate::operators::{CellActivation, CellParameters};
pub use define::{define, has_definition, open_shape, value_inputs};
