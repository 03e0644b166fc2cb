//! The order of kernels: those that leave less memory in use than before run as soon as their operands exist.
//!
//! ```text
//! before:  d_b = … d_c …    d_a = … d_b …    w_b = … b, d_b …    w_a = … a, d_a …
//! after:   d_b = … d_c …    w_b = … b, d_b …    d_a = … d_b …    w_a = … a, d_a …
//! ```
//!
//! A fused kernel stands where its last node stands. In a training, updates of weights are listed after all gradients, so that a product
//! which is fused with an update would keep its operands until the end. Here it runs early, if its last uses of operands free at least as
//! much as it computes. The order changes only if that lowers the most bytes that are in use at a time. Kernels are functions of their operands,
//! so results are the same, bit for bit. Nodes outside kernels stay where they are.

use super::{PlanStep, Slot, SlotSource, root};
use foldhash::HashMap;
use onnx_ir::ValueId;

/// The steps in the better order.
pub(super) fn order(steps: Vec<PlanStep>, slots: &[Slot], published: &[(ValueId, usize)]) -> Vec<PlanStep> {
    let mut is_passing: Vec<bool> =
        slots.iter().map(|slot| matches!(slot.source, SlotSource::Formula)).collect();
    published.iter().for_each(|(_, slot)| is_passing[root(slots, *slot)] = false);
    let uses: Vec<Uses> = steps.iter().map(|step| Uses::find(step, slots)).collect();
    let keys = keys(&steps, &uses, slots, &is_passing);
    let mut sorted: Vec<usize> = (0..steps.len()).collect();
    sorted.sort_by_key(|&step| (keys[step], step));
    let listed: Vec<usize> = (0..steps.len()).collect();
    if sorted == listed
        || peak(&sorted, &uses, slots, &is_passing) >= peak(&listed, &uses, slots, &is_passing)
    {
        return steps;
    }
    let mut steps: Vec<Option<PlanStep>> = steps.into_iter().map(Some).collect();
    sorted.into_iter().filter_map(|step| steps[step].take()).collect()
}

/// The slots of a kernel that hold whole tensors. A node has none: it reads values.
#[derive(Default)]
struct Uses {
    made: Vec<usize>,
    /// Each once.
    read: Vec<usize>,
}

impl Uses {
    fn find(step: &PlanStep, slots: &[Slot]) -> Uses {
        let PlanStep::Kernel(kernel) = step else { return Uses::default() };
        let members = kernel.members.iter();
        let made: Vec<usize> = members.map(|member| member.assignment.slot).collect();
        let mut read: Vec<usize> = kernel.loads.iter().map(|slot| root(slots, *slot)).collect();
        read.sort_unstable();
        read.dedup();
        read.retain(|slot| !made.contains(slot));
        let whole = kernel.members.iter().filter(|member| !member.is_local);
        Uses { made: whole.map(|member| member.assignment.slot).collect(), read }
    }
}

/// For each step the step after which it runs: itself, or the one that computes the last of its operands.
fn keys(steps: &[PlanStep], uses: &[Uses], slots: &[Slot], is_passing: &[bool]) -> Vec<usize> {
    let mut last_reader: HashMap<usize, usize> = HashMap::default();
    for (at, step) in uses.iter().enumerate() {
        last_reader.extend(step.read.iter().map(|slot| (*slot, at)));
    }
    let mut maker: HashMap<usize, usize> = HashMap::default();
    let mut by_node: HashMap<ValueId, usize> = HashMap::default();
    let mut keys: Vec<usize> = Vec::with_capacity(steps.len());
    for (at, (step, uses)) in steps.iter().zip(uses).enumerate() {
        let mut key = at;
        match step {
            PlanStep::Kernel(_) => {
                let ends = |slot: usize| is_passing[slot] && last_reader.get(&slot) == Some(&at);
                let freed = bytes(slots, uses.read.iter().copied().filter(|slot| ends(*slot)));
                let begun = bytes(slots, uses.made.iter().copied());
                let operand = |slot: &usize| match &slots[*slot].source {
                    SlotSource::Value(value) => by_node.get(value).copied(),
                    SlotSource::Formula => maker.get(slot).copied(),
                    SlotSource::Constant(_) | SlotSource::Alias(_) => None,
                };
                let after = uses.read.iter().filter_map(operand).map(|step| keys[step]).max();
                if let Some(after) = after.filter(|_| freed > 0 && freed >= begun) {
                    key = after;
                }
                maker.extend(uses.made.iter().map(|slot| (*slot, at)));
            }
            PlanStep::Node(step) => by_node.extend(step.results.iter().map(|value| (*value, at))),
            PlanStep::Publish(..) | PlanStep::Release(..) => {}
        }
        keys.push(key);
    }
    keys
}

fn bytes(slots: &[Slot], of: impl Iterator<Item = usize>) -> usize {
    of.map(|slot| slots[slot].bytes()).sum()
}

/// The most bytes of results that are in use at a time. Those that become values are in use until the end.
fn peak(order: &[usize], uses: &[Uses], slots: &[Slot], is_passing: &[bool]) -> usize {
    let mut last: HashMap<usize, usize> = HashMap::default();
    for &step in order {
        let uses = &uses[step];
        last.extend(uses.made.iter().chain(&uses.read).map(|slot| (*slot, step)));
    }
    let (mut now, mut most) = (0usize, 0usize);
    for &step in order {
        let uses = &uses[step];
        now += bytes(slots, uses.made.iter().copied());
        most = most.max(now);
        let is_over = |slot: usize| is_passing[slot] && last.get(&slot) == Some(&step);
        let over = uses.made.iter().chain(&uses.read).copied().filter(|slot| is_over(*slot));
        now = now.saturating_sub(bytes(slots, over));
    }
    most
}
