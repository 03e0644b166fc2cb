//! The work of kernels: operations and bytes moved.

use super::{Kernel, Plan, SlotSource, root};
use crate::profile::Work;
use crate::tensor::width;
use smallvec::SmallVec;

impl Plan {
    /// The work of a kernel. For a tensor that is read in part, at most one element counts per step that reads it.
    pub(crate) fn work(&self, kernel: &Kernel) -> Work {
        let mut work = Work::default();
        let mut steps = 0u64;
        for member in &kernel.members {
            let operations = member.nest.operations();
            work.singles = work.singles.saturating_add(operations.singles);
            work.doubles = work.doubles.saturating_add(operations.doubles);
            work.byte_products = work.byte_products.saturating_add(operations.bytes);
            steps = steps.saturating_add(member.nest.steps() as u64);
            if !member.is_local {
                work.written += self.slots[member.assignment.slot].bytes() as u64;
            }
        }
        let mut seen: SmallVec<[usize; 8]> = SmallVec::new();
        for &slot in &kernel.loads {
            let of = root(&self.slots, slot);
            if kernel.members.iter().any(|member| member.assignment.slot == of) || seen.contains(&of) {
                continue;
            }
            seen.push(of);
            let slot = &self.slots[slot];
            let at_most = steps.saturating_mul(width(slot.elem).unwrap_or(1) as u64);
            let bytes = (slot.bytes() as u64).min(at_most);
            match self.slots[of].source {
                SlotSource::Constant(_) => work.constants += bytes,
                SlotSource::Value(_) | SlotSource::Formula | SlotSource::Alias(_) => work.read += bytes,
            }
        }
        work
    }
}
