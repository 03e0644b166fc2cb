//! What tests do with a text, whatever it is.

use onnx_ir::diag::{Diagnostic, Place};
use onnx_ir::{VerifyOptions, verify};
use onnx_text::{FormatOptions, format, lower, parse_model};

/// Every place of every diagnostic lies in the text, between characters.
///
/// # Errors
///
/// The first that does not.
pub fn places_are_sound(diagnostics: &[Diagnostic], text: &str) -> Result<(), String> {
    for diagnostic in diagnostics {
        let labels = std::iter::once(&diagnostic.primary).chain(&diagnostic.related);
        let spans = labels.filter_map(|label| match label.place {
            Place::Source(span) => Some(span),
            Place::Entity(_) | Place::Nowhere => None,
        });
        let edits = diagnostic.fixes.iter().flat_map(|fix| &fix.edits).map(|edit| edit.span);
        for span in spans.chain(edits) {
            if text.get(span.range()).is_none() {
                return Err(format!("{span:?} of {} bytes: {}", text.len(), diagnostic.message));
            }
        }
    }
    Ok(())
}

/// Reads, judges and, if it has no errors, formats.
pub fn use_text(text: &str) -> Vec<Diagnostic> {
    let parsed = parse_model(text);
    let lowered = lower(text, &parsed);
    verify(&lowered.model, &VerifyOptions::default());
    if !parsed.diagnostics.iter().any(Diagnostic::is_error) {
        format(text, &parsed.tree, &parsed.comments, parsed.annotated, &FormatOptions::default());
    }
    parsed.diagnostics.into_iter().chain(lowered.diagnostics).collect()
}
