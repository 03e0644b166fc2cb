//! Calls of functions, and a topological order of nodes.

use super::signature::kind;
use super::walk::{Engine, Ran};
use crate::facts::Elem;
use crate::facts::{Argument, Bindings};
use crate::facts::{Fact, FactSource};
use foldhash::HashMap;
use onnx_ir::diag::{Diagnostic, Entity, code};
use onnx_ir::{
    AttrType, Body, BodyId, EntityId, FunctionId, GraphId, Model, Name, Node, NodeId, SecondaryMap, ValueDef,
    ValueId,
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

/// A lack of a call, with the operator that needs it: in the function, or in a function that it passes the input or attribute to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missed {
    pub(super) what: Lack,
    pub(super) body: BodyId,
    pub(super) by: NodeId,
}

/// An input or attribute that a call lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lack {
    /// An input that an operator requires.
    Input(usize),
    /// An attribute parameter that an attribute of an operator refers to, by its position.
    Attr { parameter: Name, attr: u32, is: Argument, wanted: AttrType },
}

impl Lack {
    /// Whether one finding says both.
    fn is_same(self, other: Lack) -> bool {
        match (self, other) {
            (Lack::Input(a), Lack::Input(b)) => a == b,
            (Lack::Attr { parameter: a, .. }, Lack::Attr { parameter: b, .. }) => a == b,
            (Lack::Input(_), Lack::Attr { .. }) | (Lack::Attr { .. }, Lack::Input(_)) => false,
        }
    }
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
            engine.blame.enter(function, (engine.frame.body, node));
            let ran = engine.run_body(body, Some(function), Some(&inputs), Rc::clone(&bindings));
            engine.blame.leave();
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
        self.pass_on(value, Missed { what: Lack::Input(0), body, by });
    }

    /// Records that the call does not pass what an attribute of an operator refers to, or passes a value of another type than
    /// `wanted`.
    pub(super) fn miss_attr(
        &mut self,
        by: NodeId,
        attr: u32,
        parameter: Name,
        is: Argument,
        wanted: AttrType,
    ) {
        let body = self.frame.body;
        self.lack(Missed { what: Lack::Attr { parameter, attr, is, wanted }, body, by });
    }

    fn lack(&mut self, missed: Missed) {
        if self.frame.missed.iter().all(|other| !other.what.is_same(missed.what)) {
            self.frame.missed.push(missed);
        }
    }

    fn pass_on(&mut self, value: ValueId, missed: Missed) {
        let formals = self.body().root().map(|root| &self.body().graphs[root].inputs);
        let input = formals.and_then(|inputs| inputs.iter().position(|port| port.value == Some(value)));
        if let Some(input) = input {
            self.lack(Missed { what: Lack::Input(input), ..missed });
        }
    }

    /// Reports what a call lacks, unless the enclosing function does not get it either.
    fn misses(&mut self, call: NodeId, callee: BodyId, missed: Missed) {
        match missed.what {
            Lack::Input(input) => self.misses_input(call, callee, input, missed),
            Lack::Attr { parameter, attr, is, wanted } => {
                let attrs = &self.body().nodes[call].attrs;
                let at = attrs.iter().position(|a| a.name == Some(parameter));
                let outer = at.filter(|&at| self.scope().argument(&attrs[at]).is_some());
                match outer.and_then(|at| attrs[at].reference) {
                    Some(parameter) => {
                        self.lack(Missed { what: Lack::Attr { parameter, attr, is, wanted }, ..missed });
                    }
                    None => self.misses_attr(call, at, parameter, missed),
                }
            }
        }
    }

    /// Reports an attribute parameter that a call omits or has with a value of another type.
    fn misses_attr(&mut self, call: NodeId, at: Option<usize>, parameter: Name, missed: Missed) {
        let Missed { what: Lack::Attr { attr, is, wanted, .. }, body, by } = missed else { return };
        let model = self.model;
        let needed = Entity::Attr(body, by, attr);
        let node = &model.bodies[body].nodes[by];
        let name = model.text(node.attrs.get(attr as usize).and_then(|attr| attr.name));
        let (op, function, parameter) =
            (model.text(node.op), function_of(model, body), &model.names[parameter]);
        let place = match at {
            Some(at) => Entity::Attr(self.frame.body, call, super::node::index(at)),
            None => Entity::NodeOp(self.frame.body, call),
        };
        let diagnostic = match is {
            Argument::Omitted => {
                let message =
                    format!("this call omits `{parameter}`, which `{op}` in function `{function}` requires");
                Diagnostic::new(&code::ATTR_REQUIRED, place, message)
                    .help(format!("add `{parameter}`, {}", kind(wanted)))
            }
            Argument::OfType(ty) => {
                let message = format!(
                    "this call passes {} as `{parameter}`, which is `{name}` of `{op}` in function `{function}`",
                    kind(ty)
                );
                Diagnostic::new(&code::ATTR_WRONG_TYPE, place, message)
                    .label(format!("expected {}", kind(wanted)))
            }
        };
        self.report(diagnostic.related(needed, format!("`{name}` of `{op}` is {}", kind(wanted))));
    }

    fn misses_input(&mut self, call: NodeId, callee: BodyId, missing: usize, missed: Missed) {
        let given = self.body().nodes[call].inputs.get(missing);
        if let Some(&Some(value)) = given {
            return self.pass_on(value, missed);
        }
        let model = self.model;
        let body = &model.bodies[callee];
        let Some(formals) = body.root().map(|root| &body.graphs[root].inputs) else { return };
        let Some(name) = formals.get(missing).and_then(|port| port.name) else { return };
        // The duplicate name has been reported.
        if formals.iter().filter(|port| port.name == Some(name)).count() > 1 {
            return;
        }
        let function = function_of(model, missed.body);
        let op = model.text(model.bodies[missed.body].nodes[missed.by].op);
        let input = &model.names[name];
        let message = format!("this call omits `{input}`, which `{op}` in function `{function}` requires");
        let place = match given {
            Some(_) => Entity::NodeInput(self.frame.body, call, super::node::index(missing)),
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
