//! Open documents, and messages about them.

use super::{Event, Pending, Server};
use crate::answer::{Demand, Stage};
use crate::document::{Document, Encoding, Snapshot};
use crate::features::diagnostics;
use gen_lsp_types::*;
use lsp_server::{Notification, RequestId};
use onnxtxt::ir::diag::{self, Level};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long after a change operators and types are checked, unless the client says otherwise.
const PAUSE: Duration = Duration::from_millis(150);

pub(crate) struct Documents {
    open: HashMap<String, Open>,
    pub(super) encoding: Encoding,
}

struct Open {
    document: Document,
    /// The check that is running.
    check: Demand,
    /// Whether it was changed since it was checked as a whole.
    is_changed: bool,
    /// The findings of the last whole check, moved with the text.
    shown: Vec<Diagnostic>,
    /// Whether the user has typed since then.
    is_typed: bool,
    /// Whether a client that asks for findings has had only those that were there at once.
    has_interim: bool,
}

impl Documents {
    pub(super) fn new(encoding: Encoding) -> Documents {
        Documents { open: HashMap::new(), encoding }
    }

    /// The current version of an open document.
    pub(crate) fn snapshot(&mut self, uri: &Uri) -> Option<Arc<Snapshot>> {
        self.open.get_mut(&uri.0).map(|open| open.document.snapshot())
    }

    /// The current versions of all open documents.
    pub(crate) fn snapshots(&mut self) -> Vec<Arc<Snapshot>> {
        self.open.values_mut().map(|open| open.document.snapshot()).collect()
    }
}

/// Whether editors continue with the answer to a request while the user types: Visual Studio Code asks for completions at the first character
/// of a word, selects from them by the others, and does not ask again.
fn is_refined(method: &str) -> bool {
    matches!(method, "textDocument/completion" | "textDocument/signatureHelp")
}

/// Whether a finding is about operators and types, which are checked later than the syntax.
fn is_later(diagnostic: &Diagnostic) -> bool {
    let Some(Code::String(id)) = &diagnostic.code else { return false };
    diag::find(id).is_some_and(|code| code.level > Level::Syntax)
}

impl Server {
    pub(super) fn notification(&mut self, notification: Notification) {
        let Notification { method, params } = notification;
        let handled = match method.as_str() {
            "textDocument/didOpen" => self.with(params, Self::opened),
            "textDocument/didChange" => self.with(params, Self::changed),
            "textDocument/didClose" => self.with(params, Self::closed),
            "textDocument/didSave" => self.with(params, Self::saved),
            "workspace/didChangeConfiguration" => {
                self.with(params, |server, params: DidChangeConfigurationParams| {
                    server.configure(&params.settings);
                    server.refresh();
                })
            }
            "workspace/didChangeWatchedFiles" => self.with(params, Self::files_changed),
            "workspace/didChangeWorkspaceFolders" => self.with(params, Self::folders_changed),
            "$/cancelRequest" => self.with(params, |server, params: CancelParams| {
                let id = match params.id {
                    Id::Int(id) => RequestId::from(id),
                    Id::String(id) => RequestId::from(id),
                };
                server.end(&id, Demand::cancel);
            }),
            "$/setTrace" => self.with(params, |server, params: SetTraceParams| server.trace = params.value),
            "initialized" => Ok(()),
            other => {
                // Notifications that begin with `$/` may be ignored.
                self.log.write(&format!("unknown notification {other}"));
                Ok(())
            }
        };
        if let Err(error) = handled {
            self.log.write(&format!("{method}: {error}"));
        }
    }

    fn with<P: serde::de::DeserializeOwned>(
        &mut self,
        params: serde_json::Value,
        then: impl FnOnce(&mut Server, P),
    ) -> Result<(), serde_json::Error> {
        then(self, serde_json::from_value(params)?);
        Ok(())
    }

    fn opened(&mut self, params: DidOpenTextDocumentParams) {
        let TextDocumentItem { uri, version, text, .. } = params.text_document;
        let settings = self.settings_of(&uri);
        let document = Document::new(uri.clone(), version, text, self.documents.encoding, settings);
        let open = Open {
            document,
            check: Demand::default(),
            is_changed: true,
            shown: Vec::new(),
            is_typed: false,
            has_interim: false,
        };
        self.documents.open.insert(uri.0.clone(), open);
        self.check(&uri, Stage::Syntax);
        self.check_later();
    }

    fn changed(&mut self, params: DidChangeTextDocumentParams) {
        let VersionedTextDocumentIdentifier {
            version,
            text_document_identifier: TextDocumentIdentifier { uri },
        } = params.text_document;
        let is_of_document =
            |pending: &Pending| pending.document.as_deref() == Some(&uri.0) && !is_refined(&pending.method);
        let outdated =
            self.pending.iter().filter(|(_, pending)| is_of_document(pending)).map(|(id, _)| id.clone());
        for id in outdated.collect::<Vec<_>>() {
            self.end(&id, Demand::outdate);
        }
        let Some(open) = self.documents.open.get_mut(&uri.0) else { return };
        open.check.outdate();
        let units = |text: &str| crate::document::LineTable::new(text, open.document.lines().encoding());
        for change in &params.content_changes {
            match change {
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(change) => {
                    let inserted = units(&change.text);
                    let end = inserted.position(&change.text, u32::MAX);
                    diagnostics::move_all(&mut open.shown, change.range, end);
                }
                TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(_) => {
                    open.shown.clear()
                }
            }
        }
        let remains = open.document.change(version, params.content_changes);
        self.workers.run(move || {
            drop(remains);
            None
        });
        open.is_changed = true;
        open.is_typed = true;
        self.check(&uri, Stage::Syntax);
        self.check_later();
    }

