//! Prepares a model: inlines functions, orders the nodes, and selects how to run each node.

use crate::control::{self, Control, Kind};
use crate::data::dense;
use crate::failure::Failure;
use crate::formula::{Prepared, Signature};
use crate::kernels::{self, Attributes, Call, Keep, Kernel};
use crate::liveness::Liveness;
use crate::loops::Packed;
use crate::plan::{Plan, Recorder, ScheduleFile};
use crate::random::Random;
use crate::recycle::Recycler;
use crate::tensor::Tensor;
use crate::value::Value;
use foldhash::HashMap;
use onnx_ir::diag::{Diagnostic, Entity, Place, code};
use onnx_ir::pass::{self, Inline};
use onnx_ir::{
    Body, BodyId, GraphId, Model, NodeId, Origin, Payload, Port, SecondaryMap, ValueDef, ValueId,
    normalize_domain,
};
use onnx_ops::functions::{self, FunctionBody, has_body};
use onnx_ops::gradient::{Results, expand_gradient_with};
use onnx_ops::infer::{Fact, Stepwise, Ty};
use onnx_ops::meaning::has_definition;
use onnx_ops::refusal;
use onnx_ops::schema::{Lookup, Registry, Schema, SchemaId};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether an operator can be run, at least some of its nodes, in a version of its domain.
///
/// ```
/// let registry = onnx_ops::opset::whole_registry();
/// assert!(onnx_exec::is_run(registry, "", "Relu", 14));
/// assert!(!onnx_exec::is_run(registry, "com.microsoft", "BeamSearch", 1));
/// ```
pub fn is_run(registry: &Registry, domain: &str, op: &str, version: i64) -> bool {
    let domain = normalize_domain(domain);
    let Lookup::Found(id) = registry.lookup(domain, op, version) else { return false };
    let schema = registry.get(id);
    // Bodies in other domains import the newest operators of ONNX.
    let main = if domain.is_empty() { version } else { i64::MAX };
    (domain, op) == ("", "Constant")
        || Kind::find(domain, op).is_some()
        || kernels::find(domain, op).is_some()
        || is_defined(registry, id, schema, main)
}

/// Whether formulas or a function define an operator for a version of ai.onnx.
fn is_defined(registry: &Registry, id: SchemaId, schema: &Schema, main: i64) -> bool {
    has_definition(schema) || has_body(schema, main) || registry.body(id).is_some()
}

/// Options of [`compile()`].
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// Checks the results of small formulas, element by element, against the reference evaluation after each run of their loops.
    /// Slow; finds mistakes of this crate.
    pub check_loops: bool,
    /// Runs nodes one by one without fusion: the slow reference.
    pub node_by_node: bool,
    /// Rounds every result to its type, as the operators define it. Otherwise `float16` and `bfloat16` values stay in single
    /// precision between the nodes of a plan, and convolutions may use algorithms that round differently.
    pub exact: bool,
    /// The treatment of intermediate results that nodes `Gradient` need: kept, or computed again to save memory.
    pub gradient_results: Results,
    /// Called with the bytes of stored tensors that will not be read again because a packed copy was made: a program that maps
    /// files can release their pages.
    pub release: Option<fn(&[u8])>,
}

impl CompileOptions {
    /// Whether planning is disabled.
    pub(crate) fn is_plain(&self) -> bool {
        self.check_loops || self.node_by_node
    }
}

