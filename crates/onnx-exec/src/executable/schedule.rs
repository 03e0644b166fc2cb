//! Schedules of a whole model, printed, parsed and followed; and its formulas between the stages of planning.

use super::Executable;
use crate::options::RunOptions;
use crate::plan::{Counts, ScheduleFile, Stage};
use crate::program::Action;
use crate::run::{PlanRunner, Run};
use crate::sync::lock;
use onnx_ir::diag::Diagnostic;
use onnx_ir::{EntityId as _, GraphId, NodeId, SecondaryMap};
use onnx_kernels::Value;
use std::fmt::{self, Display, Formatter, Write as _};
use std::sync::Arc;

/// The kernels of a model for certain input types. It displays as text.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The kernels, the nodes that run outside kernels, and the reasons for refused fusions.
    pub text: String,
    /// Its statistics.
    pub stats: Stats,
}

/// Statistics of a schedule. The body of a loop counts once.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Stats {
    /// The number of kernels.
    pub kernels: usize,
    /// The number of nodes that run outside kernels: control flow, kernels of operators, function bodies.
    pub nodes: usize,
    /// Arithmetic operations.
    pub flops: u128,
    /// Bytes that kernels read and write.
    pub bytes: u128,
    /// The most bytes of intermediate results between kernels.
    pub arena: usize,
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Executable<'_> {
    /// The schedule for such inputs. The model is run only if types depend on computed values.
    pub fn schedule(
        &self,
        inputs: Vec<Option<Value>>,
        options: &RunOptions<'_>,
    ) -> Result<Schedule, Box<Diagnostic>> {
        self.plan_whole(inputs, options)?;
        let kept = lock(&self.caches.plans);
        let mut plans: Vec<(GraphId, usize, Arc<PlanRunner>)> = kept
            .iter()
            .flat_map(|((graph, at), plans)| plans.iter().map(|plan| (*graph, *at, Arc::clone(plan))))
            .collect();
        drop(kept);
        // Nested graphs have higher ids than the graphs that enclose them.
        plans.sort_by_key(|(graph, at, _)| (*graph, *at));
        let (mut text, mut stats) = (String::new(), Stats::default());
        let names = self.graph_names();
        let body = self.program.body();
        let mut last = None;
        for (graph, _, runner) in plans {
            let plan = &runner.plan;
            if graph != self.program.root && last != Some(graph) {
                let _ = writeln!(text, "# graph {}: {}", graph.index(), names[graph]);
            }
            last = Some(graph);
            let _ = plan.write(&self.program, (graph, &body.graphs[graph].nodes), stats.kernels, &mut text);
            let Counts { kernels, nodes, flops, bytes, arena } = plan.counts();
            stats.kernels += kernels;
            stats.nodes += nodes;
            stats.flops += flops;
            stats.bytes += bytes;
            stats.arena = stats.arena.max(arena);
        }
        Ok(Schedule { text, stats })
    }

    /// Parses a schedule in the form that [`schedule`](Self::schedule) prints. Later runs with inputs of these types follow it,
    /// kernel by kernel; runs with other inputs fail.
    ///
    /// First verifies the plans against the definitions of the nodes: operands must exist, tensors that are live at the same time
    /// must not overlap, and samples of all results must equal what the nodes define. The model is run if types depend on
    /// computed values.
    ///
    /// ```
    /// use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
    /// use onnx_ops::schema::Registry;
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 21]>
    ///     soft (float[2,3] x) => (float[2,3] y) { y = Softmax(x) }"#;
    /// let model = onnx_text::read_model(text).value;
    /// let options = CompileOptions::default();
    /// let executable = compile(&model, Registry::builtin(), &options).expect("the model can be run");
    ///
    /// let x = Value::Tensor(Tensor::of(&[2, 3], &[1.0f32; 6]).expect("six elements"));
    /// let options = RunOptions::default();
    /// let schedule = executable.schedule(vec![Some(x.clone())], &options)?;
    /// // One row at a time instead of two.
    /// let edited = schedule.text.replace("of 2 rows, 2 at a time", "of 2 rows, 1 at a time");
    /// executable.read_schedule(&edited, vec![Some(x)], &options)?;
    /// # Ok::<(), Box<onnx_ir::diag::Diagnostic>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text breaks the grammar (`E1611`), is not a legal plan (`E1612`), belongs to another model or other input types
    /// (`E1613`), or computes other results than the nodes (`E1614`). Their places are bytes of the text. Or the run fails.
    pub fn read_schedule(
        &self,
        text: &str,
        inputs: Vec<Option<Value>>,
        options: &RunOptions<'_>,
    ) -> Result<(), Box<Diagnostic>> {
        let given = ScheduleFile::parse(text)?;
        lock(&self.caches.plans).clear();
        *lock(&self.caches.given) = Some(Arc::new(given));
        let done = self.plan_whole(inputs, options);
        if done.is_err() {
            lock(&self.caches.plans).clear();
            *lock(&self.caches.given) = None;
        }
        done
    }

    /// The formulas after a planning stage for such inputs, as text. The model is run for nested graphs, and if types depend on
    /// computed values.
    ///
    /// # Errors
    ///
    /// Planning or running fails.
    pub fn formulas(
        &self,
        stage: Stage,
        inputs: Vec<Option<Value>>,
        options: &RunOptions<'_>,
    ) -> Result<String, Box<Diagnostic>> {
        lock(&self.caches.plans).clear();
        self.caches.recorder.start(stage);
        let done = self.plan_whole(inputs, options);
        let texts = self.caches.recorder.take();
        done.map(|()| texts)
    }

    /// Plans for such inputs. The model is run for nested graphs, and if types depend on computed values.
    fn plan_whole(
        &self,
        inputs: Vec<Option<Value>>,
        options: &RunOptions<'_>,
    ) -> Result<(), Box<Diagnostic>> {
        self.program.ensure_inputs(&inputs)?;
        let is_whole = Run::with(&self.program, &self.caches, options, |run| {
            run.take(inputs.clone());
            let plan = run.plan(self.program.root, 0)?;
            // Nested graphs are planned when they run.
            let is_control = |node: &NodeId| matches!(self.program.actions[*node], Some(Action::Control(_)));
            let nodes = &self.program.body().graphs[self.program.root].nodes;
            let is_planned = plan.is_some_and(|runner| runner.plan.nodes.end == nodes.len());
            Ok::<_, Box<Diagnostic>>(is_planned && !nodes.iter().any(is_control))
        })?;
        if is_whole { Ok(()) } else { self.run(inputs, options).map(|_| ()) }
    }

    /// The node and attribute of each nested graph.
    fn graph_names(&self) -> SecondaryMap<GraphId, String> {
        let mut names = SecondaryMap::default();
        let body = self.program.body();
        for node in body.nodes.ids() {
            for attr in &body.nodes[node].attrs {
                for graph in attr.values.iter().flat_map(onnx_ir::AttrValue::graphs) {
                    names[*graph] = format!("{} of {}", self.model().text(attr.name), self.program.op(node));
                }
            }
        }
        names
    }
}
