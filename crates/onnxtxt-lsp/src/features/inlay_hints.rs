//! Hints between the words of a text: the inferred types of results, and the names of parameters.
//!
//! ```text
//! y⟨: float[N,6]⟩ = Reshape(⟨data:⟩ t, ⟨shape:⟩ s)
//! ```

use super::hover::type_of;
use super::schemas::{Called, called};
use crate::answer::Demand;
use crate::document::Snapshot;
use gen_lsp_types::{InlayHint, InlayHintKind, Range};
use onnx_text::NodeAt;
use onnx_text::ast::{Node, SugarForm};
use onnxtxt::ir::diag::Span;
use onnxtxt::ops::schema::ParamKind;

/// Longer types are cut: a hint must not move the text out of the window.
const MAX_CHARACTERS: usize = 60;

/// The hints in a range.
pub(crate) fn inlay_hints(snapshot: &Snapshot, range: Range, demand: &Demand) -> Vec<InlayHint> {
    let span = snapshot.span(range);
    let map = snapshot.map();
    let mut nodes = Vec::new();
    let tree = snapshot.tree();
    let header = tree.header.iter().flat_map(|header| &header.items);
    let graphs = header.flat_map(|field| field.value.graphs()).chain(&tree.graph).map(|graph| &graph.body);
    let bodies = graphs.chain(tree.functions.iter().map(|it| &it.body));
    bodies.for_each(|body| collect(body, span, &mut nodes));
    let mut hints = Vec::new();
    for node in nodes {
        if demand.ended().is_some() {
            break;
        }
        if let Some(at) = map.node_at(node.op.start).filter(|at| at.tree.span == node.span) {
            of_node(snapshot, at, &mut hints);
        }
    }
    hints.retain(|hint| range.start <= hint.position && hint.position <= range.end);
    hints
}

/// The statements that meet a span, those of nested graphs after the one that holds them.
fn collect<'t>(nodes: &'t [Node], span: Span, found: &mut Vec<&'t Node>) {
    let first = nodes.partition_point(|node| node.span.end < span.start);
    for node in nodes[first..].iter().take_while(|node| node.span.start <= span.end) {
        found.push(node);
        for graph in node.all_subgraphs() {
            collect(&graph.body, span, found);
        }
    }
}

