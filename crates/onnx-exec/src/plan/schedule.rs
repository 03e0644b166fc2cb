//! The schedules of a model as a whole: written, read and followed.

use super::text::Counts;
use super::{Plan, ScheduleFile};
use crate::compile::{Action, Executable, lock_of};
use crate::run::{Run, RunOptions};
use crate::value::Value;
use onnx_ir::diag::Diagnostic;
use onnx_ir::{EntityId as _, GraphId, NodeId, SecondaryMap};
use std::fmt::{self, Display, Formatter, Write as _};
use std::sync::Arc;

/// The kernels that a model is run by, for inputs of certain types. It displays as text.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The kernels, the nodes that are run as they are, why formulas are apart.
    pub text: String,
    /// Counts of it.
    pub stats: Stats,
}

/// Counts of a schedule. What a loop repeats is counted once.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Stats {
    /// Passes over memory.
    pub kernels: usize,
    /// Nodes that are run as they are: control flow, kernels of their own, function bodies.
    pub nodes: usize,
    /// Operations on elements.
    pub flops: u128,
    /// Bytes that kernels read and write.
    pub bytes: u128,
    /// The most bytes that results for later kernels take at a time.
    pub arena: usize,
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Executable<'_> {
    /// How the model is run for such inputs. Only where types depend on what is computed, the model is run for it.
    pub fn schedule(
        &self,
        inputs: Vec<Option<Value>>,
        options: &RunOptions<'_>,
    ) -> Result<Schedule, Box<Diagnostic>> {
        self.plan_whole(inputs, options)?;
        let kept = lock_of(&self.plans);
        let mut plans: Vec<(GraphId, usize, Arc<Plan>)> = kept
            .iter()
            .flat_map(|((graph, at), plans)| plans.iter().map(|plan| (*graph, *at, Arc::clone(plan))))
            .collect();
        drop(kept);
        // Nested graphs come behind those around them.
        plans.sort_by_key(|(graph, at, _)| (*graph, *at));
        let (mut text, mut stats) = (String::new(), Stats::default());
        let names = self.graph_names();
        let mut last = None;
        for (graph, _, plan) in plans {
            if graph != self.root && last != Some(graph) {
                let _ = writeln!(text, "# graph {}: {}", graph.index(), names[graph]);
            }
            last = Some(graph);
            let _ = plan.write(self, graph, stats.kernels, &mut text);
            let Counts { kernels, nodes, flops, bytes, arena } = plan.counts();
            stats.kernels += kernels;
            stats.nodes += nodes;
            stats.flops += flops;
            stats.bytes += bytes;
            stats.arena = stats.arena.max(arena);
        }
        Ok(Schedule { text, stats })
    }

    /// Takes a schedule in the form that [`schedule`](Self::schedule) writes: runs with inputs of these types follow it from here
    /// on, kernel by kernel, and those with other inputs are refused.
    ///
    /// The plans of the schedule are held against the definitions of the nodes first: what is read has to be there, memory that is
    /// needed at the same time may not overlap, and samples of all results have to be what the nodes define. Where types depend on
    /// what is computed, the model is run for it.
    ///
    /// ```
    /// use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
    /// use onnx_ops::schema::Registry;
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 21]>
    ///     soft (float[2,3] x) => (float[2,3] y) { y = Softmax(x) }"#;
    /// let model = onnx_text::read_model(text).model;
    /// let options = CompileOptions::default();
    /// let executable = compile(&model, Registry::builtin(), &options).expect("the model can be run");
    ///
    /// let x = Value::Tensor(Tensor::of(&[2, 3], &[1.0f32; 6]).expect("six elements"));
    /// let options = RunOptions::default();
    /// let schedule = executable.schedule(vec![Some(x.clone())], &options)?;
    /// // One row at a time instead of two.
    /// let edited = schedule.text.replace("of 2 rows, 2 at a time", "of 2 rows, 1 at a time");
    /// executable.read_schedule(&edited, vec![Some(x)], &options)?;
    /// # Ok::<(), Box<onnx_ir::Diagnostic>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text breaks the grammar (`E1611`), cannot be carried out (`E1612`), belongs to something else (`E1613`) or gives other
    /// results than the nodes (`E1614`). Places of these are bytes of the text. Or the run fails.
    pub fn read_schedule(
        &self,
        text: &str,
        inputs: Vec<Option<Value>>,
        options: &RunOptions<'_>,
    ) -> Result<(), Box<Diagnostic>> {
        let given = ScheduleFile::of(text)?;
        lock_of(&self.plans).clear();
        *lock_of(&self.given) = Some(Arc::new(given));
        let done = self.plan_whole(inputs, options);
        if done.is_err() {
            lock_of(&self.plans).clear();
            *lock_of(&self.given) = None;
        }
        done
    }

    /// Plans for such inputs. Where types depend on what is computed, and for nested graphs, the model is run.
    pub(super) fn plan_whole(
        &self,
        inputs: Vec<Option<Value>>,
        options: &RunOptions<'_>,
    ) -> Result<(), Box<Diagnostic>> {
        let is_whole = Run::with(self, options, |run| {
            run.take(inputs.clone())?;
            let plan = run.plan(self.root, 0)?;
            // Nested graphs are planned when they run.
            let is_control = |node: &NodeId| matches!(self.actions[*node], Some(Action::Control(_)));
            let nodes = &self.body().graphs[self.root].nodes;
            let is_planned = plan.is_some_and(|plan| plan.nodes.end == nodes.len());
            Ok::<_, Box<Diagnostic>>(is_planned && !nodes.iter().any(is_control))
        })?;
        if is_whole { Ok(()) } else { self.run(inputs, options).map(|_| ()) }
    }

    /// Which graph of which node each nested graph is.
    fn graph_names(&self) -> SecondaryMap<GraphId, String> {
        let mut names = SecondaryMap::default();
        let body = self.body();
        for node in body.nodes.ids() {
            for attr in &body.nodes[node].attrs {
                for graph in attr.values.iter().flat_map(onnx_ir::AttrValue::graphs) {
                    names[*graph] = format!("{} of {}", self.model().text(attr.name), self.op(node));
                }
            }
        }
        names
    }
}
