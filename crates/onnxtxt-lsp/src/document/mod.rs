//! Documents: a text that changes, and snapshots of it.

mod embedded;
pub(crate) mod lines;
pub(crate) mod snapshot;

pub use lines::{Encoding, LineTable};
pub use snapshot::{Remains, Snapshot};

use crate::settings::Settings;
use gen_lsp_types::{TextDocumentContentChangeEvent, Uri};
use onnx_text::ReadStatements;
use onnxtxt::ir::diag::Span;
use std::sync::Arc;

/// An open document: its text, which changes, and the snapshot of its current version.
#[derive(Debug)]
pub struct Document {
    uri: Uri,
    version: i32,
    text: Arc<String>,
    lines: Arc<LineTable>,
    settings: Arc<Settings>,
    /// Made when it is needed, dropped by a change.
    snapshot: Option<Arc<Snapshot>>,
    /// The last version that was read as a whole, changed since then.
    known: Arc<ReadStatements>,
}

/// A replaced part of a text, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Replaced {
    /// The first byte.
    pub(crate) start: usize,
    /// The end of the old text.
    pub(crate) old_end: usize,
    /// The end of the new text.
    pub(crate) new_end: usize,
}

impl Document {
    /// A document as the client opens it.
    #[must_use]
    pub fn new(uri: Uri, version: i32, text: String, encoding: Encoding, settings: Arc<Settings>) -> Self {
        let lines = Arc::new(LineTable::new(&text, encoding));
        Document {
            uri,
            version,
            text: Arc::new(text),
            lines,
            settings,
            snapshot: None,
            known: Arc::default(),
        }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The lines of the text.
    #[must_use]
    pub fn lines(&self) -> &LineTable {
        &self.lines
    }

    /// The version that the client gave.
    pub(crate) fn version(&self) -> i32 {
        self.version
    }

    /// Applies the changes of one message, one after the other. A text that a snapshot still holds is copied; if all of them are gone,
    /// which is the rule, the text changes in place. Returns what the last version had computed, which takes long to drop if the text is
    /// long.
    pub fn change(&mut self, version: i32, changes: Vec<TextDocumentContentChangeEvent>) -> Remains {
        self.version = version;
        let remains = self.snapshot.take().map(|snapshot| {
            if let Some(known) = snapshot.read_statements() {
                self.known = known;
            }
            // No other reader has the snapshot: its text is free for the change.
            Arc::into_inner(snapshot).map(Snapshot::into_remains)
        });
        for change in changes {
            match change {
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(change) => {
                    let start = self.lines.offset(&self.text, change.range.start) as usize;
                    let end = (self.lines.offset(&self.text, change.range.end) as usize).max(start);
                    self.replace(start, end, &change.text);
                }
                TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(change) => {
                    self.lines = Arc::new(LineTable::new(&change.text, self.lines.encoding()));
                    self.text = Arc::new(change.text);
                    self.known = Arc::default();
                }
            }
        }
        remains.flatten().unwrap_or_default()
    }

    fn replace(&mut self, start: usize, end: usize, new: &str) {
        Arc::make_mut(&mut self.text).replace_range(start..end, new);
        let replaced = Replaced { start, old_end: end, new_end: start + new.len() };
        Arc::make_mut(&mut self.lines).replace(&self.text, replaced);
        let short = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Arc::make_mut(&mut self.known).replace(Span::new(short(start), short(end)), short(new.len()));
    }

    /// Checks by other settings.
    pub(crate) fn configure(&mut self, settings: Arc<Settings>) {
        self.settings = settings;
        self.snapshot = None;
    }

    /// The current version, shared by all requests until the next change.
    pub fn snapshot(&mut self) -> Arc<Snapshot> {
        let Document { uri, version, text, lines, settings, snapshot, known } = self;
        let make = || {
            Arc::new(Snapshot::new(
                uri.clone(),
                *version,
                Arc::clone(text),
                Arc::clone(lines),
                Arc::clone(settings),
                Arc::clone(known),
            ))
        };
        Arc::clone(snapshot.get_or_insert_with(make))
    }
}
