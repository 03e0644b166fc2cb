//! Facts about the thing at a position.

use super::schemas::{Called, called};
use crate::document::Snapshot;
use gen_lsp_types::{Hover, MarkupContent, MarkupKind, Position};
use onnx_text::{NameKind, Occurrence};
use onnxtxt::Distribution;
use onnxtxt::ir::diag::counted;
use onnxtxt::ir::diag::{Entity, Span};
use onnxtxt::ir::{BodyId, NodeId, Tensor, ValueDef, ValueId, type_text};
use onnxtxt::ops::infer::{How, why};
use onnxtxt::ops::schema::{AttrParam, Schema, differences, docs};
use std::fmt::Write as _;

/// Models with more values have no derivations: inference with a trace takes longer than a reader waits.
const MAX_DERIVED: usize = 20_000;

/// Larger tensors have no statistics in a hover.
const MAX_COUNTED: u64 = 4_000_000;

/// Steps of a derivation that are shown.
const STEPS: usize = 5;

/// The description of the thing at a position.
pub(crate) fn hover(snapshot: &Snapshot, position: Position) -> Option<Hover> {
    let offset = snapshot.offset(position);
    let (span, value) = match snapshot.names().at(offset) {
        Some(occurrence) => (occurrence.span, name(snapshot, occurrence)?),
        None => header_key(snapshot, offset)?,
    };
    let contents = MarkupContent { kind: MarkupKind::Markdown, value };
    Some(Hover { contents: contents.into(), range: Some(snapshot.range(span)) })
}

fn name(snapshot: &Snapshot, occurrence: Occurrence) -> Option<String> {
    let offset = occurrence.span.start;
    match snapshot.names().info(occurrence.name).kind {
        NameKind::Value => value(snapshot, occurrence),
        NameKind::Operator | NameKind::Function => {
            let at = snapshot.map().node_at(offset);
            match at {
                Some(at) if !is_definition(snapshot, occurrence) => {
                    operator(snapshot, &called(snapshot, at.body, at.id)?)
                }
                _ => function(snapshot, occurrence),
            }
        }
        NameKind::Attribute | NameKind::Parameter => {
            let at = snapshot.map().node_at(offset)?;
            let name = snapshot.names().text(snapshot.text(), occurrence.name);
            match called(snapshot, at.body, at.id)? {
                Called::Operator { schema, .. } => {
                    schema.attr(&name).map(|attr| attribute(snapshot, schema, attr))
                }
                Called::Function { name: function, .. } => {
                    Some(format!("`{name}`: an attribute parameter of the function `{function}`"))
                }
            }
        }
        NameKind::Symbol => symbol(snapshot, occurrence),
        NameKind::Domain => domain(snapshot, occurrence),
        NameKind::Node | NameKind::Graph => None,
    }
}

fn is_definition(snapshot: &Snapshot, occurrence: Occurrence) -> bool {
    snapshot.names().definition(occurrence.name).is_some_and(|definition| definition.span == occurrence.span)
}

/// The value of a model at an occurrence.
pub(super) fn value_at(snapshot: &Snapshot, offset: u32) -> Option<(BodyId, ValueId)> {
    let model = snapshot.model();
    Some(match snapshot.map().entity_at(offset)? {
        Entity::NodeInput(body, node, i) => {
            (body, (*model.bodies[body].nodes[node].inputs.get(i as usize)?)?)
        }
        Entity::NodeOutput(body, node, i) => {
            (body, (*model.bodies[body].nodes[node].outputs.get(i as usize)?)?)
        }
        Entity::Input(body, graph, i) => {
            (body, model.bodies[body].graphs[graph].inputs.get(i as usize)?.value?)
        }
        Entity::Output(body, graph, i) => {
            (body, model.bodies[body].graphs[graph].outputs.get(i as usize)?.value?)
        }
        Entity::ValueInfo(body, graph, i) => {
            (body, model.bodies[body].graphs[graph].value_info.get(i as usize)?.value?)
        }
        Entity::Initializer(body, graph, i) => {
            (body, model.bodies[body].graphs[graph].initializers.get(i as usize)?.value)
        }
        Entity::SparseInitializer(body, graph, i) => {
            (body, model.bodies[body].graphs[graph].sparse_initializers.get(i as usize)?.value)
        }
        _ => return None,
    })
}

