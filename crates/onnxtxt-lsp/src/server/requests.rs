//! The requests that the server answers, the settings, and the files that it watches.

use super::Server;
use crate::answer::Stage;
use crate::answer::{Answer, Failure};
use crate::features::*;
use crate::request::RequestContext;
use crate::settings::{ClientSettings, Settings};
use crate::uri;
use crate::virtual_text;
use gen_lsp_types::*;
use lsp_server::Request;
use std::sync::Arc;

/// The position of a request.
fn at(params: &TextDocumentPositionParams) -> Position {
    params.position
}

impl Server {
    pub(super) fn request(&mut self, request: Request) {
        match request.method.as_str() {
            // Findings.
            "textDocument/diagnostic" => self.answer::<DocumentDiagnosticRequest>(request, |cx, params| {
                let stage = if cx.interim.is_some() { Stage::Syntax } else { Stage::All };
                let mut found = diagnostics::diagnostics(&cx.snapshot, stage);
                found.extend(cx.interim.iter().flatten().cloned());
                Ok(diagnostics::report(found, params.previous_result_id.as_deref()))
            }),
            "workspace/diagnostic" => {
                self.answer::<WorkspaceDiagnosticRequest>(request, workspace_diagnostics::report)
            }
            // Navigation.
            "textDocument/hover" => self.answer::<HoverRequest>(request, |cx, params| {
                Ok(hover::hover(&cx.snapshot, at(&params.text_document_position_params)))
            }),
            "textDocument/definition" => self.answer::<DefinitionRequest>(request, |cx, params| {
                Ok(definition::definition(&cx.snapshot, at(&params.text_document_position_params))
                    .map(|location| Definition::from(location).into()))
            }),
            "textDocument/declaration" => self.answer::<DeclarationRequest>(request, |cx, params| {
                Ok(definition::declaration(&cx.snapshot, at(&params.text_document_position_params))
                    .map(|location| Declaration::from(location).into()))
            }),
            "textDocument/references" => self.answer::<ReferencesRequest>(request, |cx, params| {
                let position = at(&params.text_document_position_params);
                Ok(Some(references::references(&cx.snapshot, position, params.context.include_declaration)))
            }),
            "textDocument/documentHighlight" => {
                self.answer::<DocumentHighlightRequest>(request, |cx, params| {
                    Ok(Some(references::highlights(&cx.snapshot, at(&params.text_document_position_params))))
                })
            }
            "textDocument/documentSymbol" => self.answer::<DocumentSymbolRequest>(request, |cx, _| {
                let symbols = symbols::document_symbols(&cx.snapshot);
                Ok(Some(match cx.view.client.has_tree_of_symbols {
                    true => symbols.into(),
                    false => symbols::flat(&cx.snapshot, symbols).into(),
                }))
            }),
            "workspace/symbol" => self.answer::<WorkspaceSymbolRequest>(request, |cx, params| {
                Ok(Some(symbols::workspace_symbols(&cx.view, &params.query, &cx.demand).into()))
            }),
            "textDocument/prepareCallHierarchy" => {
                self.answer::<CallHierarchyPrepareRequest>(request, |cx, params| {
                    Ok(call_hierarchy::prepare(&cx.snapshot, at(&params.text_document_position_params)))
                });
            }
            "callHierarchy/incomingCalls" => self
                .answer::<CallHierarchyIncomingCallsRequest>(request, |cx, params| {
                    Ok(Some(call_hierarchy::incoming(&cx.snapshot, &params.item)))
                }),
            "callHierarchy/outgoingCalls" => self
                .answer::<CallHierarchyOutgoingCallsRequest>(request, |cx, params| {
                    Ok(Some(call_hierarchy::outgoing(&cx.snapshot, &params.item)))
                }),
            // The shape of the text.
            "textDocument/foldingRange" => {
                self.answer::<FoldingRangeRequest>(request, |cx, _| {
                    Ok(Some(folding::folding_ranges(&cx.snapshot)))
                });
            }
            "textDocument/selectionRange" => self.answer::<SelectionRangeRequest>(request, |cx, params| {
                Ok(Some(selection::selection_ranges(&cx.snapshot, &params.positions)))
            }),
            "textDocument/documentLink" => {
                self.answer::<DocumentLinkRequest>(request, |cx, _| Ok(Some(links::links(&cx.snapshot))));
            }
            "textDocument/semanticTokens/full" => self.answer::<SemanticTokensRequest>(request, |cx, _| {
                Ok(Some(semantic_tokens::full(&cx.snapshot)))
            }),
            "textDocument/semanticTokens/full/delta" => {
                self.answer::<SemanticTokensDeltaRequest>(request, |cx, params| {
                    Ok(Some(semantic_tokens::delta(&cx.snapshot, &params.previous_result_id)))
                });
            }
            "textDocument/semanticTokens/range" => self
                .answer::<SemanticTokensRangeRequest>(request, |cx, params| {
                    Ok(Some(semantic_tokens::range(&cx.snapshot, params.range)))
                }),
            // Changes of the text.
            "textDocument/formatting" => self.answer::<DocumentFormattingRequest>(request, |cx, _| {
                Ok(formatting::document(&cx.snapshot)?)
            }),
            "textDocument/rangeFormatting" => self
                .answer::<DocumentRangeFormattingRequest>(request, |cx, params| {
                    Ok(formatting::range(&cx.snapshot, params.range)?)
                }),
            "textDocument/onTypeFormatting" => self
                .answer::<DocumentOnTypeFormattingRequest>(request, |cx, params| {
                    Ok(formatting::on_type(&cx.snapshot, params.position))
                }),
            "textDocument/prepareRename" => self.answer::<PrepareRenameRequest>(request, |cx, params| {
                Ok(Some(rename::prepare(&cx.snapshot, at(&params.text_document_position_params))?.into()))
            }),
            "textDocument/rename" => self.answer::<RenameRequest>(request, |cx, params| {
                let position = at(&params.text_document_position_params);
                Ok(Some(rename::rename(&cx.snapshot, position, &params.new_name, &cx.view.client)?))
            }),
            "textDocument/codeAction" => self.answer::<CodeActionRequest>(request, |cx, params| {
                Ok(Some(actions::actions(&cx.snapshot, &params, &cx.view.client)))
            }),
            "codeAction/resolve" => self.answer::<CodeActionResolveRequest>(request, resolve_action),
            // While typing.
            "textDocument/completion" => self.answer::<CompletionRequest>(request, |cx, params| {
                let position = at(&params.text_document_position_params);
                Ok(Some(completion::completion(&cx.snapshot, position, &cx.view.client).into()))
            }),
            "completionItem/resolve" => {
                self.answer::<CompletionResolveRequest>(request, |cx, item| {
                    Ok(completion::resolve(item, &cx.view))
                });
            }
            "textDocument/signatureHelp" => self.answer::<SignatureHelpRequest>(request, |cx, params| {
                Ok(signature_help::signature_help(&cx.snapshot, at(&params.text_document_position_params)))
            }),
            "textDocument/inlayHint" => self.answer::<InlayHintRequest>(request, |cx, params| {
                Ok(Some(inlay_hints::inlay_hints(&cx.snapshot, params.range, &cx.demand)))
            }),
            // Commands and texts of binary models.
            "textDocument/codeLens" => {
                self.answer::<CodeLensRequest>(request, |cx, _| Ok(Some(lenses::lenses(&cx.snapshot))));
            }
            "workspace/executeCommand" => self.execute(request),
            "workspace/textDocumentContent" => self
                .answer::<TextDocumentContentRequest>(request, |_, params| {
                    Ok(TextDocumentContentResult { text: virtual_text::text(&params.uri)? })
                }),
            "onnxtxt/text" => {
                self.answer_as::<virtual_text::TextParams, _>(request, |_, params| {
                    Ok(TextDocumentContentResult { text: virtual_text::text(&params.uri())? })
                });
            }
            "onnxtxt/write" => self
                .answer_as::<virtual_text::WriteParams, _>(request, |_, params| virtual_text::write(&params)),
            _ => self.refuse(request),
        }
    }

