//! The reusable memory of a plan, and how its kernels access it.

use super::{Kernel, Plan, PlanStep, Slot, SlotSource, SlotStorage, root};
use crate::failure::{Failure, fail};
use crate::loops::{Nest, View, Worker};
use crate::recycle::{ALIGN, Block, LEAST};
use crate::tensor::Tensor;
use foldhash::HashMap;
use onnx_ir::ValueId;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Data that the runs of a plan share.
#[derive(Default)]
pub(super) struct Rooms {
    accesses: OnceLock<Vec<Access>>,
    free: Mutex<Vec<Room>>,
}

/// The most unused rooms that are kept.
const MOST_ROOMS: usize = 4;

impl std::fmt::Debug for Rooms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rooms")
    }
}

/// The memory of one run.
pub(super) struct Room {
    /// The arena, if it is small; a large one comes from the recycler.
    pub(super) arena: Block,
    /// The tensors of slots with memory of their own.
    pub(super) own: Vec<Option<Tensor>>,
    /// The workers of each kernel for a single thread.
    pub(super) desks: Vec<Desk>,
    /// The blocks of local results, for one kernel at a time.
    pub(super) local: Block,
}

/// The workers of a kernel, one for each member; empty until one thread has run it.
pub(super) type Desk = SmallVec<[Worker; 1]>;

impl Rooms {
    /// The memory accesses of each kernel, in order.
    pub(super) fn accesses(&self, plan: &Plan) -> &[Access] {
        self.accesses.get_or_init(|| accesses(plan))
    }

    /// An unused room, or a new one.
    pub(super) fn take(&self, plan: &Plan) -> Result<Room, Failure> {
        match self.lock().pop() {
            Some(room) => Ok(room),
            None => Room::of(plan, self.accesses(plan)),
        }
    }

    /// Keeps a room for another run.
    pub(super) fn give_back(&self, room: Room) {
        let mut free = self.lock();
        if free.len() < MOST_ROOMS {
            free.push(room);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Room>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    fn of(plan: &Plan, accesses: &[Access]) -> Result<Room, Failure> {
        let local = accesses.iter().map(|access| access.local).max().unwrap_or(0);
        Ok(Room {
            arena: Block::zeroed(if plan.arena < LEAST { plan.arena } else { 0 })?,
            own: vec![None; plan.slots.len()],
            desks: accesses.iter().map(|_| Desk::new()).collect(),
            local: Block::zeroed(local)?,
        })
    }
}

/// The memory that a kernel reads and writes.
pub(super) struct Access {
    /// The number of evaluated elements, counting the elements of reductions.
    pub(super) steps: usize,
    /// Whether the kernel is too small for several threads.
    pub(super) is_little: bool,
    /// Bytes of the blocks of local results.
    pub(super) local: usize,
    /// The ranges of the arena, in order.
    parts: Vec<(Range<usize>, ArenaUse)>,
    /// The source of each operand.
    pub(super) loads: Vec<Load>,
    /// For each member with memory of its own, the value that it becomes.
    pub(super) own: Vec<Option<Own>>,
}

/// A result with memory of its own.
#[derive(Clone, Copy)]
pub(super) struct Own {
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
    /// A member of the kernel, or a range of the arena.
    Here,
    /// A value of the run.
    Value(ValueId),
    /// A constant, by its slot.
    Constant(usize),
    /// A slot with memory of its own.
    Own(usize),
}

/// The operands of a kernel, by number.
pub(super) type Around<'a> = SmallVec<[Option<View<'a>>; 64]>;

/// The memory of the results of a kernel; `None` for results of which only a block is stored.
pub(super) type Outs<'o> = SmallVec<[Option<&'o mut [u8]>; 16]>;

impl Access {
    /// Borrows the ranges that a kernel uses from the arena.
    pub(super) fn cut<'a>(
        &self,
        kernel: &Kernel,
        slots: &[Slot],
        arena: &'a mut [u8],
        around: &mut Around<'a>,
        outs: &mut Outs<'a>,
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
                ArenaUse::Written(member) => outs[*member] = Some(now),
                ArenaUse::Read(loads) => {
                    let bytes = &*now;
                    for &load in loads {
                        around[load] = Some(View { elem: slots[kernel.loads[load]].elem, bytes, first: 0 });
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
    let mut own = Vec::with_capacity(kernel.members.len());
    for (i, member) in kernel.members.iter().enumerate() {
        let slot = member.assignment.slot;
        own.push(
            (plan.places[slot] == SlotStorage::Own)
                .then(|| Own { slot, value: value_of.get(&slot).copied() }),
        );
        parts.extend(range(slot).map(|range| (range, slot, ArenaUse::Written(i))));
    }
    let mut loads = Vec::with_capacity(kernel.loads.len());
    for (i, &slot) in kernel.loads.iter().enumerate() {
        let of = root(&plan.slots, slot);
        loads.push(match (&plan.slots[of].source, range(of)) {
            _ if member_of(of).is_some() => Load::Here,
            (_, Some(range)) => {
                match parts.iter_mut().find(|(_, other, _)| *other == of) {
                    Some((_, _, ArenaUse::Read(loads))) => loads.push(i),
                    Some(_) | None => parts.push((range, of, ArenaUse::Read(SmallVec::from_slice(&[i])))),
                }
                Load::Here
            }
            (SlotSource::Value(value), None) => Load::Value(*value),
            (SlotSource::Constant(_), None) => Load::Constant(of),
            (SlotSource::Formula | SlotSource::Alias(_), None) => Load::Own(of),
        });
    }
    parts.sort_by_key(|(range, slot, _)| (range.start, range.end, *slot));
    let of_block = |bytes: usize| bytes.next_multiple_of(ALIGN);
    let local = kernel.members.iter().filter(|m| m.is_local).map(|m| of_block(m.bytes(kernel.block))).sum();
    Access {
        steps: kernel.steps(),
        is_little: match &kernel.members[..] {
            [member] => member.nest.is_little(),
            _ => !kernel.is_parallel(),
        },
        local,
        parts: parts.into_iter().map(|(range, _, part)| (range, part)).collect(),
        loads,
        own,
    }
}

/// The kept workers for nests of few steps; new ones for many steps.
pub(super) fn workers_at<'d>(desk: &'d mut Desk, nests: impl Iterator<Item = &'d Nest>) -> &'d mut [Worker] {
    if desk.is_empty() {
        desk.extend(nests.map(Worker::new));
    }
    desk
}
