//! Findings as diagnostics of the protocol.

use crate::answer::Stage;
use crate::document::Snapshot;
use gen_lsp_types::*;
use onnx_text::{SourceMap, ast};
use onnxtxt::check::bound;
use onnxtxt::ir::Model;
use onnxtxt::ir::diag::{self, Place, Severity, Span, code};
use serde_json::json;

/// The findings about a document.
pub(crate) fn diagnostics(snapshot: &Snapshot, stage: Stage) -> Vec<Diagnostic> {
    if let Some(embedded) = snapshot.embedded() {
        return embedded.iter().flat_map(|embedded| diagnostics(embedded, stage)).collect();
    }
    let found = match stage {
        Stage::Syntax => snapshot.syntax_findings().to_vec(),
        Stage::All => snapshot.findings().to_vec(),
    };
    // Findings about the syntax are at bytes of the text, and no tree is needed.
    let is_of_model = |label: &diag::Label| matches!(label.place, Place::Entity(_));
    let is_of_model =
        |finding: &diag::Diagnostic| is_of_model(&finding.primary) || finding.related.iter().any(is_of_model);
    let (no_tree, no_model) = (ast::File::default(), Model::new());
    let map = match found.iter().any(is_of_model) {
        true => snapshot.map(),
        false => SourceMap::new(snapshot.text(), &no_tree, &no_model),
    };
    // An editor cannot show thousands either.
    bound(found).listed.iter().map(|finding| diagnostic(snapshot, finding, &map)).collect()
}

/// The findings as an answer; only whether they have changed, if the client has those of a result.
pub(crate) fn report(items: Vec<Diagnostic>, previous: Option<&str>) -> DocumentDiagnosticReport {
    let result_id = result_id(&items);
    if previous == Some(&result_id) {
        return RelatedUnchangedDocumentDiagnosticReport {
            related_documents: None,
            unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport { result_id },
        }
        .into();
    }
    RelatedFullDocumentDiagnosticReport {
        related_documents: None,
        full_document_diagnostic_report: FullDocumentDiagnosticReport { result_id: Some(result_id), items },
    }
    .into()
}

/// An id that is equal for equal findings at equal places.
pub(super) fn result_id(items: &[Diagnostic]) -> String {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    for item in items {
        item.range.hash(&mut hasher);
        format!("{:?}{:?}{:?}", item.code, item.severity, item.message).hash(&mut hasher);
    }
    format!("{:x}-{}", hasher.finish(), items.len())
}

/// One finding.
pub(super) fn diagnostic(snapshot: &Snapshot, finding: &diag::Diagnostic, map: &SourceMap<'_>) -> Diagnostic {
    // A finding about the model as a whole is at its first line.
    let span = snapshot.span_of(finding.primary.place, map).unwrap_or_else(|| first_line(snapshot));
    let related: Vec<DiagnosticRelatedInformation> = finding
        .related
        .iter()
        .filter_map(|label| {
            let location = snapshot.location(snapshot.span_of(label.place, map)?);
            Some(DiagnosticRelatedInformation { location, message: label.text.clone() })
        })
        .collect();
    let mut message = finding.message.clone();
    if !finding.primary.text.is_empty() && finding.primary.text != finding.message {
        message += &format!("\n{}", finding.primary.text);
    }
    if let Some(help) = &finding.help {
        message += &format!("\nhelp: {help}");
    }
    Diagnostic {
        range: snapshot.range(span),
        severity: Some(match finding.severity {
            Severity::Error => DiagnosticSeverity::Error,
            Severity::Warning => DiagnosticSeverity::Warning,
        }),
        code: Some(Code::String(finding.code.id.to_owned())),
        code_description: Some(CodeDescription { href: crate::virtual_text::explanation(finding.code) }),
        source: Some("onnxtxt".to_owned()),
        message: message.into(),
        tags: tag(finding.code).map(|tag| vec![tag]),
        related_information: (!related.is_empty()).then_some(related),
        data: data(snapshot, finding),
    }
}

/// The fixes, for clients that apply them themselves.
fn data(snapshot: &Snapshot, finding: &diag::Diagnostic) -> Option<serde_json::Value> {
    let fixes: Vec<_> = finding
        .fixes
        .iter()
        .filter(|fix| !fix.edits.is_empty())
        .map(|fix| {
            let edits: Vec<TextEdit> = fix.edits.iter().map(|edit| snapshot.edit(edit)).collect();
            json!({ "title": fix.title, "safe": fix.safe, "edits": edits })
        })
        .collect();
    (!fixes.is_empty()).then(|| json!({ "fixes": fixes }))
}

fn tag(code: &diag::Code) -> Option<DiagnosticTag> {
    if [&code::UNUSED, &code::NO_OP].contains(&code) {
        return Some(DiagnosticTag::Unnecessary);
    }
    [&code::OP_DEPRECATED, &code::OP_REMOVED].contains(&code).then_some(DiagnosticTag::Deprecated)
}

fn first_line(snapshot: &Snapshot) -> Span {
    Span::new(0, snapshot.lines().end(snapshot.text(), 0))
}

