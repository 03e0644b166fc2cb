//! Runs a prepared model, plan by plan or node by node.

mod caches;
mod control;
mod known;
mod node;
mod plan_runner;
mod plans;
mod prepared;
mod workspace;

pub(crate) use caches::Caches;
pub(crate) use plan_runner::PlanRunner;

use crate::budget::spend;
use crate::facts::fact;
use crate::failure::Failure;
use crate::options::{RunOptions, TimedStep};
use crate::pool;
use crate::profile::Work;
use crate::program::{Program, SymbolSizes};
use crate::sync::lock;
use crate::tensor::Tensor;
use caches::Values;
use foldhash::HashMap;
use onnx_ir::diag::{Code, Diagnostic, Place, Severity, code};
use onnx_ir::diag::{counted, counted_are};
use onnx_ir::{ElemType, GraphId, NodeId, ValueId};
use onnx_kernels::Value;
use onnx_ops::infer::{Fact, Stepwise};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The results of a node: mostly one value, which needs no heap allocation.
pub(crate) type Results = smallvec::SmallVec<[Value; 1]>;

/// Fuel per iteration of a loop, in nodes: an endless loop reaches the default limit within seconds.
const ITERATION: u64 = 8;

/// The deepest nesting of function bodies and subgraphs.
const MAX_DEPTH: usize = 200;

/// Computes the outputs in the memory of earlier tensors of the same type and shape, or in memory that the caller provides. Returns
/// the memory that was not used.
pub(crate) fn run_to<'r>(
    program: &Program<'r>,
    caches: &Caches<'r>,
    inputs: Vec<Option<Value>>,
    destinations: Destinations,
    options: &RunOptions<'_>,
) -> Result<(Vec<Value>, Destinations), Box<Diagnostic>> {
    program.ensure_inputs(&inputs)?;
    let mut sizes = SymbolSizes::new(program, &caches.is_warned, options);
    sizes.inputs(&inputs);
    let budget = options.budget(&caches.recycler);
    let fuel = Cell::new(options.fuel);
    let is_provided = destinations.iter().any(|(_, memory)| memory.as_ref().is_some_and(Tensor::is_lent));
    let work = || {
        let mut run = Run::new(program, caches, options, &fuel, 0);
        run.destinations = destinations;
        run.sizes = Some(sizes);
        let (outputs, unused) = run.main(inputs)?;
        // The owners of lent memory may change it from now on. Who provides memory for outputs copies the others.
        let kept = match is_provided {
            true => Ok(outputs),
            false => outputs.into_iter().map(Value::into_kept).collect::<Result<Vec<_>, _>>(),
        };
        let limit = |why: Failure| {
            let why = format!("an output that is an input cannot be copied: {why}");
            Box::new(Diagnostic::new(&code::RUN_LIMIT, Place::Nowhere, why))
        };
        Ok((kept.map_err(limit)?, unused))
    };
    let results = pool::with_threads(options.threads, || budget.enter(work));
    if let Some(peak) = options.peak {
        peak.fetch_max(budget.peak(), Ordering::Relaxed);
    }
    if let Some(steps) = options.steps {
        let left = budget.steps_left();
        steps.fetch_max(options.steps_at_most().saturating_sub(left), Ordering::Relaxed);
    }
    results
}

/// Memory for outputs: values, each with the tensor to write it to.
pub(crate) type Destinations = Vec<(ValueId, Option<Tensor>)>;

/// One run of a body.
pub(crate) struct Run<'x, 'r> {
    pub(crate) program: &'x Program<'r>,
    pub(crate) caches: &'x Caches<'r>,
    options: &'x RunOptions<'x>,
    values: Values,
    destinations: Destinations,
    /// The sizes of symbols, if this is the run of a whole model.
    sizes: Option<SymbolSizes<'x, 'r>>,
    fuel: &'x Cell<u64>,
    depth: usize,
    /// How often each random node has run: part of its seed.
    drawn: HashMap<NodeId, u64>,
    /// The last node that consumed a sequence in place, so that no node before it can be run again.
    taken: Option<NodeId>,
    /// Infers single nodes; created on first use.
    stepwise: RefCell<Option<Stepwise<'x>>>,
}

