//! Applies the fixes of findings to a text.

use onnx_ir::Diagnostic;
use onnx_ir::diag::Edit;

/// The text with every fix that is safe and does not overlap one before it, and how many those are.
pub(crate) fn apply(text: &str, diagnostics: &[Diagnostic]) -> (String, usize) {
    let safe = |diagnostic: &Diagnostic| diagnostic.fixes.iter().find(|fix| fix.safe).cloned();
    let mut fixes: Vec<_> = diagnostics.iter().filter_map(safe).collect();
    fixes.sort_by_key(|fix| fix.edits.first().map(|edit| edit.span));
    let mut edits: Vec<Edit> = Vec::new();
    let mut applied = 0;
    for fix in fixes {
        let end = edits.last().map_or(0, |edit| edit.span.end);
        let mut at = end;
        let is_sound = fix.edits.iter().all(|edit| {
            let follows = edit.span.start >= at && (edits.is_empty() || edit.span.start > end || end == 0);
            at = edit.span.end;
            follows && text.get(edit.span.range()).is_some()
        });
        if is_sound && !fix.edits.is_empty() {
            edits.extend(fix.edits);
            applied += 1;
        }
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for edit in &edits {
        out += &text[at..edit.span.start as usize];
        out += &edit.text;
        at = edit.span.end as usize;
    }
    out += &text[at..];
    (out, applied)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::diag::{Span, code};

    fn fix(at: u32, end: u32, text: &str, safe: bool) -> Diagnostic {
        let edit = Edit { span: Span::new(at, end), text: text.to_owned() };
        Diagnostic::new(&code::UNEXPECTED_TOKEN, Span::new(at, end), "x").fix("x", vec![edit], safe)
    }

    #[test]
    fn safe_fixes_that_do_not_overlap_are_applied() {
        let found = [fix(4, 5, "E", true), fix(0, 1, "A", true), fix(0, 2, "!", true), fix(2, 3, "?", false)];
        assert_eq!(apply("abcdef", &found), ("AbcdEf".to_owned(), 2));
        assert_eq!(apply("abc", &[fix(3, 3, ",", true), fix(9, 9, ",", true)]), ("abc,".to_owned(), 1));
        // Two insertions at one place are probably the same one twice.
        assert_eq!(apply("ab", &[fix(1, 1, ",", true), fix(1, 1, ",", true)]), ("a,b".to_owned(), 1));
    }
}
