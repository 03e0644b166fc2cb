//! `infer --why`: a derivation for people and for programs.
//!
//! ```text
//! y: float[N,6]
//!   m.onnxtxt:5:4: computed by ai.onnx.Reshape, version 21
//!   element type: the type variable T, which `t` has
//!   shape: the rule of the operator, from the shape of `t`; the elements of `s`
//!   from `t` float[N,2,3], `s` int64[2] {0, 6}
//!   declared float[M,6] at m.onnxtxt:2:30, which agrees
//!   `N` is an extent of the input `x`, m.onnxtxt:2:4
//! ```

use anyhow::{Context as _, bail};
use onnx_ir::diag::{Entity, did_you_mean};
use onnx_ir::{BodyId, Model, ValueId};
use onnx_ops::infer::{By, Declared, Derivation, How, Looked, Symbol, Used, Why};
use onnx_text::render::SourceText;
use onnxtxt::edit::Selection;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The value to explain.
pub(super) struct RequestedValue {
    pub(super) body: BodyId,
    pub(super) value: ValueId,
}

/// The value of a name: of the main graph and its nested graphs, then of functions; otherwise the first result of the node that
/// a selection matches.
pub(super) fn find(model: &Model, text: &str) -> anyhow::Result<RequestedValue> {
    let bodies = || model.main.into_iter().chain(model.functions.values().map(|f| f.body));
    for body in bodies() {
        let mut values = model.bodies[body].values.iter();
        if let Some((value, _)) = values.find(|(_, v)| &model.names[v.name] == text) {
            return Ok(RequestedValue { body, value });
        }
    }
    let selection: Selection = text.parse()?;
    let node = selection.nodes(model).first().copied();
    if let (Some(body), Some(node)) = (model.main, node) {
        let result = model.bodies[body].nodes[node].outputs.iter().flatten().next().copied();
        let value = result.with_context(|| format!("the node `{text}` has no results"))?;
        return Ok(RequestedValue { body, value });
    }
    let names = bodies().flat_map(|body| model.bodies[body].values.values()).map(|v| &model.names[v.name]);
    match did_you_mean(text, names) {
        Some(like) => bail!("unknown value `{text}`: did you mean `{like}`?"),
        None => bail!("unknown value `{text}`"),
    }
}

/// The derivation as text.
pub(super) fn text(why: &Why, source: &SourceText<'_>) -> String {
    let mut out = String::new();
    for (i, step) in why.steps.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        self::step(step, source, &mut out);
    }
    if why.left_out > 0 {
        let values = crate::output::numbers::count(why.left_out, "more value");
        _ = writeln!(out, "\n… and the derivations of {values}: `--most N` shows more");
    }
    out
}

fn step(step: &Derivation, source: &SourceText<'_>, out: &mut String) {
    _ = writeln!(out, "{}", used(&step.value));
    let place = step.place.map_or(String::new(), |place| format!("{}: ", at(place, source)));
    let what = match &step.how {
        How::Input => "an input".to_owned(),
        How::Parameter { function } => {
            format!("an input of the function {function}, the common type of all calls")
        }
        How::NestedInput { op } => format!("an input of a graph that `{op}` runs"),
        How::Stored => "a stored tensor".to_owned(),
        How::Undefined => "nothing defines it".to_owned(),
        How::Operator { op, since, .. } => format!("computed by {op}, version {since}"),
        How::Function { name } => format!("the result of a call of the function {name}"),
        How::UnknownOperator { op } => format!("computed by the unknown operator {op}"),
    };
    _ = writeln!(out, "  {place}{what}");
    if let How::Operator { elem, looked, .. } = &step.how {
        _ = writeln!(out, "  element type: {elem}");
        _ = writeln!(out, "  shape: {}", shape(looked, step));
    }
    if !step.from.is_empty() {
        let from: Vec<String> = step.from.iter().map(quoted).collect();
        _ = writeln!(out, "  from {}", from.join(", "));
    }
    for Declared { place, ty, agrees, only_where } in &step.declared {
        let verdict = match only_where {
            Some(equation) => &format!("which agrees only if {equation}"),
            None if *agrees => "which agrees",
            None => "which does not agree",
        };
        _ = writeln!(out, "  declared {ty} at {}, {verdict}", at(*place, source));
    }
    for symbol in &step.symbols {
        _ = writeln!(out, "  {}", self::symbol(symbol, source));
    }
}

