//! What it takes to run a plan, made once: where its kernels read and write, and the memory that one run uses after the other.

use super::{Kernel, Place, Plan, Slot, Source, Step, root};
use crate::failure::{Failure, fail};
use crate::loops::{Nest, View, Worker};
use crate::recycle::{ALIGN, Block, LEAST};
use crate::tensor::Tensor;
use foldhash::HashMap;
use onnx_ir::ValueId;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// What the runs of a plan share.
#[derive(Default)]
pub(super) struct Rooms {
    accesses: OnceLock<Vec<Access>>,
    free: Mutex<Vec<Room>>,
}

/// So many runs at a time find a room that was used before.
const MOST_ROOMS: usize = 4;

impl std::fmt::Debug for Rooms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rooms")
    }
}

/// The memory of one run.
pub(super) struct Room {
    /// The arena, if it is small; a large one comes from the memory that all plans share.
    pub(super) arena: Block,
    /// The tensors of slots that have memory of their own.
    pub(super) own: Vec<Option<Tensor>>,
    /// What one thread needs for each kernel.
    pub(super) desks: Vec<Desk>,
    /// The blocks of results that only their kernel reads, of one kernel at a time.
    pub(super) local: Block,
}

/// The workers of a kernel, one for each member; none until it is run by one thread.
pub(super) type Desk = SmallVec<[Worker; 1]>;

impl Rooms {
    /// How each kernel of a plan accesses memory, in order.
    pub(super) fn accesses(&self, plan: &Plan) -> &[Access] {
        self.accesses.get_or_init(|| accesses(plan))
    }

    /// A room that nobody uses, or a new one.
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

/// Which memory a kernel reads and writes.
pub(super) struct Access {
    /// How many elements are computed, those that are combined counted.
    pub(super) steps: usize,
    /// Whether it is not worth it to ask other threads.
    pub(super) is_little: bool,
    /// Bytes of the blocks that only the kernel itself reads.
    pub(super) local: usize,
    /// The parts of the arena, in order.
    parts: Vec<(Range<usize>, Part)>,
    /// Where each operand comes from.
    pub(super) loads: Vec<Load>,
    /// For each member that has memory of its own, the value that it becomes.
    pub(super) own: Vec<Option<Own>>,
}

/// A result with memory of its own.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub(super) slot: usize,
    /// The value that it becomes.
    pub(super) value: Option<ValueId>,
}

/// What becomes of a part of the arena.
enum Part {
    /// A member writes it.
    Written(usize),
    /// It is these operands.
    Read(SmallVec<[usize; 4]>),
}

/// Where an operand comes from.
pub(super) enum Load {
    /// A member of the kernel, or a part of the arena.
    Here,
    /// A value of the run.
    Value(ValueId),
    /// A constant: its slot.
    Constant(usize),
    /// A slot that has memory of its own.
    Own(usize),
}

/// What a kernel reads, by number.
pub(super) type Around<'a> = SmallVec<[Option<View<'a>>; 64]>;

/// The memory of the results of a kernel; none for those of which there is only a block.
pub(super) type Outs<'o> = SmallVec<[Option<&'o mut [u8]>; 16]>;

impl Access {
    /// Cuts the parts that a kernel uses out of the arena.
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
                Part::Written(member) => outs[*member] = Some(now),
                Part::Read(loads) => {
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
        if let Step::Publish(value, slot) = step {
            value_of.entry(root(&plan.slots, *slot)).or_insert(*value);
        }
    }
    let kernels = plan.steps.iter().filter_map(|step| match step {
        Step::Kernel(kernel) => Some(&**kernel),
        Step::Node(_) | Step::Publish(..) | Step::Release(..) => None,
    });
    kernels.map(|kernel| access(plan, kernel, &value_of)).collect()
}

fn access(plan: &Plan, kernel: &Kernel, value_of: &HashMap<usize, ValueId>) -> Access {
    let range = |slot: usize| match plan.places[slot] {
        Place::Arena(start) => Some(start..start + plan.slots[slot].bytes()),
        Place::Elsewhere | Place::Own | Place::Local => None,
    };
    let member_of = |slot: usize| kernel.members.iter().position(|m| m.assignment.slot == slot);
    let mut parts: Vec<(Range<usize>, usize, Part)> = Vec::new();
    let mut own = Vec::with_capacity(kernel.members.len());
    for (i, member) in kernel.members.iter().enumerate() {
        let slot = member.assignment.slot;
        own.push(
            (plan.places[slot] == Place::Own).then(|| Own { slot, value: value_of.get(&slot).copied() }),
        );
        parts.extend(range(slot).map(|range| (range, slot, Part::Written(i))));
    }
    let mut loads = Vec::with_capacity(kernel.loads.len());
    for (i, &slot) in kernel.loads.iter().enumerate() {
        let of = root(&plan.slots, slot);
        loads.push(match (&plan.slots[of].source, range(of)) {
            _ if member_of(of).is_some() => Load::Here,
            (_, Some(range)) => {
                match parts.iter_mut().find(|(_, other, _)| *other == of) {
                    Some((_, _, Part::Read(loads))) => loads.push(i),
                    Some(_) | None => parts.push((range, of, Part::Read(SmallVec::from_slice(&[i])))),
                }
                Load::Here
            }
            (Source::Value(value), None) => Load::Value(*value),
            (Source::Constant(_), None) => Load::Constant(of),
            (Source::Formula | Source::Alias(_), None) => Load::Own(of),
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

/// The worker at a desk for a nest of few steps, which stays there; of many steps, a new one.
pub(super) fn workers_at<'d>(desk: &'d mut Desk, nests: impl Iterator<Item = &'d Nest>) -> &'d mut [Worker] {
    if desk.is_empty() {
        desk.extend(nests.map(Worker::new));
    }
    desk
}
