//! One line for each finding, for editors and for the log of a build.

use super::{SourceText, Spot};
use crate::visible::{is_active, visible};
use onnx_ir::diag::Diagnostic;

/// `m.onnxtxt:3:7: error[E0203]: use of undefined value`, without a line break.
#[must_use]
pub fn short(diagnostic: &Diagnostic, source: &SourceText<'_>) -> String {
    let Diagnostic { code, severity, message, .. } = diagnostic;
    let place = match source.spot(diagnostic.primary.place) {
        Spot::Text(span) => {
            let position = source.position(span.start);
            format!(":{}:{}", position.line, position.column)
        }
        Spot::Byte(byte) => format!(": byte {byte}"),
        Spot::Nowhere => String::new(),
    };
    let line = one_line(&format!("{}{place}: {}[{}]: {message}", source.name(), severity.name(), code.id));
    visible(&line).into_owned()
}

/// `::error file=m.onnxtxt,line=3,col=7,title=E0203::use of undefined value`: an annotation of a GitHub workflow.
#[must_use]
pub fn github(diagnostic: &Diagnostic, source: &SourceText<'_>) -> String {
    let Diagnostic { code, severity, message, .. } = diagnostic;
    let mut out = format!("::{} file={}", severity.name(), property(&one_line(source.name())));
    let mut message = one_line(message);
    match source.spot(diagnostic.primary.place) {
        Spot::Text(span) => {
            let (start, end) = (source.position(span.start), source.position(span.end));
            out += &format!(",line={},col={}", start.line, start.column);
            if end.line == start.line && end.column > start.column {
                out += &format!(",endColumn={}", end.column);
            }
        }
        Spot::Byte(byte) => message += &format!(" (at byte {byte})"),
        Spot::Nowhere => {}
    }
    if let Some(help) = &diagnostic.help {
        message += &format!("; {}", one_line(help));
    }
    out += &format!(",title={} {}::{}", code.id, code.name, data(&message));
    out
}

/// Longer messages are cut in the middle: a name in them may have 20 MB.
const LONGEST: usize = 1000;

/// On one line, and not too long. Control characters become spaces: a name in a message must not break the line, or
/// reach the terminal as a command.
pub(super) fn one_line(text: &str) -> String {
    let visible = |c: char| match c {
        c if c.is_control() => ' ',
        c if is_active(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    let Some((head, _)) = text.char_indices().nth(LONGEST / 2) else {
        return text.chars().map(visible).collect();
    };
    let Some((tail, _)) = text.char_indices().rev().nth(LONGEST / 4) else { return String::new() };
    if text[head..].chars().nth(LONGEST / 2).is_none() {
        return text.chars().map(visible).collect();
    }
    text[..head].chars().chain("…".chars()).chain(text[tail..].chars()).map(visible).collect()
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
