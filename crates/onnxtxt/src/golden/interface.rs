//! `#! interface`: the interface of a model.

use onnx_ir::{Model, Port, type_text};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The inputs, outputs, operator sets and operators of a model, a line each.
pub(super) fn describe(model: &Model) -> String {
    let mut out = String::new();
    for import in &model.header.opset_imports {
        let domain = match model.text(import.domain) {
            "" => "ai.onnx",
            domain => domain,
        };
        let version = import.version.map_or_else(|| "?".to_owned(), |version| version.to_string());
        _ = writeln!(out, "opset {domain} {version}");
    }
    let Some(body) = model.main_body() else { return out };
    let Some(graph) = body.root().map(|root| &body.graphs[root]) else { return out };
    for (kind, ports) in [("input", &graph.inputs), ("output", &graph.outputs)] {
        for port in ports {
            _ = writeln!(out, "{kind} {}", named(model, port));
        }
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for node in body.nodes.values() {
        let name = match (model.text(node.domain), model.text(node.op)) {
            ("" | "ai.onnx", op) => op.to_owned(),
            (domain, op) => format!("{domain}.{op}"),
        };
        *counts.entry(name).or_default() += 1;
    }
    for (op, count) in counts {
        _ = writeln!(out, "operator {op} {count}");
    }
    out
}

fn named(model: &Model, port: &Port) -> String {
    let ty = port.ty.map_or_else(|| "?".to_owned(), |ty| type_text(model, ty));
    format!("{} {ty}", model.text(port.name))
}
