//! The walk over the bodies of a model.

use super::Rows;
use super::alike::{self, Alike, Operands};
use super::blame::Blame;
use super::call::{Memo, Missed};
use super::callee::{Callee, CalleeKey};
use super::declared::Declared;
use super::fitting::Fitting;
use super::literals::Literals;
use super::node::NodeCx;
use super::signature;
use super::trace::{By, Trace};
use crate::dims::{Dim, Dims};
use crate::facts::SmallTensor;
use crate::facts::merge::meet;
use crate::facts::{Bindings, Scope};
use crate::facts::{Fact, FactSource, Facts, Outputs};
use crate::facts::{TensorTy, Ty};
use crate::schema::{Registry, SchemaId};
use foldhash::{HashMap, HashSet};
use onnx_ir::diag::{Diagnostic, Entity, Place, Suggestions, code};
use onnx_ir::{
    Body, BodyId, FunctionId, GraphId, Model, Name, NodeId, Port, SecondaryMap, TypeId, ValueDef, ValueId,
    normalize_domain,
};
use std::rc::Rc;
use std::sync::Arc;

/// Limits of inference, and what it may take as known.
#[derive(Clone, Debug)]
pub struct InferOptions {
    /// Number of steps for each node of the model; each different call of a function counts its nodes again. Values beyond the limit are
    /// unknown.
    pub effort: usize,
    /// Whether an initializer that is an input as well has the stored elements, as if no caller replaced it. Before IR version 4, it
    /// always has.
    pub known_defaults: bool,
    /// Whether elements that nodes compute from known elements are known; those of constants always are.
    pub propagates: bool,
}

impl Default for InferOptions {
    fn default() -> Self {
        InferOptions { effort: 64, known_defaults: false, propagates: true }
    }
}

/// Minimum number of steps for models of any size.
const MIN_STEPS: usize = 100_000;
/// Maximum depth of calls and nested graphs: what a model can nest and call.
const MAX_DEPTH: usize = 200;
/// From IR version 4 on, an initializer that is also an input is a default, which callers may replace.
const DEFAULTS_SINCE_IR: i64 = 4;

/// The result of [`infer`](crate::infer::infer()).
#[derive(Clone, Default)]
pub struct Inference {
    /// The facts of each value.
    pub facts: Facts,
    /// The findings, in the order of the walk.
    pub diagnostics: Vec<Diagnostic>,
}

/// Infers the types and shapes of all values of a model, and checks its nodes against their schemas.
///
/// Time is linear in the size of the model, and in the number of different calls of functions, up to a limit.
pub(crate) fn infer(
    model: &Model,
    registry: &Registry,
    rows: &'static Rows,
    options: &InferOptions,
) -> Inference {
    run(Engine::new(model, registry, rows), options).0
}

/// [`infer`] that gives literals their types on its way.
pub(super) fn infer_with<'m>(
    model: &'m Model,
    registry: &'m Registry,
    rows: &'static Rows,
    options: &InferOptions,
    literals: Literals<'m>,
) -> Literals<'m> {
    let mut engine = Engine::new(model, registry, rows);
    // The findings are not those of the model with constants.
    engine.quiet = 1;
    engine.literals = Some(Box::new(literals));
    let (_, engine) = run(engine, options);
    engine.literals.map(|literals| *literals).unwrap_or_default()
}

/// [`infer`] with a trace of what rules read.
pub(crate) fn traced(
    model: &Model,
    registry: &Registry,
    rows: &'static Rows,
    options: &InferOptions,
) -> (Inference, Trace) {
    let mut engine = Engine::new(model, registry, rows);
    engine.trace = Some(Trace::default());
    let (inference, engine) = run(engine, options);
    (inference, engine.trace.unwrap_or_default())
}

