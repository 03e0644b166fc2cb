//! Calls of functions, and a topological order of nodes.

use super::attrs::Bindings;
use super::engine::{Engine, Ran};
use super::facts::{Fact, FactSource};
use super::small_tensor::Elem;
use foldhash::HashMap;
use onnx_ir::diag::{Diagnostic, Entity, code};
use onnx_ir::{
    Body, BodyId, EntityId, FunctionId, GraphId, Model, Node, NodeId, SecondaryMap, ValueDef, ValueId,
};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::rc::Rc;

/// Memoized results of calls.
#[derive(Default)]
pub(super) struct Memo {
    results: HashMap<u64, Vec<Call>>,
    /// The keys in order of insertion.
    log: Vec<u64>,
}

/// A position in the log of memoized calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls(usize);

impl Memo {
    fn insert(&mut self, key: u64, call: Call) {
        self.results.entry(key).or_default().push(call);
        self.log.push(key);
    }

    pub(super) fn calls(&self) -> Calls {
        Calls(self.log.len())
    }

    /// Removes the calls added since.
    pub(super) fn forget(&mut self, Calls(first): Calls) {
        for key in self.log.drain(first.min(self.log.len())..).rev() {
            if let Some(calls) = self.results.get_mut(&key) {
                calls.pop();
            }
        }
    }
}

struct Call {
    function: FunctionId,
    inputs: Vec<Fact>,
    bindings: Rc<Bindings>,
    outputs: Vec<Fact>,
    missed: Vec<Missed>,
}

/// An input that a call omits, with the operator that requires it: in the function, or in a function that it passes the input to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missed {
    pub(super) input: usize,
    pub(super) body: BodyId,
    pub(super) by: NodeId,
}

/// The facts that a node passes to the inputs of a function.
pub(super) fn passed(engine: &Engine<'_>, node: &Node, function: &Body) -> Vec<Fact> {
    let fact = |i: usize| match node.inputs.get(i).copied().flatten() {
        Some(value) => engine.operand(Some(value)).clone(),
        None => Fact { source: FactSource::LeftOut, ..Fact::default() },
    };
    let count = function.root().map_or(0, |root| function.graphs[root].inputs.len());
    (0..count.max(node.inputs.len())).map(fact).collect()
}

pub(super) fn call(engine: &mut Engine<'_>, node: NodeId, function: FunctionId) {
    engine.called.insert(function);
    let n = &engine.body().nodes[node];
    let body = engine.model.functions[function].body;
    let inputs = passed(engine, n, &engine.model.bodies[body]);
    let bindings = engine.scope().bind(n);
    let key = hash(function, &inputs, &bindings);
    let known = engine.memo.results.get(&key).and_then(|calls| {
        calls.iter().find(|c| c.function == function && c.inputs == inputs && c.bindings == bindings)
    });
    let Ran { outputs, missed } = match known {
        Some(call) => Ran { outputs: call.outputs.clone(), missed: call.missed.clone() },
        None => {
            let fresh = engine.fresh;
            let ran = engine.run_body(body, Some(function), Some(&inputs), Rc::clone(&bindings));
            // Results with new data-dependent dimensions differ between calls.
            if engine.fresh == fresh {
                let (outputs, missed) = (ran.outputs.clone(), ran.missed.clone());
                engine.memo.insert(key, Call { function, inputs, bindings, outputs, missed });
            }
            ran
        }
    };
    for missed in missed {
        engine.misses(node, body, missed);
    }
    for i in 0..n.outputs.len() {
        let mut fact = outputs.get(i).cloned().unwrap_or_default();
        if fact.is_there() {
            fact.source = FactSource::Inferred;
        }
        engine.set_output(node, i, fact);
    }
}

/// The name of the function with a body.
pub(super) fn function_of(model: &Model, body: BodyId) -> &str {
    let function = model.functions.values().find(|function| function.body == body);
    model.text(function.and_then(|function| function.name))
}