/// `y: float[N] {1, 2}`
fn used(value: &Used) -> String {
    let elements = value.elements.as_deref().map_or(String::new(), |elements| format!(" {elements}"));
    format!("{}: {}{elements}", value.name, value.ty)
}

fn quoted(value: &Used) -> String {
    let elements = value.elements.as_deref().map_or(String::new(), |elements| format!(" {elements}"));
    format!("`{}` {}{elements}", value.name, value.ty)
}

fn shape(looked: &Looked, step: &Derivation) -> String {
    let who = match looked.by {
        By::Schema => return "not known".to_owned(),
        By::Body => return "through the function that defines the operator".to_owned(),
        By::Rule => "the rule of the operator",
    };
    if looked.is_broadcast {
        return format!("{who}: its inputs broadcast");
    }
    let mut parts = Vec::new();
    let inputs = [("shape", &looked.shapes), ("elements", &looked.elements)];
    for (what, inputs) in inputs {
        let names: Vec<String> = (inputs.iter())
            .filter_map(|&i| step.from.get(i))
            .map(|value| format!("`{}`", value.name))
            .collect();
        if !names.is_empty() {
            parts.push(format!("the {what} of {}", names.join(", ")));
        }
    }
    let attributes: Vec<String> =
        looked.attributes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if !attributes.is_empty() {
        parts.push(attributes.join(", "));
    }
    if parts.is_empty() { who.to_owned() } else { format!("{who}, from {}", parts.join("; ")) }
}

fn symbol(symbol: &Symbol, source: &SourceText<'_>) -> String {
    let Symbol { name, of, place, is_declared } = symbol;
    let place = place.map_or(String::new(), |place| format!(", {}", at(place, source)));
    if *is_declared {
        format!("`{name}` is a dimension of the input `{of}`{place}")
    } else {
        format!("`{name}` is introduced by `{of}`{place}: it depends on data")
    }
}

/// `m.onnxtxt:5:4`
fn at(place: Entity, source: &SourceText<'_>) -> String {
    match source.span(place.into()) {
        Some(span) => {
            let at = source.position(span.start);
            format!("{}:{}:{}", source.name(), at.line, at.column)
        }
        None => source.name().to_owned(),
    }
}

/// The derivation as JSON.
pub(super) fn json(why: &Why, source: &SourceText<'_>) -> String {
    let value = |value: &Used| json!({ "name": value.name, "type": value.ty, "elements": value.elements });
    let place = |place: Option<Entity>| {
        let at = place.and_then(|place| source.span(place.into())).map(|span| source.position(span.start));
        match at {
            Some(at) => json!({ "file": source.name(), "line": at.line, "column": at.column }),
            None => json!({ "file": source.name() }),
        }
    };
    let steps = why.steps.iter().map(|step| {
        let declared = step.declared.iter();
        let symbols = step.symbols.iter();
        json!({
            "value": value(&step.value),
            "place": place(step.place),
            "how": how(&step.how, step),
            "from": step.from.iter().map(value).collect::<Vec<_>>(),
            "declared": declared
                .map(|d| {
                    let place = place(Some(d.place));
                    json!({ "type": d.ty, "agrees": d.agrees, "only_where": d.only_where, "place": place })
                })
                .collect::<Vec<_>>(),
            "symbols": symbols
                .map(|s| json!({ "name": s.name, "of": s.of, "declared": s.is_declared, "place": place(s.place) }))
                .collect::<Vec<_>>(),
        })
    });
    let document =
        json!({ "file": source.name(), "steps": steps.collect::<Vec<_>>(), "left_out": why.left_out });
    format!("{document:#}\n")
}

fn how(how: &How, step: &Derivation) -> Value {
    match how {
        How::Input => json!({ "kind": "input" }),
        How::Parameter { function } => json!({ "kind": "parameter", "function": function }),
        How::NestedInput { op } => json!({ "kind": "nested_input", "operator": op }),
        How::Stored => json!({ "kind": "stored" }),
        How::Undefined => json!({ "kind": "undefined" }),
        How::Function { name } => json!({ "kind": "function", "function": name }),
        How::UnknownOperator { op } => json!({ "kind": "unknown_operator", "operator": op }),
        How::Operator { op, since, elem, looked } => json!({
            "kind": "operator",
            "operator": op,
            "since": since,
            "element_type": elem,
            "shape": shape(looked, step),
            "shapes_of": looked.shapes,
            "elements_of": looked.elements,
            "attributes": looked.attributes,
            "broadcast": looked.is_broadcast,
        }),
    }
}
