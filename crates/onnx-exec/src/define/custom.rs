//! Nodes of operators that the caller provides.

use super::definition::extents;
use super::{Define, Flow};
use crate::custom::{CustomKernel, CustomType};
use onnx_ir::diag::{code, counted};
use onnx_ir::{ElemType, NodeId};
use onnx_ops::dims::Dim;
use onnx_ops::infer::{Fact, Ty};

impl Define<'_> {
    /// Makes a node a step of the plan; nodes after it join the plan if the types of its results are known.
    pub(super) fn custom(&mut self, node: NodeId, kernel: &dyn CustomKernel) -> Flow {
        let n = &self.program.body().nodes[node];
        let mut inputs: Vec<Option<CustomType>> = Vec::with_capacity(n.inputs.len());
        for value in &n.inputs {
            let Some(value) = *value else {
                inputs.push(None);
                continue;
            };
            let Some(known) = self.value(value) else { return Flow::EndAfter };
            let Some(extents) = extents(&self.fact_of(&known).ty) else { return Flow::EndAfter };
            inputs.push(Some(extents));
        }
        let types: Vec<Option<(ElemType, &[usize])>> =
            inputs.iter().map(|input| input.as_ref().map(|(elem, dims)| (*elem, &dims[..]))).collect();
        let outputs = match kernel.infer(&types) {
            Ok(Some(outputs)) => outputs,
            Ok(None) => return Flow::EndAfter,
            Err(why) => {
                let why = format!("its inference fails: {why}");
                return Flow::Refused(self.program.failed(node, &code::RUN_FAILED, &why));
            }
        };
        let wanted = n.outputs.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        if outputs.len() < wanted {
            let (types, wanted) = (counted(outputs.len(), "type"), counted(wanted, "output"));
            let why = format!("its inference returns {types} for {wanted}");
            return Flow::Refused(self.program.failed(node, &code::RUN_FAILED, &why));
        }
        let size = |&size: &usize| i64::try_from(size).map_or(Dim::Unknown, Dim::Const);
        let facts: Vec<Fact> =
            outputs.iter().map(|(elem, dims)| Fact::of(Ty::tensor(*elem, dims.iter().map(size)))).collect();
        self.node_step(node);
        self.results(node, &facts)
    }
}
