//! Plans: what a stretch of nodes computes for inputs of certain types, as few passes over memory.
//!
//! A body is run stretch by stretch. A stretch goes as far as types are known: behind a node whose results have a shape that
//! depends on data, the next one begins, when there are data. Its plan is made once for each signature of what it reads, from
//! stage to stage:
//!
//! ```text
//! nodes ──define──▶ formulas ──fuse──▶ fewer formulas ──group──▶ kernels ──place──▶ Plan ──run──▶ results
//! ```
//! - `define`: types are inferred node by node, what depends on constants alone is computed, every node that is a formula
//!   becomes one. Control flow, kernels and function bodies stay nodes.
//! - `fuse`: formulas go into those that load them: views and elementwise work into what reads it, elementwise work behind a
//!   reduction into what is computed of its total. Whatever does not lower to loops as good as before is not fused.
//!   (`views` are what needs no loops at all, `weigh` says what expressions cost.)
//! - `group`: formulas that go row by row over the same rows become one kernel, whose intermediate results never leave a block
//!   of rows. Softmax, normalizations and attention are such.
//! - `place`: what kernels leave for later kernels gets a place in an arena, shared with what lives at other times.
//!
//! A plan is written as text and read back (`text`), and `check` holds it against what every plan has to be. The plain way, node by node, stays:
//! for who wants to see every value, and to say which node it was when something fails.

mod check;
mod constants;
mod define;
mod dequantized;
mod expand;
mod fuse;
mod group;
mod index;
mod layout;
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
pub(crate) use define::Stretch;
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
use crate::loops::{self, Nest, Workers};
use crate::tensor::{Tensor, width};
use crate::value::Value;
use foldhash::HashMap;
use onnx_ir::{ElemType, GraphId, NodeId, ValueId};
use onnx_ops::infer::Ty;
use onnx_ops::meaning::{Elements, Formula, Number};
use smallvec::SmallVec;

/// What a stretch of nodes does.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The positions of the nodes in their graph.
    pub(crate) nodes: std::ops::Range<usize>,
    /// What has to be so for this plan to be the right one.
    needs: Vec<(ValueId, Need)>,
    /// What kernels load and compute, by number.
    slots: Vec<Slot>,
    /// The formulas of constants that were computed when it was made, in order.
    folded: Vec<(usize, Formula)>,
    /// Where the slot of each tensor lies.
    places: Vec<Place>,
    steps: Vec<Step>,
    /// Bytes of the arena.
    arena: usize,
    /// Why formulas are apart.
    refused: Refusals,
    /// What inference says of the results of nodes that are run as they are.
    expected: HashMap<ValueId, usize>,
    /// The slots of values that have one.
    named: Vec<(ValueId, usize)>,
    /// What runs work in.
    rooms: Rooms,
}

/// What a plan takes for granted of a value.
#[derive(Debug)]
enum Need {
    Tensor(ElemType, SmallVec<[usize; 4]>),
    /// The very elements.
    Elements(Tensor),
    Other(Ty),
}

/// A tensor that formulas speak of.
#[derive(Clone, Debug)]
struct Slot {
    elem: ElemType,
    dims: Vec<usize>,
    source: Source,
    /// The order of its axes in memory, if it is another than that of the tensor: axis `n` of these extents is axis `axes[n]` of
    /// the tensor.
    axes: SmallVec<[u8; 8]>,
}

impl Slot {
    fn new(elem: ElemType, dims: Vec<usize>, source: Source) -> Slot {
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
            Source::Constant(tensor) if tensor.len() == 1 => tensor.number(0),
            Source::Constant(_) | Source::Value(_) | Source::Formula | Source::Alias(_) => None,
        }
    }
}

/// Where a tensor comes from.
#[derive(Clone, Debug)]
enum Source {
    /// It is a value of the body when the kernel runs.
    Value(ValueId),
    Constant(Tensor),
    /// A formula says what it is.
    Formula,
    /// The elements of another slot in the same order.
    Alias(usize),
}

/// A formula and the slot that it says.
#[derive(Clone, Debug)]
struct Assignment {
    slot: usize,
    formula: Formula,
    /// The nodes that it stands for.
    nodes: SmallVec<[NodeId; 4]>,
}