/// A prepared model, which any number of threads can run at once.
///
/// ```
/// use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
/// use onnx_ops::schema::Registry;
///
/// let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[N] a, float[N] b) => (float[N] y) { y = Sub(a, b) }"#;
/// let model = onnx_text::read_model(text).value;
/// let executable = compile(&model, Registry::builtin(), &CompileOptions::default()).expect("the model can be run");
/// let value = |x: f32| Tensor::of(&[1], &[x]).map(Value::Tensor);
/// let inputs = executable.inputs_by_name([("b", value(1.0)?), ("a", value(3.0)?)])?;
/// let results = executable.run(inputs, &RunOptions::default())?;
/// assert_eq!(results[0].tensor()?.slice::<f32>()?, [2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Executable<'r> {
    pub(crate) model: Model,
    pub(crate) registry: &'r Registry,
    pub(crate) body: BodyId,
    pub(crate) root: GraphId,
    /// The main graph of the model that was compiled, for places of its inputs and outputs.
    pub(crate) interface: Option<(BodyId, GraphId)>,
    /// Whether sizes of a symbol that differ have been reported.
    pub(crate) is_warned: AtomicBool,
    /// The action of each node.
    pub(crate) actions: SecondaryMap<NodeId, Option<Action>>,
    /// The values that the model stores.
    pub(crate) stored: SecondaryMap<ValueId, Option<Value>>,
    pub(crate) liveness: Liveness,
    /// The nodes of the original model, indexed by the origins of this one.
    places: Vec<Entity>,
    /// Compiled function bodies, by node and input types.
    pub(crate) functions: Mutex<Functions<'r>>,
    pub(crate) options: CompileOptions,
    /// Loops of single nodes; `None` for nodes that have no formula.
    pub(crate) prepared: Mutex<HashMap<Signature, Option<Arc<Prepared>>>>,
    /// Packed constants of nodes, shared by all input types.
    pub(crate) packed: Mutex<HashMap<NodeId, Packed>>,
    /// Results of kernels that depend only on constants.
    keep: Keep,
    /// Plans of subgraphs, by their graph and first node.
    pub(crate) plans: Mutex<Plans>,
    /// A schedule supplied by the user, which plans follow.
    pub(crate) given: Mutex<Option<Arc<ScheduleFile>>>,
    /// Records the formulas after each stage of planning.
    pub(crate) recorder: Recorder,
    /// Memory that is reused by later runs.
    pub(crate) recycler: Arc<Recycler>,
    /// Emptied value tables, reused by later runs.
    pub(crate) rooms: Mutex<Vec<Values>>,
}

/// The values of a run.
pub(crate) type Values = SecondaryMap<ValueId, Option<Value>>;

/// Plans, by their graph and first node.
type Plans = HashMap<(GraphId, usize), Vec<Arc<Plan>>>;

/// Compiled function bodies, by node and input types.
type Functions<'r> = HashMap<(NodeId, Vec<Ty>), Arc<Executable<'r>>>;

/// How a node is run.
#[derive(Clone)]
pub(crate) enum Action {
    /// The result is a constant.
    Constant(Value),
    /// The node runs subgraphs.
    Control(Control),
    Kernel(SchemaId, Kernel),
    /// The formula of the operator if it has one for the types of the inputs, otherwise its function body.
    Formula(SchemaId),
}

/// Prepares a model. External data must be loaded. Returns all problems found, not only the first.
pub fn compile<'r>(
    model: &Model,
    registry: &'r Registry,
    options: &CompileOptions,
) -> Result<Executable<'r>, Vec<Diagnostic>> {
    let interface = model.main.and_then(|body| Some((body, model.bodies[body].root()?)));
    let mut model = model.clone();
    let places = number(&mut model);
    // Only the main graph is run.
    model.training.clear();
    // Before inlining, which renames the values that `Gradient` refers to.
    let mut found = expand_gradient_with(&mut model, registry, options.gradient_results).diagnostics;
    found.extend(pass::inline(&mut model, registry, Inline::default()).diagnostics);
    pass::topological_sort(&mut model);
    pass::compact(&mut model);
    let main = model.main.and_then(|body| Some((body, model.bodies[body].root()?)));
    let Some((body, root)) = main else {
        found.push(Diagnostic::new(&code::CANNOT_RUN, Place::Nowhere, "the model has no graph to run"));
        return Err(found);
    };
    control::hoist(&mut model, body);
    let mut executable = Executable {
        liveness: Liveness::of(&model.bodies[body]),
        model,
        registry,
        body,
        root,
        interface,
        is_warned: AtomicBool::new(false),
        actions: SecondaryMap::default(),
        stored: SecondaryMap::default(),
        places,
        functions: Mutex::default(),
        options: options.clone(),
        prepared: Mutex::default(),
        packed: Mutex::default(),
        keep: Keep::default(),
        plans: Mutex::default(),
        given: Mutex::default(),
        recorder: Recorder::default(),
        recycler: Arc::default(),
        rooms: Mutex::default(),
    };
    executable.store(&mut found);
    executable.act(&mut found);
    if found.is_empty() { Ok(executable) } else { Err(found) }
}

