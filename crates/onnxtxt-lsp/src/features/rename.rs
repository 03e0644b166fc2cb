//! Renames a name everywhere in its document. A name that would then mean something else is refused.

use crate::answer::{Answer, Failure};
use crate::client::Client;
use crate::document::Snapshot;
use gen_lsp_types::*;
use onnx_text::{Occurrence, Spelling, rename_in_text};
use onnxtxt::ir::diag::Span;
use std::collections::HashMap;

/// The range that is renamed, and the name in it.
pub(crate) fn prepare(snapshot: &Snapshot, position: Position) -> Answer<PrepareRenamePlaceholder> {
    let occurrence = occurrence(snapshot, position)?;
    let placeholder = snapshot.names().text(snapshot.text(), occurrence.name).into_owned();
    Ok(PrepareRenamePlaceholder { range: snapshot.range(without_quotes(snapshot, occurrence)), placeholder })
}

/// The edits.
pub(crate) fn rename(
    snapshot: &Snapshot,
    position: Position,
    new: &str,
    client: &Client,
) -> Answer<WorkspaceEdit> {
    let name = occurrence(snapshot, position)?.name;
    let edits = rename_in_text(snapshot.text(), snapshot.names(), name, new)?;
    Ok(workspace_edit(snapshot, edits.iter().map(|edit| snapshot.edit(edit)).collect(), client))
}

fn occurrence(snapshot: &Snapshot, position: Position) -> Answer<Occurrence> {
    let names = snapshot.names();
    let found =
        names.at(snapshot.offset(position)).ok_or_else(|| Failure("there is no name here".to_owned()))?;
    if !names.is_defined(found.name) {
        let name = names.text(snapshot.text(), found.name);
        return Err(Failure(format!("`{name}` is not defined in this text")));
    }
    Ok(found)
}

fn without_quotes(snapshot: &Snapshot, occurrence: Occurrence) -> Span {
    let text = snapshot.slice(occurrence.span);
    let is_plain = occurrence.spelling == Spelling::Word
        || text.len() < 2
        || !text.starts_with('"')
        || text.contains('\\');
    let Span { start, end } = occurrence.span;
    if is_plain { occurrence.span } else { Span::new(start + 1, end - 1) }
}

/// Edits of one document, of this version where the client can tell.
pub(super) fn workspace_edit(snapshot: &Snapshot, edits: Vec<TextEdit>, client: &Client) -> WorkspaceEdit {
    let uri = snapshot.uri().clone();
    if client.has_document_changes {
        let text_document = OptionalVersionedTextDocumentIdentifier {
            version: Some(snapshot.version()),
            text_document_identifier: TextDocumentIdentifier { uri },
        };
        let edits = edits.into_iter().map(Into::into).collect();
        let change = TextDocumentEdit { text_document, edits };
        return WorkspaceEdit { document_changes: Some(vec![change.into()]), ..WorkspaceEdit::default() };
    }
    WorkspaceEdit { changes: Some(HashMap::from([(uri, edits)])), ..WorkspaceEdit::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::{at_cursor, edited, model};

    fn renamed(marked: &str, new: &str) -> Answer<String> {
        let (snapshot, cursor) = at_cursor(marked);
        let edit = rename(&snapshot, cursor, new, &Client::default())?;
        let edits = edit.changes.unwrap().into_values().next().unwrap();
        Ok(edited(&snapshot, &edits))
    }

    #[test]
    fn names_are_renamed_with_all_their_uses() {
        let text = renamed(&model("$0t = Abs(x)\ny = Neg(t)"), "u").unwrap();
        assert_eq!(text, model("u = Abs(x)\ny = Neg(u)"));
        let text = renamed(&model("t = Abs(x)\ny = Neg($0t)"), "layer 1").unwrap();
        assert_eq!(text, model("\"layer 1\" = Abs(x)\ny = Neg(\"layer 1\")"));
        let text = renamed(&model("y = Abs(x)").replace("float[N,4] y", "float[$0N,4] y"), "batch").unwrap();
        assert_eq!(text, model("y = Abs(x)").replace('N', "batch"));
    }

    #[test]
    fn collisions_and_unknown_names_are_refused() {
        let error = |marked: &str, new| renamed(marked, new).unwrap_err().0;
        assert_eq!(error(&model("t$0 = Abs(x)\ny = Neg(t)"), "x"), "the name `x` is taken");
        assert_eq!(error(&model("y = Abs$0(x)"), "Neg"), "`Abs` is not defined in this text");
        assert_eq!(error(&model("y =$0 Abs(x)"), "Neg"), "there is no name here");
    }

    #[test]
    fn a_quoted_name_is_prepared_without_its_quotes() {
        let (snapshot, cursor) = at_cursor(&model("\"a/$0b\" = Abs(x)\ny = Neg(\"a/b\")"));
        let prepared = prepare(&snapshot, cursor).unwrap();
        assert_eq!(
            (prepared.placeholder.as_str(), snapshot.slice(snapshot.span(prepared.range))),
            ("a/b", "a/b")
        );
    }
}
