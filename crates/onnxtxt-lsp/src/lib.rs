//! A language server for ONNX text over the library [`onnxtxt`].
//!
//! ```text
//! client ──messages──▶ server ──snapshot + position──▶ features ──▶ answer
//!                        │
//!                     document: text, lines; tree, names, types and findings, each made when it is needed first
//! ```
//!
//! The loop (`server`) owns the documents and answers nothing itself: it gives a request and a snapshot of its document to a worker.
//! A snapshot never changes and is shared, so a request is a pure function of it, and what one request has computed (the types of
//! all values, say) the next one has. A request whose document changes meanwhile is answered with `ContentModified`, one that the
//! client cancels with `RequestCancelled`, and one that panics with an internal error; the server lives.
//!
//! The types of messages are those of `gen-lsp-types`, which are generated from the specification's own model (3.18); rust-analyzer
//! uses them with `lsp-server`, while the older `lsp-types` has had no release since 3.17.
//!
//! ```
//! use lsp_server::Connection;
//!
//! let (server, client) = Connection::memory();
//! let thread = std::thread::spawn(|| onnxtxt_lsp::serve(server, onnxtxt_lsp::Options::default()));
//! drop(client); // a client that is gone ends the server
//! assert!(thread.join().unwrap().is_err());
//! ```

#![forbid(unsafe_code)]

mod answer;
mod client;
mod document;
mod features;
mod request;
mod server;
mod settings;
mod uri;
mod virtual_text;
mod workspace;

pub use document::{Document, Encoding, LineTable, Remains, Snapshot};
pub use server::{Options, ServerError, serve, serve_stdio};
pub use settings::Settings;

/// Answers every request at a byte of a document, for tests that look for panics.
#[doc(hidden)]
pub fn exercise(snapshot: &Snapshot, at: usize) {
    features::exercise(snapshot, at);
}

/// The findings about the syntax, and all, as a client has them, for tests that compare.
#[doc(hidden)]
#[must_use]
pub fn published(snapshot: &Snapshot, is_all: bool) -> Vec<gen_lsp_types::Diagnostic> {
    let stage = if is_all { answer::Stage::All } else { answer::Stage::Syntax };
    features::diagnostics::diagnostics(snapshot, stage)
}
