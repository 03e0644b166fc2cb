//! Verifies parsed schedules, beyond what holds for every plan (`check`).

use super::Names;
use super::kernel::Clauses;
use crate::plan::{Partition, PlanStep, Slot, SlotSource, SlotStorage, check, group, place, root};
use foldhash::HashMap;
use onnx_formula::{Expr, Formula, Index};
use onnx_ir::ValueId;
use onnx_ir::diag::counted;

/// Whether a formula uses existing axes and operands and loads in bounds.
pub(super) fn formula(
    formula: &Formula,
    slots: &[Slot],
    name: &dyn Fn(usize) -> String,
) -> Result<(), String> {
    let all = formula.extents();
    if crate::tensor::count(&all).is_none() {
        return Err("the formula has too many elements".to_owned());
    }
    let rank = formula.dims.len();
    let mut wrong = None;
    for (expr, axes) in [(Some(&formula.expr), all.len()), (formula.then.as_ref(), rank)] {
        let Some(expr) = expr else { continue };
        let is_then = formula.then.as_ref().is_some_and(|then| std::ptr::eq(then, expr));
        expr.walk(&mut |part| {
            let indices = match part {
                Expr::Load(operand, position) => {
                    if position.len() != slots[*operand].dims.len() {
                        let rank = slots[*operand].dims.len();
                        wrong.get_or_insert(format!(
                            "{} has rank {rank}, but is read with {}",
                            name(*operand),
                            counted(position.len(), "index"),
                        ));
                    }
                    &position[..]
                }
                Expr::Index(index) => std::slice::from_ref(index),
                Expr::Total if !is_then => {
                    wrong.get_or_insert("`total` cannot be used inside the reduction".to_owned());
                    return;
                }
                _ => return,
            };
            for index in indices {
                if let Err(why) = axes_of(index, axes) {
                    wrong.get_or_insert(why);
                }
            }
        });
    }
    if let Some(why) = wrong {
        return Err(why);
    }
    match check::outside(formula, slots) {
        Some(operand) => Err(format!("{} is read out of bounds", name(operand))),
        None => Ok(()),
    }
}

/// Whether an index uses existing axes and divides by positive numbers.
fn axes_of(index: &Index, axes: usize) -> Result<(), String> {
    match index {
        Index::Affine(_, terms) => match terms.iter().find(|(axis, _)| *axis >= axes) {
            Some((axis, _)) => Err(format!("axis `i{axis}` does not exist here")),
            None => Ok(()),
        },
        Index::Sum(of) => of.iter().try_for_each(|(part, _)| axes_of(part, axes)),
        Index::Div(x, by) | Index::Rem(x, by) if *by > 0 => axes_of(x, axes),
        Index::Div(..) | Index::Rem(..) => Err("an index must be divided by a positive number".to_owned()),
        // Its parts are visited separately.
        Index::Element(_) => Ok(()),
    }
}

/// Whether the formulas of a kernel can be computed row by row.
pub(super) fn rows(
    members: &[Clauses],
    rows: usize,
    slots: &[Slot],
    name: &dyn Fn(usize) -> String,
) -> Result<(), (usize, String)> {
    if members.len() == 1 {
        return Ok(());
    }
    let mut made: Vec<usize> = Vec::new();
    for (at, member) in members.iter().enumerate() {
        let count = slots[member.slot].count();
        if rows == 0 || !count.is_multiple_of(rows) {
            return Err((
                at,
                format!(
                    "the {} of {} cannot be split into {}",
                    counted(count, "element"),
                    name(member.slot),
                    counted(rows, "row")
                ),
            ));
        }
        let is_made = |slot: usize| made.contains(&slot);
        // A finer division of the rows is accepted: then each row reads its own parts.
        let dims = &member.formula.dims;
        let finer = dims.iter().scan(1usize, |rows, d| {
            *rows = rows.saturating_mul(*d);
            Some(*rows)
        });
        let is_by_row = |by: usize| group::is_by_row(&is_made, &member.formula, count / by, by, slots);
        if !finer.chain([rows]).any(|by| by > 0 && by.is_multiple_of(rows) && is_by_row(by)) {
            let why =
                format!("a row of {} reads other rows that the same kernel computes", name(member.slot));
            return Err((at, why));
        }
        made.push(member.slot);
    }
    Ok(())
}

/// Whether the layout of each slot is a permutation of its axes.
pub(super) fn layouts(slots: &[Slot]) -> Result<(), (usize, String)> {
    for (slot, of) in slots.iter().enumerate().filter(|(_, of)| !of.axes.is_empty()) {
        let mut axes: Vec<usize> = of.axes.iter().map(|axis| usize::from(*axis)).collect();
        axes.sort_unstable();
        if !axes.iter().copied().eq(0..of.dims.len()) {
            return Err((
                slot,
                format!("`axes` must list each axis from 0 to {} once", of.dims.len().saturating_sub(1)),
            ));
        }
    }
    Ok(())
}

/// Whether results that are read outside the plan have the expected storage, and every node finds its inputs.
pub(super) fn order(
    steps: &[PlanStep],
    partition: &Partition,
    names: &dyn Names,
) -> Result<(), (usize, String)> {
    let Partition { slots, published, .. } = partition;
    let mut made: HashMap<usize, usize> = HashMap::default();
    let mut by_node: HashMap<ValueId, usize> = HashMap::default();
    for (at, step) in steps.iter().enumerate() {
        match step {
            PlanStep::Kernel(kernel) => {
                made.extend(kernel.members.iter().map(|member| (member.assignment.slot, at)));
            }
            PlanStep::Node(step) => by_node.extend(step.results.iter().map(|value| (*value, at))),
            PlanStep::Publish(..) | PlanStep::Release(..) => {}
        }
    }
    let born = |slot: usize| match &slots[root(slots, slot)].source {
        SlotSource::Value(value) => by_node.get(value).copied(),
        SlotSource::Constant(_) | SlotSource::Formula | SlotSource::Alias(_) => {
            made.get(&root(slots, slot)).copied()
        }
    };
    let slot_of: HashMap<ValueId, usize> = published.iter().copied().collect();
    for (at, step) in steps.iter().enumerate() {
        match step {
            PlanStep::Kernel(kernel) => {
                for member in &kernel.members {
                    let late = member.assignment.formula.operands().into_iter().find(|slot| {
                        matches!(slots[root(slots, *slot)].source, SlotSource::Value(_))
                            && born(*slot) > Some(at)
                    });
                    if late.is_some() {
                        return Err((at, "it reads the output of a node that runs later".to_owned()));
                    }
                }
            }
            PlanStep::Node(step) => {
                for value in &step.reads {
                    let when =
                        slot_of.get(value).map_or_else(|| by_node.get(value).copied(), |slot| born(*slot));
                    if when >= Some(at) && when.is_some() {
                        let name = names.value(*value);
                        return Err((at, format!("it reads `{name}`, which is computed later")));
                    }
                }
            }
            PlanStep::Publish(..) | PlanStep::Release(..) => {}
        }
    }
    Ok(())
}

/// The size of the arena in bytes.
pub(super) fn arena(places: &[SlotStorage], slots: &[Slot]) -> usize {
    let end = |(place, slot): (&SlotStorage, &Slot)| match place {
        SlotStorage::Arena(at) => at.saturating_add(slot.bytes().next_multiple_of(place::ALIGN)),
        SlotStorage::Elsewhere | SlotStorage::Own | SlotStorage::Local => 0,
    };
    places.iter().zip(slots).map(end).max().unwrap_or(0)
}
