//! Plans: the nodes of a subgraph compiled for certain input types, with as few passes over memory as possible.
//!
//! A body is run plan by plan. A plan extends as far as types are known: after a node whose output shape depends on data, the
//! next plan starts once the data exist. A plan is made once for each signature of its inputs, in stages:
//!
//! ```text
//! nodes ──define──▶ formulas ──fuse──▶ fewer formulas ──group──▶ kernels ──order, place──▶ Plan ──run──▶ results
//! ```
//! - `define` infers types node by node, folds constants and converts each node with a formula. Control flow, kernels and some
//!   function bodies stay nodes.
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
mod define;
mod dequantized;
mod expand;
mod fuse;
mod group;
mod index;
mod layout;
mod order;
mod place;
mod precision;
mod rewrite;
mod room;
mod run;
mod schedule;
mod split;
mod stages;
mod text;
mod views;
mod weigh;
mod work;

use constants::Which;
pub(crate) use define::Partition;
use index::Position;
use room::Rooms;
pub use schedule::{Schedule, Stats};
pub(crate) use stages::Recorder;
pub use stages::Stage;

pub(crate) use run::Stopped;
pub(crate) use text::ScheduleFile;

use crate::budget::Charge;
use crate::compile::Executable;
use crate::facts::type_of;
use crate::failure::Failure;
use crate::loops::{self, Nest, Softmax, Workers};
use crate::tensor::{Tensor, width};
use crate::value::Value;
use foldhash::HashMap;
use onnx_ir::{ElemType, GraphId, NodeId, ValueId};
use onnx_ops::infer::Ty;
use onnx_ops::meaning::{Elements, Formula, Number};
use smallvec::SmallVec;

/// The compiled form of some consecutive nodes of a graph.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The indices of the nodes in their graph.
    pub(crate) nodes: std::ops::Range<usize>,
    /// The conditions under which the plan is valid.
    needs: Vec<(ValueId, Need)>,
    /// The tensors that kernels load and compute, by number.
    slots: Vec<Slot>,
    /// The formulas of constants that were computed when it was made, in order.
    folded: Vec<(usize, Formula)>,
    /// The storage of each slot.
    places: Vec<SlotStorage>,
    steps: Vec<PlanStep>,
    /// The size of the arena in bytes.
    arena: usize,
    /// The reasons for refused fusions.
    refused: Refusals,
    /// The inferred results of nodes that run outside kernels.
    expected: HashMap<ValueId, usize>,
    /// The slots of values.
    named: Vec<(ValueId, usize)>,
    /// The reusable memory of runs.
    rooms: Rooms,
}

/// A condition on a value.
#[derive(Debug)]
enum Need {
    Tensor(ElemType, SmallVec<[usize; 4]>),
    /// It has exactly these elements.
    Elements(Tensor),
    Other(Ty),
}

/// A tensor in formulas.
#[derive(Clone, Debug)]
struct Slot {
    elem: ElemType,
    dims: Vec<usize>,
    source: SlotSource,
    /// The order of its axes in memory, if it is not the logical order: memory axis `n` is axis `axes[n]` of the tensor.
    axes: SmallVec<[u8; 8]>,
}

impl Slot {
    fn new(elem: ElemType, dims: Vec<usize>, source: SlotSource) -> Slot {
        Slot { elem, dims, source, axes: SmallVec::new() }
    }

    fn count(&self) -> usize {
        self.dims.iter().product()
    }

    fn bytes(&self) -> usize {
        self.count() * width(self.elem).unwrap_or(1)
    }

    /// The only element of a constant.
    fn number(&self) -> Option<Number> {
        match &self.source {
            SlotSource::Constant(tensor) if tensor.len() == 1 => tensor.number(0),
            SlotSource::Constant(_) | SlotSource::Value(_) | SlotSource::Formula | SlotSource::Alias(_) => {
                None
            }
        }
    }
}

/// The origin of a slot.
#[derive(Clone, Debug)]
enum SlotSource {
    /// A value of the body, read when the kernel runs.
    Value(ValueId),
    Constant(Tensor),
    /// A formula computes it.
    Formula,
    /// The elements of another slot in the same order.
    Alias(usize),
}

/// A formula and the slot that it computes.
#[derive(Clone, Debug)]
struct Assignment {
    slot: usize,
    formula: Formula,
    /// The nodes that are fused into it.
    nodes: SmallVec<[NodeId; 4]>,
}

/// A step of a plan.
#[derive(Debug)]
enum PlanStep {
    Kernel(Box<Kernel>),
    /// Runs a node outside kernels.
    Node(NodeId),
    /// Stores a tensor as a value of the body.
    Publish(ValueId, usize),
    /// Drops values, and slots that became values, after their last reader.
    Release(Vec<ValueId>, Vec<usize>),
}

