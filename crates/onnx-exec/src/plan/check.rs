//! Verifies plans, and formulas between stages: every slot is written before it is read, loads are in bounds, and tensors that
//! are live at the same time do not overlap.

use super::{Partition, PartitionItem, Plan, PlanStep, Slot, SlotSource, SlotStorage, root};
use onnx_formula::{Expr, Formula, Position};
use std::collections::{BTreeMap, BTreeSet};

impl Partition {
    /// The first mistake in the formulas.
    pub(super) fn mistake(&self) -> Option<String> {
        let mut is_written = vec![false; self.slots.len()];
        for item in &self.items {
            let PartitionItem::Formula(assignment) = item else { continue };
            let slot = assignment.slot;
            for operand in assignment.formula.operands() {
                if operand >= self.slots.len() {
                    return Some(format!("slot {operand}, of which slot {slot} is made, does not exist"));
                }
                let operand = root(&self.slots, operand);
                if matches!(self.slots[operand].source, SlotSource::Formula) && !is_written[operand] {
                    return Some(format!("slot {operand} is read before it is written"));
                }
            }
            if let Some(operand) = outside(&assignment.formula, &self.slots) {
                return Some(format!("slot {operand} is loaded out of bounds for slot {slot}"));
            }
            if std::mem::replace(&mut is_written[slot], true) {
                return Some(format!("slot {slot} is written twice"));
            }
        }
        None
    }
}

/// The operand that a formula certainly loads out of bounds somewhere: the load is unconditional and its position is a linear
/// function of the indices, whose range is exact. Positions that depend on elements are checked by the run.
pub(super) fn outside(formula: &Formula, slots: &[Slot]) -> Option<usize> {
    let extents = formula.extents();
    if extents.contains(&0) {
        return None;
    }
    let mut found = None;
    let mut look = |part: &Expr| {
        let Expr::Load(operand, position) = part else { return };
        let dims = &slots[*operand].dims;
        let is_in = |(index, d): (_, &usize)| {
            let linear = Position::of(index).filter(|position| position.linear(extents.len()).is_some());
            let range = linear.and_then(|position| position.range(&extents));
            range.is_none_or(|(least, most)| least >= 0 && most < *d as i128)
        };
        if position.len() != dims.len() || !position.iter().zip(dims).all(is_in) {
            found.get_or_insert(*operand);
        }
    };
    for part in [Some(&formula.expr), formula.then.as_ref()].into_iter().flatten() {
        always(part, &mut look);
    }
    found
}

/// Visits the parts that are evaluated unconditionally.
fn always<'e>(expr: &'e Expr, each: &mut dyn FnMut(&'e Expr)) {
    each(expr);
    match expr {
        Expr::Load(..) | Expr::Number(_) | Expr::Total | Expr::Index(_) => {}
        Expr::Unary(_, x) | Expr::Cast(_, x) | Expr::Bits(_, _, x) => always(x, each),
        Expr::Binary(_, a, b) => {
            always(a, each);
            always(b, each);
        }
        Expr::Select(parts) => always(&parts[0], each),
    }
}

impl Plan {
    /// The first mistake in a plan, with its slot; `name` returns the name of a slot.
    pub(super) fn mistake(&self, name: &dyn Fn(usize) -> String) -> Option<(usize, String)> {
        // Every kernel reads what earlier steps have written, and writes each slot once.
        let mut written: Vec<Option<usize>> = vec![None; self.slots.len()];
        let mut last_read = vec![0; self.slots.len()];
        for (at, step) in self.steps.iter().enumerate() {
            let PlanStep::Kernel(kernel) = step else { continue };
            for member in &kernel.members {
                let slot = member.assignment.slot;
                let target = &self.slots[slot];
                let computed: usize = member.assignment.formula.dims.iter().product();
                if computed != target.count()
                    || member.each * kernel.rows != target.count() && target.count() > 0
                {
                    return Some((
                        slot,
                        format!("{} must have as many elements as are computed", name(slot)),
                    ));
                }
                for operand in member.assignment.formula.operands() {
                    let operand = root(&self.slots, operand);
                    last_read[operand] = at;
                    let is_made = matches!(self.slots[operand].source, SlotSource::Formula);
                    if is_made && written[operand].is_none() {
                        return Some((slot, format!("{} is read before it is computed", name(operand))));
                    }
                    let is_other = written[operand].is_some_and(|by| by != at);
                    if self.places[operand] == SlotStorage::Local && is_other {
                        return Some((
                            slot,
                            format!(
                                "{} is `in block` of another kernel, so it cannot be read here",
                                name(operand)
                            ),
                        ));
                    }
                }
                if written[slot].replace(at).is_some() {
                    return Some((slot, format!("{} is computed twice", name(slot))));
                }
            }
        }
        // The bytes of each slot in the arena, with its first and last step.
        let lives: Vec<(usize, usize, usize, usize, usize)> = (0..self.slots.len())
            .filter_map(|slot| match (self.places[slot], written[slot]) {
                (SlotStorage::Arena(start), Some(at)) => {
                    Some((start, start + self.slots[slot].bytes(), at, last_read[slot].max(at), slot))
                }
                _ => None,
            })
            .collect();
        // The live tensors by offset; tensors enter in the order of their first use.
        let mut now: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        let mut ends: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut lives = lives;
        lives.sort_unstable_by_key(|(.., from, _, slot)| (*from, *slot));
        for (start, end, from, to, slot) in lives {
            if end > self.arena {
                return Some((slot, format!("{} lies outside of the arena", name(slot))));
            }
            while let Some((over, at)) = ends.first().copied().filter(|(over, _)| *over < from) {
                ends.remove(&(over, at));
                now.remove(&at);
            }
            if start == end {
                continue;
            }
            if let Some((_, (_, other))) =
                now.range(..end).next_back().filter(|(_, (other, _))| *other > start)
            {
                let why =
                    format!("{} and {} overlap in the arena while both are needed", name(slot), name(*other));
                return Some((slot, why));
            }
            now.insert(start, (end, slot));
            ends.insert((to, start));
        }
        None
    }
}