fn of_node(snapshot: &Snapshot, at: NodeAt<'_>, hints: &mut Vec<InlayHint>) {
    let settings = snapshot.settings().hints;
    let node = &snapshot.model().bodies[at.body].nodes[at.id];
    if settings.types {
        let is_stated = |name: &Span| at.tree.typed_results().any(|(result, _)| result == *name);
        let results = at.tree.outputs.iter().zip(&node.outputs);
        for (name, value) in results.filter(|(name, _)| !is_stated(name)) {
            let Some(ty) = value.and_then(|value| type_of(snapshot, at.body, value)) else { continue };
            hints.push(InlayHint {
                position: snapshot.position(name.end),
                label: format!(": {}", cut(&ty)).into(),
                kind: Some(InlayHintKind::Type),
                tooltip: (ty.chars().count() > MAX_CHARACTERS).then(|| ty.clone().into()),
                text_edits: None,
                padding_left: None,
                padding_right: None,
                data: None,
            });
        }
    }
    // The operands of a sign have no names.
    if !settings.parameters || at.tree.form() != SugarForm::Call {
        return;
    }
    let names: Vec<String> = match called(snapshot, at.body, at.id) {
        Some(Called::Operator { schema }) if schema.inputs.len() > 1 => (0..at.tree.inputs.len())
            .map(|i| match schema.input(i) {
                Some(param) if !matches!(param.kind, ParamKind::Variadic { .. }) => param.name.to_string(),
                _ => String::new(),
            })
            .collect(),
        Some(Called::Function { id, .. }) => {
            snapshot.tree().functions.get(id).map_or_else(Vec::new, |function| {
                function
                    .inputs
                    .items
                    .iter()
                    .map(|input| snapshot.slice(input.name).trim_matches('"').to_owned())
                    .collect()
            })
        }
        Some(Called::Operator { .. }) | None => return,
    };
    for (name, parameter) in at.tree.inputs.iter().zip(names) {
        // An operand with the name of its parameter needs no hint.
        if name.is_empty() || parameter.is_empty() || snapshot.slice(*name).eq_ignore_ascii_case(&parameter) {
            continue;
        }
        hints.push(InlayHint {
            position: snapshot.position(name.start),
            label: format!("{parameter}:").into(),
            kind: Some(InlayHintKind::Parameter),
            padding_right: Some(true),
            text_edits: None,
            tooltip: None,
            padding_left: None,
            data: None,
        });
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= MAX_CHARACTERS {
        return text.to_owned();
    }
    text.chars().take(MAX_CHARACTERS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::{model, snapshot, with_settings};
    use crate::settings::{Hints, Settings};
    use gen_lsp_types::{Label, Position};

    /// The text with its hints in angle brackets.
    fn shown(snapshot: &Snapshot) -> String {
        let end = Position { line: u32::MAX, character: 0 };
        let range = Range { start: Position::default(), end };
        let mut text = snapshot.text().to_owned();
        let mut hints = inlay_hints(snapshot, range, &Demand::default());
        hints.sort_by_key(|hint| hint.position);
        for hint in hints.into_iter().rev() {
            let Label::String(label) = hint.label else { panic!("a string") };
            let space = if hint.padding_right == Some(true) { " " } else { "" };
            text.insert_str(snapshot.offset(hint.position) as usize, &format!("⟨{label}{space}⟩"));
        }
        text
    }

    #[test]
    fn types_and_parameters_are_shown() {
        let nodes =
            "s = Constant <value_ints = [0, 2, 2]> ()\nt = Reshape(x, s)\ny = Concat <axis = 1> (t, t)";
        let text = shown(&snapshot(&model(nodes)));
        assert!(text.contains("s⟨: int64[3]⟩ = Constant"), "{text}");
        assert!(text.contains("t⟨: float[N,2,2]⟩ = Reshape(⟨data: ⟩x, ⟨shape: ⟩s)"), "{text}");
        assert!(text.contains("y⟨: float[N,4,2]⟩ = Concat <axis = 1> (t, t)"), "{text}");
        let text = shown(&snapshot(&model("t = Abs(missing)\ny = Neg(x)")));
        assert!(text.contains("t = Abs(missing)\ny⟨: float[N,4]⟩ = Neg(x)"), "no type is known: {text}");
    }

    /// The nodes of literals come after those of all statements.
    #[test]
    fn statements_after_literals_have_hints() {
        let text = shown(&snapshot(&model("s = Sum(x + 1, x + 2, x + 3, x + 4)\nt = Abs(s)\ny = Neg(t)")));
        assert!(text.contains("t⟨: float[N,4]⟩ = Abs(s)\ny⟨: float[N,4]⟩ = Neg(t)"), "{text}");
    }

    #[test]
    fn graphs_of_trainings_have_hints() {
        let text = "<ir_version: 10, opset_import: [\"\": 21], training_info: {algorithm: a (float[N] target) => (float[N] loss) \
                    { loss = Sub(target, 1) }}>\ng (float[N] x) => (float[N] y) { y = Abs(x) }";
        let text = shown(&snapshot(text));
        assert!(text.contains("loss⟨: float[N]⟩ = Sub(⟨A: ⟩target, ⟨B: ⟩1)"), "{text}");
    }

    #[test]
    fn nested_graphs_and_functions_have_hints() {
        let text = shown(&snapshot(&model(
            "c = Constant <value = bool {1}> ()\ny = If (c) <then_branch = a () => (z) { z = Abs(x) }, else_branch = b () => (q) { q = Neg(x) }>",
        )));
        assert!(text.contains("{ z⟨: float[N,4]⟩ = Abs(x) }"), "{text}");
        let call = "<opset_import: [\"\": 21, \"l\": 1]> g (float[N] x) => (float[N] y) { y = l.F (x) }\n\
                    <domain: \"l\", opset_import: [\"\": 21]> F (v) => (u) { u = Abs(v) }";
        assert!(
            shown(&snapshot(call)).contains("y⟨: float[N]⟩ = l.F (⟨v: ⟩x)"),
            "{}",
            shown(&snapshot(call))
        );
    }

    #[test]
    fn hints_can_be_turned_off() {
        let hints = Hints { types: false, parameters: false };
        let settings = Settings { hints, ..Settings::default() };
        let text = model("y = Add(x, x)");
        assert_eq!(shown(&with_settings(&text, settings)), text);
    }
}
