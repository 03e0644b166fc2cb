//! Targets of the text: lexer, parser, formatter, fixes.

use crate::convert::write_wire;
use crate::texts::{places_are_sound, use_text};
use onnx_ir::diag::{Diagnostic, Level, Parsed};
use onnx_ir::{Model, VerifyOptions};
use onnx_ops::opset::registry_of;
use onnx_text::{
    Checked, Fixes, FormatOptions, MAX_FINDINGS, NamedNumbers, Readers, Syntax, apply_fixes, ast::File,
    check_completed, check_with, format, lower, parse_model,
};

/// Any bytes, in every role that a text can have: comments lie between tokens in their order, each on its line, and findings
/// are counted and lie in the text.
pub(super) fn lexer(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let sound = |diagnostics: &[Diagnostic]| {
        assert!(diagnostics.len() <= 2 * MAX_FINDINGS + 2, "{} findings", diagnostics.len());
        places_are_sound(diagnostics, &text).expect("every finding lies in the text");
    };
    let model = parse_model(&text);
    sound(&model.diagnostics);
    let mut end = 0;
    for comment in &model.value.comments {
        let words = &text[comment.range()];
        assert!(comment.start >= end && !words.is_empty(), "comments are in order");
        assert!(!words.contains('\n'), "a comment ends with its line: {words:?}");
        end = comment.end;
    }
    sound(&onnx_text::parse_graph(&text).diagnostics);
    sound(&onnx_text::parse_node(&text).diagnostics);
    sound(&onnx_text::parse_function(&text).diagnostics);
    sound(&onnx_text::parse_attribute(&text).diagnostics);
    sound(&onnx_text::parse_type(&text).diagnostics);
    sound(&onnx_text::parse_value_info(&text).diagnostics);
    sound(&onnx_text::parse_value(&text).diagnostics);
}

/// Any bytes as text: read without panic, in linear time, and every finding lies in the text, between characters.
pub(super) fn text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let findings = use_text(&text);
    places_are_sound(&findings, &text).expect("every finding lies in the text");
}

/// Formatting any text without errors keeps its comments and its meaning, and formatting it again changes nothing.
pub(super) fn fmt(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(before) = parse_model(text).into_result() else { return };
    // Of two widths, one that breaks nearly every line.
    let width = if text.len() % 2 == 0 { 100 } else { 30 };
    let once = formatted(text, &before, width);
    let after = parse_model(&once);
    let Parsed { value: after, diagnostics } = after;
    let errors: Vec<_> = diagnostics.iter().filter(|d| d.is_error()).collect();
    assert!(errors.is_empty(), "what was formatted is read: {errors:?}\n{once}");
    assert_eq!(comments(text, &before), comments(&once, &after), "the comments stay");
    assert_eq!(meaning(text, &before), meaning(&once, &after), "the meaning stays:\n{once}");
    assert_eq!(formatted(&once, &after, width), once, "formatting is idempotent");
}

/// A text without errors is the same model without its expressions, which are gone then; formatting keeps them.
pub(super) fn sugar(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read = |text: &str| {
        let complete = |model: &mut Model, numbers: &NamedNumbers| {
            onnx_ops::literals::complete(model, registry_of(model), numbers)
        };
        check_completed(Readers::Ours, text, Level::Syntax, &complete, |_| Vec::new()).into_result()
    };
    let Ok(before) = read(text) else { return };
    let bytes = |model: &Model| write_wire(model).expect("it is small");
    let expanded = onnx_text::expanded(text, &before);
    let after = read(&expanded).unwrap_or_else(|found| panic!("plain text is read: {found:?}\n{expanded}"));
    assert!(after.syntax.tree.statements().all(|node| node.sugar.is_none()), "nothing is left:\n{expanded}");
    assert!(
        bytes(&before.model) == bytes(&after.model),
        "the model stays:\n{text}\n--- expanded\n{expanded}"
    );
    let formatted = formatted(text, &before.syntax, 60);
    let after =
        read(&formatted).unwrap_or_else(|found| panic!("formatted text is read: {found:?}\n{formatted}"));
    assert!(bytes(&before.model) == bytes(&after.model), "formatting keeps the model:\n{formatted}");
}

fn formatted(text: &str, syntax: &Syntax<File>, width: usize) -> String {
    format(text, syntax, &FormatOptions { width })
}

fn comments<'t>(text: &'t str, syntax: &Syntax<File>) -> Vec<&'t str> {
    syntax.comments.iter().map(|comment| &text[comment.range()]).collect()
}

/// The model, and what is said about it; where it is said moves.
fn meaning(text: &str, syntax: &Syntax<File>) -> (Vec<u8>, Vec<String>) {
    let lowered = lower(text, syntax);
    let mut findings: Vec<_> = lowered.diagnostics.iter().map(|d| d.code.id.to_string()).collect();
    findings.sort();
    (write_wire(&lowered.value).expect("it is small"), findings)
}

/// Fixes of any text are applied without panic, once: there is nothing left to fix. After a typing mistake in a text
/// without findings, safe fixes bring the model back or leave a finding.
pub(super) fn fixes(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let fixed = |text: &str, fixes: Fixes| apply_fixes(text, fixes, judged);
    let original = judged(&text);
    places_are_sound(&original.diagnostics, &text).expect("every finding lies in the text");
    let once = fixed(&text, Fixes::Safe);
    assert!(once.fixed > 0 || once.text == text, "nothing is fixed and the text differs");
    if original.diagnostics.iter().any(Diagnostic::is_error) {
        return;
    }
    let Some(mistaken) = mistake(&text) else { return };
    if !judged(&mistaken).is_partial() {
        return;
    }
    let fixed = fixed(&mistaken, Fixes::Safe);
    let after = judged(&fixed.text);
    if fixed.fixed > 0 && after.diagnostics.is_empty() {
        // Warnings of the original may have fixes, too.
        let meant = judged(&once.text);
        let bytes = |model: &Model| write_wire(model).expect("it is small");
        assert!(
            bytes(&after.value.model) == bytes(&meant.value.model),
            "safe fixes make another model:\n{text}\n--- with a mistake\n{mistaken}\n--- fixed\n{}",
            fixed.text
        );
    }
}

fn judged(text: &str) -> Parsed<Checked> {
    let options = VerifyOptions { level: Level::Strict, ..VerifyOptions::default() };
    check_with(text, options.level, |model| onnx_ops::check::check(model, registry_of(model), &options))
}

/// Slips of the hand: what is typed for what.
const SLIPS: &[(&str, &str)] = &[
    ("\"", "'"),
    ("{", "["),
    ("}", "]"),
    ("(", ""),
    (")", ""),
    ("=>", "->"),
    (", ", " "),
    (", ", ",, "),
    (" = ", " := "),
    (": [", ": "),
    ("float[", "float32["),
    ("{1", "{+1"),
    ("{0", "{0x0"),
    ("<", "{"),
    (">", "}"),
];

/// The text with one of its characters typed wrong, which one its length says.
fn mistake(text: &str) -> Option<String> {
    let (from, to) = SLIPS[text.len() % SLIPS.len()];
    // Both quotes of a string are wrong, as in another language.
    if from == "\"" {
        return text.contains(from).then(|| text.replace(from, to));
    }
    let places: Vec<usize> = text.match_indices(from).map(|(at, _)| at).collect();
    let at = *places.get(text.len() / SLIPS.len() % places.len().max(1))?;
    Some(format!("{}{to}{}", &text[..at], &text[at + from.len()..]))
}