fn run<'m>(mut engine: Engine<'m>, options: &InferOptions) -> (Inference, Engine<'m>) {
    let model = engine.model;
    engine.known_defaults = options.known_defaults;
    engine.propagates = options.propagates;
    engine.alike = Alike::for_nodes(model.bodies.values().map(|b| b.nodes.len()).sum());
    engine.fuel = steps(model, options);
    if let Some(main) = model.main {
        engine.run_body(main, None, None, Rc::default());
    }
    for training in &model.training {
        for body in training.initialization.into_iter().chain(training.algorithm) {
            engine.run_body(body, None, None, Rc::default());
        }
    }
    // Functions without calls have unknown inputs.
    for (f, function) in model.functions.iter() {
        if !engine.called.contains(&f) {
            engine.run_body(function.body, Some(f), None, Rc::default());
        }
    }
    engine.name_calls(steps(model, options));
    let facts = Facts { dims: std::mem::take(&mut engine.dims), bodies: std::mem::take(&mut engine.bodies) };
    let diagnostics = std::mem::take(&mut engine.findings);
    (Inference { facts, diagnostics }, engine)
}

/// Number of steps for a model.
fn steps(model: &Model, options: &InferOptions) -> usize {
    let nodes: usize = model.bodies.values().map(|b| b.nodes.len()).sum();
    nodes.saturating_mul(options.effort).max(MIN_STEPS)
}

/// The state of one run of a body.
pub(super) struct Frame {
    pub(super) body: BodyId,
    pub(super) function: Option<FunctionId>,
    pub(super) is_called: bool,
    /// The number of this run; changes when facts are recomputed.
    pub(super) run: u32,
    /// Graphs that have been run.
    has_run: SecondaryMap<GraphId, bool>,
    pub(super) facts: SecondaryMap<ValueId, Fact>,
    pub(super) declared: Rc<Declared>,
    pub(super) bindings: Rc<Bindings>,
    /// Arguments that the call omits although operators require them.
    pub(super) missed: Vec<Missed>,
}

/// The result of running a body.
#[derive(Default)]
pub(super) struct Ran {
    pub(super) outputs: Vec<Fact>,
    pub(super) missed: Vec<Missed>,
}

pub(super) struct Engine<'m> {
    pub(super) model: &'m Model,
    pub(super) registry: &'m Registry,
    pub(super) rows: &'static Rows,
    pub(super) dims: Dims,
    pub(super) frame: Frame,
    pub(super) memo: Memo,
    pub(super) alike: Alike,
    /// For each schema, the last node that matched it.
    pub(super) fitting: HashMap<SchemaId, Fitting>,
    /// Functions that have been called.
    pub(super) called: HashSet<FunctionId>,
    pub(super) callees: HashMap<CalleeKey, Callee>,
    pub(super) functions: HashMap<(String, Name, Name), FunctionId>,
    pub(super) declared: HashMap<BodyId, Rc<Declared>>,
    pub(super) types: SecondaryMap<TypeId, Option<Ty>>,
    bodies: SecondaryMap<BodyId, SecondaryMap<ValueId, Fact>>,
    /// The fact of an omitted value.
    pub(super) nothing: Fact,
    pub(super) findings: Vec<Diagnostic>,
    pub(super) told: HashSet<(&'static str, Place)>,
    /// Which calls lead to findings in functions.
    pub(super) blame: Blame,
    pub(super) suggestions: Suggestions,
    /// Findings are kept only if this is 0.
    pub(super) quiet: u32,
    /// The trace of what rules read, if requested.
    pub(super) trace: Option<Trace>,
    /// The literals that get their types on the way, if there are any.
    pub(super) literals: Option<Box<Literals<'m>>>,
    pub(super) fuel: usize,
    pub(super) depth: usize,
    /// How often the graphs around the node have been run before.
    pub(super) repeats: u32,
    /// The operands of the last node whose elements its rule has read.
    pub(super) looked: Operands,
    runs: u32,
    /// Number of anonymous dimensions.
    pub(super) fresh: usize,
    /// Number of reports, kept or not.
    pub(super) reports: usize,
    /// Initializers that a training assigns: what they store now says nothing about later.
    states: Rc<HashSet<Name>>,
    /// See [`InferOptions`].
    known_defaults: bool,
    propagates: bool,
}

