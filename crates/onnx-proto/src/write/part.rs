//! Parts of models in files of their own.

use super::fields::bytes;
use super::graph::GraphWriter;
use super::{Strings, TooLarge, check_size, function_fields};
use crate::FileKind;
use bytes::Bytes;
use onnx_ir::{BodyId, FunctionId, Model};
use prost::Message as _;

/// The root graph of a body as an encoded `GraphProto`.
///
/// # Errors
///
/// The message would have more bytes than protobuf can read.
pub fn write_graph(model: &Model, body: BodyId) -> Result<Vec<u8>, TooLarge> {
    let strings = &Strings::new(&model.names);
    let mut out = Vec::new();
    GraphWriter { model, body: &model.bodies[body], strings }.root(&mut out);
    check_size(out.len())?;
    Ok(out)
}

/// A function as an encoded `FunctionProto`.
///
/// # Errors
///
/// The message would have more bytes than protobuf can read.
pub fn write_function(model: &Model, function: FunctionId) -> Result<Vec<u8>, TooLarge> {
    let strings = &Strings::new(&model.names);
    let mut out = Vec::new();
    function_fields(&model.functions[function], model, strings, &mut out);
    check_size(out.len())?;
    Ok(out)
}

/// The encoded message of a part that [`read_part`](crate::read_part) or the reader of a text has put into a model; empty if the
/// model has no such part.
///
/// # Errors
///
/// The message would have more bytes than protobuf can read.
pub fn write_part(model: &Model, kind: FileKind) -> Result<Vec<u8>, TooLarge> {
    if kind == FileKind::Function {
        return model.functions.ids().next().map_or(Ok(Vec::new()), |first| write_function(model, first));
    }
    let strings = &Strings::new(&model.names);
    let mut out = Vec::new();
    let body = model.main.map(|main| &model.bodies[main]);
    if let Some((body, root)) = body.and_then(|body| Some((body, body.root()?))) {
        let writer = GraphWriter { model, body, strings };
        let graph = &body.graphs[root];
        let node = graph.nodes.first().copied();
        match kind {
            FileKind::Node => node.into_iter().for_each(|node| writer.node(node, &mut out)),
            FileKind::Attribute => {
                let attr = node.and_then(|node| body.nodes[node].attrs.first());
                attr.into_iter().for_each(|attr| writer.attr(attr, &mut out));
            }
            FileKind::ValueInfo | FileKind::Type => {
                let info = writer.ports(graph.inputs.get(..1).unwrap_or_default()).into_iter().next();
                let info = info.unwrap_or_default();
                out = if kind == FileKind::Type {
                    info.r#type.unwrap_or_default().encode_to_vec()
                } else {
                    info.encode_to_vec()
                };
            }
            FileKind::Graph => writer.root(&mut out),
            // No parts of a model, or written above.
            FileKind::Function
            | FileKind::Model
            | FileKind::Tensor
            | FileKind::Sequence
            | FileKind::Optional
            | FileKind::Map
            | FileKind::SparseTensor
            | FileKind::OperatorSet => {}
        }
    }
    check_size(out.len())?;
    Ok(out)
}

/// A part as a graph with nothing else.
pub(crate) fn wrapped(part: Bytes, kind: FileKind) -> Bytes {
    // The numbers of the fields, from the graph inward: `input`, `type`; `node`, `attribute`.
    let fields: &[u32] = match kind {
        FileKind::ValueInfo => &[11],
        FileKind::Type => &[11, 2],
        FileKind::Node => &[1],
        FileKind::Attribute => &[1, 5],
        FileKind::Graph
        | FileKind::Function
        | FileKind::Model
        | FileKind::Tensor
        | FileKind::Sequence
        | FileKind::Optional
        | FileKind::Map
        | FileKind::SparseTensor
        | FileKind::OperatorSet => &[],
    };
    fields.iter().rev().fold(part, |part, &number| {
        let mut out = Vec::new();
        bytes(number, &part, &mut out);
        out.into()
    })
}
