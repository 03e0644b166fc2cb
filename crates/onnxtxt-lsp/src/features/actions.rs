//! Code actions: fixes of findings, comments that allow them, and changes that keep the meaning.
//!
//! A change of the whole model (inlining, conversion) is computed only when it is chosen.

use super::formatting::line_edits;
use super::rename::workspace_edit;
use super::schemas::{Called, called};
use crate::answer::{Answer, Failure};
use crate::client::Client;
use crate::document::Snapshot;
use gen_lsp_types::*;
use onnx_text::ast::{AttrValue, Graph, List, Node, ValueInfo};
use onnx_text::{NameKind, NodeAt, RaiseOptions, TextKind};
use onnxtxt::check::Fixes;
use onnxtxt::ir::diag::{self, Edit, Entity, Severity, Span};
use onnxtxt::ir::pass::{self, Inline, MAX_NODES};
use onnxtxt::ir::releases::newest_version;
use onnxtxt::ir::{AttrValue as IrValue, BodyId, ElemType, Model, NodeId, ValueDef};
use onnxtxt::ops::functions::{Expand, expand, has_body};
use onnxtxt::ops::pass::Pass;
use onnxtxt::{Loaded, Text};
use serde::{Deserialize, Serialize};

/// The kinds of actions.
pub(crate) const KINDS: [CodeActionKind; 6] = [
    CodeActionKind::QuickFix,
    CodeActionKind::RefactorInline,
    CodeActionKind::RefactorExtract,
    CodeActionKind::RefactorRewrite,
    CodeActionKind::SourceFixAll,
    CodeActionKind::Source,
];

/// A change of the whole model, computed when it is chosen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "change")]
enum Change {
    /// Every call of a function becomes its body.
    Inline { function: usize },
    /// Every node of an operator becomes the function body that defines it.
    Expand { domain: String, op: String },
    /// Nodes of the main graph become a function.
    Outline { from: u32, to: u32 },
    /// The model imports another version of the default operator set.
    Convert { opset: i64 },
    /// Nodes come after those whose results they use.
    Sort,
    /// All safe fixes.
    FixAll,
}

/// The data of an action until it is chosen.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Chosen {
    uri: String,
    version: i32,
    #[serde(flatten)]
    change: Change,
}

/// The actions at a range.
pub(crate) fn actions(
    snapshot: &Snapshot,
    params: &CodeActionParams,
    client: &Client,
) -> Vec<CodeActionResponse> {
    let span = snapshot.span(params.range);
    let only = params.context.only.as_deref();
    let is_wanted = |kind: &CodeActionKind| {
        // A kind asks for those below it as well: `refactor` for `refactor.inline`.
        let is_below = |wanted: &CodeActionKind| {
            let rest = kind.as_str().strip_prefix(wanted.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || wanted.as_str().is_empty())
        };
        only.is_none_or(|only| only.iter().any(is_below))
    };
    let mut actions = Vec::new();
    if is_wanted(&CodeActionKind::QuickFix) {
        fixes(snapshot, span, client, &mut actions);
    }
    if snapshot.kind() == TextKind::Model {
        refactorings(snapshot, span, client, &mut actions);
        if only.is_some() && is_wanted(&CodeActionKind::SourceFixAll) {
            actions.push(later(
                snapshot,
                "Apply all safe fixes".to_owned(),
                CodeActionKind::SourceFixAll,
                Change::FixAll,
            ));
        }
    }
    actions.retain(|action| action.kind.as_ref().is_none_or(&is_wanted));
    if !client.has_literal_actions {
        return Vec::new();
    }
    actions.into_iter().map(Into::into).collect()
}

/// All actions at a range, for a client that can do everything.
pub(crate) fn at(snapshot: &Snapshot, range: Range) -> Vec<CodeActionResponse> {
    let client = Client { has_literal_actions: true, ..Client::default() };
    let params = CodeActionParams {
        text_document: TextDocumentIdentifier { uri: snapshot.uri().clone() },
        range,
        context: CodeActionContext::default(),
        work_done_progress_params: WorkDoneProgressParams::default(),
        partial_result_params: PartialResultParams::default(),
    };
    actions(snapshot, &params, &client)
}