impl Engine<'_> {
    /// Records that an operator requires an input of the enclosing function that the call omits.
    pub(super) fn miss(&mut self, by: NodeId, value: ValueId) {
        let body = self.frame.body;
        self.pass_on(value, Missed { input: 0, body, by });
    }

    fn pass_on(&mut self, value: ValueId, missed: Missed) {
        let formals = self.body().root().map(|root| &self.body().graphs[root].inputs);
        let input = formals.and_then(|inputs| inputs.iter().position(|port| port.value == Some(value)));
        if let Some(input) = input.filter(|&input| self.frame.missed.iter().all(|m| m.input != input)) {
            self.frame.missed.push(Missed { input, ..missed });
        }
    }

    /// Reports that a call omits a required input, unless the enclosing function does not get it either.
    fn misses(&mut self, call: NodeId, callee: BodyId, missed: Missed) {
        let given = self.body().nodes[call].inputs.get(missed.input);
        if let Some(&Some(value)) = given {
            return self.pass_on(value, missed);
        }
        let model = self.model;
        let body = &model.bodies[callee];
        let Some(formals) = body.root().map(|root| &body.graphs[root].inputs) else { return };
        let Some(name) = formals.get(missed.input).and_then(|port| port.name) else { return };
        // The duplicate name has been reported.
        if formals.iter().filter(|port| port.name == Some(name)).count() > 1 {
            return;
        }
        let function = function_of(model, missed.body);
        let op = model.text(model.bodies[missed.body].nodes[missed.by].op);
        let input = &model.names[name];
        let message = format!("this call omits `{input}`, which `{op}` in function `{function}` requires");
        let place = match given {
            Some(_) => Entity::NodeInput(self.frame.body, call, super::node::index(missed.input)),
            None => Entity::NodeOp(self.frame.body, call),
        };
        let needed = Entity::NodeOp(missed.body, missed.by);
        self.report(
            Diagnostic::new(&code::PARAMETER_EMPTY, place, message)
                .related(needed, "the node that requires it"),
        );
    }
}

/// Equal calls have equal hashes; attributes are hashed by name only.
fn hash(function: FunctionId, inputs: &[Fact], bindings: &Bindings) -> u64 {
    let mut hasher = foldhash::fast::FixedState::default().build_hasher();
    function.index().hash(&mut hasher);
    for fact in inputs {
        fact.ty.hash(&mut hasher);
        for elem in fact.value.iter().flat_map(|v| &v.elems) {
            match elem {
                Elem::Unknown => 0u8.hash(&mut hasher),
                Elem::Int(dim) => dim.hash(&mut hasher),
                Elem::Float(x) => x.to_bits().hash(&mut hasher),
                Elem::Quotient(dim, by) => (dim, by).hash(&mut hasher),
            }
        }
    }
    for (name, _) in &bindings.0 {
        name.hash(&mut hasher);
    }
    hasher.finish()
}

/// The nodes of a graph in topological order as far as possible: their own order if it is topological.
pub(super) fn order(body: &Body, graph: GraphId) -> Cow<'_, [NodeId]> {
    let nodes = &body.graphs[graph].nodes;
    if is_sorted(body, nodes) { Cow::Borrowed(nodes) } else { Cow::Owned(sorted(body, nodes)) }
}

/// Whether every node comes after its direct producers. Node ids mostly ascend.
fn is_sorted(body: &Body, nodes: &[NodeId]) -> bool {
    let is_earlier = |node: NodeId| {
        body.nodes[node].inputs.iter().flatten().all(|&v| match body.values[v].def {
            ValueDef::Output(by, _) => by < node,
            ValueDef::Input(_) | ValueDef::Initializer(_) | ValueDef::Unbound(_) => true,
        })
    };
    if nodes.windows(2).all(|w| w[0] < w[1]) && nodes.iter().all(|&n| is_earlier(n)) {
        return true;
    }
    let mut here: SecondaryMap<NodeId, bool> = SecondaryMap::default();
    nodes.iter().for_each(|&n| here[n] = true);
    let mut before: SecondaryMap<NodeId, bool> = SecondaryMap::default();
    nodes.iter().all(|&node| {
        let ready = body.nodes[node].inputs.iter().flatten().all(|&v| match body.values[v].def {
            ValueDef::Output(by, _) => !here[by] || before[by],
            ValueDef::Input(_) | ValueDef::Initializer(_) | ValueDef::Unbound(_) => true,
        });
        before[node] = true;
        ready
    })
}

fn sorted(body: &Body, nodes: &[NodeId]) -> Vec<NodeId> {
    let mut waits: SecondaryMap<NodeId, Option<u32>> = SecondaryMap::default();
    let mut readers: SecondaryMap<NodeId, Vec<NodeId>> = SecondaryMap::default();
    nodes.iter().for_each(|&n| waits[n] = Some(0));
    for &node in nodes {
        for &value in body.nodes[node].inputs.iter().flatten() {
            if let ValueDef::Output(by, _) = body.values[value].def
                && waits[by].is_some()
                && let Some(count) = &mut waits[node]
            {
                *count += 1;
                readers[by].push(node);
            }
        }
    }
    let mut ready: VecDeque<NodeId> = nodes.iter().copied().filter(|&n| waits[n] == Some(0)).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(node) = ready.pop_front() {
        order.push(node);
        for &reader in &readers[node] {
            if let Some(count) = &mut waits[reader] {
                *count -= 1;
                if *count == 0 {
                    ready.push_back(reader);
                }
            }
        }
    }
    // Nodes on a cycle and after one keep their order: their operands are unknown.
    let mut placed: SecondaryMap<NodeId, bool> = SecondaryMap::default();
    order.iter().for_each(|&n| placed[n] = true);
    order.extend(nodes.iter().copied().filter(|&n| !placed[n]));
    order
}