impl<'m> Engine<'m> {
    pub(super) fn new(model: &'m Model, registry: &'m Registry, rows: &'static Rows) -> Self {
        let functions = model.functions.iter().rev().map(|(id, f)| {
            let domain = normalize_domain(model.text(f.domain)).to_owned();
            ((domain, f.name.unwrap_or(Name::empty()), f.overload.unwrap_or(Name::empty())), id)
        });
        let trainings = model.training.iter();
        let states = trainings.flat_map(|t| t.update_bindings.iter().chain(&t.initialization_bindings));
        Engine {
            model,
            registry,
            rows,
            dims: Dims::default(),
            frame: Frame {
                // The id of no body: each run sets its own.
                body: model.bodies.next_id(),
                function: None,
                is_called: false,
                run: 0,
                has_run: SecondaryMap::default(),
                facts: SecondaryMap::default(),
                declared: Rc::default(),
                bindings: Rc::default(),
                missed: Vec::new(),
            },
            memo: Memo::default(),
            alike: Alike::default(),
            fitting: HashMap::default(),
            called: HashSet::default(),
            callees: HashMap::default(),
            functions: functions.collect(),
            declared: HashMap::default(),
            types: SecondaryMap::default(),
            bodies: SecondaryMap::default(),
            nothing: Fact::default(),
            findings: Vec::new(),
            told: HashSet::default(),
            blame: Blame::default(),
            suggestions: Suggestions::default(),
            quiet: 0,
            trace: None,
            literals: None,
            fuel: MIN_STEPS,
            depth: 0,
            repeats: 0,
            looked: Operands::default(),
            runs: 0,
            fresh: 0,
            reports: 0,
            states: Rc::new(states.filter_map(|entry| entry.key).collect()),
            known_defaults: false,
            propagates: true,
        }
    }

    /// Runs a body with the facts that a call passes, or with its declared types.
    pub(super) fn run_body(
        &mut self,
        body: BodyId,
        function: Option<FunctionId>,
        inputs: Option<&[Fact]>,
        bindings: Rc<Bindings>,
    ) -> Ran {
        let Some(root) = self.model.bodies[body].root() else { return Ran::default() };
        if self.depth >= MAX_DEPTH {
            return Ran::default();
        }
        let values = self.model.bodies[body].values.len();
        let frame = Frame {
            body,
            function,
            is_called: inputs.is_some(),
            run: self.next_run(),
            has_run: SecondaryMap::default(),
            facts: SecondaryMap::with_len(Fact::default(), values),
            declared: self.declared_in(body),
            bindings,
            missed: Vec::new(),
        };
        let outer = std::mem::replace(&mut self.frame, frame);
        let outputs = self.run_graph(root, inputs);
        let frame = std::mem::replace(&mut self.frame, outer);
        self.keep(body, frame.facts);
        Ran { outputs, missed: frame.missed }
    }

    pub(super) fn next_run(&mut self) -> u32 {
        self.runs += 1;
        self.runs
    }

    /// Joins the facts of one run of a body with those of earlier runs.
    fn keep(&mut self, body: BodyId, facts: SecondaryMap<ValueId, Fact>) {
        let Engine { model, bodies, dims, .. } = self;
        let known = &mut bodies[body];
        if known.is_empty() {
            *known = facts;
            return;
        }
        for value in model.bodies[body].values.ids() {
            let fact = &facts[value];
            let old = &mut known[value];
            if !old.is_there() {
                *old = fact.clone();
            } else if fact.is_there() && *old != *fact {
                let ty = crate::facts::merge::join(dims, &old.ty, &fact.ty, &mut |_| Dim::Unknown);
                *old = Fact { ty, value: None, source: old.source };
            }
        }
    }

    /// Runs a graph of the current body.
    pub(super) fn run_graph(&mut self, graph: GraphId, inputs: Option<&[Fact]>) -> Vec<Fact> {
        if self.depth >= MAX_DEPTH {
            return vec![Fact::default(); self.body().graphs[graph].outputs.len()];
        }
        self.depth += 1;
        if std::mem::replace(&mut self.frame.has_run[graph], true) {
            self.frame.run = self.next_run();
        }
        let g = &self.body().graphs[graph];
        self.inputs(graph, inputs);
        self.initializers(graph, inputs.map_or(0, <[Fact]>::len));
        for node in super::call::order(self.body(), graph).iter().copied() {
            self.step(node);
        }
        self.depth -= 1;
        g.outputs.iter().map(|port| self.output(port)).collect()
    }

