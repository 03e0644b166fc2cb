//! Nested graphs of a node: inference, and places in the model.

use super::{Given, NodeCx, index};
use crate::dims::Dim;
use crate::engine::call::Calls;
use crate::engine::walk::Engine;
use crate::facts::Ty;
use crate::facts::merge;
use crate::facts::{Elem, SmallTensor};
use crate::facts::{Fact, FactSource};
use foldhash::HashSet;
use onnx_ir::diag::{Code, Diagnostic, Entity, Place, code};
use onnx_ir::{AttrValue, GraphId, Port};
use std::sync::Arc;

/// The state before a nested graph is tried.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    findings: usize,
    calls: Calls,
    missed: usize,
}

/// Maximum number of repeated walks of the surrounding loops for which a node is still walked repeatedly itself.
const MAX_REPEATS: u32 = 2;

impl NodeCx<'_, '_> {
    /// A nested graph.
    pub fn graph(&self, name: &str) -> Option<GraphId> {
        match self.given(name)? {
            Given::Value(AttrValue::Graph(graph), _) => Some(*graph),
            // A graph that a call passes belongs to the caller.
            Given::Value(..) | Given::Bound(_) | Given::Unknown => None,
        }
    }

    /// Number of inputs and outputs of a nested graph.
    pub fn graph_signature(&self, graph: GraphId) -> (usize, usize) {
        let g = &self.engine.body().graphs[graph];
        (g.inputs.len(), g.outputs.len())
    }

    /// The declared type of an input of a nested graph.
    pub fn graph_input(&mut self, graph: GraphId, i: usize) -> Ty {
        let port = self.engine.body().graphs[graph].inputs.get(i);
        self.declared_by(port)
    }

    /// The declared type of an output of a nested graph.
    pub fn graph_output(&mut self, graph: GraphId, i: usize) -> Ty {
        let port = self.engine.body().graphs[graph].outputs.get(i);
        self.declared_by(port)
    }

    fn declared_by(&mut self, port: Option<&Port>) -> Ty {
        port.and_then(|p| p.ty).map_or(Ty::Unknown, |ty| self.engine.declared_type(ty))
    }

    /// The inputs of a nested graph without an initializer: up to IR version 3, an initializer is a default.
    pub fn graph_inputs_without_default(&self, graph: GraphId) -> Vec<usize> {
        let g = &self.engine.body().graphs[graph];
        let dense = g.initializers.iter().map(|i| i.value);
        let defaults: HashSet<_> = dense.chain(g.sparse_initializers.iter().map(|i| i.value)).collect();
        let has_default = |port: &Port| port.value.is_some_and(|value| defaults.contains(&value));
        g.inputs.iter().enumerate().filter(|(_, port)| !has_default(port)).map(|(i, _)| i).collect()
    }

    /// Whether nested graphs may have additional inputs with initializers: up to IR version 3.
    pub fn allows_default_inputs(&self) -> bool {
        self.engine.has_default_inputs()
    }

    /// Infers a nested graph for the facts that its node passes, and returns the facts of its outputs. Facts about symbols that are
    /// learned inside are valid only inside.
    pub fn run_graph(&mut self, graph: GraphId, inputs: &[Fact]) -> Vec<Fact> {
        let mark = self.engine.dims.mark();
        let outputs = self.engine.run_graph(graph, Some(inputs));
        self.engine.dims.undo(mark);
        outputs
    }

    /// [`run_graph`](Self::run_graph) after `repeats` runs of the same graph.
    pub fn repeat_graph(&mut self, graph: GraphId, inputs: &[Fact], repeats: u32) -> Vec<Fact> {
        self.engine.repeats += repeats;
        let outputs = self.run_graph(graph, inputs);
        self.engine.repeats -= repeats;
        outputs
    }

    /// Whether a graph of this node may be run repeatedly until its facts are stable. Not if the
    /// graphs around it are being run again: the number of runs would be exponential in the depth.
    pub fn may_repeat(&self) -> bool {
        self.engine.repeats < MAX_REPEATS
    }

