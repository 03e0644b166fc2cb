//! What every plan has to be: everything read is written before, and no two tensors that are needed at a time overlap.

use super::{Place, Plan, Source, Step, root};

impl Plan {
    /// Says what is wrong with a plan.
    pub(super) fn mistake(&self) -> Option<String> {
        let mut written: Vec<Option<usize>> = vec![None; self.slots.len()];
        let mut last_read = vec![0; self.slots.len()];
        for (at, step) in self.steps.iter().enumerate() {
            let Step::Kernel(kernel) = step else { continue };
            for member in &kernel.members {
                let target = &self.slots[member.assignment.slot];
                let computed: usize = member.assignment.formula.dims.iter().product();
                if computed != target.count()
                    || member.each * kernel.rows != target.count() && target.count() > 0
                {
                    return Some(format!(
                        "slot {} has not as many elements as are computed",
                        member.assignment.slot
                    ));
                }
                for operand in super::rewrite::operands(&member.assignment.formula) {
                    let operand = root(&self.slots, operand);
                    last_read[operand] = at;
                    let is_made = matches!(self.slots[operand].source, Source::Formula);
                    if is_made && written[operand].is_none() {
                        return Some(format!("slot {operand} is read before it is written"));
                    }
                    let is_other = written[operand].is_some_and(|by| by != at);
                    if self.places[operand] == Place::Local && is_other {
                        return Some(format!("slot {operand} is of another kernel alone"));
                    }
                }
                if written[member.assignment.slot].replace(at).is_some() {
                    return Some(format!("slot {} is written twice", member.assignment.slot));
                }
            }
        }
        let lives: Vec<(usize, usize, usize, usize, usize)> = (0..self.slots.len())
            .filter_map(|slot| match (self.places[slot], written[slot]) {
                (Place::Arena(start), Some(at)) => {
                    Some((start, start + self.slots[slot].bytes(), at, last_read[slot].max(at), slot))
                }
                _ => None,
            })
            .collect();
        for (i, a) in lives.iter().enumerate() {
            if a.1 > self.arena {
                return Some(format!("slot {} lies outside of the arena", a.4));
            }
            for b in &lives[i + 1..] {
                if a.0 < b.1 && b.0 < a.1 && a.2 <= b.3 && b.2 <= a.3 {
                    return Some(format!("slots {} and {} overlap", a.4, b.4));
                }
            }
        }
        None
    }
}
