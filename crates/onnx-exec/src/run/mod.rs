//! Runs a prepared model, plan by plan or node by node.

mod node;
mod options;

pub use options::{Observe, RunOptions, Time, TimedStep, Warn};

use crate::compile::{Executable, Values, compile_body, lock_of};
use crate::facts::fact;
use crate::interface::SymbolSizes;
use crate::plan::{Partition, Plan, Stopped};
use crate::pool;
use crate::profile::Work;
use crate::tensor::Tensor;
use crate::value::Value;
use foldhash::HashMap;
use onnx_ir::diag::{Code, Diagnostic, Place, Severity, code};
use onnx_ir::{ElemType, GraphId, NodeId, ValueId};
use onnx_ops::infer::{Fact, Stepwise};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The results of a node: mostly one value, which needs no heap allocation.
pub(crate) type Results = smallvec::SmallVec<[Value; 1]>;

/// Fuel per iteration of a loop, in nodes: an endless loop reaches the default limit within seconds.
const ITERATION: u64 = 8;

/// The deepest nesting of function bodies and subgraphs.
const MAX_DEPTH: usize = 200;

impl Executable<'_> {
    /// Computes the outputs. `inputs` has a value for each input of the model, in order; `None` where the model stores a default.
    ///
    /// ```
    /// use onnx_exec::{CompileOptions, RunOptions, Tensor, compile};
    /// use onnx_ops::schema::Registry;
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Abs(x) }"#;
    /// let model = onnx_text::read_model(text).value;
    /// let executable = compile(&model, Registry::builtin(), &CompileOptions::default()).expect("it can be run");
    /// let x = Tensor::of(&[3], &[1.0f32, 2.0, 3.0])?;
    /// let refused = executable.run(vec![Some(x.into())], &RunOptions::default()).unwrap_err();
    /// assert_eq!(refused.message, "input `x` is float[3], expected float[2]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An input is missing or does not have the declared type; a node fails; a limit of the options is exceeded.
    pub fn run(
        &self,
        inputs: Vec<Option<Value>>,
        options: &RunOptions<'_>,
    ) -> Result<Vec<Value>, Box<Diagnostic>> {
        self.run_to(inputs, Vec::new(), options).map(|(results, _)| results)
    }

    /// Computes the outputs in the memory of earlier tensors of the same type and shape. Returns the memory that was not used.
    pub(crate) fn run_to(
        &self,
        inputs: Vec<Option<Value>>,
        destinations: Destinations,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<Value>, Destinations), Box<Diagnostic>> {
        self.ensure_inputs(&inputs)?;
        let mut sizes = SymbolSizes::new(self, options);
        sizes.inputs(&inputs);
        let budget = options.budget(&self.recycler);
        let fuel = Cell::new(options.fuel);
        let work = || {
            let mut run = Run::new(self, options, &fuel, 0);
            run.destinations = destinations;
            run.main(inputs)
        };
        let results = pool::with_threads(options.threads, || budget.enter(work));
        if let Some(peak) = options.peak {
            peak.fetch_max(budget.peak(), Ordering::Relaxed);
        }
        if let Some(steps) = options.steps {
            let left = budget.steps_left();
            steps.fetch_max(options.steps_at_most().saturating_sub(left), Ordering::Relaxed);
        }
        if let Ok((outputs, _)) = &results {
            sizes.outputs(outputs);
        }
        results
    }
}

/// Memory for outputs: values, each with the tensor to write it to.
pub(crate) type Destinations = Vec<(ValueId, Option<Tensor>)>;

