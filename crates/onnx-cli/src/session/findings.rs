//! Findings about a file, with places in its text.

use crate::session::Session;
use onnx_ir::diag::Diagnostic;
use onnxtxt::{Loaded, has_entity};

/// Prints findings about a file.
pub(crate) fn report(session: &mut Session, loaded: &Loaded, diagnostics: &[Diagnostic]) {
    if diagnostics.is_empty() {
        return;
    }
    loaded.with_source(diagnostics.iter().any(has_entity), |source| session.report(source, diagnostics));
}
