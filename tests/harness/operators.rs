//! A walk over all operators of ONNX that lists what each of them lacks.
//!
//! An operator has a signature, so it must have an example, and the example must be inferred, be without findings, and
//! run: by formulas, by a function body or by a kernel. A file of the suite must use it. `cargo xtask new-operator` makes these
//! files.

use libtest_mimic::Trial;
use onnx_exec::CompileOptions;
use onnx_ir::diag::{Diagnostic, Level};
use onnx_ir::{AttrValue, DimValue, Model, Node, Port, ValueDef, ValueId, VerifyOptions, normalize_domain};
use onnx_ops::check::check;
use onnx_ops::infer::{InferOptions, Ty, infer};
use onnx_ops::meaning::value_inputs;
use onnx_ops::schema::{Registry, docs};
use onnxtxt::golden::Case;
use std::collections::HashSet;

/// Exceptions, with a reason: operator and beginning of the line. The sizes of results of maps depend on the maps.
const EXEMPT: &[(&str, &str)] =
    &[("ai.onnx.ml.CastMap", "an inference rule"), ("ai.onnx.ml.DictVectorizer", "an inference rule")];

pub(crate) fn trials(cases: &[Case]) -> Vec<Trial> {
    let used: HashSet<String> = cases.iter().flat_map(|case| calls(&case.text)).collect();
    vec![
        Trial::test("operators/nothing_is_missing", move || missing(&used).map_err(Into::into)),
        Trial::test("operators/rows_state_what_shapes_depend_on", || unstated().map_err(Into::into)),
    ]
}

/// The names in a text that are followed by attributes or operands.
fn calls(text: &str) -> impl Iterator<Item = String> {
    let ends = text.match_indices(['(', '<']).map(|(at, _)| text[..at].trim_end_matches(' '));
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    ends.filter_map(move |before| before.rsplit(|c| !is_part(c)).next().map(str::to_owned))
}

/// Lists what is missing.
fn missing(used: &HashSet<String>) -> Result<(), String> {
    let registry = Registry::builtin();
    let mut lines = Vec::new();
    for domain in registry.domains() {
        for name in registry.operators(domain) {
            let is_replaced = registry.versions(domain, name).iter().all(|id| registry.get(*id).deprecated);
            let mut lacks = example(registry, domain, name);
            if !used.contains(name) && !is_replaced {
                lacks.push(format!("a file of tests/suite that uses it, such as run/{name}.onnxtxt"));
            }
            let named = if domain.is_empty() { name.to_owned() } else { format!("{domain}.{name}") };
            lacks.retain(|what| !EXEMPT.iter().any(|(op, start)| *op == named && what.starts_with(start)));
            lines.extend(lacks.into_iter().map(|what| format!("{named} lacks {what}")));
        }
    }
    if lines.is_empty() { Ok(()) } else { Err(lines.join("\n")) }
}

/// The lines about what an operator lacks according to its example.
fn example(registry: &Registry, domain: &str, name: &str) -> Vec<String> {
    let folder = if domain.is_empty() { "ai.onnx" } else { domain };
    let Some(text) = docs::example(domain, name) else {
        return vec![format!("an example: crates/onnx-ops/docs/{folder}/{name}.onnxtxt")];
    };
    let mut model = onnx_text::read_model(text).value;
    let mut lacks = Vec::new();
    let options = VerifyOptions { level: Level::Strict, ..VerifyOptions::default() };
    let found = check(&model, registry, &options);
    if let Some(first) = found.iter().find(|found| found.is_error()) {
        lacks.push(format!("a correct example: {}", first.message));
    }
    undeclare(&mut model);
    let facts = infer(&model, registry, &InferOptions::default()).facts;
    let has_shapes = model.main.is_some_and(|id| {
        let body = &model.bodies[id];
        let is_it = |op| op == name;
        let mut nodes = body
            .nodes
            .values()
            .filter(|n| is_it(model.text(n.op)) && normalize_domain(model.text(n.domain)) == domain);
        nodes.all(|node| {
            let mut types = node.outputs.iter().flatten().map(|output| &facts.get(id, *output).ty);
            types.all(|ty| {
                !matches!(ty, Ty::Unknown) && (!matches!(ty, Ty::Tensor(_)) || ty.shape().is_some())
            })
        })
    });
    if !has_shapes {
        lacks.push("an inference rule or a function body: add `.infer(…)` to its row".to_owned());
    }
    if let Err(found) = onnx_exec::compile(&model, registry, &CompileOptions::default()) {
        let why = found.first().map_or("", |found: &Diagnostic| &found.message);
        lacks.push(format!("formulas, a function body or a kernel: {why}"));
    }
    lacks
}

