//! Compiles a model: inlines functions, orders the nodes, and selects how to run each node.

use super::interface::{declarations, declared};
use super::{Action, Control, Kind, Liveness, Program, invariant};
use crate::custom::CustomNode;
use crate::failure::Failure;
use crate::options::CompileOptions;
use crate::random::Random;
use crate::tensor::Tensor;
use foldhash::HashMap;
use onnx_ir::diag::{Diagnostic, Entity, Place, code};
use onnx_ir::pass::{self, Inline};
use onnx_ir::{Body, Model, NodeId, Origin, Payload, SecondaryMap, ValueId, normalize_domain};
use onnx_kernels::Value;
use onnx_kernels::dense;
use onnx_kernels::{self as kernels, Attributes, Call, Keep, Kernel, Nodes};
use onnx_ops::check::ensure_clear;
use onnx_ops::functions::{self, FunctionBody, has_body};
use onnx_ops::gradient::expand_gradient_with;
use onnx_ops::infer::{Fact, Stepwise};
use onnx_ops::meaning::has_definition;
use onnx_ops::refusal;
use onnx_ops::schema::{Lookup, Registry, Schema, SchemaId};

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
        || kernels::find(domain, op, Nodes::All).is_some()
        || is_defined(registry, id, schema, main)
}

/// Whether formulas or a function define an operator for a version of ai.onnx.
fn is_defined(registry: &Registry, id: SchemaId, schema: &Schema, main: i64) -> bool {
    has_definition(schema) || has_body(schema, main) || registry.body(id).is_some()
}

impl<'r> Program<'r> {
    /// Compiles the main graph of a model. Returns all problems found, not only the first.
    pub(crate) fn compile(
        model: &Model,
        registry: &'r Registry,
        options: &CompileOptions,
    ) -> Result<Program<'r>, Vec<Diagnostic>> {
        let mut model = model.clone();
        // Only the main graph is run.
        model.training.clear();
        if !options.unchecked {
            ensure_clear(&model, registry)?;
        }
        Program::compile_checked(model, registry, options)
    }

    /// Compiles a model that has been checked.
    fn compile_checked(
        mut model: Model,
        registry: &'r Registry,
        options: &CompileOptions,
    ) -> Result<Program<'r>, Vec<Diagnostic>> {
        let interface = model.main.and_then(|body| Some((body, model.bodies[body].root()?)));
        let declarations = interface.map_or_else(HashMap::default, |main| declarations(&model, main));
        let places = number(&mut model);
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
        invariant::hoist(&mut model, body);
        let mut program = Program {
            declared: declared(&model, (body, root), &declarations),
            liveness: Liveness::analyze(&model.bodies[body]),
            model,
            registry,
            body,
            root,
            interface,
            actions: SecondaryMap::default(),
            stored: SecondaryMap::default(),
            places,
            options: options.clone(),
        };
        program.store(&mut found);
        program.act(&mut found);
        if found.is_empty() { Ok(program) } else { Err(found) }
    }

    /// Compiles the function body of a node's operator for inputs with these facts.
    pub(crate) fn compile_function(
        &self,
        node: NodeId,
        inputs: &[Option<Fact>],
    ) -> Result<Program<'r>, Vec<Diagnostic>> {
        let mut stepwise = Stepwise::new(&self.model, self.registry, self.body);
        let function = stepwise.function(node, inputs).ok_or_else(Vec::new)?;
        self.compile_body(node, &function)
    }

    /// Compiles a function body that the caller provides.
    pub(crate) fn compile_body(
        &self,
        node: NodeId,
        function: &FunctionBody,
    ) -> Result<Program<'r>, Vec<Diagnostic>> {
        let alone = functions::alone(&self.model, self.registry, self.body, node, function);
        Program::compile_checked(alone, self.registry, &self.options)
    }
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

impl Program<'_> {
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
                let tensor = Tensor::stored_in(stored, self.options.packed_store.as_deref());
                if let (Ok(tensor), Some(release)) = (&tensor, self.options.release) {
                    let is_shared =
                        |bytes: &[u8]| tensor.is_stored() && tensor.bytes().as_ptr() == bytes.as_ptr();
                    for payload in &stored.data {
                        if let Payload::Entries { bytes, .. } = payload
                            && !is_shared(bytes)
                        {
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
        if let Some(operator) = self.options.custom.find(domain, op) {
            let custom = CustomNode { model: &self.model, body: self.body(), node: n };
            let kernel = operator.kernel(&custom).map_err(|why| {
                let code = if why.is_limit() { &code::RUN_LIMIT } else { &code::CANNOT_RUN };
                self.failed(node, code, &why.to_string())
            })?;
            return Ok(Action::Custom(kernel));
        }
        // Before IR version 3, models had no imports.
        let imported = self.model.newest_import(self.body, domain);
        let is_old = self.model.header.opset_imports.is_empty() && domain.is_empty();
        let Some(version) = imported.or(is_old.then_some(1)) else {
            return unsupported("the operator set of this operator is not imported");
        };
        let Lookup::Found(id) = self.registry.lookup(domain, op, version) else {
            return unsupported("the operator is not known");
        };
        let attrs = self.attributes(node, id);
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
            return Ok(Action::Control(Control::new(kind, &attrs)));
        }
        if let Some(kernel) = kernels::choose(&attrs) {
            return Ok(Action::Kernel(id, kernel));
        }
        let main = self.model.newest_import(self.body, "").unwrap_or(1);
        if is_defined(self.registry, id, attrs.schema, main) {
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
        kernels::find(normalize_domain(&schema.domain), &schema.name, Nodes::Strings)
    }

    /// The kernel that replaces the formula of an operator for inputs that the formula does not support.
    pub(crate) fn kernel_beside(&self, schema: SchemaId) -> Option<Kernel> {
        let schema = self.registry.get(schema);
        kernels::find(normalize_domain(&schema.domain), &schema.name, Nodes::Unsupported)
    }

    /// The kernel that replaces the function body of an operator because it is much faster. `None` if planning is disabled, so
    /// that the body serves as the reference.
    pub(crate) fn kernel_of_long(
        &self,
        node: NodeId,
        schema: SchemaId,
        inputs: &[kernels::Given<'_>],
    ) -> Option<Kernel> {
        let attrs = self.attributes(node, schema);
        if self.options.is_plain() { None } else { kernels::find_long(&attrs, inputs) }
    }

    /// A node with its inputs, as kernels receive it.
    pub(crate) fn call<'c>(
        &'c self,
        node: NodeId,
        schema: SchemaId,
        inputs: Vec<Option<Value>>,
        random: Random,
        keep: &'c Keep,
    ) -> Call<'c> {
        Call { attrs: self.attributes(node, schema), inputs, random, keep: (keep, node) }
    }
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
