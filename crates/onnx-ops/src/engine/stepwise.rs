//! Inference of single nodes while a model runs, when the types of inputs, and often their elements, are known.
//!
//! ```text
//! y = Reshape (x, s)      x is float[2,6], s is int64[2] {3, -1}       y is float[3,4]
//! ```
//! Declared types are ignored.

use super::Rows;
use super::callee::Callee;
use super::node::NodeCx;
use super::signature;
use super::walk::Engine;
use crate::bodies;
use crate::facts::{Fact, Facts};
use crate::schema::{Registry, set::FunctionBody};
use onnx_ir::diag::{Diagnostic, Severity, code};
use onnx_ir::{BodyId, Model, NodeId, SecondaryMap};

/// Infers nodes of one body, in any order.
pub struct Stepwise<'m> {
    engine: Engine<'m>,
}

impl<'m> Stepwise<'m> {
    /// For the nodes of a body that is not a function.
    pub(crate) fn with_rows(
        model: &'m Model,
        registry: &'m Registry,
        rows: &'static Rows,
        body: BodyId,
    ) -> Self {
        let mut engine = Engine::new(model, registry, rows);
        engine.frame.body = body;
        engine.frame.facts = SecondaryMap::with_len(Fact::default(), model.bodies[body].values.len());
        Stepwise { engine }
    }

    /// The facts of the outputs of a node for these facts of its inputs, or the errors.
    pub fn outputs(&mut self, node: NodeId, inputs: &[Option<Fact>]) -> Result<Vec<Fact>, Vec<Diagnostic>> {
        self.set(node, inputs);
        let first = self.engine.finding_count();
        self.engine.fuel = usize::MAX;
        self.engine.step(node);
        // Deprecated operators can still be run.
        let is_wrong = |d: &Diagnostic| d.severity == Severity::Error && d.code != &code::OP_DEPRECATED;
        let is_wrong = self.engine.findings[first..].iter().any(is_wrong);
        let findings = self.engine.take_findings(first);
        let outputs = &self.engine.body().nodes[node].outputs;
        let known = outputs.iter().map(|value| self.engine.operand(*value).clone()).collect();
        self.forget(node);
        if is_wrong { Err(findings) } else { Ok(known) }
    }

    /// Resets the facts of the values of a node.
    fn forget(&mut self, node: NodeId) {
        let body = self.engine.body();
        if body.subgraphs(node).next().is_some() {
            // The values of its graphs may be any.
            self.engine.frame.facts = SecondaryMap::with_len(Fact::default(), body.values.len());
            return;
        }
        let n = &body.nodes[node];
        for value in n.inputs.iter().chain(&n.outputs).flatten() {
            self.engine.frame.facts[*value] = Fact::default();
        }
    }

    /// The function body of the operator of a node, for these facts of its inputs.
    pub fn function(&mut self, node: NodeId, inputs: &[Option<Fact>]) -> Option<FunctionBody> {
        self.set(node, inputs);
        let Engine { model, registry, rows, .. } = self.engine;
        let body = self.engine.frame.body;
        if model.bodies[body].subgraphs(node).next().is_some() {
            // Graphs of the node are inferred with it.
            self.engine.quiet += 1;
            self.engine.fuel = usize::MAX;
            self.engine.step(node);
            self.engine.quiet -= 1;
            let mut facts = Facts { dims: self.engine.dims.clone(), ..Facts::default() };
            facts.bodies[body] = self.engine.frame.facts.clone();
            return bodies::body_of(model, registry, &facts, (body, node), rows.body);
        }
        let Callee::Operator(id) = self.engine.callee(node) else { return None };
        let registry: &'m Registry = self.engine.registry;
        let schema = registry.get(id);
        self.engine.quiet += 1;
        let checked = signature::check(&mut self.engine, node, id, schema);
        self.engine.quiet -= 1;
        NodeCx::new(&mut self.engine, node, schema, checked.outputs).body(id)
    }

    fn set(&mut self, node: NodeId, inputs: &[Option<Fact>]) {
        // Invalidates facts of earlier nodes.
        self.engine.frame.run = self.engine.next_run();
        let operands = self.engine.body().nodes[node].inputs.iter();
        for (value, fact) in operands.zip(inputs) {
            if let Some(value) = value {
                self.engine.frame.facts[*value] = fact.clone().unwrap_or_default();
            }
        }
    }
}