    /// Starts an attempt, which may be [taken back](Self::take_back).
    pub fn attempt(&self) -> Attempt {
        let Engine { memo, frame, .. } = &*self.engine;
        Attempt { findings: self.engine.finding_count(), calls: memo.calls(), missed: frame.missed.len() }
    }

    /// Removes the findings since the start of an attempt.
    pub fn take_back(&mut self, attempt: Attempt) {
        self.forget(attempt, |_| false);
    }

    /// Removes the findings about shapes, elements and axes since the start of an attempt, and the required inputs of the
    /// function: the graph never runs.
    pub fn take_back_shapes(&mut self, attempt: Attempt) {
        const OF_SHAPES: [&Code; 4] =
            [&code::SHAPE_PRECONDITION, &code::CONSTANT_INPUT, &code::DECLARED_SHAPE, &code::ATTR_VALUE];
        self.forget(attempt, |finding| OF_SHAPES.iter().all(|code| code.id != finding.code.id));
    }

    fn forget(&mut self, attempt: Attempt, keep: impl Fn(&Diagnostic) -> bool) {
        self.engine.frame.missed.truncate(attempt.missed);
        if self.engine.forget_findings(attempt.findings, keep) {
            // A memoized call would not report again.
            self.engine.memo.forget(attempt.calls);
        }
    }

    /// The fact with anonymous symbols, named after an output, for unknown dimensions of a tensor.
    pub fn with_symbols(&mut self, mut fact: Fact, output: usize) -> Fact {
        if fact.ty.as_tensor().is_some() {
            fact.ty = fact.ty.map_dims(&mut |dim| if dim == Dim::Unknown { self.fresh(output) } else { dim });
        }
        fact
    }

    /// The join of two facts.
    pub fn either(&mut self, a: &Fact, b: &Fact) -> Fact {
        let ty = merge::join(&mut self.engine.dims, &a.ty, &b.ty, &mut |_| Dim::Unknown);
        Fact { ty, value: self.either_value(a, b), source: FactSource::Inferred }
    }

    /// The common elements of two values of one shape.
    pub fn either_value(&mut self, a: &Fact, b: &Fact) -> Option<Arc<SmallTensor>> {
        let (a, b) = (a.value.as_ref()?, b.value.as_ref()?);
        if a.dims != b.dims {
            return None;
        }
        let elems = a.elems.iter().zip(&b.elems).map(|(&x, &y)| match (x, y) {
            (Elem::Int(d), Elem::Int(e)) if self.engine.dims.known_equal(d, e) == Some(true) => x,
            (Elem::Float(d), Elem::Float(e)) if d.to_bits() == e.to_bits() => x,
            (Elem::Quotient(..), Elem::Quotient(..)) if x == y => x,
            _ => Elem::Unknown,
        });
        SmallTensor::new(a.dims.iter().copied(), elems.collect()).map(Arc::new)
    }

    /// Sets the fact of an output.
    pub fn set_fact(&mut self, i: usize, ty: Ty, value: Option<Arc<SmallTensor>>) {
        if let Some(fact) = self.outputs.get_mut(i) {
            *fact = Fact { ty, value, source: FactSource::Inferred };
        }
    }

    /// Reports an error of a nested graph and keeps the outputs.
    pub fn tell(&mut self, diagnostic: Diagnostic) {
        self.engine.report(diagnostic);
    }

    /// The place of a nested graph.
    pub fn at_graph(&self, graph: GraphId) -> Place {
        Entity::Graph(self.engine.frame.body, graph).into()
    }

    /// The place of an input of a nested graph.
    pub fn at_graph_input(&self, graph: GraphId, i: usize) -> Place {
        Entity::Input(self.engine.frame.body, graph, index(i)).into()
    }

    /// The place of an output of a nested graph.
    pub fn at_graph_output(&self, graph: GraphId, i: usize) -> Place {
        Entity::Output(self.engine.frame.body, graph, index(i)).into()
    }
}