/// Numbers the nodes; each number becomes the origin of its node, which copies keep. Returns the nodes by number.
fn number(model: &mut Model) -> Vec<Entity> {
    let mut places = Vec::new();
    for id in model.bodies.ids().collect::<Vec<_>>() {
        let body = &mut model.bodies[id];
        for node in body.nodes.ids() {
            body.origins[node] = Origin(u32::try_from(places.len()).unwrap_or(u32::MAX));
            places.push(Entity::Node(id, node));
        }
    }
    places
}

/// Compiles the function body of a node's operator for inputs with these facts.
pub(crate) fn compile_function<'r>(
    around: &Executable<'r>,
    node: NodeId,
    inputs: &[Option<Fact>],
) -> Result<Executable<'r>, Vec<Diagnostic>> {
    let Executable { model, registry, body, .. } = around;
    let function = Stepwise::new(model, registry, *body).function(node, inputs).ok_or_else(Vec::new)?;
    compile_body(around, node, &function)
}

/// Compiles a function body that the caller provides.
pub(crate) fn compile_body<'r>(
    around: &Executable<'r>,
    node: NodeId,
    function: &FunctionBody,
) -> Result<Executable<'r>, Vec<Diagnostic>> {
    let Executable { model, registry, body, .. } = around;
    let alone = functions::alone(model, registry, *body, node, function);
    let mut made = compile(&alone, registry, &around.options)?;
    made.recycler = Arc::clone(&around.recycler);
    Ok(made)
}

