//! The nodes of a plan as formulas: what the stages of planning change.

use super::{Assignment, Need, NodeStep, Slot};
use crate::loops::Nests;
use foldhash::HashMap;
use onnx_formula::{Expr, Formula};
use onnx_ir::ValueId;
use onnx_ops::dims::Dim;
use onnx_ops::infer::Ty;

/// The nodes of a plan as formulas, before fusion.
#[derive(Debug, Default)]
pub(crate) struct Partition {
    /// The index of the first node.
    pub(crate) start: usize,
    /// The index after the last node.
    pub(crate) end: usize,
    pub(crate) needs: Vec<(ValueId, Need)>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) items: Vec<PartitionItem>,
    /// The formulas of slots that have become constants, in the order of their computation.
    pub(crate) folded: Vec<(usize, Formula)>,
    /// The values that are read outside the plan, and their slots.
    pub(crate) published: Vec<(ValueId, usize)>,
    /// The values that neither a later node nor an output reads.
    pub(crate) dead: Vec<ValueId>,
    /// The slots of values.
    pub(crate) named: Vec<(ValueId, usize)>,
    /// Of these, the results of nodes that run outside kernels.
    pub(crate) expected: HashMap<ValueId, usize>,
    /// The loops of formulas that were lowered.
    pub(crate) nests: Nests,
}

/// A formula or a node of a partition.
#[derive(Debug)]
pub(crate) enum PartitionItem {
    Formula(Box<Assignment>),
    Node(Box<NodeStep>),
}

impl Partition {
    /// An estimate of the memory that planning takes for formulas and slots, including later stages.
    pub(crate) fn bytes(&self) -> usize {
        const STAGES: usize = 4;
        let of_item = |item: &PartitionItem| match item {
            PartitionItem::Formula(it) => size_of::<Assignment>() + size_of::<Expr>() * it.formula.size(),
            PartitionItem::Node(_) => size_of::<PartitionItem>(),
        };
        let slots = self.slots.len() * size_of::<Slot>();
        STAGES * self.items.iter().map(of_item).fold(slots, usize::saturating_add)
    }

    /// The index of its last node.
    pub(crate) fn last(&self) -> usize {
        self.end.saturating_sub(1)
    }
}

/// A position to return to.
pub(crate) struct Mark {
    slots: usize,
    items: usize,
    named: usize,
}

impl Partition {
    pub(crate) fn mark(&self) -> Mark {
        Mark { slots: self.slots.len(), items: self.items.len(), named: self.named.len() }
    }

    /// Removes everything after a mark.
    pub(crate) fn back_to(&mut self, mark: Mark) {
        self.slots.truncate(mark.slots);
        self.items.truncate(mark.items);
        self.named.truncate(mark.named);
    }

    /// The type of a slot.
    pub(crate) fn ty(&self, slot: usize) -> Ty {
        ty(&self.slots[slot])
    }
}

fn ty(slot: &Slot) -> Ty {
    Ty::tensor(slot.elem, slot.dims.iter().map(|&d| i64::try_from(d).map_or(Dim::Unknown, Dim::Const)))
}
