//! Assigns storage to the results of kernels.
//!
//! Results that only later kernels read are in an arena, each at the lowest offset that is free during its lifetime. Results that
//! become values have memory of their own.

use super::{Partition, PlanStep, Slot, SlotSource, SlotStorage, root};
use foldhash::HashMap;
use onnx_ir::ValueId;
use std::collections::{BTreeMap, BTreeSet};

/// The alignment of offsets: a cache line.
pub(super) const ALIGN: usize = 64;

/// The storage of all slots, and the size of the arena in bytes.
pub(super) fn place(
    steps: &[PlanStep],
    slots: &[Slot],
    published: &[(ValueId, usize)],
) -> (Vec<SlotStorage>, usize) {
    let mut places = vec![SlotStorage::Elsewhere; slots.len()];
    // The first and last step that use a slot.
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; slots.len()];
    for (at, step) in steps.iter().enumerate() {
        let PlanStep::Kernel(kernel) = step else { continue };
        for member in &kernel.members {
            let slot = member.assignment.slot;
            places[slot] = if member.is_local { SlotStorage::Local } else { SlotStorage::Arena(0) };
            lives[slot] = Some((at, at));
            for operand in member.assignment.formula.operands() {
                if let Some(life) = &mut lives[root(slots, operand)] {
                    life.1 = at;
                }
            }
        }
    }
    for (_, slot) in published {
        let slot = root(slots, *slot);
        if matches!(slots[slot].source, SlotSource::Formula) {
            places[slot] = SlotStorage::Own;
        }
    }
    let wanted: Vec<Wanted> = (0..slots.len())
        .filter(|slot| places[*slot] == SlotStorage::Arena(0))
        .filter_map(|slot| {
            let (first, last) = lives[slot]?;
            Some(Wanted { slot, bytes: slots[slot].bytes().next_multiple_of(ALIGN), first, last })
        })
        .collect();
    let (offsets, arena) = if wanted.len() <= MAX_BY_SIZE { by_size(&wanted) } else { by_time(&wanted) };
    for (wanted, offset) in wanted.iter().zip(offsets) {
        places[wanted.slot] = SlotStorage::Arena(offset);
    }
    (places, arena)
}

/// Up to this many slots, offsets are assigned by size, which takes quadratic time.
const MAX_BY_SIZE: usize = 1 << 10;

/// A slot with its lifetime in steps, both ends included.
struct Wanted {
    slot: usize,
    bytes: usize,
    first: usize,
    last: usize,
}

/// Offsets and the size of the arena: largest slots first, small ones fill the gaps.
fn by_size(wanted: &[Wanted]) -> (Vec<usize>, usize) {
    let mut order: Vec<&Wanted> = wanted.iter().collect();
    order.sort_by_key(|w| (std::cmp::Reverse(w.bytes), w.slot));
    let mut placed: Vec<(usize, &Wanted)> = Vec::new();
    let mut offsets: HashMap<usize, usize> = HashMap::default();
    let mut arena = 0;
    for w in order {
        let mut taken: Vec<(usize, usize)> = placed
            .iter()
            .filter(|(_, other)| other.first <= w.last && w.first <= other.last)
            .map(|(start, other)| (*start, start + other.bytes))
            .collect();
        taken.sort_unstable();
        let mut start = 0;
        for (from, to) in taken {
            if start + w.bytes <= from {
                break;
            }
            start = start.max(to);
        }
        offsets.insert(w.slot, start);
        placed.push((start, w));
        arena = arena.max(start + w.bytes);
    }
    (wanted.iter().map(|w| offsets[&w.slot]).collect(), arena)
}

/// The same for many slots, in the order of the steps: each takes the smallest gap that fits. It packs less tightly and takes
/// nearly linear time.
fn by_time(wanted: &[Wanted]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|i| (wanted[*i].first, wanted[*i].slot));
    let mut ending: Vec<usize> = order.clone();
    ending.sort_by_key(|i| wanted[*i].last);
    let mut ending = ending.into_iter().peekable();
    let mut gaps = Gaps::default();
    let mut offsets = vec![0; wanted.len()];
    for i in order {
        while let Some(over) = ending.next_if(|over| wanted[*over].last < wanted[i].first) {
            gaps.give_back(offsets[over], wanted[over].bytes);
        }
        offsets[i] = gaps.take(wanted[i].bytes);
    }
    (offsets, gaps.end)
}

/// The free ranges of an arena that grows at its end.
#[derive(Default)]
struct Gaps {
    /// Start to length of each range, and pairs of length and start.
    by_start: BTreeMap<usize, usize>,
    by_length: BTreeSet<(usize, usize)>,
    end: usize,
}

impl Gaps {
    fn take(&mut self, bytes: usize) -> usize {
        match self.by_length.range((bytes, 0)..).next().copied() {
            Some((length, start)) => {
                self.remove(start, length);
                if length > bytes {
                    self.insert(start + bytes, length - bytes);
                }
                start
            }
            None => {
                let start = self.end;
                self.end += bytes;
                start
            }
        }
    }

    fn give_back(&mut self, mut start: usize, mut bytes: usize) {
        if let Some((before, length)) = self.by_start.range(..start).next_back().map(|(s, l)| (*s, *l))
            && before + length == start
        {
            self.remove(before, length);
            (start, bytes) = (before, bytes + length);
        }
        if let Some(length) = self.by_start.get(&(start + bytes)).copied() {
            self.remove(start + bytes, length);
            bytes += length;
        }
        self.insert(start, bytes);
    }

