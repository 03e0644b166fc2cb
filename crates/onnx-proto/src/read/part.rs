//! Parts of models in files of their own: graphs, functions, nodes, types, declarations, attributes.

use super::read_pass::ReadPass;
use super::readable;
use crate::FileKind;
use crate::write::wrapped;
use bytes::Bytes;
use onnx_ir::diag::Parsed;
use onnx_ir::{BodyId, FunctionId, Model};

/// Reads a `GraphProto` into a new body of `model`, which does not become its main graph; also returns findings about the bytes.
/// `None`: they are not such a message.
///
/// ```
/// use onnx_ir::Model;
///
/// let bytes = bytes::Bytes::from_static(b"\x0a\x0c\x0a\x01x\x12\x01y\x22\x04Relu\x12\x01g"); // g { y = Relu(x) }
/// let mut model = Model::new();
/// let body = onnx_proto::read_graph(bytes.clone(), &mut model).into_result().unwrap();
/// assert_eq!(onnx_proto::write_graph(&model, body.expect("a graph"))?, bytes);
/// # Ok::<(), onnx_proto::TooLarge>(())
/// ```
pub fn read_graph(bytes: Bytes, model: &mut Model) -> Parsed<Option<BodyId>> {
    let mut diagnostics = Vec::new();
    let bytes = readable(bytes, FileKind::Graph, &mut diagnostics);
    let mut pass = ReadPass::validated(diagnostics);
    let body = bytes.map(|bytes| super::graph_body(&bytes, model, &mut pass));
    Parsed::new(body, pass.diagnostics)
}

/// Reads a `FunctionProto` and adds it to the functions of `model`; also returns findings about the bytes. `None`: they are not
/// a message of this type.
///
/// ```
/// use onnx_ir::Model;
///
/// let bytes = bytes::Bytes::from_static(b"\x0a\x01f\x22\x01x\x2a\x01y\x52\x01l"); // <domain: "l"> f (x) => (y) {}
/// let mut model = Model::new();
/// let function = onnx_proto::read_function(bytes.clone(), &mut model).into_result().unwrap();
/// assert_eq!(onnx_proto::write_function(&model, function.expect("a function"))?, bytes);
/// # Ok::<(), onnx_proto::TooLarge>(())
/// ```
pub fn read_function(bytes: Bytes, model: &mut Model) -> Parsed<Option<FunctionId>> {
    let mut diagnostics = Vec::new();
    let bytes = readable(bytes, FileKind::Function, &mut diagnostics);
    let mut pass = ReadPass::validated(diagnostics);
    let function = bytes.map(|bytes| {
        let function = super::function(&bytes, model, &mut pass);
        model.functions.push(function)
    });
    Parsed::new(function, pass.diagnostics)
}

/// Reads a message that is a part of a model ([`FileKind::is_part`]) into a model with nothing else: a graph becomes the main
/// graph, a function the only function, a node the only node of an unnamed main graph, an attribute the only one of such a node,
/// a declaration or a type that of the only input. Also returns findings about the bytes. [`write_part`](crate::write_part) writes it again.
///
/// ```
/// use onnx_proto::FileKind;
///
/// let bytes = bytes::Bytes::from_static(b"\x0a\x01x\x12\x01y\x22\x04Relu"); // y = Relu(x)
/// let model = onnx_proto::read_part(bytes.clone(), FileKind::Node).into_result().unwrap();
/// assert_eq!(model.walk_main().count(), 1);
/// assert_eq!(onnx_proto::write_part(&model, FileKind::Node)?, bytes);
/// # Ok::<(), onnx_proto::TooLarge>(())
/// ```
pub fn read_part(bytes: Bytes, kind: FileKind) -> Parsed<Model> {
    let mut model = Model::new();
    if kind == FileKind::Function {
        return read_function(bytes, &mut model).map(|_| model);
    }
    let mut diagnostics = Vec::new();
    let bytes = readable(bytes, kind, &mut diagnostics);
    let mut pass = ReadPass::validated(diagnostics);
    if let Some(bytes) = bytes {
        model.main = Some(super::graph_body(&wrapped(bytes, kind), &mut model, &mut pass));
    }
    Parsed::new(model, pass.diagnostics)
}
