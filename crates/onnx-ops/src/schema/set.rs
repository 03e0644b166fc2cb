//! Operators of a document: their schemas, and the functions that define some of them.

use super::Schema;
use onnx_ir::diag::Diagnostic;
use onnx_ir::{Body, FunctionId, Model};
use std::sync::Arc;

/// The contents of a set for a registry.
#[derive(Clone, Debug)]
pub struct LoadedSet {
    /// Every operator that has a signature, in the order of the set.
    pub schemas: Vec<Schema>,
    /// For each of them the function that defines it, if the set has one.
    pub bodies: Vec<Option<FunctionId>>,
    /// For each of them its documentation.
    pub docs: Vec<Option<String>>,
    /// The domain and its version, which models may not exceed. `None`: the document does not list all versions.
    pub version: Option<(String, i64)>,
    /// Domain and name of operators without a signature, of which nothing else is known.
    pub unsigned: Vec<(String, String)>,
    /// The model that has the functions.
    pub model: Arc<Model>,
    /// Findings about the set. Places are entities of the set.
    pub diagnostics: Vec<Diagnostic>,
}

/// A function that defines a node's operator, in a model of its own.
#[derive(Clone, Debug)]
pub struct FunctionBody {
    /// The model that has the function.
    pub model: Arc<Model>,
    /// The function.
    pub id: FunctionId,
}

impl FunctionBody {
    /// The nodes and values of the function.
    pub fn body(&self) -> &Body {
        &self.model.bodies[self.model.functions[self.id].body]
    }
}