/// The inferred type of a value, and its elements if they are known.
pub(super) fn type_of(snapshot: &Snapshot, body: BodyId, value: ValueId) -> Option<String> {
    let mut facts = snapshot.facts();
    let fact = facts.resolved(body, value);
    let text = fact.ty.text(&facts.dims);
    (!["?", "?[]"].contains(&text.as_str())).then_some(text)
}

fn value(snapshot: &Snapshot, occurrence: Occurrence) -> Option<String> {
    let (body, id) = value_at(snapshot, occurrence.span.start)?;
    let model = snapshot.model();
    let name = snapshot.names().text(snapshot.text(), occurrence.name).into_owned();
    let ty = type_of(snapshot, body, id).unwrap_or_else(|| "?".to_owned());
    let mut out = format!("```onnxtxt\n{ty} {name}\n```\n");
    let body_of = &model.bodies[body];
    match body_of.values[id].def {
        ValueDef::Input(_) => out += "an input",
        ValueDef::Initializer(graph) => {
            out += "an initializer";
            let tensor = body_of.graphs[graph].initializers.iter().find(|init| init.value == id);
            if let Some(init) = tensor {
                out += &weights(&body_of.tensors[init.tensor]);
            }
        }
        ValueDef::Output(node, i) => {
            _ = write!(out, "output {i} of `{}`", model.text(body_of.nodes[node].op))
        }
        ValueDef::Unbound(_) => out += "not defined",
    }
    let readers = readers(snapshot, body, id);
    if let Some(text) = listed(&readers) {
        _ = write!(out, ", read by {text}");
    }
    out.push('\n');
    if body_of.values.len() <= MAX_DERIVED {
        out += &derivation(snapshot, body, id);
    }
    Some(out)
}

/// The operators that read a value.
fn readers(snapshot: &Snapshot, body: BodyId, value: ValueId) -> Vec<String> {
    let body = &snapshot.model().bodies[body];
    let reads = |node: NodeId| body.nodes[node].inputs.contains(&Some(value));
    let nodes = body.nodes.ids().filter(|&node| reads(node));
    nodes.map(|node| snapshot.model().text(body.nodes[node].op).to_owned()).collect()
}

/// `Relu`, `Add` and 3 more
fn listed(names: &[String]) -> Option<String> {
    const SHOWN: usize = 4;
    let (first, rest) = names.split_at(names.len().min(SHOWN));
    let quoted = first.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match rest.len() {
        _ if names.is_empty() => None,
        0 => Some(quoted),
        more => Some(format!("{quoted} and {more} more")),
    }
}