impl<'x, 'r> Run<'x, 'r> {
    fn new(
        program: &'x Program<'r>,
        caches: &'x Caches<'r>,
        options: &'x RunOptions<'x>,
        fuel: &'x Cell<u64>,
        depth: usize,
    ) -> Self {
        Run {
            program,
            caches,
            options,
            values: lock(&caches.value_tables).pop().unwrap_or_default(),
            destinations: Vec::new(),
            sizes: None,
            fuel,
            depth,
            drawn: HashMap::default(),
            taken: None,
            stepwise: RefCell::new(None),
        }
    }

    fn main(mut self, inputs: Vec<Option<Value>>) -> Result<(Vec<Value>, Destinations), Box<Diagnostic>> {
        self.take(inputs);
        let root = self.program.root;
        self.nodes(root)?;
        let results: Vec<Value> = self.outputs(root)?;
        if let Some(sizes) = &mut self.sizes {
            sizes.outputs(&results);
        }
        let Run { mut values, destinations, caches, .. } = self;
        values.clear();
        let mut tables = lock(&caches.value_tables);
        if tables.len() < MAX_VALUE_TABLES {
            tables.push(values);
        }
        Ok((results, destinations))
    }

    /// Calls `work` with a new run.
    pub(crate) fn with<T>(
        program: &Program<'r>,
        caches: &Caches<'r>,
        options: &RunOptions<'_>,
        work: impl FnOnce(&mut Run<'_, '_>) -> T,
    ) -> T {
        let fuel = Cell::new(options.fuel);
        let enter = || work(&mut Run::new(program, caches, options, &fuel, 0));
        options.budget(&caches.recycler).enter(enter)
    }