    fn insert(&mut self, start: usize, length: usize) {
        if length > 0 {
            self.by_start.insert(start, length);
            self.by_length.insert((length, start));
        }
    }

    fn remove(&mut self, start: usize, length: usize) {
        self.by_start.remove(&start);
        self.by_length.remove(&(length, start));
    }
}

/// The steps, with values published as soon as they are computed and released after their last reader.
pub(super) fn steps(kernels: Vec<PlanStep>, partition: &Partition, places: &[SlotStorage]) -> Vec<PlanStep> {
    let Partition { slots, published, dead, .. } = partition;
    // The step that computes each slot, and the last step that reads each value and each separate tensor.
    let mut made: Vec<Option<usize>> = vec![None; slots.len()];
    let mut by_node: HashMap<ValueId, usize> = HashMap::default();
    let mut last_of_slot: HashMap<usize, usize> = HashMap::default();
    let mut last_of_value: HashMap<ValueId, usize> = HashMap::default();
    for (at, step) in kernels.iter().enumerate() {
        match step {
            PlanStep::Kernel(kernel) => {
                kernel.members.iter().for_each(|m| made[m.assignment.slot] = Some(at));
                for slot in kernel.loads.iter().map(|slot| root(slots, *slot)) {
                    last_of_slot.insert(slot, at);
                    if let SlotSource::Value(value) = slots[slot].source {
                        last_of_value.insert(value, at);
                    }
                }
            }
            PlanStep::Node(step) => {
                by_node.extend(step.results.iter().map(|value| (*value, at)));
                last_of_value.extend(step.reads.iter().map(|value| (*value, at)));
            }
            PlanStep::Publish(..) | PlanStep::Release(..) => {}
        }
    }
    let born = |slot: usize| match &slots[root(slots, slot)].source {
        SlotSource::Value(value) => by_node.get(value).copied(),
        SlotSource::Constant(_) | SlotSource::Formula | SlotSource::Alias(_) => made[root(slots, slot)],
    };
    // The step after which a value is published; `None` for the start of the plan.
    let mut publish: Vec<(Option<usize>, ValueId, usize)> =
        published.iter().map(|(value, slot)| (born(*slot), *value, *slot)).collect();
    publish.sort_by_key(|(at, ..)| *at);
    // Values and slots that are released after each step.
    let end = kernels.len().saturating_sub(1);
    let mut release: Vec<(Vec<ValueId>, Vec<usize>)> = vec![Default::default(); kernels.len()];
    // Inputs stay until the end, because the nodes may have to be run again one by one.
    let slot_of: HashMap<ValueId, usize> = published.iter().copied().collect();
    for value in dead {
        let own = slot_of.get(value).map(|slot| born(*slot));
        let begun = own.or_else(|| by_node.get(value).map(|at| Some(*at)));
        let at = begun.map_or(end, |begun| {
            let begun = begun.unwrap_or(0);
            last_of_value.get(value).copied().unwrap_or(begun).max(begun)
        });
        if let Some((values, _)) = release.get_mut(at) {
            values.push(*value);
        }
    }
    for slot in (0..slots.len()).filter(|slot| places[*slot] == SlotStorage::Own) {
        let Some(at) = made[slot] else { continue };
        let at = last_of_slot.get(&slot).copied().unwrap_or(at).max(at);
        release[at].1.push(slot);
    }
    // All in order.
    let mut publish = publish.into_iter().peekable();
    let mut steps = Vec::with_capacity(kernels.len() + published.len());
    let until = |at: Option<usize>, steps: &mut Vec<PlanStep>, publish: &mut std::iter::Peekable<_>| {
        while let Some((_, value, slot)) =
            publish.next_if(|(when, ..): &(Option<usize>, ValueId, usize)| *when <= at)
        {
            steps.push(PlanStep::Publish(value, slot));
        }
    };
    until(None, &mut steps, &mut publish);
    for (at, (step, (values, own))) in kernels.into_iter().zip(release).enumerate() {
        steps.push(step);
        until(Some(at), &mut steps, &mut publish);
        if !values.is_empty() || !own.is_empty() {
            steps.push(PlanStep::Release(values, own));
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slots with pseudo-random sizes and lifetimes.
    fn drawn(count: usize) -> Vec<Wanted> {
        let mut state = 7u64;
        let mut next = |most: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % most
        };
        let one = |slot| {
            let first = next(50);
            Wanted { slot, bytes: (1 + next(8)) * ALIGN, first, last: first + next(6) }
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn nothing_overlaps_that_is_needed_at_the_same_time() {
        let wanted = drawn(300);
        for (offsets, arena) in [by_size(&wanted), by_time(&wanted)] {
            for (i, a) in wanted.iter().enumerate() {
                assert!(offsets[i] + a.bytes <= arena);
                for (j, b) in wanted.iter().enumerate().skip(i + 1) {
                    let is_at_once = a.first <= b.last && b.first <= a.last;
                    let overlap = offsets[i] < offsets[j] + b.bytes && offsets[j] < offsets[i] + a.bytes;
                    assert!(!(is_at_once && overlap), "slots {i} and {j}");
                }
            }
            let all: usize = wanted.iter().map(|w| w.bytes).sum();
            assert!(arena < all / 2, "{arena} of {all}");
        }
    }
}