    /// Runs a command, after consent if it runs a model or changes files of a folder that is not trusted.
    fn execute(&mut self, request: Request) {
        let Some(command) = request.params.get("command").and_then(|command| command.as_str()) else {
            return self.refuse(request);
        };
        if self.settings.trusted || !commands::needs_consent(command) {
            return self.run_command(request);
        }
        let allow =
            |title: &str| MessageActionItem { title: title.to_owned(), properties: Default::default() };
        let ask = ShowMessageRequestParams {
            kind: MessageType::Warning,
            message: format!("{}? The folder is not trusted.", commands::title(command)),
            actions: Some(vec![allow(ONCE), allow(ALWAYS)]),
        };
        self.ask::<ShowMessageRequest>(ask, move |server, answer| {
            match answer.get("title").and_then(|title| title.as_str()) {
                Some(ALWAYS) => {
                    server.settings.trusted = true;
                    server.run_command(request);
                }
                Some(ONCE) => server.run_command(request),
                _ => {
                    let failure = Failure("it was not allowed".to_owned());
                    server.connection.send(super::dispatch::failed(request.id, failure).into());
                }
            }
        });
    }

    fn run_command(&mut self, request: Request) {
        self.answer::<ExecuteCommandRequest>(request, commands::execute);
    }

    pub(super) fn configure(&mut self, value: &serde_json::Value) {
        match ClientSettings::read(value) {
            Ok(settings) => self.settings = settings,
            Err(error) => self.show_error(error),
        }
        self.workspace.configure(&self.settings);
    }

