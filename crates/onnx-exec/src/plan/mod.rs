//! Plans: the nodes of a subgraph compiled for certain input types, with as few passes over memory as possible.
//!
//! A body is run plan by plan. A plan extends as far as types are known: after a node whose output shape depends on data, the
//! next plan starts once the data exist. A plan is made once for each signature of its inputs, in stages:
//!
//! ```text
//! nodes ──define──▶ formulas ──fuse──▶ fewer formulas ──group──▶ kernels ──order, place──▶ Plan ──run──▶ results
//! ```
//! - [`define`](crate::define) infers types node by node, folds constants and converts each node with a formula. Control flow,
//!   kernels and some function bodies stay nodes. The result is a [`Partition`]; the stages here know neither the model nor a run.
//! - `fuse` inlines formulas into those that load them: views and elementwise operations into their consumers, elementwise
//!   operations after a reduction into its epilogue. A fusion that would lower to worse loops is refused. (`views` finds formulas
//!   that need no loops, `weigh` estimates the cost of expressions.)
//! - `group` merges formulas that process the same rows into one kernel, whose intermediate results never need more memory than a
//!   block of rows. Softmax, normalizations and attention are examples.
//! - `order` runs kernels early that leave less memory in use.
//! - `place` assigns intermediate results between kernels to an arena, in which tensors that are not live at the same time share
//!   memory.
//!
//! `text` prints and parses plans, and `check` verifies them. Nodes can still be run one by one, to observe every value, and to
//! find the node that fails.

mod check;
mod constants;
mod data;
mod dequantized;
mod fuse;
mod group;
mod layout;
mod order;
mod pack;
mod partition;
mod place;
mod precision;
mod split;
mod stages;
#[cfg(test)]
mod tests;
mod text;
mod views;
mod weigh;
mod work;

use constants::Which;
pub(crate) use data::{
    Assignment, Kernel, Member, Need, NodeStep, Plan, PlanStep, Slot, SlotSource, SlotStorage, root,
};
use data::{Refusals, Refused, types};
pub(crate) use pack::{PackedConstants, Packing};
pub(crate) use partition::{Partition, PartitionItem};
pub(crate) use precision::widen;
pub(crate) use stages::Recorder;
pub use stages::Stage;
pub(crate) use text::{Counts, Names, ScheduleFile};

use crate::budget::Charge;
use crate::failure::Failure;
use onnx_ir::{GraphId, NodeId};

/// The surroundings of a partition: names, nodes and caches.
pub(crate) struct PlanContext<'c> {
    /// The names of values and operators, for texts.
    pub(crate) names: &'c dyn Names,
    /// The graph, and all its nodes.
    pub(crate) graph: GraphId,
    pub(crate) nodes: &'c [NodeId],
    pub(crate) recorder: &'c Recorder,
    pub(crate) packing: Packing<'c>,
}

impl Plan {
    /// Plans consecutive nodes of a graph; `None` if a formula has no loops. Planning charges steps of the run and fails when
    /// they run out.
    pub(crate) fn new(mut partition: Partition, context: &PlanContext<'_>) -> Result<Option<Plan>, Failure> {
        let record = |stage, partition: &Partition| {
            context.recorder.record(stage, context.graph, partition, context.names);
        };
        record(Stage::Formulas, &partition);
        debug_assert_eq!(partition.mistake(), None, "when nodes are formulas");
        let _charge = Charge::of(partition.bytes())?;
        constants::zeros(&mut partition);
        constants::compute(&mut partition, Which::ButBytes)?;
        debug_assert_eq!(partition.mistake(), None, "when constants are computed");
        let mut refused = fuse::fuse(&mut partition)?;
        debug_assert_eq!(partition.mistake(), None, "when formulas are fused");
        constants::parts(&mut partition)?;
        constants::compute(&mut partition, Which::All)?;
        debug_assert_eq!(partition.mistake(), None, "when parts are computed");
        record(Stage::Fused, &partition);
        layout::layout(&mut partition)?;
        record(Stage::Layout, &partition);
        debug_assert_eq!(partition.mistake(), None, "when layouts are chosen");
        let Some(steps) = group::group(&mut partition, &mut refused) else { return Ok(None) };
        let mut steps = order::order(steps, &partition.slots, &partition.published);
        context.packing.pack(&mut steps, &partition.slots);
        let (places, arena) = place::place(&steps, &partition.slots, &partition.published);
        let steps = place::steps(steps, &partition, &places);
        let Partition { start, end, needs, slots, named, expected, folded, .. } = partition;
        let nodes = start..end;
        let plan = Plan { nodes, needs, slots, folded, places, steps, arena, refused, expected, named };
        debug_assert_eq!(plan.mistake(&|slot| format!("slot {slot}")), None);
        Ok(Some(plan))
    }
}
