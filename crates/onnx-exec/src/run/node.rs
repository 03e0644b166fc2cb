//! Runs one node.

use super::caches::Function;
use super::prepared::{Prepared, signature};
use super::{Results, Run};
use crate::define::{MAX_RANK, definition_of_values};
use crate::facts::{fact, type_of};
use crate::failure::Failure;
use crate::loops::Packed;
use crate::options::RunOptions;
use crate::program::Action;
use crate::random::Random;
use crate::sync::lock;
use crate::tensor::Tensor;
use onnx_ir::diag::{Diagnostic, code, counted};
use onnx_ir::{EntityId as _, NodeId, ValueId};
use onnx_kernels::Value;
use onnx_ops::infer::{Fact, Ty};
use onnx_ops::schema::SchemaId;
use smallvec::smallvec;
use std::sync::Arc;

/// The most prepared loops and compiled function bodies that are kept, over all input types.
const MAX_KEPT: usize = 4096;

impl<'x, 'r> Run<'x, 'r> {
    pub(super) fn node(&mut self, node: NodeId) -> Result<Results, Box<Diagnostic>> {
        match &self.program.actions[node] {
            None => Err(self.failed(node, &code::UNSUPPORTED_OPERATOR, "the operator cannot be run")),
            Some(Action::Constant(value)) => Ok(smallvec![value.clone()]),
            Some(Action::Control(control)) => control.run(self, node),
            Some(Action::Kernel(..) | Action::Custom(_) | Action::Formula(_)) => {
                let inputs = self.inputs(node)?;
                self.release_sequences(node);
                self.apply(node, inputs).map(Results::from_vec)
            }
        }
    }

    /// Moves sequences that are dead after a node out of the value table, so that the node can change them without a copy.
    fn release_sequences(&mut self, node: NodeId) {
        let program = self.program;
        for &value in &program.liveness.dead_after[node] {
            if matches!(self.values[value], Some(Value::Sequence(_))) {
                self.values[value] = None;
                self.taken = Some(node);
            }
        }
    }

    /// The results of a node without subgraphs.
    pub(crate) fn apply(
        &mut self,
        node: NodeId,
        inputs: Vec<Option<Value>>,
    ) -> Result<Vec<Value>, Box<Diagnostic>> {
        let because = |run: &Self, why: Failure| run.failed(node, why.code(), &why.to_string());
        match &self.program.actions[node] {
            Some(Action::Kernel(schema, kernel)) => {
                let random = self.random(node);
                let mut call = self.program.call(node, *schema, inputs, random, &self.caches.keep);
                kernel(&mut call).map_err(|why| because(self, why))
            }
            Some(Action::Custom(kernel)) => kernel.run(&inputs).map_err(|why| because(self, why)),
            Some(Action::Formula(schema)) => {
                let is_strings = inputs.iter().flatten().any(is_strings);
                let mut kernel = is_strings.then(|| self.program.kernel_of_strings(*schema)).flatten();
                if kernel.is_none() {
                    if let Some(prepared) = self.prepared(node, *schema, &inputs)? {
                        let is_checked = self.program.options.check_loops;
                        return prepared.run(&inputs, is_checked).map_err(|why| because(self, why));
                    }
                    let types: Vec<_> = inputs.iter().map(|value| given(value.as_ref())).collect();
                    kernel = self.program.kernel_beside(*schema);
                    kernel = kernel.or_else(|| self.program.kernel_of_long(node, *schema, &types));
                }
                let Some(kernel) = kernel else { return self.function(node, inputs) };
                let random = self.random(node);
                let mut call = self.program.call(node, *schema, inputs, random, &self.caches.keep);
                kernel(&mut call).map_err(|why| because(self, why))
            }
            Some(Action::Constant(_) | Action::Control(_)) | None => {
                Err(self.failed(node, &code::UNSUPPORTED_OPERATOR, "the operator cannot be run"))
            }
        }
    }