    /// The findings about operators and types that an answer has while the user types: those of the last check. The server asks the client to ask
    /// again after the next one. `None`: all findings are computed at once.
    pub(super) fn interim(&mut self, uri: &Uri) -> Option<Vec<Diagnostic>> {
        let open = self.documents.open.get_mut(&uri.0).filter(|open| open.is_typed)?;
        if !self.client.refreshes.diagnostics {
            return None;
        }
        open.has_interim = true;
        Some(open.shown.iter().filter(|diagnostic| is_later(diagnostic)).cloned().collect())
    }

    fn closed(&mut self, params: DidCloseTextDocumentParams) {
        let uri = params.text_document.uri;
        if let Some(open) = self.documents.open.remove(&uri.0) {
            open.check.cancel();
            if !self.client.pulls {
                let nothing = PublishDiagnosticsParams { uri, version: None, diagnostics: Vec::new() };
                self.connection.notify::<PublishDiagnosticsNotification>(nothing);
            }
        }
    }

    fn saved(&mut self, params: DidSaveTextDocumentParams) {
        // Other models may use an operator set that was saved.
        if self.workspace.is_used(&params.text_document.uri) {
            self.workspace.reload();
            self.refresh();
        }
    }

    /// Checks a document in a worker. A client that asks for findings itself needs this only if it supports requests to ask again.
    fn check(&mut self, uri: &Uri, stage: Stage) {
        if self.client.pulls && (stage == Stage::Syntax || !self.client.refreshes.diagnostics) {
            return;
        }
        let Some(open) = self.documents.open.get_mut(&uri.0) else { return };
        let demand = Demand::default();
        open.check = demand.clone();
        let snapshot = open.document.snapshot();
        let check = move || {
            if demand.ended().is_some() {
                return None;
            }
            let diagnostics = super::dispatch::guard(|| diagnostics::diagnostics(&snapshot, stage)).ok()?;
            let params = PublishDiagnosticsParams {
                uri: snapshot.uri().clone(),
                version: Some(snapshot.version()),
                diagnostics,
            };
            demand.ended().is_none().then_some(Event::Found(params, stage))
        };
        match stage {
            Stage::Syntax => self.workers.run_urgently(check),
            Stage::All => self.workers.run(check),
        }
    }

    fn check_later(&mut self) {
        let pause = self.settings.pause.map_or(PAUSE, Duration::from_millis);
        self.check_at = Some(Instant::now() + pause);
    }

    /// Checks the documents that were changed, after a pause.
    pub(super) fn check_changed(&mut self) {
        let changed: Vec<Uri> = self
            .documents
            .open
            .iter_mut()
            .filter_map(|(uri, open)| {
                open.is_typed = false;
                std::mem::take(&mut open.is_changed).then(|| Uri(uri.clone()))
            })
            .collect();
        for uri in changed {
            self.check(&uri, Stage::All);
        }
    }

    /// Sends findings. Until operators and types are checked again, those findings that are not about the syntax stay where they
    /// were, so that an editor does not flicker.
    pub(super) fn publish(&mut self, mut found: PublishDiagnosticsParams, stage: Stage) {
        let Some(open) = self.documents.open.get_mut(&found.uri.0) else { return };
        if found.version != Some(open.document.version()) {
            return;
        }
        match stage {
            Stage::All => open.shown.clone_from(&found.diagnostics),
            Stage::Syntax => {
                found
                    .diagnostics
                    .extend(open.shown.iter().filter(|diagnostic| is_later(diagnostic)).cloned());
            }
        }
        if self.client.pulls {
            if std::mem::take(&mut open.has_interim) {
                self.ask::<DiagnosticRefreshRequest>((), |_, _| {});
            }
            return;
        }
        self.connection.notify::<PublishDiagnosticsNotification>(found);
    }

    /// Gives every document its settings, checks it, and asks the client to repeat its requests.
    pub(super) fn refresh(&mut self) {
        let open: Vec<Uri> = self.documents.open.keys().cloned().map(Uri).collect();
        for uri in open {
            let settings = self.settings_of(&uri);
            if let Some(open) = self.documents.open.get_mut(&uri.0) {
                open.document.configure(settings);
                open.is_changed = true;
            }
        }
        self.check_changed();
        let refreshes = self.client.refreshes;
        if refreshes.diagnostics && self.client.pulls {
            self.ask::<DiagnosticRefreshRequest>((), |_, _| {});
        }
        if refreshes.hints {
            self.ask::<InlayHintRefreshRequest>((), |_, _| {});
        }
        if refreshes.tokens {
            self.ask::<SemanticTokensRefreshRequest>((), |_, _| {});
        }
        if refreshes.lenses {
            self.ask::<CodeLensRefreshRequest>((), |_, _| {});
        }
    }
}
