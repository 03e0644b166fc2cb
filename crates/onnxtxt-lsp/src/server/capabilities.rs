//! The capabilities of the server.

use crate::client::Client;
use crate::document::Encoding;
use crate::features::{actions, commands, completion, semantic_tokens};
use crate::virtual_text;
use gen_lsp_types::*;

/// The capabilities for a client.
pub(crate) fn capabilities(encoding: Encoding, client: &Client) -> ServerCapabilities {
    ServerCapabilities {
        // The document.
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(
            TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::Incremental),
                save: Some(SaveOptions { include_text: Some(false) }.into()),
                ..Default::default()
            }
            .into(),
        ),
        // Findings.
        diagnostic_provider: client.pulls.then(|| {
            DiagnosticOptions {
                identifier: Some("onnxtxt".to_owned()),
                inter_file_dependencies: true,
                workspace_diagnostics: true,
                ..Default::default()
            }
            .into()
        }),
        // Navigation.
        hover_provider: Some(true.into()),
        definition_provider: Some(true.into()),
        declaration_provider: Some(true.into()),
        references_provider: Some(true.into()),
        document_highlight_provider: Some(true.into()),
        document_symbol_provider: Some(true.into()),
        workspace_symbol_provider: Some(true.into()),
        call_hierarchy_provider: Some(true.into()),
        folding_range_provider: Some(true.into()),
        selection_range_provider: Some(true.into()),
        // Formatting.
        document_formatting_provider: Some(true.into()),
        document_range_formatting_provider: Some(true.into()),
        document_on_type_formatting_provider: Some(DocumentOnTypeFormattingOptions {
            first_trigger_character: "}".to_owned(),
            more_trigger_character: Some(vec!["\n".to_owned()]),
        }),
        document_link_provider: Some(DocumentLinkOptions::default()),
        rename_provider: Some(RenameOptions { prepare_provider: Some(true), ..Default::default() }.into()),
        // Help while typing.
        inlay_hint_provider: Some(true.into()),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: Some(["(", ",", "<"].map(str::to_owned).to_vec()),
            ..Default::default()
        }),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(completion::TRIGGERS.map(str::to_owned).to_vec()),
            resolve_provider: Some(true),
            ..Default::default()
        }),
        // Colors.
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                legend: semantic_tokens::legend(),
                range: Some(true.into()),
                full: Some(SemanticTokensFullDelta { delta: Some(true) }.into()),
                ..Default::default()
            }
            .into(),
        ),
        // Actions and commands.
        code_action_provider: Some(
            CodeActionOptions {
                code_action_kinds: Some(actions::KINDS.to_vec()),
                resolve_provider: Some(true),
                ..Default::default()
            }
            .into(),
        ),
        code_lens_provider: Some(CodeLensOptions::default()),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: commands::ALL.map(str::to_owned).to_vec(),
            ..Default::default()
        }),
        // Folders.
        workspace: Some(WorkspaceOptions {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(true.into()),
            }),
            text_document_content: Some(
                TextDocumentContentOptions { schemes: vec![virtual_text::SCHEME.to_owned()] }.into(),
            ),
            ..Default::default()
        }),
        ..Default::default()
    }
}
