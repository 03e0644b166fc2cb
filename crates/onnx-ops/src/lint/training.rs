//! Training mode in an inference model.

use super::site::LintSite;
use onnx_ir::diag::{Diagnostic, Entity, code};

/// The finding about a node in training mode, at the place that sets it. `None` if the model has a training step.
pub(crate) fn training_mode(site: &LintSite<'_>, place: Entity) -> Option<Diagnostic> {
    let message = "this node is in training mode, but the model has no training step";
    let finding = Diagnostic::new(&code::TRAINING_MODE, place, message);
    site.model.training.is_empty().then(|| finding.help("export the model for inference"))
}