/// The fixes of findings at a span, and comments that allow warnings.
fn fixes(snapshot: &Snapshot, span: Span, client: &Client, actions: &mut Vec<CodeAction>) {
    let map = snapshot.map();
    for finding in snapshot.findings() {
        let Some(at) = snapshot.span_of(finding.primary.place, &map) else { continue };
        if at.end < span.start || span.end < at.start {
            continue;
        }
        let diagnostic = super::diagnostics::diagnostic(snapshot, finding, &map);
        for fix in finding.fixes.iter().filter(|fix| !fix.edits.is_empty()) {
            actions.push(CodeAction {
                title: sentence(&fix.title),
                kind: Some(CodeActionKind::QuickFix),
                diagnostics: Some(vec![diagnostic.clone()]),
                is_preferred: Some(fix.safe),
                edit: Some(edit_of(snapshot, &fix.edits, client)),
                ..CodeAction::default()
            });
        }
        if finding.severity == Severity::Warning && finding.code.severity == Severity::Warning {
            actions.push(CodeAction {
                title: format!("Allow `{}` here", finding.code.name),
                kind: Some(CodeActionKind::QuickFix),
                diagnostics: Some(vec![diagnostic]),
                edit: Some(edit_of(snapshot, &[allowed(snapshot, finding, at)], client)),
                ..CodeAction::default()
            });
        }
    }
}

/// A comment above the line that allows a warning; for a finding before the first statement, one for the file.
fn allowed(snapshot: &Snapshot, finding: &diag::Diagnostic, at: Span) -> Edit {
    let node = snapshot.map().node_at(at.start).map(|node| node.tree.span.start);
    let start = node.unwrap_or(at.start);
    let line = snapshot.lines().start(snapshot.text(), snapshot.lines().line(start));
    let before = snapshot.slice(Span::new(line, start));
    let is_alone = before.trim().is_empty();
    let name = finding.code.name;
    match (node, is_alone) {
        (Some(_), true) => Edit { span: Span::at(line), text: format!("{before}# onnxtxt: allow({name})\n") },
        (Some(_), false) => {
            let end = snapshot.lines().end(snapshot.text(), snapshot.lines().line(start));
            Edit { span: Span::at(end), text: format!("  # onnxtxt: allow({name})") }
        }
        // After the first line, if it declares annotations.
        (None, _) => {
            let first = snapshot.text().starts_with("#@");
            let span = Span::at(snapshot.lines().start(snapshot.text(), u32::from(first)));
            Edit { span, text: format!("# onnxtxt: allow-file({name})\n") }
        }
    }
}

fn refactorings(snapshot: &Snapshot, span: Span, client: &Client, actions: &mut Vec<CodeAction>) {
    let node = snapshot.map().node_at(span.start);
    if let Some(at) = node {
        match called(snapshot, at.body, at.id) {
            Some(Called::Function { id, name }) => {
                let title = format!("Inline the function `{name}`");
                actions.push(later(
                    snapshot,
                    title,
                    CodeActionKind::RefactorInline,
                    Change::Inline { function: id },
                ));
            }
            Some(Called::Operator { schema })
                if has_body(schema, imported(snapshot, at.body, &schema.domain)) =>
            {
                let change =
                    Change::Expand { domain: schema.domain.to_string(), op: schema.name.to_string() };
                let title = format!("Replace `{}` by its function body", schema.name);
                actions.push(later(snapshot, title, CodeActionKind::RefactorInline, change));
            }
            Some(Called::Operator { .. }) | None => {}
        }
        actions.extend(expand_expression(snapshot, span, client));
        actions.extend(annotate(snapshot, at, span, client));
        actions.extend(to_initializer(snapshot, at, client));
        actions.extend(extract_literal(snapshot, at, span, client));
        actions.extend(insert_cast(snapshot, at, span, client));
        if snapshot.findings().iter().any(|found| found.code == &diag::code::NODE_ORDER) {
            let title = "Sort the nodes".to_owned();
            actions.push(later(snapshot, title, CodeActionKind::RefactorRewrite, Change::Sort));
        }
    }
    if let Some(function) =
        snapshot.tree().functions.iter().position(|function| has(function.name, span.start))
    {
        let name = snapshot.slice(snapshot.tree().functions[function].name);
        let title = format!("Inline the function `{name}`");
        actions.push(later(snapshot, title, CodeActionKind::RefactorInline, Change::Inline { function }));
    }
    if !span.is_empty() && !selected(snapshot, span.start, span.end).is_empty() {
        let change = Change::Outline { from: span.start, to: span.end };
        let title = "Extract the nodes into a function".to_owned();
        actions.push(later(snapshot, title, CodeActionKind::RefactorExtract, change));
    }
    actions.extend(convert(snapshot, span));
}

