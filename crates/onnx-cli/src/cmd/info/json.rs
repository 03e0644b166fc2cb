//! `info --format json`: the summary as one JSON object.

use super::{Problems, stored};
use crate::input::Input;
use crate::input::document::Document;
use onnx_ir::semver::Version;
use onnx_ir::{DimValue, Model, Port, TypeKind, normalize_domain};
use onnx_proto::external::external_tensors;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A model.
pub(super) fn model(input: &Input, model: &Model, problems: Problems) -> String {
    let header = &model.header;
    let opsets = header
        .opset_imports
        .iter()
        .map(|import| json!({ "domain": domain(model.text(import.domain)), "version": import.version }));
    // The main graph, and the operators of all graphs.
    let root = model.main_body().and_then(|body| Some(&body.graphs[body.root()?]));
    let ports = |ports: &[Port]| ports.iter().map(|port| self::port(model, port)).collect::<Vec<_>>();
    let nodes = model.bodies.values().flat_map(|body| body.nodes.values());
    let mut operators: BTreeMap<String, usize> = BTreeMap::new();
    for node in nodes {
        let domain = normalize_domain(model.text(node.domain));
        let dot = if domain.is_empty() { "" } else { "." };
        *operators.entry(format!("{domain}{dot}{}", model.text(node.op))).or_default() += 1;
    }
    // Functions, files of external data, metadata and training.
    let functions = model.functions.values().map(|function| {
        json!({
            "domain": domain(model.text(function.domain)),
            "name": model.text(function.name),
            "nodes": model.bodies[function.body].nodes.len(),
        })
    });
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for (tensor, _) in external_tensors(model) {
        let location = tensor.external(&model.names, "location").map_or("?", |name| &model.names[name]);
        *files.entry(location).or_default() += 1;
    }
    let metadata = header.metadata.iter();
    let metadata = metadata.map(|entry| (model.text(entry.key).to_owned(), model.text(entry.value).into()));
    let graph_name = |body: Option<onnx_ir::BodyId>| {
        let body = &model.bodies[body?];
        Some(model.text(body.graphs[body.root()?].name))
    };
    let training = model.training.iter().map(|training| {
        json!({
            "algorithm": graph_name(training.algorithm),
            "initialization": graph_name(training.initialization),
            "updates": training.update_bindings.len(),
        })
    });
    // All of it as one object.
    let object = json!({
        "file": input.name,
        "kind": "model",
        "form": input.form.name(),
        "bytes": input.bytes.len(),
        "producer": { "name": model.text(header.producer_name), "version": model.text(header.producer_version) },
        "domain": model.text(header.domain),
        "model_version": header.model_version.map(|number| Version::of(Some(number)).to_string()),
        "documentation": model.text(header.doc),
        "metadata": metadata.collect::<serde_json::Map<_, _>>(),
        "ir_version": header.ir_version,
        "opsets": opsets.collect::<Vec<_>>(),
        "graph": root.map(|graph| model.text(graph.name)),
        "inputs": root.map(|graph| ports(&graph.inputs)).unwrap_or_default(),
        "outputs": root.map(|graph| ports(&graph.outputs)).unwrap_or_default(),
        "nodes": operators.values().sum::<usize>(),
        "operators": operators,
        "weights": weights(model),
        "external": files,
        "functions": functions.collect::<Vec<_>>(),
        "training": training.collect::<Vec<_>>(),
        "problems": problems.json(),
    });
    format!("{object:#}\n")
}

impl Problems {
    fn json(self) -> Value {
        json!({ "errors": self.errors, "warnings": self.warnings })
    }
}

fn domain(text: &str) -> &str {
    match normalize_domain(text) {
        "" => "ai.onnx",
        domain => domain,
    }
}

fn port(model: &Model, port: &Port) -> Value {
    let shape = port.ty.and_then(|ty| match &model.types[ty].kind {
        TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => tensor.shape.as_ref(),
        TypeKind::Unset
        | TypeKind::Sequence(_)
        | TypeKind::Optional(_)
        | TypeKind::Map { .. }
        | TypeKind::Opaque { .. } => None,
    });
    let dim = |dim: &onnx_ir::Dim| match dim.value {
        DimValue::Unknown => Value::Null,
        DimValue::Value(n) => n.into(),
        DimValue::Param(name) => model.names[name].into(),
    };
    json!({
        "name": model.text(port.name),
        "type": port.ty.map(|ty| onnx_ir::type_text(model, ty)),
        "shape": shape.map(|shape| shape.iter().map(dim).collect::<Vec<_>>()),
    })
}

fn weights(model: &Model) -> Value {
    let (mut tensors, mut parameters, mut inline) = (0usize, 0u64, 0u64);
    let mut types: BTreeMap<&str, u64> = BTreeMap::new();
    for body in model.bodies.values() {
        for initializer in body.graphs.values().flat_map(|graph| &graph.initializers) {
            let tensor = &body.tensors[initializer.tensor];
            let count = tensor.element_count().unwrap_or(0);
            tensors += 1;
            parameters = parameters.saturating_add(count);
            inline = inline.saturating_add(stored(tensor));
            *types.entry(tensor.elem.and_then(onnx_ir::ElemType::name).unwrap_or("?")).or_default() += count;
        }
    }
    json!({ "tensors": tensors, "parameters": parameters, "types": types, "inline_bytes": inline })
}

/// A value or an operator set.
pub(super) fn document(input: &Input, document: &Document, problems: Problems) -> String {
    let mut object = about(input, problems);
    match document {
        Document::Value(_) => object["kind"] = "value".into(),
        Document::Part(_) => object["kind"] = input.kind.name().into(),
        Document::OperatorSet(set) => {
            object["kind"] = "operator set".into();
            let rows = set.rows().into_iter().map(|(title, text)| (title.to_owned(), Value::from(text)));
            object["about"] = Value::Object(rows.collect());
        }
    }
    format!("{object:#}\n")
}

fn about(input: &Input, problems: Problems) -> Value {
    json!({
        "file": input.name,
        "form": input.form.name(),
        "bytes": input.bytes.len(),
        "problems": problems.json(),
    })
}
