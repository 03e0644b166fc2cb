//! Prepares a part for a model: operator sets, functions and names.

use super::refused;
use crate::Text;
use crate::edit::main_graph;
use onnx_ir::diag::Diagnostic;
use onnx_ir::pass::{Inline, Named, compact, inline, rename};
use onnx_ir::{FunctionId, Model, Name, OpsetImport, PrimaryMap, ValueId, normalize_domain};
use onnx_ops::convert::convert_opset;
use onnx_ops::opset::registry_of;
use onnx_text::RaiseOptions;
use std::collections::HashSet;

/// A copy of a part with the operator sets and functions of the model.
pub(super) fn prepared(model: &mut Model, part: &Model) -> Result<Model, Vec<Diagnostic>> {
    let mut part = part.clone();
    if main_graph(&part).is_none() {
        return Err(vec![refused("the part has no graph".to_owned())]);
    }
    let imports: Vec<(String, Option<i64>)> = (part.header.opset_imports.iter())
        .map(|import| (normalize_domain(part.text(import.domain)).to_owned(), import.version))
        .collect();
    for (domain, version) in imports {
        let known =
            model.header.opset_imports.iter().find(|i| normalize_domain(model.text(i.domain)) == domain);
        match (known.map(|import| import.version), version) {
            (None, _) => {
                let domain = Some(model.names.intern(&domain));
                model.header.opset_imports.push(OpsetImport { domain, version });
            }
            (Some(Some(requested)), Some(is)) if requested != is => {
                let registry = registry_of(&part.clone());
                if !convert_opset(&mut part, registry, &domain, requested).is_done {
                    let shown = if domain.is_empty() { "ai.onnx" } else { &domain };
                    let message =
                        format!("the part has version {is} of {shown}, the model has version {requested}");
                    return Err(vec![refused(message).help("bring both to one version: onnxtxt set-opset")]);
                }
                compact(&mut part);
            }
            (Some(_), _) => {}
        }
    }
    functions(model, &mut part)?;
    Ok(part)
}

/// Puts functions of the part in place of their calls, but for those that the model has.
fn functions(model: &Model, part: &mut Model) -> Result<(), Vec<Diagnostic>> {
    let key = |model: &Model, f: FunctionId| {
        let function = &model.functions[f];
        let text = |name| model.text(name).to_owned();
        (
            normalize_domain(model.text(function.domain)).to_owned(),
            text(function.name),
            text(function.overload),
        )
    };
    let mut shared = HashSet::new();
    for f in part.functions.ids().collect::<Vec<_>>() {
        let Some(own) = model.functions.ids().find(|own| key(model, *own) == key(part, f)) else { continue };
        if function_text(model, own) != function_text(part, f) {
            let message = format!("the function `{}` of the part is not that of the model", key(part, f).1);
            return Err(vec![
                refused(message).help("put it in place of its calls first: onnxtxt inline PART"),
            ]);
        }
        shared.insert(f);
    }
    let select = |_: &Model, f: FunctionId| !shared.contains(&f);
    let registry = registry_of(&part.clone());
    let report = inline(part, registry, Inline { select: &select, ..Inline::default() });
    let errors: Vec<Diagnostic> = report.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The text of a model with this function only.
fn function_text(model: &Model, f: FunctionId) -> String {
    let mut alone = model.clone();
    let mut functions = PrimaryMap::new();
    functions.push(model.functions[f].clone());
    alone.functions = functions;
    (alone.main, alone.header) = (None, onnx_ir::Header::default());
    alone.training.clear();
    compact(&mut alone);
    Text::new(&alone, &RaiseOptions::default()).to_text()
}

/// Gives names of the part that the model has, for other values than those that go, a number.
pub(super) fn apart(model: &Model, part: &mut Model, gone: &HashSet<ValueId>) -> Result<(), Vec<Diagnostic>> {
    let mut taken: HashSet<String> = HashSet::new();
    for (id, body) in model.bodies.iter() {
        let stays = |value: &ValueId| model.main != Some(id) || !gone.contains(value);
        let values = body.values.iter().filter(|(value, _)| stays(value)).map(|(_, value)| value.name);
        let others = body.nodes.values().filter_map(|node| node.name);
        let graphs = body.graphs.values().filter_map(|graph| graph.name);
        taken.extend(values.chain(others).chain(graphs).map(|name: Name| model.names[name].to_owned()));
    }
    let own: HashSet<String> = part
        .bodies
        .values()
        .flat_map(|body| body.values.values())
        .map(|v| part.names[v.name].to_owned())
        .collect();
    let report = rename(part, &mut |named, name| {
        let is_shown = matches!(named, Named::Input | Named::Output);
        if is_shown || !taken.contains(name) {
            return None;
        }
        let mut free = (1u64..).map(|i| format!("{name}_{i}"));
        let new = free.find(|new| !taken.contains(new) && !own.contains(new))?;
        taken.insert(new.clone());
        Some(new)
    });
    if report.diagnostics.is_empty() { Ok(()) } else { Err(report.diagnostics) }
}
