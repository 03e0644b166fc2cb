//! Claims: comments in a file that state the findings of the line above.

use onnx_ir::diag::Diagnostic;
use onnx_text::render::SourceText;
use std::fmt::Write as _;

/// `^ error[E0203]: message` under a place.
#[derive(Clone, PartialEq, Debug)]
struct Claim {
    /// From 1.
    line: u32,
    column: u32,
    /// `error[E0203]: mess`
    text: String,
}

/// Compares findings with the claims of the file.
pub(crate) fn compare(
    source: &SourceText<'_>,
    text: &str,
    found: &[Diagnostic],
    finds: &[&str],
) -> Result<(), String> {
    let mut claims = claims(text)?;
    let mut problems = String::new();
    let mut elsewhere: Vec<&str> = finds.to_vec();
    for diagnostic in found {
        let said = said(diagnostic);
        let Some(span) = source.span(diagnostic.primary.place) else {
            match elsewhere.iter().position(|claim| said.starts_with(claim)) {
                Some(index) => _ = elsewhere.remove(index),
                None => _ = writeln!(problems, "not claimed: `#! finds {said}`"),
            }
            continue;
        };
        let position = source.position(span.start);
        let is_this = |claim: &Claim| {
            (claim.line, claim.column) == (position.line, position.column) && said.starts_with(&claim.text)
        };
        match claims.iter().position(is_this) {
            Some(index) => _ = claims.remove(index),
            None => {
                let place = format!("{}:{}", position.line, position.column);
                _ = writeln!(problems, "not claimed: {place}: {}", as_claim(position.column, &said));
            }
        }
    }
    for claim in claims {
        _ = writeln!(problems, "not found: {}:{}: {}", claim.line, claim.column, claim.text);
    }
    for claim in elsewhere {
        _ = writeln!(problems, "not found: {claim}");
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Compares findings at any place with the `#! finds` lines of the file.
pub(crate) fn compare_without_places(found: &[Diagnostic], finds: &[&str]) -> Result<(), String> {
    let mut problems = String::new();
    let mut claims: Vec<&str> = finds.to_vec();
    for diagnostic in found {
        let said = said(diagnostic);
        match claims.iter().position(|claim| said.starts_with(claim)) {
            Some(index) => _ = claims.remove(index),
            None => _ = writeln!(problems, "not claimed: `#! finds {said}`"),
        }
    }
    for claim in claims {
        _ = writeln!(problems, "not found: {claim}");
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// `error[E0203]: message`
fn said(diagnostic: &Diagnostic) -> String {
    format!("{}[{}]: {}", diagnostic.severity.name(), diagnostic.code.id, diagnostic.message)
}

/// The claim to write below the line of a finding.
fn as_claim(column: u32, said: &str) -> String {
    match column {
        1 => format!("#< {said}"),
        _ => format!("#{:>width$} {said}", "^", width = column as usize - 1),
    }
}

fn claims(text: &str) -> Result<Vec<Claim>, String> {
    let mut claims = Vec::new();
    let mut line = 0;
    for (number, content) in (1..).zip(text.lines()) {
        let Some((column, said)) = claim(content) else {
            line = number;
            continue;
        };
        let is_complete =
            said.split_once(']').is_some_and(|(head, _)| head.contains("[E") || head.contains("[W"));
        if !is_complete {
            return Err(format!("line {number}: a claim is `error[E0203]: message`, not `{said}`"));
        }
        claims.push(Claim { line, column, text: said.to_owned() });
    }
    Ok(claims)
}

/// The column and the text of a claim.
fn claim(line: &str) -> Option<(u32, &str)> {
    let hash = line.find(|c: char| !c.is_whitespace())?;
    let rest = line[hash..].strip_prefix('#')?;
    let column = |at: usize| u32::try_from(line[..at].chars().count() + 1).ok();
    let said = |at: usize| line[at..].trim_start_matches('^').trim();
    if rest.starts_with('<') {
        return Some((column(hash)?, said(hash + 2)));
    }
    let caret = hash + 1 + rest.find(|c: char| c != ' ')?;
    line[caret..].starts_with('^').then_some(())?;
    Some((column(caret)?, said(caret)))
}
