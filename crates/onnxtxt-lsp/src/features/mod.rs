//! The features: one file each, with functions of a snapshot and a position that know no server.

pub(crate) mod actions;
pub(crate) mod call_hierarchy;
pub(crate) mod commands;
pub(crate) mod completion;
mod cursor;
pub(crate) mod definition;
pub(crate) mod diagnostics;
pub(crate) mod folding;
pub(crate) mod formatting;
pub(crate) mod hover;
pub(crate) mod inlay_hints;
pub(crate) mod lenses;
pub(crate) mod links;
pub(crate) mod references;
pub(crate) mod rename;
mod schemas;
pub(crate) mod selection;
pub(crate) mod semantic_tokens;
pub(crate) mod signature_help;
pub(crate) mod symbols;
#[cfg(test)]
mod testing;
pub(crate) mod workspace_diagnostics;

use crate::answer::{Demand, Stage};
use crate::client::Client;
use crate::document::Snapshot;
use gen_lsp_types::{Position, Range};

/// Every request at a byte of a document.
pub(crate) fn exercise(snapshot: &Snapshot, at: usize) {
    let at = snapshot.position(u32::try_from(at).unwrap_or(u32::MAX));
    let client = Client::default();
    let end = snapshot.position(u32::MAX);
    let whole = Range { start: Position::default(), end };
    diagnostics::diagnostics(snapshot, Stage::Syntax);
    diagnostics::diagnostics(snapshot, Stage::All);
    hover::hover(snapshot, at);
    definition::definition(snapshot, at);
    definition::declaration(snapshot, at);
    references::highlights(snapshot, at);
    _ = rename::prepare(snapshot, at);
    _ = rename::rename(snapshot, at, "other", &client);
    symbols::flat(snapshot, symbols::document_symbols(snapshot));
    folding::folding_ranges(snapshot);
    selection::selection_ranges(snapshot, &[at]);
    links::links(snapshot);
    semantic_tokens::full(snapshot);
    _ = formatting::document(snapshot);
    formatting::on_type(snapshot, at);
    completion::completion(snapshot, at, &client);
    signature_help::signature_help(snapshot, at);
    inlay_hints::inlay_hints(snapshot, whole, &Demand::default());
    lenses::lenses(snapshot);
    actions::at(snapshot, Range { start: at, end: at });
    if let Some(item) = call_hierarchy::prepare(snapshot, at).and_then(|items| items.into_iter().next()) {
        call_hierarchy::incoming(snapshot, &item);
        call_hierarchy::outgoing(snapshot, &item);
    }
}