/// How the type follows from others.
fn derivation(snapshot: &Snapshot, body: BodyId, value: ValueId) -> String {
    let why = why(snapshot.model(), snapshot.registry(), body, value, STEPS);
    let mut out = String::new();
    for (i, step) in why.steps.iter().enumerate() {
        let from = step.from.iter().map(|used| format!("`{}`", used.name)).collect::<Vec<_>>().join(", ");
        let how = match &step.how {
            How::Input => "declared by the graph".to_owned(),
            How::Parameter { function } => format!("a parameter of `{function}`"),
            How::NestedInput { op } => format!("an input of a graph of `{op}`"),
            How::Stored => "stored".to_owned(),
            How::Undefined => "not defined".to_owned(),
            How::Operator { op, .. } => format!("`{op}` of {from}"),
            How::Function { name } => format!("the function `{name}` of {from}"),
            How::UnknownOperator { op } => format!("the unknown operator `{op}`"),
        };
        if i == 0 && why.steps.len() == 1 {
            break;
        }
        let elements =
            step.value.elements.as_ref().map_or(String::new(), |elements| format!(" = {elements}"));
        _ = writeln!(out, "- `{}`: `{}{elements}`, {how}", step.value.name, step.value.ty);
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}

/// The number of stored elements, and how they are distributed, if they are few enough to be counted while someone waits.
fn weights(tensor: &Tensor) -> String {
    let Some(count) = tensor.element_count() else { return String::new() };
    let numbers = (count <= MAX_COUNTED).then(|| Distribution::of_stored(tensor)).flatten();
    match numbers {
        Some(Distribution { min: Some(min), max: Some(max), mean: Some(mean), .. }) => {
            format!(" of {count} elements from {min} to {max}, mean {mean:.4}")
        }
        _ => format!(" of {count} elements"),
    }
}

fn operator(snapshot: &Snapshot, called: &Called<'_>) -> Option<String> {
    match called {
        Called::Operator { schema, .. } => Some(schema_text(snapshot, schema)),
        Called::Function { id, .. } => {
            let tree = snapshot.tree().functions.get(*id)?;
            Some(format!(
                "```onnxtxt\n{}\n```\na function of this model",
                head(snapshot, tree.name, tree.outputs.span)
            ))
        }
    }
}

/// The head of a function as it is written.
fn head(snapshot: &Snapshot, name: Span, outputs: Span) -> String {
    snapshot.slice(name.to(outputs)).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn function(snapshot: &Snapshot, occurrence: Occurrence) -> Option<String> {
    let tree = snapshot.tree().functions.iter().find(|function| function.name == occurrence.span)?;
    let calls = snapshot.names().occurrences(occurrence.name).count().saturating_sub(1);
    let times = if calls == 1 { "once".to_owned() } else { format!("{calls} times") };
    Some(format!("```onnxtxt\n{}\n```\ncalled {times}", head(snapshot, tree.name, tree.outputs.span)))
}

/// The signature, summary, changes and example of an operator.
pub(super) fn schema_text(snapshot: &Snapshot, schema: &Schema) -> String {
    let registry = snapshot.registry();
    let mut out = format!("```onnxtxt\n{}\n```\n", super::schemas::signature(schema));
    let domain = if schema.domain.is_empty() { "ai.onnx" } else { &schema.domain };
    _ = writeln!(out, "`{domain}`, since version {}", schema.since);
    if schema.deprecated {
        let instead = schema.replacement().map_or(String::new(), |other| format!(": use {other}"));
        _ = writeln!(out, "\n**deprecated**{instead}");
    }
    let versions = registry.versions(&schema.domain, &schema.name);
    if let Some(summary) = versions.last().and_then(|id| registry.summary(*id)) {
        _ = writeln!(out, "\n{summary}");
    }
    for variable in schema.variables.iter() {
        _ = writeln!(out, "- `{}`: {}", variable.name, variable.types.text());
    }
    let newest = versions.last().map(|id| registry.get(*id)).filter(|newest| newest.since > schema.since);
    if let Some(newest) = newest {
        _ = writeln!(out, "\nversion {}:", newest.since);
        let changes = differences(schema, newest);
        let same = vec!["the same signature".to_owned()];
        for change in if changes.is_empty() { same } else { changes } {
            _ = writeln!(out, "- {change}");
        }
    }
    if let Some(example) = docs::example(&schema.domain, &schema.name) {
        _ = writeln!(out, "\n```onnxtxt\n{}\n```", example.trim_end());
    }
    out
}

/// An attribute with its type, default and allowed values.
pub(super) fn attribute(snapshot: &Snapshot, schema: &Schema, attr: &AttrParam) -> String {
    let mut out = format!("```onnxtxt\n{}\n```\n", super::schemas::attribute(attr));
    out += if attr.required { "required" } else { "optional" };
    _ = write!(out, ", of `{}`", schema.name);
    if attr.is_elem_type() {
        out += ", the number of an element type";
    }
    let words = super::schemas::allowed_words(snapshot.registry(), schema, &attr.name);
    if !words.is_empty() {
        let words = words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ");
        _ = write!(out, "\n\none of {words}");
    }
    out
}

/// Where a symbol comes from.
fn symbol(snapshot: &Snapshot, occurrence: Occurrence) -> Option<String> {
    let names = snapshot.names();
    let name = names.text(snapshot.text(), occurrence.name);
    let definition = names.definition(occurrence.name)?;
    let line = snapshot.position(definition.span.start).line + 1;
    let count = names.occurrences(occurrence.name).count();
    let of = match snapshot.map().entity_at(definition.span.start)? {
        Entity::Input(body, graph, i) => {
            let port = snapshot.model().bodies[body].graphs[graph].inputs.get(i as usize)?;
            let ty = port.ty.map_or(String::new(), |ty| type_text(snapshot.model(), ty));
            format!("of the input `{}`: `{ty}`", snapshot.model().text(port.name))
        }
        entity => format!("of an entry of kind {}", entity.kind()),
    };
    Some(format!("`{name}`: a symbol of a dimension {of} in line {line}, which occurs {count} times"))
}

fn domain(snapshot: &Snapshot, occurrence: Occurrence) -> Option<String> {
    let name = snapshot.names().text(snapshot.text(), occurrence.name);
    let name = onnxtxt::ir::normalize_domain(&name).to_owned();
    let count = snapshot.registry().operators(&name).count();
    let newest = snapshot.registry().newest_version(&name);
    let shown = if name.is_empty() { "ai.onnx" } else { &name };
    Some(match newest {
        Some(version) => {
            format!("the domain `{shown}`: {}, newest version {version}", counted(count, "operator"))
        }
        None => format!("the domain `{shown}`, of which no operators are known"),
    })
}

/// The meaning of a key of the header.
fn header_key(snapshot: &Snapshot, offset: u32) -> Option<(Span, String)> {
    let header = snapshot.tree().header.as_ref()?;
    let field = header.items.iter().find(|field| field.key.start <= offset && offset <= field.key.end)?;
    let key = snapshot.slice(field.key);
    let (_, text) = super::completion::HEADER_KEYS.iter().find(|(name, _)| *name == key)?;
    Some((field.key, format!("`{key}`: {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::{at_cursor, model};
    use gen_lsp_types::Contents;

    fn text(marked: &str) -> String {
        let (snapshot, cursor) = at_cursor(marked);
        match hover(&snapshot, cursor).map(|hover| hover.contents) {
            Some(Contents::MarkupContent(content)) => content.value,
            other => format!("{other:?}"),
        }
    }

    /// Each row: where the cursor is, and texts that the hover has.
    #[test]
    fn every_kind_of_name_is_described() {
        let nodes = "w = Constant <value_ints = [0, 2]> ()\nt = Transpose(x)\nz = Reshape(x, w)\ny = Abs(x)";
        let function = "<opset_import: [\"\": 21, \"l\": 1]> g (float[N] x) => (float[N] y) { y = l.F <a = 1.0> (x) }\n\
                        <domain: \"l\", opset_import: [\"\": 21]> F <a> (v) => (u) { u = Elu <alpha = @a> (v) }";
        let rows: &[(&str, &str, &[&str])] = &[
            (
                nodes,
                "t = Tr",
                &["float[4,N] t", "output 0 of `Transpose`", "`x`: `float[N,4]`", "declared by the graph"],
            ),
            (nodes, "x)\nz", &["float[N,4] x", "an input", "read by `Transpose`, `Reshape`, `Abs`"]),
            (
                nodes,
                "Reshape",
                &[
                    "Reshape <allowzero: int = 0> (T data, tensor(int64) shape) => (T reshaped)",
                    "since version 21",
                ],
            ),
            (nodes, "value_ints", &["value_ints: ints", "optional, of `Constant`"]),
            (
                "y = Conv <auto_pad = \"VALID\"> (x, x)",
                "auto_pad",
                &["auto_pad: string = \"NOTSET\"", "`\"SAME_UPPER\"`"],
            ),
            (
                "y = Abs(x)",
                "N,4] x",
                &["`N`: a symbol of a dimension of the input `x`: `float[N,4]`", "occurs 2 times"],
            ),
            ("y = Abs(x)", "ir_version", &["`ir_version`: "]),
            (function, "F <a = 1", &["F <a> (v) => (u)", "a function of this model"]),
            (function, "F <a> (v)", &["called once"]),
            (function, "a = 1.0", &["an attribute parameter of the function `F`"]),
            (function, "l.F", &["the domain `l`, of which no operators are known"]),
        ];
        for (nodes, at, expected) in rows {
            let text_of = if nodes.starts_with('<') { (*nodes).to_owned() } else { model(nodes) };
            let cursor = text_of.find(at).unwrap_or_else(|| panic!("no {at}"));
            let found = text(&format!("{}$0{}", &text_of[..cursor], &text_of[cursor..]));
            for part in *expected {
                assert!(found.contains(part), "{at}: {part} is not in\n{found}");
            }
        }
        assert_eq!(text(&model("y =$0 Abs(x)")), "None");
    }

    #[test]
    fn weights_have_statistics() {
        let found = text("g () => (y) <float[3] w$0 = {1, 2, 3}> { y = Abs(w) }");
        assert!(found.contains("an initializer of 3 elements from 1 to 3, mean 2.0000"), "{found}");
    }

    /// Nothing that is written under a cursor ends in a panic.
    #[test]
    fn every_place_of_broken_text_can_be_hovered() {
        let whole = model("t = Elu <alpha = 1.0> (x)\ny = If (c) <then_branch = a () => (z) { z = Neg(t) }>");
        for end in 0..whole.len() {
            let snapshot = crate::features::testing::snapshot(&whole[..end]);
            hover(&snapshot, snapshot.position(u32::try_from(end).unwrap()));
            hover(&snapshot, snapshot.position(u32::try_from(end / 2).unwrap()));
        }
    }
}