    pub(super) fn settings_of(&mut self, uri: &Uri) -> Arc<Settings> {
        let path = uri::path_of(uri).or_else(|| virtual_text::path_of(uri));
        let configs = self.workspace.configs();
        let settings = configs.settings(path.as_deref());
        configs.take_errors().into_iter().for_each(|error| self.show_error(error));
        settings
    }

    fn show_error(&mut self, message: String) {
        let params = ShowMessageParams { kind: MessageType::Error, message };
        self.connection.notify::<ShowMessageNotification>(params);
    }

    /// Asks the client to watch models, operator sets and settings.
    pub(super) fn register(&mut self) {
        if !self.client.watches_files {
            return;
        }
        let watch = |pattern: &str| FileSystemWatcher { glob_pattern: pattern.to_owned().into(), kind: None };
        let watchers = ["**/*.{onnxtxt,onnxtext}", "**/onnxtxt.toml"].map(watch).to_vec();
        let options = DidChangeWatchedFilesRegistrationOptions { watchers };
        let method: String = LspNotificationMethod::WorkspaceDidChangeWatchedFiles.into();
        let registration = Registration {
            id: "files".to_owned(),
            method,
            register_options: serde_json::to_value(options).ok(),
        };
        self.ask::<RegistrationRequest>(RegistrationParams { registrations: vec![registration] }, |_, _| {});
    }

    pub(super) fn files_changed(&mut self, params: DidChangeWatchedFilesParams) {
        if params.changes.iter().any(|change| self.workspace.is_used(&change.uri)) {
            self.workspace.reload();
            self.refresh();
        }
    }

    pub(super) fn folders_changed(&mut self, params: DidChangeWorkspaceFoldersParams) {
        for folder in params.event.removed {
            uri::path_of(&folder.uri).iter().for_each(|path| self.workspace.remove(path));
        }
        for folder in params.event.added {
            uri::path_of(&folder.uri).into_iter().for_each(|path| self.workspace.add(path));
        }
    }
}

/// Answers of the user.
const ONCE: &str = "Allow once";
const ALWAYS: &str = "Trust the folder";

/// Computes the edit of an action that was chosen.
fn resolve_action(cx: &RequestContext, action: CodeAction) -> Answer<CodeAction> {
    let uri = action.data.as_ref().and_then(|data| data.get("uri")?.as_str()).map(|uri| Uri(uri.to_owned()));
    let uri = uri.ok_or_else(|| Failure("the action has no document".to_owned()))?;
    let open = cx.view.open.iter().find(|open| *open.uri() == uri);
    let snapshot = open.ok_or_else(|| Failure(format!("the document {} is not open", uri.0)))?;
    actions::resolve(snapshot, action, &cx.view.client)
}
