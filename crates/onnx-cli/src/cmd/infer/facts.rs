//! `infer --json`: the inferred facts of each value.

use onnx_ir::diag::Entity;
use onnx_ir::{BodyId, Model, ValueDef, ValueId};
use onnx_ops::dims::{Dim, Dims};
use onnx_ops::infer::{FactSource, Facts};
use onnx_text::render::SourceText;
use serde_json::{Value, json};

/// One object per value, in the order of the body: main graph, trainings, functions.
pub(super) fn json(model: &Model, facts: &mut Facts, source: &SourceText<'_>) -> String {
    let mut bodies: Vec<(BodyId, Value)> = model.main.into_iter().map(|body| (body, Value::Null)).collect();
    bodies.extend(model.functions.values().map(|f| {
        let domain = onnx_ir::normalize_domain(model.text(f.domain));
        let domain = if domain.is_empty() { "ai.onnx" } else { domain };
        (f.body, Value::from(format!("{domain}.{}", model.text(f.name))))
    }));
    let mut all = Vec::new();
    for (body, function) in bodies {
        for value in model.bodies[body].values.ids() {
            all.push(one(model, facts, source, (body, value), &function));
        }
    }
    format!("{:#}\n", Value::from(all))
}

/// A number, the text of an expression, or null.
fn extent(dims: &Dims, dim: Dim) -> Value {
    match dims.as_const(dim) {
        Some(number) => number.into(),
        None if dim == Dim::Unknown => Value::Null,
        None => onnx_ops::infer::dim_text(dims, dim).into(),
    }
}

fn one(
    model: &Model,
    facts: &mut Facts,
    source: &SourceText<'_>,
    (body, value): (BodyId, ValueId),
    function: &Value,
) -> Value {
    let fact = facts.resolved(body, value);
    let (kind, entity) = match model.bodies[body].values[value].def {
        ValueDef::Output(node, i) => ("result", Some(Entity::NodeOutput(body, node, i))),
        ValueDef::Input(graph) => {
            let inputs = &model.bodies[body].graphs[graph].inputs;
            let at = (0..).zip(inputs).find(|(_, port)| port.value == Some(value));
            ("input", at.map(|(i, _)| Entity::Input(body, graph, i)))
        }
        ValueDef::Initializer(graph) => {
            let g = &model.bodies[body].graphs[graph];
            let dense = (0..).zip(&g.initializers).find(|(_, init)| init.value == value);
            let sparse = (0..).zip(&g.sparse_initializers).find(|(_, init)| init.value == value);
            let dense = dense.map(|(i, _)| Entity::Initializer(body, graph, i));
            let sparse = sparse.map(|(i, _)| Entity::SparseInitializer(body, graph, i));
            ("initializer", dense.or(sparse))
        }
        ValueDef::Unbound(_) => ("undefined", None),
    };
    let at = entity.and_then(|entity| source.span(entity.into())).map(|span| source.position(span.start));
    let known = match fact.source {
        FactSource::Nothing | FactSource::LeftOut => "nothing",
        FactSource::Declared => "declared",
        FactSource::Stored => "stored",
        FactSource::Inferred => "inferred",
    };
    let shape =
        fact.ty.shape().map(|shape| shape.iter().map(|&d| extent(&facts.dims, d)).collect::<Vec<_>>());
    let mut object = json!({
        "name": &model.names[model.bodies[body].values[value].name],
        "function": function,
        "kind": kind,
        "type": fact.ty.text(&facts.dims),
        "shape": shape,
        "known": known,
        "file": source.name(),
    });
    if let Some(at) = at {
        object["line"] = at.line.into();
        object["column"] = at.column.into();
    }
    object
}