    fn output(&mut self, port: &Port) -> Fact {
        let Some(value) = port.value else { return Fact::default() };
        let fact = self.frame.facts[value].clone();
        if fact.is_there() {
            return fact;
        }
        let ty = self.frame.declared[value].map_or(Ty::Unknown, |(ty, _)| self.declared_type(ty));
        Fact { ty, value: None, source: FactSource::Declared }
    }

    fn inputs(&mut self, graph: GraphId, passed: Option<&[Fact]>) {
        for (i, port) in self.body().graphs[graph].inputs.iter().enumerate() {
            let Some(value) = port.value else { continue };
            let ty = port.ty.map_or(Ty::Unknown, |ty| self.declared_type(ty));
            let declared = Fact { ty, value: None, source: FactSource::Declared };
            let fact = match passed.and_then(|facts| facts.get(i)) {
                None => self.named(declared, port),
                Some(fact) if fact.source == FactSource::LeftOut => fact.clone(),
                Some(fact) => {
                    let (ty, conflict) = meet(&mut self.dims, &fact.ty, &declared.ty);
                    if let Some(conflict) = conflict {
                        let place = Entity::Input(self.frame.body, graph, super::node::index(i));
                        self.conflict(conflict, place, &declared.ty, &fact.ty, "the node passes");
                    }
                    Fact { ty, value: fact.value.clone(), source: fact.source }
                }
            };
            self.frame.facts[value] = fact;
        }
    }

    /// Gives every unknown dimension of an input a symbol of its own, so that equal dimensions are recognized.
    fn named(&mut self, fact: Fact, port: &Port) -> Fact {
        let Ty::Tensor(TensorTy { shape: Some(_), .. }) = fact.ty else { return fact };
        let name = self.model.text(port.name);
        let dims = &mut self.dims;
        let ty = fact.ty.map_dims(&mut |d| if d == Dim::Unknown { dims.fresh(name) } else { d });
        Fact { ty, ..fact }
    }

    /// Whether initializers are inputs as well, as before IR version 4.
    pub(super) fn has_default_inputs(&self) -> bool {
        self.model.header.ir_version.is_some_and(|v| v < DEFAULTS_SINCE_IR)
    }

    fn initializers(&mut self, graph: GraphId, passed: usize) {
        let body = self.body();
        let g = &body.graphs[graph];
        let is_constant = self.known_defaults || self.has_default_inputs();
        let passed: HashSet<ValueId> = match is_constant {
            true => g.inputs.iter().take(passed).filter_map(|port| port.value).collect(),
            false => HashSet::default(),
        };
        let is_root = self.frame.function.is_none() && body.root() == Some(graph);
        let states = Rc::clone(&self.states);
        let is_state = |value: ValueId| is_root && states.contains(&body.values[value].name);
        let is_replaced = |value: ValueId| {
            let is_default = matches!(body.values[value].def, ValueDef::Input(_));
            is_default && (!is_constant || passed.contains(&value))
        };
        for init in g.initializers.iter().filter(|init| !is_replaced(init.value)) {
            let tensor = &body.tensors[init.tensor];
            let ty = super::node::type_of_tensor(tensor);
            let value =
                if is_state(init.value) { None } else { SmallTensor::of_tensor(tensor).map(Arc::new) };
            self.define(init.value, Fact { ty, value, source: FactSource::Stored });
        }
        for init in g.sparse_initializers.iter().filter(|init| !is_replaced(init.value)) {
            let values = init.tensor.values.and_then(|t| body.tensors.get(t));
            let elem = values.and_then(|t| t.elem);
            let tensor = TensorTy { elem, shape: super::node::shape_of(&init.tensor.dims) };
            // A sparse initializer is a dense tensor, unless the model declares a sparse one.
            let declared = self.frame.declared[init.value].map(|(ty, _)| self.declared_type(ty));
            let ty = match declared {
                Some(Ty::Sparse(_)) => Ty::Sparse(tensor),
                _ => Ty::Tensor(tensor),
            };
            self.define(init.value, Fact { ty, value: None, source: FactSource::Stored });
        }
    }

