//! Graphs and functions in files of their own.

use super::graph::GraphWriter;
use super::{Strings, TooLarge, encode, function_message};
use onnx_ir::{BodyId, FunctionId, Model};

/// The root graph of a body as an encoded `GraphProto`.
///
/// # Errors
///
/// The message would have more bytes than protobuf can read.
pub fn write_graph(model: &Model, body: BodyId) -> Result<Vec<u8>, TooLarge> {
    let strings = &Strings::new(&model.names);
    encode(&GraphWriter { model, body: &model.bodies[body], strings }.root())
}

/// A function as an encoded `FunctionProto`.
///
/// # Errors
///
/// The message would have more bytes than protobuf can read.
pub fn write_function(model: &Model, function: FunctionId) -> Result<Vec<u8>, TooLarge> {
    let strings = &Strings::new(&model.names);
    encode(&function_message(&model.functions[function], model, strings))
}
