//! Fixes: each fix of a finding in the suite, applied alone, removes that finding, introduces no errors and keeps all comments
//! except those of removed items.

use libtest_mimic::Trial;
use onnx_ir::VerifyOptions;
use onnx_ir::diag::{Diagnostic, Edit, Level, Parsed, Span, code};
use onnx_text::{Fixes, TextKind, apply_fixes, sniff_text};
use onnxtxt::golden::{Case, judged, opsets};

pub(crate) fn trials(cases: &[Case]) -> Vec<Trial> {
    let is_claimed = |case: &&Case| case.text.contains("[E") || case.text.contains("[W");
    let is_model = |case: &&Case| sniff_text(&case.text) != TextKind::Value && !opsets::is_set(&case.text);
    let trial = |case: &Case| {
        let text = case.text.clone();
        Trial::test(format!("fixes/{}", case.name), move || check(&text).map_err(Into::into))
    };
    cases.iter().filter(is_claimed).filter(is_model).map(trial).collect()
}

fn check(text: &str) -> Result<(), String> {
    let before = found(text);
    for finding in &before {
        for fix in &finding.fixes {
            // `apply_fixes` applies what it is given, once: later rounds find nothing.
            let alone = Diagnostic { fixes: vec![fix.clone()], ..finding.clone() };
            let mut rounds = vec![vec![alone]];
            let result =
                apply_fixes(text, Fixes::Unsafe, |_| Parsed::new((), rounds.pop().unwrap_or_default()));
            let after = found(&result.text);
            // A `/* … */` becomes one, and `//` becomes `#`.
            let is_new_comment = [&code::FOREIGN_SPELLING, &code::BEYOND_REFERENCE].contains(&finding.code);
            let is_comment =
                is_new_comment || [&code::ALLOW_UNKNOWN, &code::ALLOW_UNUSED].contains(&finding.code);
            if !is_comment && comments(text, &fix.edits) != comments(&result.text, &[]) {
                return Err(format!("`{}` changes comments:\n{}", fix.title, result.text));
            }
            if result.fixed != 1 {
                return Err(format!("`{}` of `{}` was not applied", fix.title, finding.message));
            }
            let is_same = |d: &&Diagnostic| d.code == finding.code && d.message == finding.message;
            if after.iter().filter(is_same).count() >= before.iter().filter(is_same).count() {
                return Err(format!("`{}` does not fix `{}`:\n{}", fix.title, finding.message, result.text));
            }
            // A mistake may hide another one; a fix that is certain hides none.
            let errors = |list: &[Diagnostic]| list.iter().filter(|d| d.is_error()).count();
            let is_new = |d: &&Diagnostic| d.is_error() && !before.iter().any(|b| b.message == d.message);
            let new = after.iter().find(is_new).filter(|_| fix.safe && finding.code.level > Level::Syntax);
            if errors(&after) > errors(&before) || new.is_some() {
                return Err(format!("`{}` brings up {after:#?}:\n{}", fix.title, result.text));
            }
        }
    }
    Ok(())
}

/// The comments of a text in any order: statements move with theirs. Without those in the middle of what edits remove, and those of
/// statements that go: on the lines right above them, or behind them.
fn comments(text: &str, edits: &[Edit]) -> Vec<String> {
    let syntax = onnx_text::parse_model(text).value;
    let is_inside = |comment: &Span, edit: &Edit| {
        let is_code = |line: &str| !line.trim().is_empty() && !line.trim().starts_with('#');
        let around = |from: u32, to: u32| text.get(from as usize..to as usize).unwrap_or_default();
        edit.text.is_empty()
            && around(edit.span.start, comment.start).lines().any(is_code)
            && around(comment.end, edit.span.end).lines().any(is_code)
    };
    let goes = |comment: &Span, edit: &Edit| {
        let is_removed =
            edit.text.is_empty() && edit.span.start <= comment.start && comment.end <= edit.span.end;
        let is_moved = edits.iter().any(|other| other.text.contains(&text[comment.range()]));
        is_removed && !is_moved && is_beside_code(text, *comment)
    };
    let stays = |comment: &&Span| !edits.iter().any(|edit| is_inside(comment, edit) || goes(comment, edit));
    let all = syntax.comments.iter().filter(stays);
    let mut comments: Vec<_> = all.map(|span| text[span.range()].to_owned()).collect();
    comments.sort();
    comments
}

/// Whether a comment stands behind something, or right above it.
fn is_beside_code(text: &str, comment: Span) -> bool {
    let before = text[..comment.start as usize].rsplit('\n').next().unwrap_or_default();
    let is_comment = |line: &&str| line.trim_start().starts_with('#') || line.trim_start().starts_with("//");
    let below = text[comment.end as usize..].lines().skip(1).find(|line| !is_comment(line));
    !before.trim().is_empty() || below.is_some_and(|line| !line.trim().is_empty())
}

fn found(text: &str) -> Vec<Diagnostic> {
    let options = VerifyOptions { level: Level::Strict, ..VerifyOptions::default() };
    judged(text, &options).diagnostics
}
