//! Values, types and results that defining nodes asks for: a run knows them, and so does a table of a test.

use crate::program::Program;
use onnx_ir::{NodeId, ValueId};
use onnx_kernels::Value;
use onnx_ops::infer::Fact;

/// Knowledge about values and nodes while they are defined.
pub(crate) trait Known {
    /// The current value, if it has one.
    fn value(&self, value: ValueId) -> Option<&Value>;

    /// The types of the results of a node for inputs with these facts; `None` if they do not fit the operator.
    fn infer(&self, node: NodeId, inputs: &[Option<Fact>]) -> Option<Vec<Fact>>;

    /// The results of a node without subgraphs for these inputs; `None` if it fails.
    fn fold(&mut self, node: NodeId, inputs: Vec<Option<Value>>) -> Option<Vec<Value>>;

    /// Calls `define` with the function body of a node for inputs with these facts, and the knowledge inside of it. Does nothing
    /// if the node has no body.
    fn body(&self, node: NodeId, inputs: &[Option<Fact>], define: DefineBody<'_>);
}

/// Defines the function body of a node.
pub(crate) type DefineBody<'d> = &'d mut dyn FnMut(&Program<'_>, &mut dyn Known);