    /// The loops of a node's formula, cached by the types of the inputs; `None` if it has no formula for these.
    fn prepared(
        &self,
        node: NodeId,
        schema: SchemaId,
        inputs: &[Option<Value>],
    ) -> Result<Option<Arc<Prepared>>, Box<Diagnostic>> {
        let (program, caches) = (self.program, self.caches);
        let Ok(key) = signature(node, program.registry.get(schema), inputs) else { return Ok(None) };
        if let Some(known) = lock(&caches.prepared).get(&key) {
            return Ok(known.clone());
        }
        let outputs = self.facts(node, inputs)?;
        let definition = definition_of_values(program, node, schema, inputs, &outputs);
        let are_constant = program.constants(node);
        let made = definition.map(|definition| {
            let mut packed = lock(&caches.packed);
            let packed =
                packed.entry(node).or_insert_with(|| Packed::new(program.options.packed_store.as_ref()));
            Arc::new(Prepared::new(definition, inputs, &are_constant, packed))
        });
        let mut kept = lock(&caches.prepared);
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(key, made.clone());
        Ok(made)
    }

    /// The generator of a node without a seed.
    fn random(&mut self, node: NodeId) -> Random {
        let drawn = self.drawn.entry(node).or_default();
        *drawn += 1;
        let place = (node.index() as u64) << 32 ^ *drawn;
        Random::new(self.options.seed ^ place.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    /// Runs the function body of a node, compiled for the types of the inputs.
    fn function(&mut self, node: NodeId, inputs: Vec<Option<Value>>) -> Result<Vec<Value>, Box<Diagnostic>> {
        let function = self.function_for(node, &inputs)?;
        // A value that is an operand twice is one input.
        let mut seen: Vec<ValueId> = Vec::new();
        let operands = self.program.body().nodes[node].inputs.iter().zip(inputs);
        let distinct = operands.filter_map(|(value, input)| {
            let value = (*value).filter(|value| !seen.contains(value))?;
            seen.push(value);
            Some(input)
        });
        let distinct = distinct.collect();
        let inner = RunOptions { observe: None, time: None, ..self.options.clone() };
        let run = Run::new(&function.program, &function.caches, &inner, self.fuel, self.depth + 1);
        let (results, _) = run.main(distinct).map_err(|inner| {
            let why = format!("in its function body, {}", inner.message);
            self.failed(node, inner.code, &why)
        })?;
        let mut results = results.into_iter();
        let outputs = self.program.body().nodes[node].outputs.iter();
        // An output that is left out gets a placeholder.
        Ok(outputs.map(|o| o.and_then(|_| results.next()).unwrap_or(Value::Optional(None))).collect())
    }

    fn function_for(
        &self,
        node: NodeId,
        inputs: &[Option<Value>],
    ) -> Result<Arc<Function<'r>>, Box<Diagnostic>> {
        let types: Vec<Ty> = inputs.iter().map(|v| v.as_ref().map_or(Ty::Unknown, type_of)).collect();
        let key = (node, types);
        let kept = lock(&self.caches.functions);
        if let Some(known) = kept.get(&key) {
            return Ok(Arc::clone(known));
        }
        drop(kept);
        let facts: Vec<Option<Fact>> = inputs.iter().map(|v| v.as_ref().map(fact)).collect();
        let program = self.program.compile_function(node, &facts).map_err(|found| match found.first() {
            Some(first) => self.failed(node, first.code, &format!("in its function body, {}", first.message)),
            None => {
                let rank =
                    inputs.iter().flatten().filter_map(|value| Some(value.tensor().ok()?.rank())).max();
                let why = match rank.filter(|rank| *rank > MAX_RANK) {
                    Some(rank) => {
                        format!(
                            "a tensor of {} cannot be computed with: {MAX_RANK} are supported",
                            counted(rank, "axis")
                        )
                    }
                    None => "the operator cannot be run with such inputs".to_owned(),
                };
                self.failed(node, &code::UNSUPPORTED_OPERATOR, &why)
            }
        })?;
        let mut kept = lock(&self.caches.functions);
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        let caches = self.caches.of_function(&program);
        let made = || Arc::new(Function { program, caches });
        Ok(Arc::clone(kept.entry(key).or_insert_with(made)))
    }
}

/// The facts of an input that kernels may specialize on.
fn given(value: Option<&Value>) -> onnx_kernels::Given<'_> {
    let tensor = value?.tensor().ok()?;
    Some((tensor.elem(), tensor.dims()))
}

fn is_strings(value: &Value) -> bool {
    value.tensor().is_ok_and(Tensor::is_strings)
}
