//! The formulas of a plan between its stages, as text.
//!
//! ```text
//! formulas of nodes 0..2 in graph 0
//!   float[2,3] a[i0, i1] = x[i0, i1] + 1.0
//!   float[2,3] y[i0, i1] = max(a[i0, i1], 0.0)
//! ```

use super::Partition;
use super::define::PartitionItem;
use super::text::names;
use crate::compile::{Executable, lock_of};
use crate::run::RunOptions;
use crate::value::Value;
use onnx_ir::diag::Diagnostic;
use onnx_ir::{EntityId as _, GraphId};
use onnx_ops::meaning;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;

/// A planning stage whose formulas can be inspected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Stage {
    /// The definitions of the nodes, before fusion.
    Formulas,
    /// After fusion and constant folding.
    Fused,
    /// After layout selection.
    Layout,
}

/// The text of each plan, by its graph and its first node.
type Texts = BTreeMap<(GraphId, usize), String>;

/// Records the formulas of one stage of all plans.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Option<(Stage, Texts)>>);

impl Recorder {
    /// Records the formulas of a plan, if this is the recorded stage.
    pub(super) fn record(
        &self,
        stage: Stage,
        graph: GraphId,
        start: usize,
        partition: &Partition,
        executable: &Executable<'_>,
    ) {
        if let Some((wanted, texts)) = &mut *lock_of(&self.0)
            && *wanted == stage
        {
            texts.insert((graph, start), partition.text(graph, start, executable));
        }
    }

    fn start(&self, stage: Stage) {
        *lock_of(&self.0) = Some((stage, Texts::new()));
    }

    /// Ends recording.
    fn take(&self) -> Texts {
        lock_of(&self.0).take().map(|(_, texts)| texts).unwrap_or_default()
    }
}

impl Executable<'_> {
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
        lock_of(&self.plans).clear();
        self.recorder.start(stage);
        let done = self.plan_whole(inputs, options);
        let texts = self.recorder.take();
        done.map(|()| texts.into_values().collect())
    }
}

impl Partition {
    /// Its formulas and nodes, one per line.
    fn text(&self, graph: GraphId, start: usize, executable: &Executable<'_>) -> String {
        let names = names(&self.slots, &self.named, executable);
        let mut text = String::new();
        let _ = writeln!(text, "formulas of nodes {start}..{} in graph {}", self.end, graph.index());
        for item in &self.items {
            let _ = match item {
                PartitionItem::Node(node) => writeln!(text, "  node {}", executable.op(*node)),
                PartitionItem::Formula(assignment) => {
                    let name = |slot: usize| names[slot].clone();
                    let line = meaning::line(&assignment.formula, &names[assignment.slot], &name);
                    let axes = &self.slots[assignment.slot].axes;
                    let order: Vec<String> = axes.iter().map(u8::to_string).collect();
                    let order =
                        if order.is_empty() { String::new() } else { format!(" axes [{}]", order.join(",")) };
                    writeln!(text, "  {line}{order}")
                }
            };
        }
        text
    }
}