/// Lists inputs without which the shape of a result is unknown, and which the row of the operator does not have: the executor
/// plans nodes for shapes, so it must know the elements of these inputs before.
fn unstated() -> Result<(), String> {
    let registry = Registry::builtin();
    let mut lines = Vec::new();
    for domain in registry.domains() {
        for name in registry.operators(domain) {
            let Some(text) = docs::example(domain, name) else { continue };
            let mut model = onnx_text::read_model(text).value;
            undeclare(&mut model);
            let Some(id) = model.main else { continue };
            let is_it =
                |n: &&Node| model.text(n.op) == name && normalize_domain(model.text(n.domain)) == domain;
            let Some(node) = model.bodies[id].nodes.values().find(is_it).cloned() else { continue };
            let Some(&schema) =
                registry.versions(domain, name).iter().rfind(|id| !registry.get(**id).deprecated)
            else {
                continue;
            };
            // Operators that run graphs are not planned.
            if node.attrs.iter().any(|attr| matches!(attr.value(), Some(AttrValue::Graph(_)))) {
                continue;
            }
            let stated = value_inputs(registry.get(schema));
            let known = shapes(&model, registry, &node);
            for (i, input) in node.inputs.iter().enumerate() {
                let Some(without) = input.and_then(|input| without_elements(&model, input)) else { continue };
                if !stated.contains(&i) && shapes(&without, registry, &node) != known {
                    lines.push(format!("{domain} {name}: `.reads(…)` lacks input {i}"));
                }
            }
        }
    }
    if lines.is_empty() { Ok(()) } else { Err(lines.join("\n")) }
}

/// Removes declarations of outputs, which would complete what inference does not know.
fn undeclare(model: &mut Model) {
    for body in model.bodies.values_mut() {
        let ports = body.graphs.values_mut().flat_map(|graph| &mut graph.outputs);
        ports.for_each(|port| port.ty = None);
    }
}

/// The types of the outputs of a node, as text.
fn shapes(model: &Model, registry: &Registry, node: &Node) -> Vec<String> {
    let Some(id) = model.main else { return Vec::new() };
    let facts = infer(model, registry, &InferOptions::default()).facts;
    let types: Vec<Ty> =
        node.outputs.iter().flatten().map(|output| facts.get(id, *output).ty.clone()).collect();
    types.iter().map(|ty| ty.text(&facts.dims)).collect()
}

/// A model in which an initializer is an input of the same type; `None` if the value is something else.
fn without_elements(model: &Model, value: ValueId) -> Option<Model> {
    let mut model = model.clone();
    let id = model.main?;
    let root = model.bodies[id].root()?;
    let body = &mut model.bodies[id];
    let at = body.graphs[root].initializers.iter().position(|init| init.value == value)?;
    let tensor = &body.tensors[body.graphs[root].initializers.remove(at).tensor];
    let ty = model.types.tensor(tensor.elem?, tensor.dims.iter().map(|d| DimValue::Value(*d)));
    let name = Some(body.values[value].name);
    body.values[value].def = ValueDef::Input(root);
    body.graphs[root].inputs.push(Port { name, value: Some(value), ty: Some(ty), ..Port::default() });
    Some(model)
}
