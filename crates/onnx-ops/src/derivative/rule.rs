//! The derivative of an operator, which its row states.
//!
//! Lines of a text are nodes of ONNX text: `x0` is the first operand, `y0` the first result, `dy0` its gradient, `dx0` the
//! gradient of the first operand. A number as an operand is a scalar of the element type of `x0`. Gradients of broadcast operands
//! are summed after the lines.
//!
//! An operator without a row is differentiated through its function body, if it has one.

use super::cell::{Cell, Done};
use onnx_ir::ElemType;

/// How an operator is differentiated.
#[derive(Clone, Copy)]
pub(crate) enum Derivative {
    /// By lines of ONNX text.
    Text(&'static str),
    /// By lines that a function builds for the node.
    Build(fn(&mut Cell<'_>) -> Done),
    /// By differentiating equivalent nodes that a function builds: `y0` … from `x0` …
    Rewrite(fn(&mut Cell<'_>) -> Done),
    /// By differentiating the graphs of the node.
    Graphs,
    /// The derivative is zero, for this reason.
    Zero(&'static str),
    /// There is none, for this reason.
    None(&'static str),
}

/// Whether a type is differentiable.
pub(crate) fn is_float(elem: ElemType) -> bool {
    matches!(elem, ElemType::FLOAT | ElemType::DOUBLE | ElemType::FLOAT16 | ElemType::BFLOAT16)
}

pub(crate) const STEPS: &str = "its result is constant between jumps";
pub(crate) const NOT_NUMBERS: &str = "its result is integers, booleans or strings";
pub(crate) const GENERATED: &str = "its result does not depend on the elements of its operands";
pub(crate) const MAPS: &str = "gradients of maps are not supported";
pub(crate) const OPTIMIZERS: &str = "it is a step of an optimizer";
pub(crate) const INTEGERS: &str = "its operands are integers, booleans or strings";
