//! The graphs that a node has: what they are passed, what they give, and where they are in the model.

use super::{Given, NodeCx, index};
use crate::dims::Dim;
use crate::infer::call::Calls;
use crate::infer::engine::Engine;
use crate::infer::facts::{Fact, Source};
use crate::infer::merge;
use crate::infer::ty::Ty;
use crate::infer::value::{Elem, Value};
use foldhash::HashSet;
use onnx_ir::diag::{Code, Diagnostic, Entity, Place, code};
use onnx_ir::{AttrValue, GraphId, Port};
use std::sync::Arc;

/// What was told and remembered before a nested graph was tried.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    findings: usize,
    calls: Calls,
    missed: usize,
}

/// How often the loops around a node may be walked again for it to be walked more than once itself.
const MOST_REPEATS: u32 = 2;

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

    /// What a nested graph declares of one of its inputs.
    pub fn graph_input(&mut self, graph: GraphId, i: usize) -> Ty {
        let port = self.engine.body().graphs[graph].inputs.get(i);
        self.declared_by(port)
    }

    /// What a nested graph declares of one of its outputs.
    pub fn graph_output(&mut self, graph: GraphId, i: usize) -> Ty {
        let port = self.engine.body().graphs[graph].outputs.get(i);
        self.declared_by(port)
    }

    fn declared_by(&mut self, port: Option<&Port>) -> Ty {
        port.and_then(|p| p.ty).map_or(Ty::Unknown, |ty| self.engine.declared_type(ty))
    }

    /// The inputs of a nested graph that have no initializer: up to IR 3, those with one have a default value.
    pub fn graph_inputs_without_default(&self, graph: GraphId) -> Vec<usize> {
        let g = &self.engine.body().graphs[graph];
        let dense = g.initializers.iter().map(|i| i.value);
        let defaults: HashSet<_> = dense.chain(g.sparse_initializers.iter().map(|i| i.value)).collect();
        let has_default = |port: &Port| port.value.is_some_and(|value| defaults.contains(&value));
        g.inputs.iter().enumerate().filter(|(_, port)| !has_default(port)).map(|(i, _)| i).collect()
    }

    /// Whether nested graphs may have inputs that the node does not pass, because they have initializers: up to IR 3.
    pub fn allows_default_inputs(&self) -> bool {
        self.engine.has_default_inputs()
    }

    /// Infers a nested graph with what its node passes; the facts of its outputs. What is found out about symbols
    /// inside holds inside only.
    pub fn run_graph(&mut self, graph: GraphId, inputs: &[Fact]) -> Vec<Fact> {
        let mark = self.engine.dims.mark();
        let outputs = self.engine.run_graph(graph, Some(inputs));
        self.engine.dims.undo(mark);
        outputs
    }

    /// [`run_graph`](Self::run_graph) where the same graph has been run `repeats` times before.
    pub fn repeat_graph(&mut self, graph: GraphId, inputs: &[Fact], repeats: u32) -> Vec<Fact> {
        self.engine.repeats += repeats;
        let outputs = self.run_graph(graph, inputs);
        self.engine.repeats -= repeats;
        outputs
    }

    /// Whether a graph of this node may be run again and again until what is known of it is stable. Not so where the
    /// graphs around it are being run again: the number of runs would be a power of the depth.
    pub fn may_repeat(&self) -> bool {
        self.engine.repeats < MOST_REPEATS
    }

    /// The beginning of an attempt, which may be [taken back](Self::take_back).
    pub fn attempt(&self) -> Attempt {
        let Engine { memo, frame, .. } = &*self.engine;
        Attempt { findings: self.engine.finding_count(), calls: memo.calls(), missed: frame.missed.len() }
    }

    /// Forgets what has been told since the beginning of an attempt.
    pub fn take_back(&mut self, attempt: Attempt) {
        self.forget(attempt, |_| false);
    }

    /// Forgets what has been told of shapes, elements and axes since the beginning of an attempt, and which inputs of the
    /// function are needed: what was walked never runs.
    pub fn take_back_shapes(&mut self, attempt: Attempt) {
        const OF_SHAPES: [&Code; 4] =
            [&code::SHAPE_PRECONDITION, &code::CONSTANT_INPUT, &code::DECLARED_SHAPE, &code::ATTR_VALUE];
        self.forget(attempt, |finding| OF_SHAPES.iter().all(|code| code.id != finding.code.id));
    }

    fn forget(&mut self, attempt: Attempt, keep: impl Fn(&Diagnostic) -> bool) {
        self.engine.frame.missed.truncate(attempt.missed);
        if self.engine.forget_findings(attempt.findings, keep) {
            // A call that is remembered does not tell again.
            self.engine.memo.forget(attempt.calls);
        }
    }

    /// A fact where the extents of a tensor of which nothing is known are anonymous symbols, named after an output.
    pub fn with_symbols(&mut self, mut fact: Fact, output: usize) -> Fact {
        if fact.ty.as_tensor().is_some() {
            fact.ty = fact.ty.map_dims(&mut |dim| if dim == Dim::Unknown { self.fresh(output) } else { dim });
        }
        fact
    }

    /// What holds for a value that is one of two: where they differ, nothing is known.
    pub fn either(&mut self, a: &Fact, b: &Fact) -> Fact {
        let ty = merge::join(&mut self.engine.dims, &a.ty, &b.ty, &mut |_| Dim::Unknown);
        Fact { ty, value: self.either_value(a, b), source: Source::Inferred }
    }

    /// The elements that two values of one shape share.
    pub fn either_value(&mut self, a: &Fact, b: &Fact) -> Option<Arc<Value>> {
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
        Value::new(a.dims.iter().copied(), elems.collect()).map(Arc::new)
    }

    /// Sets all that is known of an output.
    pub fn set_fact(&mut self, i: usize, ty: Ty, value: Option<Arc<Value>>) {
        if let Some(fact) = self.outputs.get_mut(i) {
            *fact = Fact { ty, value, source: Source::Inferred };
        }
    }

    /// Tells that something is wrong with a nested graph. The outputs stay.
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