/// Formulas over the same rows, computed block by block.
#[derive(Debug)]
struct Kernel {
    /// The number of rows, and of rows per block.
    rows: usize,
    block: usize,
    members: Vec<Member>,
    /// The nodes that are fused into it, in order.
    nodes: Vec<NodeId>,
    /// The slots that its formulas load, by the operand numbers of their loops.
    loads: Vec<usize>,
    /// Consecutive members that are computed row by row, by the first.
    softmaxes: Vec<(usize, Softmax)>,
}

/// A formula of a kernel.
#[derive(Debug)]
struct Member {
    assignment: Assignment,
    nest: Nest,
    workers: Workers,
    /// Elements of the result per row.
    each: usize,
    /// Whether only this kernel reads it, so that only a block of it is stored.
    is_local: bool,
    /// The operands that other members compute: operand number and member.
    inner: Vec<(usize, usize)>,
}

/// The storage of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SlotStorage {
    /// In a value, a constant, or the storage of the aliased slot.
    Elsewhere,
    /// At this byte offset of the arena.
    Arena(usize),
    /// A tensor of its own, which becomes a value.
    Own,
    /// In the block of a kernel.
    Local,
}

/// A fusion that data dependences would allow, with the reason for its refusal.
#[derive(Clone, Debug)]
struct Refused {
    producer: usize,
    why: &'static str,
}

/// Refused fusions by the slot of the consumer.
type Refusals = HashMap<usize, Vec<Refused>>;

impl Plan {
    /// Plans consecutive nodes of a graph; `None` if a formula has no loops. Planning charges steps of the run and fails when
    /// they run out.
    pub(crate) fn of(
        mut partition: Partition,
        executable: &Executable<'_>,
        graph: GraphId,
        start: usize,
        recorder: &Recorder,
    ) -> Result<Option<Plan>, Failure> {
        recorder.record(Stage::Formulas, graph, start, &partition, executable);
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
        recorder.record(Stage::Fused, graph, start, &partition, executable);
        layout::layout(&mut partition)?;
        recorder.record(Stage::Layout, graph, start, &partition, executable);
        debug_assert_eq!(partition.mistake(), None, "when layouts are chosen");
        let Some(kernels) = group::group(&mut partition, &mut refused) else { return Ok(None) };
        let mut kernels = order::order(kernels, &partition.slots, &partition.published, executable.body());
        constants::pack(&mut kernels, &partition.slots, executable);
        let Partition { end, needs, slots, published, named, expected, folded, .. } = partition;
        let (places, arena) = place::place(&kernels, &slots, &published);
        let nodes = &executable.body().graphs[graph].nodes[start..end];
        let steps = place::steps(kernels, &slots, &places, &published, executable, nodes);
        let nodes = start..end;
        let rooms = Rooms::default();
        let plan =
            Plan { nodes, needs, slots, folded, places, steps, arena, refused, expected, named, rooms };
        debug_assert_eq!(plan.mistake(&|slot| format!("slot {slot}")), None);
        Ok(Some(plan))
    }

    /// Whether the current values satisfy the conditions of the plan.
    pub(crate) fn fits<'v>(&self, value: impl Fn(ValueId) -> Option<&'v Value>) -> bool {
        self.needs.iter().all(|(id, need)| match (need, value(*id)) {
            (Need::Tensor(elem, dims), Some(Value::Tensor(tensor))) => {
                tensor.elem() == *elem && tensor.dims() == &dims[..]
            }
            (Need::Elements(same), Some(Value::Tensor(tensor))) => {
                tensor.elem() == same.elem() && tensor.dims() == same.dims() && tensor.bytes() == same.bytes()
            }
            (Need::Other(ty), Some(value)) => type_of(value) == *ty,
            (Need::Tensor(..) | Need::Elements(_), Some(_)) | (_, None) => false,
        })
    }

    /// Whether it depends on elements of its inputs, not only on types.
    pub(crate) fn is_special(&self) -> bool {
        self.needs.iter().any(|(_, need)| matches!(need, Need::Elements(_)))
    }
}

/// The types of slots, for lowering to loops.
fn types<'s>(slots: &'s [Slot]) -> impl Fn(usize) -> Option<loops::Operand<'s>> + 's {
    move |slot| {
        let is_constant = matches!(slots.get(root(slots, slot))?.source, SlotSource::Constant(_));
        let slot = &slots[slot];
        Some(loops::Operand { elem: slot.elem, dims: &slot.dims, is_constant })
    }
}

/// Resolves aliases.
fn root(slots: &[Slot], mut slot: usize) -> usize {
    while let SlotSource::Alias(of) = slots[slot].source {
        slot = of;
    }
    slot
}
