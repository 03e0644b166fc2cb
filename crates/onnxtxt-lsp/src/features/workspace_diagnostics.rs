//! The findings about all texts of the folders.

use super::diagnostics::{diagnostics, result_id};
use crate::answer::Stage;
use crate::answer::{Answer, Failure};
use crate::request::RequestContext;
use gen_lsp_types::*;
use serde_json::json;

/// The findings of each file and open document; only whether they have changed, for those that the client has.
pub(crate) fn report(
    cx: &RequestContext,
    params: WorkspaceDiagnosticParams,
) -> Answer<WorkspaceDiagnosticReport> {
    let token = params.work_done_progress_params.work_done_token;
    let files = cx.view.files().len();
    let progress = |value: serde_json::Value| {
        if let Some(token) = &token {
            cx.view.outbox.notify::<ProgressNotification>(ProgressParams { token: token.clone(), value });
        }
    };
    progress(json!({ "kind": "begin", "title": "checking", "percentage": 0 }));
    let mut items = Vec::new();
    for (i, snapshot) in cx.view.all().enumerate() {
        if cx.demand.ended().is_some() {
            progress(json!({ "kind": "end" }));
            return Err(Failure("cancelled".to_owned()));
        }
        let found = diagnostics(&snapshot, Stage::All);
        let uri = snapshot.uri().clone();
        let is_open = cx.view.open.iter().any(|open| *open.uri() == uri);
        let version = is_open.then(|| snapshot.version());
        let result_id = result_id(&found);
        let known =
            params.previous_result_ids.iter().any(|known| known.uri == uri && known.value == result_id);
        items.push(match known {
            true => WorkspaceUnchangedDocumentDiagnosticReport {
                uri,
                version,
                unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport { result_id },
            }
            .into(),
            false => WorkspaceFullDocumentDiagnosticReport {
                uri,
                version,
                full_document_diagnostic_report: FullDocumentDiagnosticReport {
                    result_id: Some(result_id),
                    items: found,
                },
            }
            .into(),
        });
        let percentage = (i * 100).checked_div(files).unwrap_or(100).min(100);
        progress(json!({ "kind": "report", "percentage": percentage }));
    }
    progress(json!({ "kind": "end" }));
    Ok(WorkspaceDiagnosticReport { items })
}
