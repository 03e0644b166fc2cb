//! The parts of a definition: a node with known element types and sizes ([`Cx`]), its attributes, and the language of formulas.

mod attributes;
pub(crate) mod cx;
pub mod window;

pub use attributes::Attributes;
pub use cx::{Cx, Operand, Output};
pub use onnx_formula::{
    Binary, Cast, Combine, Definition, Dense, ElementSource, Elements, Expr, Formula, Index, Keep, Mistake,
    Mode, Number, Reader, Reduction, Rounding, Token, Unary, line, quoted,
};
