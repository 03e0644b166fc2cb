//! The data of plans: tensors in formulas, kernels and steps.

use crate::facts::type_of;
use crate::loops::{self, Nest, Softmax, Workers};
use crate::tensor::{Tensor, width};
use foldhash::HashMap;
use onnx_formula::{Elements, Formula, Number};
use onnx_ir::{ElemType, NodeId, ValueId};
use onnx_kernels::Value;
use onnx_ops::infer::Ty;
use smallvec::SmallVec;

/// The compiled form of some consecutive nodes of a graph.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The indices of the nodes in their graph.
    pub(crate) nodes: std::ops::Range<usize>,
    /// The conditions under which the plan is valid.
    pub(crate) needs: Vec<(ValueId, Need)>,
    /// The tensors that kernels load and compute, by number.
    pub(crate) slots: Vec<Slot>,
    /// The formulas of constants that were computed when it was made, in order.
    pub(crate) folded: Vec<(usize, Formula)>,
    /// The storage of each slot.
    pub(crate) places: Vec<SlotStorage>,
    pub(crate) steps: Vec<PlanStep>,
    /// The size of the arena in bytes.
    pub(crate) arena: usize,
    /// The reasons for refused fusions.
    pub(crate) refused: Refusals,
    /// The inferred results of nodes that run outside kernels.
    pub(crate) expected: HashMap<ValueId, usize>,
    /// The slots of values.
    pub(crate) named: Vec<(ValueId, usize)>,
}

/// A condition on a value.
#[derive(Debug)]
pub(crate) enum Need {
    Tensor(ElemType, SmallVec<[usize; 4]>),
    /// It has exactly these elements.
    Elements(Tensor),
    Other(Ty),
}

/// A tensor in formulas.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) elem: ElemType,
    pub(crate) dims: Vec<usize>,
    pub(crate) source: SlotSource,
    /// The order of its axes in memory, if it is not the logical order: memory axis `n` is axis `axes[n]` of the tensor.
    pub(crate) axes: SmallVec<[u8; 8]>,
}

impl Slot {
    pub(crate) fn new(elem: ElemType, dims: Vec<usize>, source: SlotSource) -> Slot {
        Slot { elem, dims, source, axes: SmallVec::new() }
    }

    pub(crate) fn count(&self) -> usize {
        self.dims.iter().product()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.count() * width(self.elem).unwrap_or(1)
    }

    /// The only element of a constant.
    pub(crate) fn number(&self) -> Option<Number> {
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
pub(crate) enum SlotSource {
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
pub(crate) struct Assignment {
    pub(crate) slot: usize,
    pub(crate) formula: Formula,
    /// The nodes that are fused into it.
    pub(crate) nodes: SmallVec<[NodeId; 4]>,
}

/// A step of a plan.
#[derive(Debug)]
pub(crate) enum PlanStep {
    Kernel(Box<Kernel>),
    /// Runs a node outside kernels.
    Node(Box<NodeStep>),
    /// Stores a tensor as a value of the body.
    Publish(ValueId, usize),
    /// Drops values, and slots that became values, after their last reader.
    Release(Vec<ValueId>, Vec<usize>),
}

/// A node that runs outside kernels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NodeStep {
    pub(crate) node: NodeId,
    /// The values that it reads, including those that its subgraphs capture.
    pub(crate) reads: SmallVec<[ValueId; 4]>,
    pub(crate) results: SmallVec<[ValueId; 2]>,
}

/// Formulas over the same rows, computed block by block.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// The number of rows, and of rows per block.
    pub(crate) rows: usize,
    pub(crate) block: usize,
    pub(crate) members: Vec<Member>,
    /// The nodes that are fused into it, in order.
    pub(crate) nodes: Vec<NodeId>,
    /// The slots that its formulas load, by the operand numbers of their loops.
    pub(crate) loads: Vec<usize>,
    /// Consecutive members that are computed row by row, by the first.
    pub(crate) softmaxes: Vec<(usize, Softmax)>,
}

/// A formula of a kernel.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) assignment: Assignment,
    pub(crate) nest: Nest,
    pub(crate) workers: Workers,
    /// Elements of the result per row.
    pub(crate) each: usize,
    /// Whether only this kernel reads it, so that only a block of it is stored.
    pub(crate) is_local: bool,
    /// The operands that other members compute: operand number and member.
    pub(crate) inner: Vec<(usize, usize)>,
}

/// The storage of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SlotStorage {
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
pub(crate) struct Refused {
    pub(crate) producer: usize,
    pub(crate) why: &'static str,
}

/// Refused fusions by the slot of the consumer.
pub(crate) type Refusals = HashMap<usize, Vec<Refused>>;

impl Plan {
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

    /// The tensors that its nodes compute and its formulas load, with their sizes.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = (ValueId, &[usize])> {
        self.named.iter().map(|(value, slot)| (*value, &self.slots[*slot].dims[..]))
    }

    /// Whether it depends on elements of its inputs, not only on types.
    pub(crate) fn is_special(&self) -> bool {
        self.needs.iter().any(|(_, need)| matches!(need, Need::Elements(_)))
    }
}

/// Kernels with fewer steps are not worth several threads.
const MIN_PARALLEL_STEPS: usize = 1 << 15;

impl Kernel {
    /// Its last node.
    pub(crate) fn last_node(&self) -> Option<NodeId> {
        self.nodes.last().copied()
    }

    /// The number of evaluated elements, counting the elements of reductions.
    pub(crate) fn steps(&self) -> usize {
        self.members.iter().map(|member| member.nest.steps()).fold(0, usize::saturating_add)
    }

    /// Whether its blocks are worth several threads.
    pub(crate) fn is_parallel(&self) -> bool {
        self.steps() >= MIN_PARALLEL_STEPS
    }
}

impl Member {
    /// The bytes of some rows of its result.
    pub(crate) fn bytes(&self, rows: usize) -> usize {
        rows * self.each * width(self.assignment.formula.elem).unwrap_or(1)
    }
}

/// The types of slots, for lowering to loops.
pub(crate) fn types<'s>(slots: &'s [Slot]) -> impl Fn(usize) -> Option<loops::Operand<'s>> + 's {
    move |slot| {
        let is_constant = matches!(slots.get(root(slots, slot))?.source, SlotSource::Constant(_));
        let slot = &slots[slot];
        Some(loops::Operand { elem: slot.elem, dims: &slot.dims, is_constant })
    }
}

/// Resolves aliases.
pub(crate) fn root(slots: &[Slot], mut slot: usize) -> usize {
    while let SlotSource::Alias(of) = slots[slot].source {
        slot = of;
    }
    slot
}
