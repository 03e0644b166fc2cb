//! Operators that a function body defines, with the bodies in ONNX text.

use crate::infer::NodeCx;
use crate::schema::SchemaId;
use onnx_ir::{FunctionId, Model};
use std::sync::Arc;

/// A function that stands for a node of an operator, in a model of its own.
#[derive(Clone, Debug)]
pub struct FunctionBody {
    /// The model that has the function.
    pub model: Arc<Model>,
    /// The function.
    pub id: FunctionId,
}

/// The body of an operator at a node, if the operator has one.
pub(crate) fn body(_cx: &NodeCx<'_, '_>, _schema: SchemaId) -> Option<FunctionBody> {
    None
}
