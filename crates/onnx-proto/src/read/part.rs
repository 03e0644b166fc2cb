//! Graphs and functions in files of their own.

use super::read_pass::ReadPass;
use super::readable;
use crate::FileKind;
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
/// such a message.
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
