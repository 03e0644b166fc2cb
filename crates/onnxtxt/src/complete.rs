//! The types of literals among the operands of a text, which depend on their operators.

use onnx_ir::Model;
use onnx_ir::diag::{Diagnostic, Level, Parsed};
use onnx_text::{Checked, NamedNumbers, Readers};

/// Gives the literals of a model that was read from a text their types; returns whether all have one.
#[cfg(feature = "ops")]
pub(crate) fn complete(model: &mut Model, numbers: &NamedNumbers) -> bool {
    let registry = onnx_ops::opset::registry_of(model);
    onnx_ops::literals::complete(model, registry, numbers)
}

/// Without operators, no literal has a type.
#[cfg(not(feature = "ops"))]
pub(crate) fn complete(_: &mut Model, _: &NamedNumbers) -> bool {
    false
}

/// Reads a text and checks its model by `judge`.
pub(crate) fn check_text(
    readers: Readers,
    text: &str,
    level: Level,
    judge: impl Fn(&Model) -> Vec<Diagnostic>,
) -> Parsed<Checked> {
    onnx_text::check_completed(readers, text, level, &complete, judge)
}
