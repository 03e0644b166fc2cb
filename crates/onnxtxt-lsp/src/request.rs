//! The context in which a feature answers a request.

use crate::answer::Demand;
use crate::document::Snapshot;
use crate::workspace::View;
use gen_lsp_types::Diagnostic;
use std::sync::Arc;

/// The context of a request: its document, and the others.
#[derive(Clone)]
pub(crate) struct RequestContext {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) view: View,
    pub(crate) demand: Demand,
    /// Of a request for findings while the user types: those about operators and types of the last check, moved with the text.
    pub(crate) interim: Option<Vec<Diagnostic>>,
}
