//! The reusable memory of a plan, and how its kernels access it.

use crate::failure::{Failure, fail};
use crate::loops::{Nest, View, Worker};
use crate::plan::{Kernel, Plan, PlanStep, Slot, SlotSource, SlotStorage, root};
use crate::recycle::{ALIGN, Block, MIN_BLOCK_BYTES};
use crate::sync::lock;
use crate::tensor::Tensor;
use foldhash::HashMap;
use onnx_ir::ValueId;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::{Mutex, OnceLock};

/// The memory that the runs of a plan share.
#[derive(Default)]
pub(super) struct WorkspacePool {
    accesses: OnceLock<Vec<Access>>,
    free: Mutex<Vec<Workspace>>,
}

/// The most unused workspaces that are kept.
const MAX_FREE: usize = 4;

/// The memory of one run.
pub(super) struct Workspace {
    /// The arena, if it is small; a large one comes from the recycler.
    pub(super) arena: Block,
    /// The tensors of slots with memory of their own.
    pub(super) owned: Vec<Option<Tensor>>,
    /// The workers of each kernel for a single thread.
    pub(super) workers: Vec<KernelWorkers>,
    /// The blocks of local results, for one kernel at a time.
    pub(super) block_memory: Block,
}

/// The workers of a kernel, one for each member; empty until one thread has run it.
pub(super) type KernelWorkers = SmallVec<[Worker; 1]>;

impl WorkspacePool {
    /// The memory accesses of each kernel of the plan, in order.
    pub(super) fn accesses(&self, plan: &Plan) -> &[Access] {
        self.accesses.get_or_init(|| accesses(plan))
    }

    /// An unused workspace, or a new one.
    pub(super) fn take(&self, plan: &Plan) -> Result<Workspace, Failure> {
        // The lock is not held while a new one is made.
        let free = lock(&self.free).pop();
        match free {
            Some(workspace) => Ok(workspace),
            None => Workspace::new(plan, self.accesses(plan)),
        }
    }

    /// Keeps a workspace for another run.
    pub(super) fn give_back(&self, workspace: Workspace) {
        let mut free = lock(&self.free);
        if free.len() < MAX_FREE {
            free.push(workspace);
        }
    }
}

impl Workspace {
    fn new(plan: &Plan, accesses: &[Access]) -> Result<Workspace, Failure> {
        let block_bytes = accesses.iter().map(|access| access.block_bytes).max().unwrap_or(0);
        Ok(Workspace {
            arena: Block::zeroed(if plan.arena < MIN_BLOCK_BYTES { plan.arena } else { 0 })?,
            owned: vec![None; plan.slots.len()],
            workers: accesses.iter().map(|_| KernelWorkers::new()).collect(),
            block_memory: Block::zeroed(block_bytes)?,
        })
    }
}

/// The memory that a kernel reads and writes.
pub(super) struct Access {
    /// The number of evaluated elements, counting the elements of reductions.
    pub(super) steps: usize,
    /// Whether the kernel is too small for several threads.
    pub(super) is_small: bool,
    /// Bytes of the blocks of local results.
    pub(super) block_bytes: usize,
    /// The ranges of the arena, in order.
    parts: Vec<(Range<usize>, ArenaUse)>,
    /// The source of each operand.
    pub(super) loads: Vec<Load>,
    /// For each member with memory of its own, the value that it becomes.
    pub(super) owned: Vec<Option<OwnedResult>>,
}

/// A result with memory of its own.
#[derive(Clone, Copy)]
pub(super) struct OwnedResult {
    pub(super) slot: usize,
    /// The value that it becomes.
    pub(super) value: Option<ValueId>,
}

/// How a kernel uses a range of the arena.
enum ArenaUse {
    /// A member writes it.
    Written(usize),
    /// These operands read it.
    Read(SmallVec<[usize; 4]>),
}

/// The source of an operand.
pub(super) enum Load {
    /// A range of the arena, or a member of the kernel.
    Arena,
    /// A value of the run.
    Value(ValueId),
    /// A constant, by its slot.
    Constant(usize),
    /// A slot with memory of its own.
    Owned(usize),
}

/// The operands of a kernel, by number.
pub(super) type Operands<'a> = SmallVec<[Option<View<'a>>; 64]>;

/// The memory of the results of a kernel; `None` for results of which only a block is stored.
pub(super) type Results<'o> = SmallVec<[Option<&'o mut [u8]>; 16]>;

