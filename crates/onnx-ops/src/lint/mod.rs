//! The parts of lints of one node, which the rows of operators name.

mod idle;
mod no_op;
mod site;
mod training;

pub(crate) use idle::idle;
pub(crate) use no_op::{Look, is_lossless, local_functions};
use onnx_ir::diag::Diagnostic;
pub(crate) use site::{LintSite, index};
pub(crate) use training::training_mode;

/// A lint of the nodes of one operator.
pub(crate) type Lint = fn(&LintSite<'_>) -> Option<Diagnostic>;