impl Executable<'_> {
    pub(crate) fn body(&self) -> &Body {
        &self.model.bodies[self.body]
    }

    /// The inputs of the model, in order.
    pub fn inputs(&self) -> &[Port] {
        &self.body().graphs[self.root].inputs
    }

    /// The outputs of the model, in order.
    pub fn outputs(&self) -> &[Port] {
        &self.body().graphs[self.root].outputs
    }

    /// The model that is run: functions are inlined and nodes are ordered.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Whether the model stores a default for an input.
    pub fn has_default(&self, input: &Port) -> bool {
        input.value.is_some_and(|value| self.stored[value].is_some())
    }

    /// A finding about a node, placed where the node is in the original model.
    pub(crate) fn failed(
        &self,
        node: NodeId,
        code: &'static onnx_ir::diag::Code,
        why: &str,
    ) -> Box<Diagnostic> {
        let n = &self.body().nodes[node];
        let op = self.model.text(n.op);
        let which = match self.model.text(n.name) {
            "" => match n.outputs.iter().flatten().next() {
                Some(&value) => format!("`{op}`, which computes `{}`", self.value_name(value)),
                None => format!("`{op}`"),
            },
            name => format!("`{op}` (node `{name}`)"),
        };
        let origin = self.body().origins[node];
        let place = self.places.get(origin.0 as usize).map_or(Place::Nowhere, |&node| node.into());
        Box::new(Diagnostic::new(code, place, format!("{which}: {why}")))
    }

    /// Loads the stored tensors.
    fn store(&mut self, found: &mut Vec<Diagnostic>) {
        let body = &self.model.bodies[self.body];
        let mut stored = SecondaryMap::default();
        let mut take = |value: ValueId, tensor: Result<Tensor, Failure>, place: Entity| match tensor {
            Ok(tensor) => stored[value] = Some(Value::Tensor(tensor)),
            Err(why) => {
                let name = &self.model.names[body.values[value].name];
                let code = if why.is_limit() { &code::RUN_LIMIT } else { &code::CANNOT_RUN };
                found.push(Diagnostic::new(code, place, format!("initializer `{name}`: {why}")));
            }
        };
        let number = |i: usize| u32::try_from(i).unwrap_or(u32::MAX);
        for (g, graph) in body.graphs.iter() {
            for (i, init) in graph.initializers.iter().enumerate() {
                let stored = &body.tensors[init.tensor];
                let tensor = Tensor::stored(stored);
                if let (Ok(tensor), Some(release)) = (&tensor, self.options.release)
                    && !tensor.is_stored()
                {
                    for payload in &stored.data {
                        if let Payload::Entries { bytes, .. } = payload {
                            release(bytes);
                        }
                    }
                }
                take(init.value, tensor, Entity::Initializer(self.body, g, number(i)));
            }
            for (i, init) in graph.sparse_initializers.iter().enumerate() {
                let tensor = sparse(body, &init.tensor);
                take(init.value, tensor, Entity::SparseInitializer(self.body, g, number(i)));
            }
        }
        self.stored = stored;
    }

    /// Whether a value is the same in every run.
    pub(crate) fn is_constant(&self, value: ValueId) -> bool {
        self.stored[value].is_some() && !matches!(self.body().values[value].def, ValueDef::Input(_))
    }

    /// Which inputs of a node are constant.
    pub(crate) fn constants(&self, node: NodeId) -> Vec<bool> {
        let inputs = self.body().nodes[node].inputs.iter();
        inputs.map(|value| value.is_some_and(|value| self.is_constant(value))).collect()
    }

    pub(crate) fn value_name(&self, value: ValueId) -> &str {
        &self.model.names[self.body().values[value].name]
    }

    /// The operator name of a node.
    pub(crate) fn op(&self, node: NodeId) -> &str {
        self.model.text(self.body().nodes[node].op)
    }

    /// Selects the action of each node.
    fn act(&mut self, found: &mut Vec<Diagnostic>) {
        let mut actions = SecondaryMap::default();
        let mut stored = Vec::new();
        for node in self.body().nodes.ids() {
            match self.action(node) {
                Ok(action) => {
                    if let (Action::Constant(value), [Some(output)]) =
                        (&action, &self.model.bodies[self.body].nodes[node].outputs[..])
                    {
                        stored.push((*output, value.clone()));
                    }
                    actions[node] = Some(action);
                }
                Err(finding) => found.push(*finding),
            }
        }
        self.actions = actions;
        for (value, constant) in stored {
            self.stored[value] = Some(constant);
        }
    }

    fn action(&self, node: NodeId) -> Result<Action, Box<Diagnostic>> {
        let n = &self.body().nodes[node];
        let (domain, op) = (normalize_domain(self.model.text(n.domain)), self.model.text(n.op));
        let unsupported = |why: &str| Err(self.failed(node, &code::UNSUPPORTED_OPERATOR, why));
        // Before IR version 3, models had no imports.
        let imported = self.model.newest_import(self.body, domain);
        let is_old = self.model.header.opset_imports.is_empty() && domain.is_empty();
        let Some(version) = imported.or(is_old.then_some(1)) else {
            return unsupported("the operator set of this operator is not imported");
        };
        let Lookup::Found(id) = self.registry.lookup(domain, op, version) else {
            return unsupported("the operator is not known");
        };
        let schema = self.registry.get(id);
        let attrs = Attributes { model: &self.model, body: self.body(), node: n, schema };
        if (domain, op) == ("", "Constant") {
            return match constant(&attrs) {
                Ok(value) => Ok(Action::Constant(value)),
                Err(why) => {
                    let code = if why.is_limit() { &code::RUN_LIMIT } else { &code::CANNOT_RUN };
                    Err(self.failed(node, code, &why.to_string()))
                }
            };
        }
        if let Some(kind) = Kind::find(domain, op) {
            return Ok(Action::Control(Control::of(kind, &attrs)));
        }
        let kernel = kernels::find(domain, op);
        let kernel = kernel.or_else(|| kernels::find_of_training(domain, op, &attrs));
        let kernel = kernel.or_else(|| kernels::find_of_many(domain, op, n.inputs.len()));
        if let Some(kernel) = kernel.or_else(|| kernels::find_to_strings(domain, op, &attrs)) {
            return Ok(Action::Kernel(id, kernel));
        }
        let main = self.model.newest_import(self.body, "").unwrap_or(1);
        if is_defined(self.registry, id, schema, main) {
            return Ok(Action::Formula(id));
        }
        match refusal(domain, op) {
            Some(why) => unsupported(&format!("the operator cannot be run: {why}")),
            None => unsupported("the operator cannot be run yet"),
        }
    }

    /// The kernel that replaces the formula of an operator for string inputs.
    pub(crate) fn kernel_of_strings(&self, schema: SchemaId) -> Option<Kernel> {
        let schema = self.registry.get(schema);
        kernels::find_of_strings(normalize_domain(&schema.domain), &schema.name)
    }

    /// The kernel that replaces the formula of an operator for inputs that the formula does not support.
    pub(crate) fn kernel_beside(&self, schema: SchemaId) -> Option<Kernel> {
        let schema = self.registry.get(schema);
        kernels::find_beside(normalize_domain(&schema.domain), &schema.name)
    }

    /// The kernel that replaces the function body of an operator because it is much faster. `None` if planning is disabled, so
    /// that the body serves as the reference.
    pub(crate) fn kernel_of_long(
        &self,
        node: NodeId,
        schema: SchemaId,
        inputs: &[kernels::Given<'_>],
    ) -> Option<Kernel> {
        let attrs = Attributes {
            model: &self.model,
            body: self.body(),
            node: &self.body().nodes[node],
            schema: self.registry.get(schema),
        };
        if self.options.is_plain() { None } else { kernels::find_of_long(&attrs, inputs) }
    }

    /// A node with its inputs, as kernels receive it.
    pub(crate) fn call(
        &self,
        node: NodeId,
        schema: SchemaId,
        inputs: Vec<Option<Value>>,
        random: Random,
    ) -> Call<'_> {
        let attrs = Attributes {
            model: &self.model,
            body: self.body(),
            node: &self.body().nodes[node],
            schema: self.registry.get(schema),
        };
        Call { attrs, inputs, random, keep: (&self.keep, node) }
    }
}