impl Access {
    /// Borrows the ranges that a kernel uses from the arena.
    pub(super) fn cut<'a>(
        &self,
        kernel: &Kernel,
        slots: &[Slot],
        arena: &'a mut [u8],
        operands: &mut Operands<'a>,
        results: &mut Results<'a>,
    ) -> Result<(), Failure> {
        let (mut rest, mut begin) = (arena, 0);
        for (range, part) in &self.parts {
            let skipped = range.start.checked_sub(begin);
            let Some(skipped) = skipped.filter(|skipped| skipped + range.len() <= rest.len()) else {
                fail!("two tensors of a kernel overlap")
            };
            let (now, later) = rest.split_at_mut(skipped + range.len());
            let now = &mut now[skipped..];
            (rest, begin) = (later, range.end);
            match part {
                ArenaUse::Written(member) => results[*member] = Some(now),
                ArenaUse::Read(loads) => {
                    let bytes = &*now;
                    for &load in loads {
                        operands[load] = Some(View { elem: slots[kernel.loads[load]].elem, bytes, first: 0 });
                    }
                }
            }
        }
        Ok(())
    }
}

fn accesses(plan: &Plan) -> Vec<Access> {
    let mut value_of: HashMap<usize, ValueId> = HashMap::default();
    for step in &plan.steps {
        if let PlanStep::Publish(value, slot) = step {
            value_of.entry(root(&plan.slots, *slot)).or_insert(*value);
        }
    }
    let kernels = plan.steps.iter().filter_map(|step| match step {
        PlanStep::Kernel(kernel) => Some(&**kernel),
        PlanStep::Node(_) | PlanStep::Publish(..) | PlanStep::Release(..) => None,
    });
    kernels.map(|kernel| access(plan, kernel, &value_of)).collect()
}

fn access(plan: &Plan, kernel: &Kernel, value_of: &HashMap<usize, ValueId>) -> Access {
    let range = |slot: usize| match plan.places[slot] {
        SlotStorage::Arena(start) => Some(start..start + plan.slots[slot].bytes()),
        SlotStorage::Elsewhere | SlotStorage::Own | SlotStorage::Local => None,
    };
    let member_of = |slot: usize| kernel.members.iter().position(|m| m.assignment.slot == slot);
    let mut parts: Vec<(Range<usize>, usize, ArenaUse)> = Vec::new();
    let mut owned = Vec::with_capacity(kernel.members.len());
    for (i, member) in kernel.members.iter().enumerate() {
        let slot = member.assignment.slot;
        owned.push(
            (plan.places[slot] == SlotStorage::Own)
                .then(|| OwnedResult { slot, value: value_of.get(&slot).copied() }),
        );
        parts.extend(range(slot).map(|range| (range, slot, ArenaUse::Written(i))));
    }
    let mut loads = Vec::with_capacity(kernel.loads.len());
    for (i, &slot) in kernel.loads.iter().enumerate() {
        let of = root(&plan.slots, slot);
        loads.push(match (&plan.slots[of].source, range(of)) {
            _ if member_of(of).is_some() => Load::Arena,
            (_, Some(range)) => {
                match parts.iter_mut().find(|(_, other, _)| *other == of) {
                    Some((_, _, ArenaUse::Read(loads))) => loads.push(i),
                    Some(_) | None => parts.push((range, of, ArenaUse::Read(SmallVec::from_slice(&[i])))),
                }
                Load::Arena
            }
            (SlotSource::Value(value), None) => Load::Value(*value),
            (SlotSource::Constant(_), None) => Load::Constant(of),
            (SlotSource::Formula | SlotSource::Alias(_), None) => Load::Owned(of),
        });
    }
    parts.sort_by_key(|(range, slot, _)| (range.start, range.end, *slot));
    let of_block = |bytes: usize| bytes.next_multiple_of(ALIGN);
    let local = kernel.members.iter().filter(|member| member.is_local);
    let block_bytes = local.map(|member| of_block(member.bytes(kernel.block))).sum();
    Access {
        steps: kernel.steps(),
        is_small: match &kernel.members[..] {
            [member] => member.nest.is_little(),
            _ => !kernel.is_parallel(),
        },
        block_bytes,
        parts: parts.into_iter().map(|(range, _, part)| (range, part)).collect(),
        loads,
        owned,
    }
}

/// The kept workers for nests of few steps; new ones for many steps.
pub(super) fn workers_at<'k>(
    kept: &'k mut KernelWorkers,
    nests: impl Iterator<Item = &'k Nest>,
) -> &'k mut [Worker] {
    if kept.is_empty() {
        kept.extend(nests.map(Worker::new));
    }
    kept
}