/// One thing after the other.
#[derive(Debug)]
enum Step {
    Kernel(Box<Kernel>),
    /// A node that is run as it is.
    Node(NodeId),
    /// A tensor becomes a value of the body.
    Publish(ValueId, usize),
    /// Values, and slots that became values, that nothing reads any more.
    Release(Vec<ValueId>, Vec<usize>),
}

/// Formulas over the same rows, computed block by block.
#[derive(Debug)]
struct Kernel {
    /// How many rows there are, and how many of them are a block.
    rows: usize,
    block: usize,
    members: Vec<Member>,
    /// The nodes that it stands for, in order.
    nodes: Vec<NodeId>,
    /// The slots that its formulas load: the numbers of operands in their loops.
    loads: Vec<usize>,
}

/// A formula of a kernel.
#[derive(Debug)]
struct Member {
    assignment: Assignment,
    nest: Nest,
    workers: Workers,
    /// How many elements of the result a row has.
    each: usize,
    /// Whether only this kernel reads it, so that there is never more than a block of it.
    is_local: bool,
    /// The operands that other members compute: their number, and the member.
    inner: Vec<(usize, usize)>,
}

/// Where the elements of a slot lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// In a value, a constant, or the place of the slot that it is an alias of.
    Elsewhere,
    /// At this byte of the arena.
    Arena(usize),
    /// In a tensor of its own, which becomes a value.
    Own,
    /// In the block of a kernel.
    Local,
}

/// A fusion with a consumer that would have been possible by its data alone.
#[derive(Clone, Debug)]
struct Refused {
    producer: usize,
    why: &'static str,
}

/// For the slot of a consumer, what was not fused with it.
type Refusals = HashMap<usize, Vec<Refused>>;

impl Plan {
    /// Plans what a stretch of a graph does, which begins at a node; `None` if it has formulas without loops. Planning takes
    /// steps of the run, and ends where they do.
    pub(crate) fn of(
        mut stretch: Stretch,
        executable: &Executable<'_>,
        graph: GraphId,
        start: usize,
        recorder: &Recorder,
    ) -> Result<Option<Plan>, Failure> {
        recorder.record(Stage::Formulas, graph, start, &stretch, executable);
        debug_assert_eq!(stretch.mistake(), None, "when nodes are formulas");
        let _charge = Charge::of(stretch.bytes())?;
        constants::zeros(&mut stretch);
        constants::compute(&mut stretch, Which::ButBytes)?;
        debug_assert_eq!(stretch.mistake(), None, "when constants are computed");
        let mut refused = fuse::fuse(&mut stretch)?;
        debug_assert_eq!(stretch.mistake(), None, "when formulas are fused");
        constants::parts(&mut stretch)?;
        constants::compute(&mut stretch, Which::All)?;
        debug_assert_eq!(stretch.mistake(), None, "when parts are computed");
        recorder.record(Stage::Fused, graph, start, &stretch, executable);
        layout::layout(&mut stretch)?;
        recorder.record(Stage::Layout, graph, start, &stretch, executable);
        debug_assert_eq!(stretch.mistake(), None, "when layouts are chosen");
        let Some(mut kernels) = group::group(&mut stretch, &mut refused) else { return Ok(None) };
        constants::pack(&mut kernels, &stretch.slots, executable);
        let Stretch { end, needs, slots, published, named, expected, folded, .. } = stretch;
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

    /// Whether the plan is for values like these.
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

    /// Whether it depends on elements of what it reads, and not on types alone.
    pub(crate) fn is_special(&self) -> bool {
        self.needs.iter().any(|(_, need)| matches!(need, Need::Elements(_)))
    }
}

/// The types of slots, as loops ask for them.
fn types<'s>(slots: &'s [Slot]) -> impl Fn(usize) -> Option<loops::Operand<'s>> + 's {
    move |slot| {
        let is_constant = matches!(slots.get(root(slots, slot))?.source, Source::Constant(_));
        let slot = &slots[slot];
        Some(loops::Operand { elem: slot.elem, dims: &slot.dims, is_constant })
    }
}

/// The slot that a slot is, in the end.
fn root(slots: &[Slot], mut slot: usize) -> usize {
    while let Source::Alias(of) = slots[slot].source {
        slot = of;
    }
    slot
}