    /// Reports that inference stops at this node.
    pub(super) fn tell_to_stop(&mut self, node: NodeId) {
        let place = Entity::Node(self.frame.body, node);
        let message = "inference stopped: the functions of this model expand to too many nodes";
        self.quiet = 0;
        self.report(Diagnostic::new(&code::INFERENCE_LIMIT, place, message));
    }

    /// Infers one node: its schema, its rule, its outputs.
    pub(super) fn step(&mut self, node: NodeId) {
        if self.fuel == 0 {
            return;
        }
        crate::interrupt::look();
        self.fuel -= 1;
        if self.fuel == 0 {
            self.tell_to_stop(node);
            return;
        }
        if self.literals.is_some() {
            self.type_literals(node);
        }
        match self.callee(node) {
            Callee::Operator(schema) => self.operator(node, schema),
            Callee::Function(function) => super::call::call(self, node, function),
            Callee::Unknown => {
                for i in 0..self.body().nodes[node].outputs.len() {
                    self.set_output(node, i, Fact::default());
                }
            }
        }
    }

    fn operator(&mut self, node: NodeId, id: SchemaId) {
        let key = alike::key(self, &self.body().nodes[node], id);
        let known = key.and_then(|key| alike::outputs_of(self, key, &self.body().nodes[node], id));
        let outputs = known.unwrap_or_else(|| {
            let before = alike::RuleState::of(self);
            let outputs = self.judge(node, id);
            if let Some(key) = key {
                alike::remember(self, key, (node, id), (before, self.looked), &outputs);
            }
            outputs
        });
        let keeps_values = self.propagates || self.body().nodes[node].inputs.is_empty();
        for (i, mut fact) in outputs.into_iter().enumerate() {
            if !keeps_values {
                fact.value = None;
            }
            self.set_output(node, i, fact);
        }
    }

    /// The facts of the outputs of a node from its schema and rule.
    fn judge(&mut self, node: NodeId, id: SchemaId) -> Outputs {
        let registry: &'m Registry = self.registry;
        let schema = registry.get(id);
        self.looked = Operands::default();
        let checked = signature::check(self, node, id, schema);
        if !checked.is_sound {
            return checked.outputs;
        }
        let rule = (self.rows.rule)(id, schema);
        if let Some(trace) = &self.trace {
            let by = if rule.is_some() { By::Rule } else { By::Body };
            trace.note(self.frame.body, node, |looked| looked.by = by);
        }
        let cx = NodeCx::new(self, node, schema, checked.outputs);
        let outputs = match rule {
            Some(rule) => cx.run(rule),
            None => cx.run_body(id),
        };
        outputs.unwrap_or_else(|| {
            let generic = signature::check(self, node, id, schema).outputs;
            generic.into_iter().map(|fact| Fact::of(fact.ty)).collect()
        })
    }

    pub(super) fn body(&self) -> &'m Body {
        &self.model.bodies[self.frame.body]
    }

    pub(super) fn scope(&self) -> Scope<'_> {
        Scope {
            names: &self.model.names,
            body: self.body(),
            function: self.frame.function.map(|f| &self.model.functions[f]),
            bindings: &self.frame.bindings,
            is_called: self.frame.is_called,
        }
    }

    /// The fact of an operand.
    pub(super) fn operand(&self, value: Option<ValueId>) -> &Fact {
        value.map_or(&self.nothing, |v| &self.frame.facts[v])
    }

    pub(super) fn set_output(&mut self, node: NodeId, i: usize, fact: Fact) {
        if let Some(Some(value)) = self.body().nodes[node].outputs.get(i).copied() {
            self.define(value, fact);
        }
    }
}