/// Writes a plain statement for each node of an expression.
fn expand_expression(snapshot: &Snapshot, span: Span, client: &Client) -> Option<CodeAction> {
    let expansions = onnx_text::expand(snapshot.text(), snapshot.checked());
    let expansion = expansions.into_iter().find(|expansion| has(expansion.statement, span.start))?;
    Some(CodeAction {
        title: "Expand the expression".to_owned(),
        kind: Some(CodeActionKind::RefactorRewrite),
        edit: Some(edit_of(snapshot, &expansion.edits(), client)),
        ..CodeAction::default()
    })
}

/// The version of a domain that a body imports.
fn imported(snapshot: &Snapshot, body: BodyId, domain: &str) -> i64 {
    snapshot.model().newest_import(body, domain).unwrap_or(i64::MAX)
}

fn has(span: Span, at: u32) -> bool {
    span.start <= at && at <= span.end
}

/// Converts the model, at its imports.
fn convert(snapshot: &Snapshot, span: Span) -> Option<CodeAction> {
    let header = snapshot.tree().header.as_ref()?;
    let field = header.items.iter().find(|field| snapshot.slice(field.key) == "opset_import")?;
    if !has(field.key.to(field.value.span()), span.start) {
        return None;
    }
    let version = newest_version("")?;
    let imported = snapshot.model().newest_import(snapshot.model().main?, "")?;
    (imported < version).then(|| {
        let title = format!("Convert the model to version {version} of the operator set");
        later(snapshot, title, CodeActionKind::RefactorRewrite, Change::Convert { opset: version })
    })
}

/// Declares the inferred type of the result under the cursor in the `value_info` of its graph.
fn annotate(snapshot: &Snapshot, at: NodeAt<'_>, span: Span, client: &Client) -> Option<CodeAction> {
    let i = at.tree.outputs.iter().position(|&name| has(name, span.start) && !name.is_empty())?;
    let value = (*snapshot.model().bodies[at.body].nodes[at.id].outputs.get(i)?)?;
    let ty = super::hover::type_of(snapshot, at.body, value)?;
    let graph = graph_around(snapshot, at.tree.span)?;
    let name = snapshot.slice(at.tree.outputs[i]);
    let declared = |list: &List<ValueInfo>| list.items.iter().any(|value| snapshot.slice(value.name) == name);
    if declared(&graph.outputs) || graph.values.as_ref().is_some_and(declared) {
        return None;
    }
    let edit = add_value(graph, &format!("{ty} {name}"));
    Some(CodeAction {
        title: format!("Declare the type `{ty}` of `{}`", name.trim_matches('"')),
        kind: Some(CodeActionKind::RefactorRewrite),
        edit: Some(edit_of(snapshot, &[edit], client)),
        ..CodeAction::default()
    })
}

/// Casts the operand under the cursor to the type of another operand whose type must be the same.
fn insert_cast(snapshot: &Snapshot, at: NodeAt<'_>, span: Span, client: &Client) -> Option<CodeAction> {
    let tree = at.tree;
    let i = tree.inputs.iter().position(|&name| has(name, span.start) && !name.is_empty())?;
    let Some(Called::Operator { schema }) = called(snapshot, at.body, at.id) else { return None };
    let node = &snapshot.model().bodies[at.body].nodes[at.id];
    let elem = |input: usize| snapshot.facts().get(at.body, (*node.inputs.get(input)?)?).ty.elem();
    let (param, given) = (schema.input(i)?, elem(i).filter(|_| tree.sugar.is_none())?);
    let is_alike = |j: &usize| *j != i && schema.input(*j).is_some_and(|other| other.ty == param.ty);
    let wanted = (0..node.inputs.len()).filter(is_alike).filter_map(elem).find(|other| *other != given)?;
    let (operand, elem) = (tree.inputs[i], wanted.name()?);
    let old = snapshot.slice(operand);
    let quotes = if old.starts_with('"') { "\"" } else { "" };
    let plain = old.trim_matches('"');
    let new = fresh(snapshot, &format!("{plain}_{elem}"), |_| true);
    let cast = format!("{quotes}{new}{quotes} = Cast <to = {}> ({old})", wanted.0);
    let edits = [
        statement_before(snapshot, tree, &cast),
        Edit { span: operand, text: format!("{quotes}{new}{quotes}") },
    ];
    Some(CodeAction {
        title: format!("Cast `{plain}` to {elem}"),
        kind: Some(CodeActionKind::QuickFix),
        edit: Some(edit_of(snapshot, &edits, client)),
        ..CodeAction::default()
    })
}