/// Locks data that runs share. A poisoned lock is used as it is.
pub(crate) fn lock_of<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The value of a `Constant` node.
fn constant(attrs: &Attributes<'_>) -> Result<Value, Failure> {
    let tensor = if let Some(tensor) = attrs.tensor("value")? {
        tensor
    } else if let Some(i) = attrs.int("value_int") {
        Tensor::scalar(i)?
    } else if let Some(x) = attrs.float("value_float") {
        Tensor::scalar(x)?
    } else if let Some(s) = attrs.string("value_string") {
        Tensor::of_strings(&[], vec![s])?
    } else if let Some(all) = attrs.ints("value_ints") {
        Tensor::of(&[all.len()], &all)?
    } else if let Some(all) = attrs.floats("value_floats") {
        Tensor::of(&[all.len()], &all)?
    } else if let Some(all) = attrs.strings("value_strings") {
        Tensor::of_strings(&[all.len()], all)?
    } else if let Some(tensor) = attrs.sparse("sparse_value") {
        sparse(attrs.body, tensor)?
    } else {
        return Err(Failure::new("the constant has no value"));
    };
    Ok(Value::Tensor(tensor))
}

/// Converts a sparse tensor of a model to a dense one.
fn sparse(body: &Body, tensor: &onnx_ir::SparseTensor) -> Result<Tensor, Failure> {
    let part = |id: Option<onnx_ir::TensorId>| match id.and_then(|id| body.tensors.get(id)) {
        Some(tensor) => Tensor::stored(tensor),
        None => Err(Failure::new("a sparse tensor has no values or no indices")),
    };
    dense(&part(tensor.values)?, &part(tensor.indices)?, &tensor.dims)
}
