//! Where results of kernels lie.
//!
//! What only later kernels read lies in an arena, at the lowest place where nothing lies that is needed at the same time; what
//! becomes a value has memory of its own.

use super::rewrite::operands;
use super::{Place, Slot, Source, Step, root};
use crate::compile::Executable;
use foldhash::HashMap;
use onnx_ir::{NodeId, ValueId};

/// Places begin at a multiple of this: a line of a cache.
const ALIGN: usize = 64;

/// Places for all slots, and the bytes of the arena.
pub(super) fn place(steps: &[Step], slots: &[Slot], published: &[(ValueId, usize)]) -> (Vec<Place>, usize) {
    let mut places = vec![Place::Elsewhere; slots.len()];
    // The first and the last step that a slot is needed at.
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; slots.len()];
    for (at, step) in steps.iter().enumerate() {
        let Step::Kernel(kernel) = step else { continue };
        for member in &kernel.members {
            let slot = member.assignment.slot;
            places[slot] = if member.is_local { Place::Local } else { Place::Arena(0) };
            lives[slot] = Some((at, at));
            for operand in operands(&member.assignment.formula) {
                if let Some(life) = &mut lives[root(slots, operand)] {
                    life.1 = at;
                }
            }
        }
    }
    for (_, slot) in published {
        let slot = root(slots, *slot);
        if matches!(slots[slot].source, Source::Formula) {
            places[slot] = Place::Own;
        }
    }
    // The largest first: the small ones fit in between.
    let mut order: Vec<(usize, usize)> = (0..slots.len())
        .filter(|slot| places[*slot] == Place::Arena(0))
        .map(|slot| (slots[slot].bytes(), slot))
        .collect();
    order.sort_by_key(|(bytes, slot)| (std::cmp::Reverse(*bytes), *slot));
    let mut placed: Vec<(usize, usize, (usize, usize))> = Vec::new();
    let mut arena = 0;
    for (bytes, slot) in order {
        let Some(life) = lives[slot] else { continue };
        let bytes = bytes.next_multiple_of(ALIGN);
        let mut taken: Vec<(usize, usize)> = placed
            .iter()
            .filter(|(_, _, other)| other.0 <= life.1 && life.0 <= other.1)
            .map(|(start, end, _)| (*start, *end))
            .collect();
        taken.sort_unstable();
        let mut start = 0;
        for (from, to) in taken {
            if start + bytes <= from {
                break;
            }
            start = start.max(to);
        }
        places[slot] = Place::Arena(start);
        placed.push((start, start + bytes, life));
        arena = arena.max(start + bytes);
    }
    (places, arena)
}

/// The steps with values published as soon as they are there, and released when nothing reads them any more.
pub(super) fn steps(
    kernels: Vec<Step>,
    slots: &[Slot],
    places: &[Place],
    published: &[(ValueId, usize)],
    executable: &Executable<'_>,
    nodes: &[NodeId],
) -> Vec<Step> {
    let body = executable.body();
    // What each step computes, and the last step that reads each value and each tensor of its own.
    let mut made: Vec<Option<usize>> = vec![None; slots.len()];
    let mut by_node: HashMap<ValueId, usize> = HashMap::default();
    let mut last_of_slot: HashMap<usize, usize> = HashMap::default();
    let mut last_of_value: HashMap<ValueId, usize> = HashMap::default();
    for (at, step) in kernels.iter().enumerate() {
        match step {
            Step::Kernel(kernel) => {
                kernel.members.iter().for_each(|m| made[m.assignment.slot] = Some(at));
                for slot in kernel.loads.iter().map(|slot| root(slots, *slot)) {
                    last_of_slot.insert(slot, at);
                    if let Source::Value(value) = slots[slot].source {
                        last_of_value.insert(value, at);
                    }
                }
            }
            Step::Node(node) => {
                body.nodes[*node].outputs.iter().flatten().for_each(|value| {
                    by_node.insert(*value, at);
                });
                for value in executable.liveness.reads(body, *node) {
                    last_of_value.insert(value, at);
                }
            }
            Step::Publish(..) | Step::Release(..) => {}
        }
    }
    let born = |slot: usize| match &slots[root(slots, slot)].source {
        Source::Value(value) => by_node.get(value).copied(),
        Source::Constant(_) | Source::Formula | Source::Alias(_) => made[root(slots, slot)],
    };
    // Behind which step something is done; in front of all where it is `None`.
    let mut publish: Vec<(Option<usize>, ValueId, usize)> =
        published.iter().map(|(value, slot)| (born(*slot), *value, *slot)).collect();
    publish.sort_by_key(|(at, ..)| *at);
    let end = kernels.len().saturating_sub(1);
    let mut release: Vec<(Vec<ValueId>, Vec<usize>)> = vec![Default::default(); kernels.len()];
    // What was there before stays until the end: the plain way may have to begin anew.
    for value in nodes.iter().flat_map(|node| &executable.liveness.dead_after[*node]) {
        let own = published.iter().find(|(v, _)| v == value).map(|(_, slot)| born(*slot));
        let begun = own.or_else(|| by_node.get(value).map(|at| Some(*at)));
        let at = begun.map_or(end, |begun| {
            let begun = begun.unwrap_or(0);
            last_of_value.get(value).copied().unwrap_or(begun).max(begun)
        });
        if let Some((values, _)) = release.get_mut(at) {
            values.push(*value);
        }
    }
    for slot in (0..slots.len()).filter(|slot| places[*slot] == Place::Own) {
        let Some(at) = made[slot] else { continue };
        let at = last_of_slot.get(&slot).copied().unwrap_or(at).max(at);
        release[at].1.push(slot);
    }
    let mut publish = publish.into_iter().peekable();
    let mut steps = Vec::with_capacity(kernels.len() + published.len());
    let until = |at: Option<usize>, steps: &mut Vec<Step>, publish: &mut std::iter::Peekable<_>| {
        while let Some((_, value, slot)) =
            publish.next_if(|(when, ..): &(Option<usize>, ValueId, usize)| *when <= at)
        {
            steps.push(Step::Publish(value, slot));
        }
    };
    until(None, &mut steps, &mut publish);
    for (at, (step, (values, own))) in kernels.into_iter().zip(release).enumerate() {
        steps.push(step);
        until(Some(at), &mut steps, &mut publish);
        if !values.is_empty() || !own.is_empty() {
            steps.push(Step::Release(values, own));
        }
    }
    steps
}