/// A statement before another one, in a line of its own if that has one.
fn statement_before(snapshot: &Snapshot, tree: &Node, text: &str) -> Edit {
    let start = tree.notes.start().unwrap_or(tree.span.start);
    let line = snapshot.lines().start(snapshot.text(), snapshot.lines().line(start));
    let before = snapshot.slice(Span::new(line, start));
    let between = if before.trim().is_empty() { format!("\n{before}") } else { " ".to_owned() };
    Edit { span: Span::at(start), text: format!("{text}{between}") }
}

/// Names the literal under the cursor: an initializer of the main graph, or a `Constant` at the start of a function, whose graphs have no
/// initializers.
fn extract_literal(snapshot: &Snapshot, at: NodeAt<'_>, span: Span, client: &Client) -> Option<CodeAction> {
    let literal = at.tree.literals().find(|&literal| has(literal, span.start))?;
    let spelled = snapshot.slice(literal);
    let (name, elem) = literal_constant(snapshot, literal)?;
    let name = fresh(snapshot, name, |_| true);
    let numbers = literal_numbers(spelled, elem);
    let dims = if spelled.starts_with('[') { format!("[{}]", numbers.len()) } else { String::new() };
    let (ty, data) = (format!("{}{dims}", elem.name()?), format!("{{{}}}", numbers.join(", ")));
    let function = snapshot.tree().functions.iter().find(|function| has(function.span, literal.start));
    let define = match function {
        Some(function) => {
            let statement = function.body.iter().find(|node| has(node.span, literal.start))?;
            statement_before(snapshot, statement, &format!("{name} = Constant <value = {ty} {data}> ()"))
        }
        None => {
            let main = snapshot.tree().graph.as_ref().filter(|graph| has(graph.body_span, literal.start))?;
            add_value(main, &format!("{ty} {name} = {data}"))
        }
    };
    let edits = [define, Edit { span: literal, text: name }];
    Some(CodeAction {
        title: format!("Extract the constant `{spelled}`"),
        kind: Some(CodeActionKind::RefactorExtract),
        edit: Some(edit_of(snapshot, &edits, client)),
        ..CodeAction::default()
    })
}

/// The name and the element type of a literal: of the result of a `Constant` that the text does not have.
fn literal_constant(snapshot: &Snapshot, literal: Span) -> Option<(&str, ElemType)> {
    let Some(Entity::NodeInput(body, node, input)) = snapshot.map().entity_at(literal.start) else {
        return None;
    };
    let body = &snapshot.model().bodies[body];
    let value = (*body.nodes[node].inputs.get(input as usize)?)?;
    let ValueDef::Output(constant, _) = body.values[value].def else { return None };
    let [attr] = &body.nodes[constant].attrs[..] else { return None };
    let Some(IrValue::Tensor(tensor)) = attr.value() else { return None };
    Some((&snapshot.model().names[body.values[value].name], body.tensors[*tensor].elem?))
}

/// The elements of a literal as those of a tensor.
fn literal_numbers(spelled: &str, elem: ElemType) -> Vec<String> {
    // An integer would be the bits of a narrow float.
    let is_narrow = !elem.is_integer() && ![ElemType::FLOAT, ElemType::DOUBLE].contains(&elem);
    let is_integer = |number: &str| number.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
    let numbers =
        spelled.trim_matches(['[', ']']).split(',').map(str::trim).filter(|number| !number.is_empty());
    numbers
        .map(|number| if is_narrow && is_integer(number) { format!("{number}.0") } else { number.to_owned() })
        .collect()
}

