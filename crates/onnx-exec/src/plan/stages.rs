//! The formulas of a plan between its stages, as text.
//!
//! ```text
//! formulas of nodes 0..2 in graph 0
//!   float[2,3] a[i0, i1] = x[i0, i1] + 1.0
//!   float[2,3] y[i0, i1] = max(a[i0, i1], 0.0)
//! ```

use super::text::names;
use super::{Names, Partition, PartitionItem};
use crate::sync::lock;
use onnx_formula::line;
use onnx_ir::{EntityId as _, GraphId};
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
    pub(super) fn record(&self, stage: Stage, graph: GraphId, partition: &Partition, names: &dyn Names) {
        if let Some((wanted, texts)) = &mut *lock(&self.0)
            && *wanted == stage
        {
            texts.insert((graph, partition.start), partition.text(graph, names));
        }
    }

    /// Begins recording a stage.
    pub(crate) fn start(&self, stage: Stage) {
        *lock(&self.0) = Some((stage, Texts::new()));
    }

    /// Ends recording; returns the texts of all plans, in order.
    pub(crate) fn take(&self) -> String {
        lock(&self.0).take().map(|(_, texts)| texts.into_values().collect()).unwrap_or_default()
    }
}

impl Partition {
    /// Its formulas and nodes, one per line.
    pub(crate) fn text(&self, graph: GraphId, of: &dyn Names) -> String {
        let names = names(&self.slots, &self.named, of);
        let mut text = String::new();
        let _ = writeln!(text, "formulas of nodes {}..{} in graph {}", self.start, self.end, graph.index());
        for item in &self.items {
            let _ = match item {
                PartitionItem::Node(step) => writeln!(text, "  node {}", of.op(step.node)),
                PartitionItem::Formula(assignment) => {
                    let name = |slot: usize| names[slot].clone();
                    let line = line(&assignment.formula, &names[assignment.slot], &name);
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
