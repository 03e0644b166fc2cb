//! Removes parts that do not affect the results of a model: names of nodes, documentation, metadata, declarations, trainings.

use onnx_ir::{Entry, Graph, Model, Name, Port};
use std::ops::Range;

/// The number of details.
pub(super) fn count(model: &Model) -> usize {
    let mut count = 0;
    // A copy of the header and of lists; payloads of tensors are shared.
    visit(&mut model.clone(), &mut || {
        count += 1;
        false
    });
    count
}

/// The model without some of them.
pub(super) fn without(model: &Model, range: Range<usize>) -> Option<Model> {
    let mut model = model.clone();
    let mut at = 0;
    visit(&mut model, &mut || {
        at += 1;
        range.contains(&(at - 1))
    });
    Some(model)
}

/// Asks of each detail whether it goes.
fn visit(model: &mut Model, goes: &mut dyn FnMut() -> bool) {
    let header = &mut model.header;
    for name in [&mut header.producer_name, &mut header.producer_version, &mut header.domain, &mut header.doc]
    {
        optional(name, goes);
    }
    if header.model_version.is_some() && goes() {
        header.model_version = None;
    }
    header.metadata.retain(|_| !goes());
    model.training.retain(|_| !goes());
    model.configurations.retain(|_| !goes());
    for function in model.functions.values_mut() {
        optional(&mut function.doc, goes);
        function.metadata.retain(|_| !goes());
    }
    for body in model.bodies.values_mut() {
        body.graphs.values_mut().for_each(|graph| of_graph(graph, goes));
        for node in body.nodes.values_mut() {
            optional(&mut node.name, goes);
            node.attrs.iter_mut().for_each(|attr| optional(&mut attr.doc, goes));
            if node.extra.is_some() && goes() {
                node.extra = None;
            }
        }
        for tensor in body.tensors.values_mut() {
            let Some(extra) = tensor.extra.as_deref_mut() else { continue };
            optional(&mut extra.doc, goes);
            extra.metadata.retain(|_| !goes());
        }
    }
}

fn of_graph(graph: &mut Graph, goes: &mut dyn FnMut() -> bool) {
    optional(&mut graph.doc, goes);
    graph.metadata.retain(|_: &Entry| !goes());
    graph.value_info.retain(|_: &Port| !goes());
    graph.quantization.retain(|_| !goes());
    for port in graph.inputs.iter_mut().chain(&mut graph.outputs) {
        optional(&mut port.doc, goes);
        port.metadata.retain(|_| !goes());
    }
}

fn optional(name: &mut Option<Name>, goes: &mut dyn FnMut() -> bool) {
    if name.is_some() && goes() {
        *name = None;
    }
}