/// Makes an initializer of a `Constant` with a tensor.
fn to_initializer(snapshot: &Snapshot, at: NodeAt<'_>, client: &Client) -> Option<CodeAction> {
    let tree = at.tree;
    let is_constant = tree.domain.is_none() && snapshot.slice(tree.op) == "Constant";
    let [attr] = &tree.attrs.as_ref()?.items[..] else { return None };
    let (Some(AttrValue::Tensor(tensor)), [name]) = (&attr.value, &tree.outputs[..]) else { return None };
    let graph = graph_around(snapshot, tree.span).filter(|_| is_constant && tree.notes.is_empty())?;
    let (ty, data) = (snapshot.slice(tensor.ty.span()), snapshot.slice(tensor.data.span()));
    let add = add_value(graph, &format!("{ty} {} = {data}", snapshot.slice(*name)));
    let remove = Edit { span: whole_line(snapshot, tree.span), text: String::new() };
    Some(CodeAction {
        title: format!("Move the constant `{}` into an initializer", snapshot.slice(*name).trim_matches('"')),
        kind: Some(CodeActionKind::RefactorExtract),
        edit: Some(edit_of(snapshot, &[add, remove], client)),
        ..CodeAction::default()
    })
}

/// The statement with its line, if nothing else is on it.
fn whole_line(snapshot: &Snapshot, statement: Span) -> Span {
    let (text, lines) = (snapshot.text(), snapshot.lines());
    let start = lines.start(text, lines.line(statement.start));
    let end = lines.start(text, lines.line(statement.end) + 1);
    let before = snapshot.slice(Span::new(start, statement.start));
    let after = snapshot.slice(Span::new(statement.end, end));
    let is_alone = before.trim().is_empty() && after.trim().is_empty();
    if is_alone { Span::new(start, end) } else { statement }
}

/// An entry at the end of the `<…>` of a graph.
fn add_value(graph: &Graph, entry: &str) -> Edit {
    match &graph.values {
        Some(list) if list.span.len() > 1 => {
            let comma = if list.items.is_empty() { "" } else { ", " };
            let at = list.items.last().map_or(list.span.end - 1, |last| last.span.end);
            Edit { span: Span::at(at), text: format!("{comma}{entry}") }
        }
        _ => Edit { span: Span::at(graph.outputs.span.end), text: format!(" <{entry}>") },
    }
}

/// The innermost graph of the main graph whose body has a statement.
fn graph_around(snapshot: &Snapshot, statement: Span) -> Option<&Graph> {
    let mut graph = snapshot.tree().graph.as_ref().filter(|graph| has(graph.body_span, statement.start))?;
    loop {
        let nodes = &graph.body;
        let next = nodes.partition_point(|node| node.span.start <= statement.start).checked_sub(1)?;
        if nodes[next].span == statement {
            return Some(graph);
        }
        graph = nodes[next].subgraphs().into_iter().find(|inner| has(inner.body_span, statement.start))?;
    }
}

/// The nodes of the main graph whose statements a range has as a whole.
fn selected(snapshot: &Snapshot, from: u32, to: u32) -> Vec<NodeId> {
    let Some(graph) = &snapshot.tree().graph else { return Vec::new() };
    let map = snapshot.map();
    let trees = graph.body.iter().filter(|node| from <= node.span.start && node.span.end <= to);
    trees.filter_map(|tree| Some(map.node_of(snapshot.model().main?, tree)?.id)).collect()
}

fn later(snapshot: &Snapshot, title: String, kind: CodeActionKind, change: Change) -> CodeAction {
    let chosen = Chosen { uri: snapshot.uri().0.clone(), version: snapshot.version(), change };
    CodeAction { title, kind: Some(kind), data: serde_json::to_value(chosen).ok(), ..CodeAction::default() }
}

/// Computes the edit of a chosen action.
pub(crate) fn resolve(snapshot: &Snapshot, mut action: CodeAction, client: &Client) -> Answer<CodeAction> {
    let data = action.data.clone().ok_or_else(|| Failure("the action has no data".to_owned()))?;
    let chosen = Chosen::deserialize(data)?;
    if chosen.version != snapshot.version() {
        return Err(Failure("the document has changed".to_owned()));
    }
    let new = changed(snapshot, &chosen.change)?;
    action.edit = Some(workspace_edit(snapshot, line_edits(snapshot, &new), client));
    Ok(action)
}

