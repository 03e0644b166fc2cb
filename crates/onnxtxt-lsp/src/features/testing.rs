//! Texts with markers: `$0` is the cursor, and `$[` and `$]` are around ranges.

use crate::document::{Encoding, Snapshot};
use crate::settings::Settings;
use gen_lsp_types::{Position, TextEdit, Uri};
use onnxtxt::ir::diag::Span;
use std::sync::Arc;

/// A document with this text.
pub(crate) fn snapshot(text: &str) -> Snapshot {
    with_settings(text, Settings::default())
}

pub(crate) fn with_settings(text: &str, settings: Settings) -> Snapshot {
    let uri = Uri("file:///test/model.onnxtxt".to_owned());
    Snapshot::of_text(uri, text.to_owned(), Encoding::Utf16, Arc::new(settings))
}

/// The document without markers, and the cursor.
pub(crate) fn at_cursor(marked: &str) -> (Snapshot, Position) {
    let (snapshot, cursor, _) = marked_text(marked);
    (snapshot, cursor.expect("the text has a cursor"))
}

/// The document without markers, the cursor, and the marked ranges.
pub(crate) fn marked_text(marked: &str) -> (Snapshot, Option<Position>, Vec<Span>) {
    let (mut text, mut cursor, mut open, mut ranges) = (String::new(), None, Vec::new(), Vec::new());
    let mut rest = marked;
    while let Some(at) = rest.find('$') {
        text += &rest[..at];
        let here = u32::try_from(text.len()).expect("a text of a test");
        match rest.as_bytes().get(at + 1) {
            Some(b'0') => cursor = Some(here),
            Some(b'[') => open.push(here),
            Some(b']') => ranges.push(Span::new(open.pop().expect("a `$[` before"), here)),
            _ => {
                text.push('$');
                rest = &rest[at + 1..];
                continue;
            }
        }
        rest = &rest[at + 2..];
    }
    text += rest;
    ranges.sort();
    let snapshot = snapshot(&text);
    let cursor = cursor.map(|at| snapshot.position(at));
    (snapshot, cursor, ranges)
}

/// The text after edits.
pub(crate) fn edited(snapshot: &Snapshot, edits: &[TextEdit]) -> String {
    let mut spans: Vec<(Span, &str)> =
        edits.iter().map(|edit| (snapshot.span(edit.range), edit.new_text.as_str())).collect();
    spans.sort_by_key(|(span, _)| *span);
    let mut text = snapshot.text().to_owned();
    for (span, new) in spans.into_iter().rev() {
        text.replace_range(span.range(), new);
    }
    text
}

/// A model with one graph around nodes.
pub(crate) fn model(nodes: &str) -> String {
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N,4] x) => (float[N,4] y) {{\n{nodes}\n}}\n"
    )
}
