//! Graphs and functions in files of their own.

use super::graph::GraphWriter;
use super::{Strings, TooLarge, check_size, function_fields};
use onnx_ir::{BodyId, FunctionId, Model};

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