/// The text after a change.
fn changed(snapshot: &Snapshot, change: &Change) -> Answer<String> {
    let file = snapshot.file();
    if *change == Change::FixAll {
        let fixed = snapshot.settings().options().fix(&file, Fixes::Safe);
        return Ok(fixed.map_or_else(|| snapshot.text().to_owned(), |fixed| fixed.text));
    }
    let old = file.load();
    if let Some(error) = old.lost_parts().first() {
        return Err(Failure(format!("the text has errors: {error}")));
    }
    let mut model = old.model.clone();
    apply(snapshot, &mut model, change)?;
    pass::compact(&mut model);
    Ok(printed(&old, model))
}

fn apply(snapshot: &Snapshot, model: &mut Model, change: &Change) -> Answer<()> {
    let registry = snapshot.registry();
    let first = |found: &[diag::Diagnostic]| match found.iter().find(|found| found.is_error()) {
        Some(error) => Err(Failure(error.to_string())),
        None => Ok(()),
    };
    match change {
        Change::Inline { function } => {
            let asked = model.functions.id_at(*function);
            let select = |_: &Model, id| Some(id) == asked;
            let options = Inline { select: &select, depth: None, max_nodes: MAX_NODES, others: None };
            let report = pass::inline(model, registry, options);
            first(&report.diagnostics)
        }
        Change::Expand { domain, op } => {
            let select =
                |schema: &onnxtxt::ops::schema::Schema| schema.domain == *domain && schema.name == *op;
            let report =
                expand(model, registry, &Expand { select: &select, depth: Some(1), max_nodes: MAX_NODES });
            first(&report.diagnostics)
        }
        Change::Outline { from, to } => {
            let body = model.main.ok_or_else(|| Failure("the model has no main graph".to_owned()))?;
            let nodes = selected(snapshot, *from, *to);
            let name = fresh(snapshot, "Function", |kind| kind == NameKind::Function);
            pass::outline(model, body, &nodes, LOCAL, &name)
                .map(|_| ())
                .map_err(|found| Failure(found.first().map(ToString::to_string).unwrap_or_default()))
        }
        Change::Convert { opset } => {
            let pass = Pass::parse(&format!("convert-opset={opset}"))?;
            let outcome = pass.run(model, registry);
            if outcome.is_done { Ok(()) } else { first(&outcome.report.diagnostics) }
        }
        Change::Sort => first(&pass::topological_sort(model).diagnostics),
        Change::FixAll => Ok(()),
    }
}

/// The domain of functions that are extracted.
const LOCAL: &str = "local";

/// A name like this one that no name of these kinds in the text has.
fn fresh(snapshot: &Snapshot, like: &str, is_of_kind: impl Fn(NameKind) -> bool) -> String {
    let names = snapshot.names();
    let is_taken = |name: &str| {
        names.ids().any(|id| is_of_kind(names.info(id).kind) && names.text(snapshot.text(), id) == name)
    };
    let numbered = (1..).map(|i| format!("{like}{i}"));
    std::iter::once(like.to_owned()).chain(numbered).find(|name| !is_taken(name)).unwrap_or_default()
}

/// The text of a changed model with the comments of the old one.
fn printed(old: &Loaded, model: Model) -> String {
    let new = old.became(model);
    Text::commented(&new.model, &RaiseOptions::default(), &new.comments()).to_text()
}

fn edit_of(snapshot: &Snapshot, edits: &[Edit], client: &Client) -> WorkspaceEdit {
    workspace_edit(snapshot, edits.iter().map(|edit| snapshot.edit(edit)).collect(), client)
}

