//! Commands above a graph and a test.

use super::commands;
use crate::document::Snapshot;
use gen_lsp_types::{CodeLens, Command};
use onnx_text::TextKind;
use onnxtxt::ir::diag::Span;
use serde_json::json;

/// The commands of a document: run and show the schedule above the main graph, test and accept above the directives of a test.
pub(crate) fn lenses(snapshot: &Snapshot) -> Vec<CodeLens> {
    let lens = |span: Span, title: &str, command: &str| CodeLens {
        range: snapshot.range(span),
        command: Some(Command {
            title: title.to_owned(),
            tooltip: Some(commands::title(command).to_owned()),
            command: command.to_owned(),
            arguments: Some(vec![json!(snapshot.uri().0)]),
        }),
        data: None,
    };
    let mut lenses = Vec::new();
    let directive = snapshot.comments().iter().find(|&&comment| snapshot.slice(comment).starts_with("#!"));
    if let Some(&span) = directive {
        lenses.push(lens(span, "▶ test", commands::TEST));
        lenses.push(lens(span, "accept results", commands::BLESS));
    }
    if let (TextKind::Model, Some(graph)) = (snapshot.kind(), &snapshot.tree().graph) {
        lenses.push(lens(graph.name, "▶ run with random inputs", commands::RUN));
        lenses.push(lens(graph.name, "show schedule", commands::SCHEDULE));
    }
    lenses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::snapshot;

    #[test]
    fn graphs_run_and_tests_test() {
        let titles = |text: &str| -> Vec<String> {
            lenses(&snapshot(text)).into_iter().filter_map(|lens| Some(lens.command?.command)).collect()
        };
        assert_eq!(titles("g () => () {}"), [commands::RUN, commands::SCHEDULE]);
        assert_eq!(titles("#! check\ng () => () {}")[..2], [commands::TEST, commands::BLESS]);
        assert!(titles("float[1] {1}").is_empty());
    }
}
