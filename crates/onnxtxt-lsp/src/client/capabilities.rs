//! The capabilities of the client.

use gen_lsp_types::InitializeParams;

/// The capabilities of the client that the server asks about.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Client {
    /// It asks for findings; otherwise they are sent to it.
    pub(crate) pulls: bool,
    /// It repeats its requests when told to: for findings, hints, tokens and lenses.
    pub(crate) refreshes: Refreshes,
    /// Completions may have placeholders.
    pub(crate) has_snippets: bool,
    /// Completions and actions may be completed when they are chosen.
    pub(crate) has_literal_actions: bool,
    /// Changes of several files may be ordered and refer to versions.
    pub(crate) has_document_changes: bool,
    /// It watches files that the server names later.
    pub(crate) watches_files: bool,
    /// Outlines may be trees.
    pub(crate) has_tree_of_symbols: bool,
}

/// Which requests the client repeats.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refreshes {
    pub(crate) diagnostics: bool,
    pub(crate) hints: bool,
    pub(crate) tokens: bool,
    pub(crate) lenses: bool,
}

impl Client {
    pub(crate) fn new(params: &InitializeParams) -> Client {
        let capabilities = &params.capabilities;
        let document = capabilities.text_document.as_ref();
        let workspace = capabilities.workspace.as_ref();
        let completion = document.and_then(|document| document.completion.as_ref());
        let item = completion.and_then(|completion| completion.completion_item.as_ref());
        let symbols = document.and_then(|document| document.document_symbol.as_ref());
        let actions = document.and_then(|document| document.code_action.as_ref());
        let edits = workspace.and_then(|workspace| workspace.workspace_edit.as_ref());
        let watched = workspace.and_then(|workspace| workspace.did_change_watched_files.as_ref());
        let is = |flag: Option<bool>| flag == Some(true);
        Client {
            pulls: document.is_some_and(|document| document.diagnostic.is_some()),
            refreshes: Refreshes {
                diagnostics: is(workspace
                    .and_then(|workspace| workspace.diagnostics.as_ref())
                    .and_then(|it| it.refresh_support)),
                hints: is(workspace
                    .and_then(|workspace| workspace.inlay_hint.as_ref())
                    .and_then(|it| it.refresh_support)),
                tokens: is(workspace
                    .and_then(|workspace| workspace.semantic_tokens.as_ref())
                    .and_then(|it| it.refresh_support)),
                lenses: is(workspace
                    .and_then(|workspace| workspace.code_lens.as_ref())
                    .and_then(|it| it.refresh_support)),
            },
            has_snippets: is(item.and_then(|item| item.snippet_support)),
            has_literal_actions: actions.is_some_and(|actions| actions.code_action_literal_support.is_some()),
            has_document_changes: is(edits.and_then(|edits| edits.document_changes)),
            watches_files: is(watched.and_then(|watched| watched.dynamic_registration)),
            has_tree_of_symbols: is(symbols.and_then(|symbols| symbols.hierarchical_document_symbol_support)),
        }
    }
}