/// Moves diagnostics with the text when a range is replaced by one that ends at `end`, relative to its start. Those in the range
/// are dropped.
pub(crate) fn move_all(diagnostics: &mut Vec<Diagnostic>, replaced: Range, end: Position) {
    let new_end = match end.line {
        0 => Position { line: replaced.start.line, character: replaced.start.character + end.character },
        lines => Position { line: replaced.start.line + lines, character: end.character },
    };
    let moved = |range: &mut Range| {
        // Typing at the end of a name is a change of it, and so the range grows.
        range.start = moved(range.start, replaced, new_end);
        range.end = moved(range.end, replaced, new_end);
    };
    diagnostics.retain_mut(|diagnostic| {
        let is_inside = |position: Position| replaced.start < position && position < replaced.end;
        if is_inside(diagnostic.range.start) || is_inside(diagnostic.range.end) {
            return false;
        }
        moved(&mut diagnostic.range);
        for related in diagnostic.related_information.iter_mut().flatten() {
            moved(&mut related.location.range);
        }
        true
    });
}

fn moved(position: Position, replaced: Range, new_end: Position) -> Position {
    if position <= replaced.start || position < replaced.end {
        return position;
    }
    if position.line == replaced.end.line {
        let character = new_end.character + (position.character - replaced.end.character);
        return Position { line: new_end.line, character };
    }
    Position { line: position.line - replaced.end.line + new_end.line, character: position.character }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::snapshot;

    #[test]
    fn findings_have_places_codes_and_fixes() {
        let snapshot = snapshot(
            "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x) => (float[N] y) {\n  t = Abs(x)\n  y = Relu(xx)\n}",
        );
        let found = diagnostics(&snapshot, Stage::All);
        let undefined = found.iter().find(|found| found.code == Some(Code::String("E0203".into()))).unwrap();
        let Message::String(message) = &undefined.message else { panic!("a string") };
        assert!(message.starts_with("use of undefined value `xx`"), "{message}");
        assert_eq!((undefined.range.start.line, undefined.range.start.character), (3, 11));
        assert_eq!(undefined.range.end.character, 13);
        assert!(undefined.data.as_ref().is_some_and(|data| data["fixes"][0]["edits"][0]["newText"] == "x"));
        assert!(diagnostics(&snapshot, Stage::Syntax).is_empty());
        let id = result_id(&found);
        assert!(matches!(
            report(found, Some(&id)),
            DocumentDiagnosticReport::RelatedUnchangedDocumentDiagnosticReport(_)
        ));
    }

    #[test]
    fn every_kind_of_text_is_checked() {
        for (text, id) in [
            ("seq(map) s = [float {1}]", "E0"),
            ("y = LeakyRelu <alpha = 1.0, alpha = 1.0> (x)", "E0"),
            (
                "operator_set <ir_version: 10, domain: \"d\", opset_version: 1>\n<since_version: 1> operator A (T x) => (U y) where T: {float}",
                "E1",
            ),
            ("g (", "E0"),
            ("", "E0"),
        ] {
            let found = diagnostics(&snapshot(text), Stage::All);
            let begins = found
                .iter()
                .any(|found| matches!(&found.code, Some(Code::String(code)) if code.starts_with(id)));
            assert!(begins, "{text}: {found:?}");
        }
    }

    #[test]
    fn text_in_other_files_is_checked() {
        let of = |uri: &str, text: &str| {
            let uri = Uri(uri.to_owned());
            let snapshot = Snapshot::of_text(
                uri,
                text.to_owned(),
                crate::document::Encoding::Utf16,
                std::sync::Arc::default(),
            );
            diagnostics(&snapshot, Stage::All).first().map(|found| found.range.start)
        };
        let model =
            "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x) => (float[N] y) { y = Abs(q) }";
        let markdown = format!("# Ä\n\n```onnxtxt\n{model}\n```\n");
        assert_eq!(of("file:///a.md", &markdown), Some(Position { line: 4, character: 41 }));
        let python = format!("ä = parse_model(\"\"\"{model}\"\"\")");
        assert_eq!(of("file:///a.py", &python), Some(Position { line: 1, character: 41 }));
        assert_eq!(of("file:///a.py", "parse_node('y = Abs(x')").map(|at| at.line), Some(0));
        assert_eq!(of("file:///a.md", "```text\ng (\n```"), None);
    }

    /// Each row: a range, and where it is after `bb` in line 1, columns 2 to 4, has become the text.
    #[test]
    fn findings_move_with_the_text() {
        let position = |line, character| Position { line, character };
        let range = |line, from, to| Range { start: position(line, from), end: position(line, to) };
        let moved = |of: Range, new_end: Position| {
            let mut all = vec![Diagnostic { range: of, ..Diagnostic::default() }];
            move_all(&mut all, range(1, 2, 4), new_end);
            all.first().map(|diagnostic| diagnostic.range)
        };
        assert_eq!(moved(range(0, 3, 5), position(0, 3)), Some(range(0, 3, 5)));
        assert_eq!(moved(range(1, 0, 2), position(0, 3)), Some(range(1, 0, 2)));
        assert_eq!(moved(range(1, 4, 6), position(0, 3)), Some(range(1, 5, 7)));
        assert_eq!(moved(range(1, 3, 6), position(0, 3)), None);
        assert_eq!(moved(range(1, 4, 6), position(2, 1)), Some(range(3, 1, 3)));
        assert_eq!(moved(range(7, 4, 6), position(2, 1)), Some(range(9, 4, 6)));
    }
}
