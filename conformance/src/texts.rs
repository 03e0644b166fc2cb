//! Texts of the project, and what tests do with a text, whatever it is.

use crate::corpus::workspace;
use onnx_ir::diag::{Diagnostic, Place};
use onnx_ir::{VerifyOptions, verify};
use onnx_text::{FormatOptions, format, lower, parse_model};
use std::fs;
use std::path::PathBuf;

/// Longer texts are bombs and other lists of one thing.
const LARGEST: u64 = 4096;

/// Files of the suite and examples of operators, without the long ones.
pub fn small_texts() -> Vec<PathBuf> {
    let root = workspace();
    let (mut open, mut found) =
        (vec![root.join("tests/suite"), root.join("crates/onnx-ops/docs")], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder of the project").flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if entry.metadata().is_ok_and(|m| m.len() <= LARGEST) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

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
    let lowered = lower(text, &parsed.value);
    _ = verify(&lowered.value, &VerifyOptions::default());
    if !parsed.has_errors() {
        _ = format(text, &parsed.value, &FormatOptions::default());
    }
    parsed.diagnostics.into_iter().chain(lowered.diagnostics).collect()
}