/// The title of a fix as the title of an action.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::{edited, marked_text, model, with_settings};
    use crate::settings::Settings;
    use onnxtxt::Level;
    use onnxtxt::check::Filter;

    fn client() -> Client {
        Client { has_literal_actions: true, ..Client::default() }
    }

    fn actions_at(marked: &str) -> (Snapshot, Vec<CodeAction>) {
        let (snapshot, cursor, ranges) = marked_text(marked);
        let range = match (cursor, ranges.first()) {
            (Some(position), _) => Range { start: position, end: position },
            (None, Some(span)) => snapshot.range(*span),
            (None, None) => panic!("no place"),
        };
        let found = super::at(&snapshot, range).into_iter().map(|action| match action {
            CodeActionResponse::CodeAction(action) => action,
            CodeActionResponse::Command(_) => panic!("no commands"),
        });
        let found = found.collect();
        (snapshot, found)
    }

    /// The text after the action of this title.
    fn done(marked: &str, title: &str) -> String {
        let (snapshot, found) = actions_at(marked);
        let titles: Vec<_> = found.iter().map(|action| action.title.clone()).collect();
        let action = found.into_iter().find(|action| action.title.starts_with(title));
        let action = action.unwrap_or_else(|| panic!("{title}: {titles:?}"));
        let action =
            if action.edit.is_some() { action } else { resolve(&snapshot, action, &client()).unwrap() };
        let edits = action.edit.unwrap().changes.unwrap().into_values().next().unwrap();
        edited(&snapshot, &edits)
    }

    #[test]
    fn findings_are_fixed_or_allowed() {
        assert_eq!(done(&model("  y = Rleu$0(x)"), "Write `Relu`"), model("  y = Relu(x)"));
        let check = Filter { level: Level::Strict, ..Filter::default() };
        let text = model("  t = Abs(x)\n  y = Relu(x)");
        let snapshot = with_settings(&text, Settings { check, ..Settings::default() });
        let position = snapshot.position(u32::try_from(text.find("t = Abs").unwrap()).unwrap());
        let found = super::at(&snapshot, Range { start: position, end: position });
        let edit = found.into_iter().find_map(|action| match action {
            CodeActionResponse::CodeAction(action) if action.title == "Allow `unused` here" => action.edit,
            _ => None,
        });
        let edits = edit.unwrap().changes.unwrap().into_values().next().unwrap();
        assert_eq!(
            edited(&snapshot, &edits),
            model("  # onnxtxt: allow(unused)\n  t = Abs(x)\n  y = Relu(x)")
        );
    }

    #[test]
    fn types_are_declared_and_constants_moved() {
        let text =
            done(&model("  t$0 = Transpose(x)\n  y = Transpose(t)"), "Declare the type `float[4,N]` of `t`");
        assert!(text.contains("=> (float[N,4] y) <float[4,N] t> {"), "{text}");
        let text =
            done(&model("  c = Con$0stant <value = float {1}> ()\n  y = Add(x, c)"), "Move the constant `c`");
        assert!(text.contains("=> (float[N,4] y) <float c = {1}> {\n  y = Add(x, c)\n}"), "{text}");
    }

    #[test]
    fn expressions_are_expanded() {
        let text = done(&model("  y = Re$0lu(-x * 2)"), "Expand the expression");
        let plain =
            "  y_1 = Neg(x)\n  c_2 = Constant <value = float {2}> ()\n  y_2 = Mul(y_1, c_2)\n  y = Relu(y_2)";
        assert_eq!(text, model(plain));
    }

    #[test]
    fn literals_are_extracted() {
        let title = "Extract the constant";
        let in_main = |nodes: &str, entry: &str, after: &str| {
            let text = model(after).replace("(float[N,4] y)", &format!("(float[N,4] y) <{entry}>"));
            assert_eq!(done(&model(nodes), title), text);
        };
        in_main("  y = Relu(x * $00.5) + 0.5", "float c_0_5 = {0.5}", "  y = Relu(x * c_0_5) + 0.5");
        in_main("  y = Reshape(x, [-1, 4$0])", "int64[2] c_m1_4 = {-1, 4}", "  y = Reshape(x, c_m1_4)");
        in_main("  y = Unsqueeze(x[0, $0-1], [0])", "int64 c_m1 = {-1}", "  y = Unsqueeze(x[0, c_m1], [0])");
        in_main("  y = Unsqueeze(x[$00, -1], [0])", "int64 c_0 = {0}", "  y = Unsqueeze(x[c_0, -1], [0])");
        in_main("  y = Where(x != $02, x, x)", "float c_2 = {2}", "  y = Where(x != c_2, x, x)");
        // The name is used already; a literal of a graph in a node goes to the main graph, too.
        in_main("  c_2 = Neg(x)\n  y = c_2 * $02", "float c_2_1 = {2}", "  c_2 = Neg(x)\n  y = c_2 * c_2_1");
        in_main(
            "  y = If (x[0, 0] > 0) <then_branch = a () => (z) { z = x + $01 }, else_branch = b () => (z) { z = Neg(x) }>",
            "float c_1 = {1}",
            "  y = If (x[0, 0] > 0) <then_branch = a () => (z) { z = x + c_1 }, else_branch = b () => (z) { z = Neg(x) }>",
        );
        let (_, found) = actions_at(&model("  y = Pad(x, [0, 0, 1$0, 1])"));
        assert!(found.iter().any(|action| action.title == "Extract the constant `[0, 0, 1, 1]`"));
        let (_, found) = actions_at(&model("  y = x[0:$02]"));
        assert!(found.iter().all(|action| !action.title.starts_with(title)), "a bound is not an operand");
    }

    #[test]
    fn literals_of_functions_become_nodes() {
        let call = "<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]>\ng (float16[N] x) => (float16[N] y)\n{\n   y = l.F (x)\n}\n\
                    <domain: \"l\", opset_import: [\"\": 21]>\nF (v) => (u)\n{\n   t = Abs(v)\n   u = Neg(t * $02)\n}\n";
        let text = done(call, "Extract the constant `2`");
        let wanted = call.replace(
            "   u = Neg(t * $02)",
            "   c_2 = Constant <value = float16 {2.0}> ()\n   u = Neg(t * c_2)",
        );
        assert_eq!(text, wanted);
    }

    #[test]
    fn functions_are_inlined_and_extracted() {
        let call = "<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]>\ng (float[N] x) => (float[N] y)\n{\n   y = l.$0F (x)\n}\n\
                    <domain: \"l\", opset_import: [\"\": 21]>\nF (v) => (u)\n{\n   u = Abs (v)\n}\n";
        let text = done(call, "Inline the function `F`");
        assert!(text.contains("y = Abs") && !text.contains("F (v)"), "{text}");
        let text =
            done(&model("$[t = Abs(x)\nu = Neg(t)$]\ny = Exp(u)"), "Extract the nodes into a function");
        assert!(text.contains("u = local.Function") && text.contains("\nFunction ("), "{text}");
        let text = done(&model("y = Soft$0plus(x)"), "Replace `Softplus` by its function body");
        assert!(text.contains("Exp") && !text.contains("= Softplus"), "{text}");
    }

    #[test]
    fn operands_are_cast_and_nodes_sorted() {
        let nodes = "  c = Constant <value = int64 {1}> ()\n  y = Add(x, ";
        let cast = nodes.replace("  y", "  c_float = Cast <to = 1> (c)\n  y");
        assert_eq!(
            done(&model(&format!("{nodes}$0c)")), "Cast `c` to float"),
            model(&format!("{cast}c_float)"))
        );
        let (_, found) = actions_at(&model("  y = Add(x, $0x)"));
        assert!(found.iter().all(|action| !action.title.starts_with("Cast")), "the types are equal");
        let text = done(&model("  y = Neg($0t)\n  t = Abs(x)"), "Sort the nodes");
        assert!(text.find("t = Abs") < text.find("y = Neg"), "{text}");
    }

    #[test]
    fn old_models_are_converted() {
        let old = model("y = Softmax(x)").replace("opset_import: [\"\": 21]", "$0opset_import: [\"\": 11]");
        let version = newest_version("").unwrap();
        let text = done(&old, "Convert the model");
        assert!(text.contains(&format!("\"\": {version}")), "{text}");
    }

    #[test]
    fn kinds_are_filtered() {
        let (snapshot, _, _) = marked_text(&model("t = Abs(x)\ny = Relu(x)"));
        let params = |only: &[CodeActionKind]| CodeActionParams {
            text_document: TextDocumentIdentifier { uri: snapshot.uri().clone() },
            range: snapshot.range(Span::new(0, u32::try_from(snapshot.text().len()).unwrap())),
            context: CodeActionContext { only: Some(only.to_vec()), ..CodeActionContext::default() },
            work_done_progress_params: Default::default(),
            partial_result_params: Default::default(),
        };
        let count = |only: &[CodeActionKind]| actions(&snapshot, &params(only), &client()).len();
        assert_eq!(count(&[CodeActionKind::SourceFixAll]), 1);
        assert!(count(&[CodeActionKind::Refactor]) > 0);
        assert_eq!(count(&[CodeActionKind::new("other")]), 0);
    }
}
