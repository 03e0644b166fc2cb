//! Normalizations in training mode.

use crate::lint::{LintSite, training_mode};
use onnx_ir::diag::Diagnostic;

/// Since version 14 an attribute sets training mode; before, the number of outputs did.
pub(super) fn batch_normalization(site: &LintSite<'_>) -> Option<Diagnostic> {
    let is_trained = site.schema.since >= 14 && site.attrs().int("training_mode") == Some(1);
    is_trained.then(|| training_mode(site, site.at_attr("training_mode")))?
}