/// One run of a body.
pub(crate) struct Run<'x, 'r> {
    pub(crate) executable: &'x Executable<'r>,
    options: &'x RunOptions<'x>,
    values: Values,
    destinations: Destinations,
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
        executable: &'x Executable<'r>,
        options: &'x RunOptions<'x>,
        fuel: &'x Cell<u64>,
        depth: usize,
    ) -> Self {
        Run {
            executable,
            options,
            values: lock_of(&executable.rooms).pop().unwrap_or_default(),
            destinations: Vec::new(),
            fuel,
            depth,
            drawn: HashMap::default(),
            taken: None,
            stepwise: RefCell::new(None),
        }
    }

    fn main(mut self, inputs: Vec<Option<Value>>) -> Result<(Vec<Value>, Destinations), Box<Diagnostic>> {
        self.take(inputs);
        let root = self.executable.root;
        self.nodes(root)?;
        let results = self.outputs(root)?;
        let Run { mut values, destinations, executable, .. } = self;
        values.clear();
        let mut rooms = lock_of(&executable.rooms);
        if rooms.len() < MOST_ROOMS {
            rooms.push(values);
        }
        Ok((results, destinations))
    }

    /// Calls `work` with a new run.
    pub(crate) fn with<T>(
        executable: &Executable<'_>,
        options: &RunOptions<'_>,
        work: impl FnOnce(&mut Run<'_, '_>) -> T,
    ) -> T {
        let fuel = Cell::new(options.fuel);
        options.budget(&executable.recycler).enter(|| work(&mut Run::new(executable, options, &fuel, 0)))
    }

    /// Calls `work` with a run of a function body inside this one, without observers.
    pub(crate) fn inside<T>(
        &self,
        executable: &Executable<'_>,
        work: impl FnOnce(&mut Run<'_, '_>) -> T,
    ) -> T {
        let options = RunOptions { observe: None, time: None, ..self.options.clone() };
        work(&mut Run::new(executable, &options, self.fuel, self.depth + 1))
    }

    /// Compiles the function body of a node for inputs with these facts.
    pub(crate) fn compile_function(&self, node: NodeId, inputs: &[Option<Fact>]) -> Option<Executable<'r>> {
        let x = self.executable;
        let mut stepwise = self.stepwise.borrow_mut();
        let stepwise = stepwise.get_or_insert_with(|| Stepwise::new(&x.model, x.registry, x.body));
        let function = stepwise.function(node, inputs)?;
        compile_body(x, node, &function).ok()
    }

    /// Sets the inputs of the model, which have been checked.
    pub(crate) fn take(&mut self, inputs: Vec<Option<Value>>) {
        for (port, given) in self.executable.inputs().iter().zip(inputs) {
            if let (Some(value), Some(given)) = (port.value, given) {
                self.values[value] = Some(given);
            }
        }
    }

    /// Sets an input of a graph.
    pub(crate) fn give(&mut self, graph: GraphId, input: usize, given: Value) {
        let ports = &self.executable.body().graphs[graph].inputs;
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
        let count = self.executable.body().graphs[graph].outputs.len();
        (0..count).map(|i| self.output(graph, i)).collect()
    }

    /// An output of a graph that has been run; call it once for each output, in order.
    pub(crate) fn output(&mut self, graph: GraphId, i: usize) -> Result<Value, Box<Diagnostic>> {
        let executable = self.executable;
        let port = &executable.body().graphs[graph].outputs[i];
        let value = port.value.and_then(|value| {
            // Moved out, it has no other reference, so it can be changed in place.
            let is_last = executable.liveness.is_last_output[graph][i];
            let taken = if is_last { self.values[value].take() } else { None };
            taken.or_else(|| self.get(value).cloned())
        });
        value.ok_or_else(|| {
            let name = executable.model.text(port.name);
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
        self.values[value].as_ref().or(self.executable.stored[value].as_ref())
    }

    /// Runs the nodes of a graph: plan by plan, or one by one if every result is observed.
    fn nodes(&mut self, graph: GraphId) -> Result<(), Box<Diagnostic>> {
        let executable = self.executable;
        let count = executable.body().graphs[graph].nodes.len();
        if self.options.observe.is_some() || executable.options.is_plain() {
            return self.plain(graph, 0..count);
        }
        let mut at = 0;
        while at < count {
            let Some(plan) = self.plan(graph, at)? else {
                return self.plain(graph, at..count);
            };
            let before = self.taken.take();
            let done = plan.run(self);
            let taken = std::mem::replace(&mut self.taken, before);
            match done {
                Ok(()) => {}
                Err(Stopped::Told(finding)) => return Err(finding),
                // The inputs of the plan still exist, so running node by node finds the node that fails.
                Err(Stopped::Failed(why)) => {
                    if let Some(node) = taken {
                        return Err(self.failed(node, why.code(), &format!("a node behind it fails: {why}")));
                    }
                    if !why.is_limit() && lock_of(&executable.given).is_some() {
                        let why = format!(
                            "the schedule of nodes {}..{} fails: {why}",
                            plan.nodes.start, plan.nodes.end
                        );
                        let first = executable.body().graphs[graph].nodes[plan.nodes.start];
                        return Err(executable.failed(first, &code::SCHEDULE_ILLEGAL, &why));
                    }
                    self.plain(graph, plan.nodes.clone())?;
                    debug_assert!(why.is_limit(), "a plan has failed, its nodes have not: {why}");
                }
            }
            at = plan.nodes.end;
        }
        Ok(())
    }

    /// The plan for the nodes of a graph from `at` on, for the current values; `None` if too many different plans were made for
    /// these nodes.
    pub(crate) fn plan(&mut self, graph: GraphId, at: usize) -> Result<Option<Arc<Plan>>, Box<Diagnostic>> {
        self.plan_for(graph, at, true)
    }

    /// The same; without `are_elements_known`, the plan must not depend on the elements of current values.
    pub(crate) fn plan_for(
        &mut self,
        graph: GraphId,
        at: usize,
        are_elements_known: bool,
    ) -> Result<Option<Arc<Plan>>, Box<Diagnostic>> {
        let executable = self.executable;
        let lock = || lock_of(&executable.plans);
        let may_assume = {
            let kept = lock();
            let known = kept.get(&(graph, at)).map_or(&[][..], |plans| plans);
            if let Some(plan) = known.iter().find(|plan| plan.fits(|value| self.get(value))) {
                return Ok(Some(Arc::clone(plan)));
            }
            if known.len() >= MOST_PLANS {
                return Ok(None);
            }
            are_elements_known && known.iter().filter(|plan| plan.is_special()).count() < MOST_SPECIAL
        };
        let given = lock_of(&executable.given).clone();
        let given = match &given {
            Some(given) => given.plan(self, graph, at)?,
            None => None,
        };
        if let Some(plan) = given.map(Arc::new) {
            lock().entry((graph, at)).or_default().push(Arc::clone(&plan));
            return Ok(Some(plan));
        }
        let partition = Partition::of(self, graph, at, may_assume)?;
        let Some(&last) = executable.body().graphs[graph].nodes.get(partition.last()) else {
            return Ok(None);
        };
        let plan = Plan::of(partition, executable, graph, at, &executable.recorder).map_err(|why| {
            self.failed(last, why.code(), &format!("planning up to this node was stopped: {why}"))
        })?;
        let Some(plan) = plan.map(Arc::new) else { return Ok(None) };
        lock().entry((graph, at)).or_default().push(Arc::clone(&plan));
        Ok(Some(plan))
    }

    /// Runs nodes of a graph one by one.
    fn plain(&mut self, graph: GraphId, nodes: Range<usize>) -> Result<(), Box<Diagnostic>> {
        let executable = self.executable;
        for &node in &executable.body().graphs[graph].nodes[nodes] {
            self.limits(node)?;
            self.single(node)?;
            for &value in &executable.liveness.dead_after[node] {
                self.values[value] = None;
            }
        }
        Ok(())
    }

    /// Runs a node.
    pub(crate) fn single(&mut self, node: NodeId) -> Result<(), Box<Diagnostic>> {
        let executable = self.executable;
        let start = self.is_timed().then(Instant::now);
        let outputs = self.node(node)?;
        let n = &executable.body().nodes[node];
        if let Some(start) = start {
            let took = start.elapsed();
            let tensors = || outputs.iter().filter_map(|value| value.tensor().ok());
            let results: Vec<_> = tensors().map(|t| (t.elem(), t.dims().to_vec())).collect();
            let written = tensors().map(|t| t.bytes().len() as u64).sum();
            let work = Work { written, ..self.reads(node) };
            let name = executable.model.text(n.name);
            let step = TimedStep {
                op: executable.op(node),
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
                observe(executable.value_name(value), &result);
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
        for &value in self.executable.body().nodes[node].inputs.iter().flatten() {
            let Some(tensor) = self.get(value).and_then(|value| value.tensor().ok()) else { continue };
            let bytes = tensor.bytes().len() as u64;
            if self.executable.is_constant(value) { work.constants += bytes } else { work.read += bytes }
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
            "{count} iterations are needed, each of which counts as {ITERATION} nodes, but {left} of {} nodes are left",
            self.options.fuel
        );
        Err(self.failed(node, &code::RUN_LIMIT, &why))
    }

    /// Charges the fuel of these nodes.
    pub(crate) fn limits_of(&mut self, nodes: &[NodeId]) -> Result<(), Box<Diagnostic>> {
        nodes.iter().try_for_each(|node| self.burn(*node, 1))
    }

    fn burn(&mut self, node: NodeId, fuel: u64) -> Result<(), Box<Diagnostic>> {
        let Some(left) = self.fuel.get().checked_sub(fuel) else {
            let why = format!("the run ends here: it has run {} nodes", self.options.fuel);
            return Err(self.failed(node, &code::RUN_LIMIT, &why));
        };
        self.fuel.set(left);
        if self.options.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Err(self.failed(node, &code::RUN_LIMIT, "the run was cancelled"));
        }
        if self.depth > MAX_DEPTH {
            let why = format!("graphs and functions lie more than {MAX_DEPTH} deep in one another");
            return Err(self.failed(node, &code::RUN_LIMIT, &why));
        }
        Ok(())
    }

    pub(crate) fn failed(&self, node: NodeId, code: &'static Code, why: &str) -> Box<Diagnostic> {
        self.executable.failed(node, code, why)
    }

    /// The inputs of a node.
    pub(crate) fn inputs(&self, node: NodeId) -> Result<Vec<Option<Value>>, Box<Diagnostic>> {
        let inputs = &self.executable.body().nodes[node].inputs;
        inputs.iter().map(|value| value.map(|value| self.needed(node, value).cloned()).transpose()).collect()
    }

    /// The value of a name that a node reads.
    pub(crate) fn needed(&self, node: NodeId, value: ValueId) -> Result<&Value, Box<Diagnostic>> {
        self.get(value).ok_or_else(|| {
            let name = self.executable.value_name(value);
            self.failed(node, &code::RUN_FAILED, &format!("nothing computes `{name}`"))
        })
    }

    /// Infers a node for inputs with these facts.
    pub(crate) fn infer(&self, node: NodeId, inputs: &[Option<Fact>]) -> Result<Vec<Fact>, Vec<Diagnostic>> {
        let x = self.executable;
        let mut stepwise = self.stepwise.borrow_mut();
        stepwise.get_or_insert_with(|| Stepwise::new(&x.model, x.registry, x.body)).outputs(node, inputs)
    }

    /// Infers the outputs of a node from its input values.
    pub(crate) fn facts(&self, node: NodeId, inputs: &[Option<Value>]) -> Result<Vec<Fact>, Box<Diagnostic>> {
        let facts: Vec<Option<Fact>> = inputs.iter().map(|v| v.as_ref().map(fact)).collect();
        self.infer(node, &facts).map_err(|found| {
            let error = found.iter().find(|d| d.severity == Severity::Error);
            self.failed(node, &code::RUN_FAILED, error.map_or("its inputs do not fit", |d| &d.message))
        })
    }
}

/// The most emptied value tables that are kept.
const MOST_ROOMS: usize = 4;
/// The most plans for one subgraph; with more different types it is run node by node.
const MOST_PLANS: usize = 64;
/// The most of them that depend on elements.
const MOST_SPECIAL: usize = 8;
