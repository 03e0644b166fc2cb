//! Formatting any text without errors keeps its comments and its meaning, and formatting it again changes nothing.
#![no_main]

use conformance::convert::write_wire;
use onnx_ir::Diagnostic;
use onnx_text::{FormatOptions, Parsed, ast::File, format, lower, parse_model};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let before = parse_model(text);
    if before.diagnostics.iter().any(Diagnostic::is_error) {
        return;
    }
    // Of two widths, one that breaks nearly every line.
    let width = if text.len() % 2 == 0 { 100 } else { 30 };
    let once = formatted(text, &before, width);
    let after = parse_model(&once);
    let errors: Vec<_> = after.diagnostics.iter().filter(|d| d.is_error()).collect();
    assert!(errors.is_empty(), "what was formatted is read: {errors:?}\n{once}");
    assert_eq!(comments(text, &before), comments(&once, &after), "the comments stay");
    assert_eq!(meaning(text, &before), meaning(&once, &after), "the meaning stays:\n{once}");
    assert_eq!(formatted(&once, &after, width), once, "formatting is idempotent");
});

fn formatted(text: &str, parsed: &Parsed<File>, width: usize) -> String {
    format(text, &parsed.tree, &parsed.comments, parsed.annotated, &FormatOptions { width })
}

fn comments<'t>(text: &'t str, parsed: &Parsed<File>) -> Vec<&'t str> {
    parsed.comments.iter().map(|comment| &text[comment.range()]).collect()
}

/// The model, and what is said about it; where it is said moves.
fn meaning(text: &str, parsed: &Parsed<File>) -> (Vec<u8>, Vec<String>) {
    let lowered = lower(text, parsed);
    let mut findings: Vec<_> = lowered.diagnostics.iter().map(|d| d.code.id.to_string()).collect();
    findings.sort();
    (write_wire(&lowered.model).expect("it is small"), findings)
}
