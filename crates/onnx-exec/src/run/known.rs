//! The knowledge of a run while nodes are defined.

use super::Run;
use crate::define::{DefineBody, Known};
use crate::options::RunOptions;
use onnx_ir::{NodeId, ValueId};
use onnx_kernels::Value;
use onnx_ops::infer::Fact;

impl Known for Run<'_, '_> {
    fn value(&self, value: ValueId) -> Option<&Value> {
        self.get(value)
    }

    fn infer(&self, node: NodeId, inputs: &[Option<Fact>]) -> Option<Vec<Fact>> {
        self.infer_node(node, inputs).ok()
    }

    fn fold(&mut self, node: NodeId, inputs: Vec<Option<Value>>) -> Option<Vec<Value>> {
        self.apply(node, inputs).ok()
    }

    fn body(&self, node: NodeId, inputs: &[Option<Fact>], define: DefineBody<'_>) {
        let function = self.stepwise(|stepwise| stepwise.function(node, inputs));
        let Some(Ok(body)) = function.map(|function| self.program.compile_body(node, &function)) else {
            return;
        };
        let caches = self.caches.of_function(&body);
        let options = RunOptions { observe: None, time: None, ..self.options.clone() };
        define(&body, &mut Run::new(&body, &caches, &options, self.fuel, self.depth + 1));
    }
}
