//! The panel of a node: attributes, operands, results, and its text.

use super::build::Builder;
use super::scene::{Detail, Operand};
use super::text;
use onnx_ir::{AttrValue, BodyId, NodeId, ValueId};
use onnx_text::{Profile, RaiseOptions};

/// Elements of tensors and lists that are shown.
const SHOWN: usize = 8;
/// Longer texts are cut: a node may hold a whole graph.
const LONGEST: usize = 4000;
/// The longest text in a drawing of very many boxes.
const SHORT: usize = 100;

/// How parts of a model are printed.
pub(super) fn options() -> RaiseOptions {
    RaiseOptions {
        profile: Profile::Extended,
        elide: Some(SHOWN),
        metadata: false,
        visible: true,
        ..RaiseOptions::default()
    }
}

/// The details of a node. In a drawing of very many boxes, only the start of its text.
pub(super) fn of(builder: &mut Builder<'_>, scope: usize, body: BodyId, id: NodeId) -> Detail {
    let model = builder.model;
    if builder.is_large() {
        let text = text::cut_end(&text_of(builder, body, id), SHORT);
        return Detail { text, ..Detail::default() };
    }
    let node = &model.bodies[body].nodes[id];
    let parameters = builder.parameters(body, id);
    let mut operand = |parameter: &str, value: Option<ValueId>| {
        let name = value.map_or("", |v| &model.names[model.bodies[body].values[v].name]).to_owned();
        let ty = value.map(|v| builder.type_text(scope, v)).unwrap_or_default();
        Operand { parameter: parameter.to_owned(), name, ty }
    };
    let inputs = node.inputs.iter().enumerate();
    let inputs = inputs.map(|(at, &v)| operand(parameters.get(at).map_or("", String::as_str), v)).collect();
    let outputs = node.outputs.iter().map(|&v| operand("", v)).collect();
    let mut attributes = Vec::with_capacity(node.attrs.len());
    for attr in &node.attrs {
        let name = model.text(attr.name).to_owned();
        let value = match attr.values.first() {
            Some(AttrValue::Graph(_) | AttrValue::Graphs(_)) => "a graph".to_owned(),
            _ => {
                let printed = onnx_text::print_attribute(model, body, attr, &options());
                printed.split_once(" = ").map_or(printed.as_str(), |(_, value)| value).to_owned()
            }
        };
        attributes.push((name, text::cut_end(&value, 400)));
    }
    let text = text::cut_end(&text_of(builder, body, id), LONGEST);
    Detail { attributes, inputs, outputs, text, ..Detail::default() }
}

fn text_of(builder: &Builder<'_>, body: BodyId, id: NodeId) -> String {
    let printed = onnx_text::print_node(builder.model, body, id, &options());
    // A part of a text needs no first line.
    match printed.split_once('\n') {
        Some((first, rest)) if first.starts_with("#@ onnxtxt") => rest.to_owned(),
        _ => printed,
    }
}