    /// Calls `work` with the inference of single nodes.
    fn stepwise<T>(&self, work: impl FnOnce(&mut Stepwise<'x>) -> T) -> T {
        let Program { model, registry, body, .. } = self.program;
        work(self.stepwise.borrow_mut().get_or_insert_with(|| Stepwise::new(model, registry, *body)))
    }

    /// Sets the inputs of the model, which have been checked.
    pub(crate) fn take(&mut self, inputs: Vec<Option<Value>>) {
        for (port, given) in self.program.inputs().iter().zip(inputs) {
            if let (Some(value), Some(given)) = (port.value, given) {
                self.values[value] = Some(given);
            }
        }
    }

    /// Sets an input of a graph.
    pub(crate) fn give(&mut self, graph: GraphId, input: usize, given: Value) {
        let ports = &self.program.body().graphs[graph].inputs;
        if let Some(value) = ports.get(input).and_then(|port| port.value) {
            self.values[value] = Some(given);
        }
    }

    /// Runs a subgraph of a node after its inputs are set.
    pub(crate) fn enter(&mut self, graph: GraphId) -> Result<(), Box<Diagnostic>> {
        self.depth += 1;
        self.nodes(graph)?;
        self.depth -= 1;
        Ok(())
    }

    /// All outputs of a graph that has been run.
    pub(crate) fn outputs<C: FromIterator<Value>>(&mut self, graph: GraphId) -> Result<C, Box<Diagnostic>> {
        let count = self.program.body().graphs[graph].outputs.len();
        (0..count).map(|i| self.output(graph, i)).collect()
    }

    /// An output of a graph that has been run; call it once for each output, in order.
    pub(crate) fn output(&mut self, graph: GraphId, i: usize) -> Result<Value, Box<Diagnostic>> {
        let program = self.program;
        let port = &program.body().graphs[graph].outputs[i];
        let value = port.value.and_then(|value| {
            // Moved out, it has no other reference, so it can be changed in place.
            let is_last = program.liveness.is_last_output[graph][i];
            let taken = if is_last { self.values[value].take() } else { None };
            taken.or_else(|| self.get(value).cloned())
        });
        value.ok_or_else(|| {
            let name = program.model.text(port.name);
            let why = format!("nothing computes the output `{name}`");
            Box::new(Diagnostic::new(&code::RUN_FAILED, Place::Nowhere, why))
        })
    }

    /// Existing memory for a value of this type and shape.
    pub(crate) fn destination(&mut self, value: ValueId, elem: ElemType, dims: &[usize]) -> Option<Tensor> {
        let (_, memory) = self.destinations.iter_mut().find(|(of, _)| *of == value)?;
        memory.take_if(|memory| memory.elem() == elem && memory.dims() == dims && memory.is_mine())
    }

    /// The current value, if it has one.
    pub(crate) fn get(&self, value: ValueId) -> Option<&Value> {
        self.values[value].as_ref().or(self.program.stored[value].as_ref())
    }

    /// Runs nodes of a graph one by one.
    fn plain(&mut self, graph: GraphId, nodes: Range<usize>) -> Result<(), Box<Diagnostic>> {
        let program = self.program;
        for &node in &program.body().graphs[graph].nodes[nodes] {
            self.limits(node)?;
            self.single(node)?;
            self.compare_sizes(graph, node);
            for &value in &program.liveness.dead_after[node] {
                self.values[value] = None;
            }
        }
        Ok(())
    }

    /// Compares the sizes of the results of a node with those declared for them.
    fn compare_sizes(&mut self, graph: GraphId, node: NodeId) {
        let Run { sizes: Some(sizes), values, program, .. } = self else { return };
        let results = program.body().nodes[node].outputs.iter().flatten();
        let tensors = results.filter_map(|&value| match &values[value] {
            Some(Value::Tensor(tensor)) => Some((value, tensor.dims())),
            _ => None,
        });
        sizes.results(graph, tensors);
    }

    /// Runs a node.
    pub(crate) fn single(&mut self, node: NodeId) -> Result<(), Box<Diagnostic>> {
        let program = self.program;
        let start = self.is_timed().then(Instant::now);
        let outputs = self.node(node)?;
        let n = &program.body().nodes[node];
        if let Some(start) = start {
            let took = start.elapsed();
            let tensors = || outputs.iter().filter_map(|value| value.tensor().ok());
            let results: Vec<_> = tensors().map(|t| (t.elem(), t.dims().to_vec())).collect();
            let written = tensors().map(|t| t.bytes().len() as u64).sum();
            let work = Work { written, ..self.reads(node) };
            let name = program.model.text(n.name);
            let step = TimedStep {
                op: program.op(node),
                name,
                nodes: &[node],
                results: &results,
                start,
                took,
                work,
            };
            self.tell(&step);
        }
        let wanted = n.outputs.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        if outputs.len() < wanted {
            let why = format!("{} of {wanted} outputs are computed", outputs.len());
            return Err(self.failed(node, &code::RUN_FAILED, &why));
        }
        for (value, result) in n.outputs.iter().zip(outputs) {
            let Some(value) = *value else { continue };
            if let Some(observe) = self.options.observe
                && self.depth == 0
            {
                observe(program.value_name(value), &result);
            }
            self.values[value] = Some(result);
        }
        Ok(())
    }

    /// Whether times are reported for the current graph.
    pub(crate) fn is_timed(&self) -> bool {
        self.options.time.is_some() && self.depth == 0
    }

    /// Reports the time of a kernel or node.
    pub(crate) fn tell(&self, step: &TimedStep<'_>) {
        if let Some(time) = self.options.time {
            time(step);
        }
    }

    /// The work of a node: the bytes that it reads.
    fn reads(&self, node: NodeId) -> Work {
        let mut work = Work::default();
        for &value in self.program.body().nodes[node].inputs.iter().flatten() {
            let Some(tensor) = self.get(value).and_then(|value| value.tensor().ok()) else { continue };
            let bytes = tensor.bytes().len() as u64;
            if self.program.is_constant(value) { work.constants += bytes } else { work.read += bytes }
        }
        work
    }

    pub(crate) fn set(&mut self, value: ValueId, to: Value) {
        self.values[value] = Some(to);
    }

    pub(crate) fn forget(&mut self, value: ValueId) {
        self.values[value] = None;
    }

    /// Charges the fuel of one node.
    pub(crate) fn limits(&mut self, node: NodeId) -> Result<(), Box<Diagnostic>> {
        self.burn(node, 1)
    }

    /// Charges the fuel of one iteration; an empty body takes time too.
    pub(crate) fn iteration(&mut self, node: NodeId) -> Result<(), Box<Diagnostic>> {
        self.burn(node, ITERATION)
    }

    /// Fails early if the fuel does not suffice for `count` iterations.
    pub(crate) fn iterations(&self, node: NodeId, count: usize) -> Result<(), Box<Diagnostic>> {
        let needed = u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(ITERATION);
        let left = self.fuel.get();
        if needed <= left {
            return Ok(());
        }
        let why = format!(
            "{} needed, each of which counts as {ITERATION} nodes, but {left} of {} nodes are left",
            counted_are(count, "iteration"),
            self.options.fuel,
        );
        Err(self.failed(node, &code::RUN_LIMIT, &why))
    }

    /// Charges the fuel of these nodes.
    pub(crate) fn limits_of(&mut self, nodes: &[NodeId]) -> Result<(), Box<Diagnostic>> {
        nodes.iter().try_for_each(|node| self.burn(*node, 1))
    }

    fn burn(&mut self, node: NodeId, fuel: u64) -> Result<(), Box<Diagnostic>> {
        let Some(left) = self.fuel.get().checked_sub(fuel) else {
            let why = format!("the run ends here: it has run {}", counted(self.options.fuel, "node"));
            return Err(self.failed(node, &code::RUN_LIMIT, &why));
        };
        self.fuel.set(left);
        if spend(0).is_err() {
            return Err(self.failed(node, &code::RUN_LIMIT, "the run was cancelled"));
        }
        if self.depth > MAX_DEPTH {
            let why = format!("graphs and functions lie more than {MAX_DEPTH} deep in one another");
            return Err(self.failed(node, &code::RUN_LIMIT, &why));
        }
        Ok(())
    }

    pub(crate) fn failed(&self, node: NodeId, code: &'static Code, why: &str) -> Box<Diagnostic> {
        self.program.failed(node, code, why)
    }

    /// The inputs of a node.
    pub(crate) fn inputs(&self, node: NodeId) -> Result<Vec<Option<Value>>, Box<Diagnostic>> {
        let inputs = &self.program.body().nodes[node].inputs;
        inputs.iter().map(|value| value.map(|value| self.needed(node, value).cloned()).transpose()).collect()
    }

    /// The value of a name that a node reads.
    pub(crate) fn needed(&self, node: NodeId, value: ValueId) -> Result<&Value, Box<Diagnostic>> {
        self.get(value).ok_or_else(|| {
            let name = self.program.value_name(value);
            self.failed(node, &code::RUN_FAILED, &format!("nothing computes `{name}`"))
        })
    }

    /// Infers a node for inputs with these facts.
    fn infer_node(&self, node: NodeId, inputs: &[Option<Fact>]) -> Result<Vec<Fact>, Vec<Diagnostic>> {
        self.stepwise(|stepwise| stepwise.outputs(node, inputs))
    }

    /// Infers the outputs of a node from its input values.
    pub(crate) fn facts(&self, node: NodeId, inputs: &[Option<Value>]) -> Result<Vec<Fact>, Box<Diagnostic>> {
        let facts: Vec<Option<Fact>> = inputs.iter().map(|v| v.as_ref().map(fact)).collect();
        self.infer_node(node, &facts).map_err(|found| {
            let error = found.iter().find(|d| d.severity == Severity::Error);
            self.failed(node, &code::RUN_FAILED, error.map_or("its inputs do not fit", |d| &d.message))
        })
    }
}

/// The most emptied value tables that are kept.
const MAX_VALUE_TABLES: usize = 4;
