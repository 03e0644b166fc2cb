//! Finds formulas that need no loops: aliases of tensors, and gathers at constant positions.

use super::check::outside;
use super::{Assignment, Partition, PartitionItem, Slot, SlotSource, types};
use onnx_formula::{Expr, Formula, Position, Rewrite};
use onnx_ir::ElemType;

/// Replaces loads of constant integers in positions by their values, so that a gather at a constant position is a view. A
/// position out of bounds stays as it is and is reported by the run.
pub(super) fn known(partition: &mut Partition) {
    let Partition { items, slots, nests, .. } = partition;
    let number = |operand: usize| {
        let slot = &slots[operand];
        slot.number().filter(|_| matches!(slot.elem, ElemType::INT64 | ElemType::INT32))
    };
    for item in items {
        let PartitionItem::Formula(assignment) = item else { continue };
        let formula = &mut assignment.formula;
        if !formula.operands().into_iter().any(|operand| number(operand).is_some()) {
            continue;
        }
        let extents = formula.extents();
        let indices: Vec<Position> = (0..extents.len()).map(Position::index).collect();
        let load = |operand: usize, position| {
            Some(number(operand).map_or_else(|| Expr::load(operand, position), Expr::Number))
        };
        let rewrite = Rewrite { indices: &indices, extents: &extents, total: None, load: &load };
        let simple = rewrite.formula(formula, formula.clone());
        let is_good = |simple: &Formula| {
            outside(simple, slots).is_none() && nests.judged(simple, &types(slots)).is_some()
        };
        if let Some(simple) = simple.filter(is_good) {
            *formula = simple;
        }
    }
}

/// Replaces formulas that copy another tensor in the same order by aliases.
pub(super) fn alias(partition: &mut Partition) {
    let Partition { items, slots, .. } = partition;
    items.retain(|item| {
        let PartitionItem::Formula(assignment) = item else { return true };
        let Assignment { slot, formula, .. } = &**assignment;
        let (None, Expr::Load(operand, _)) = (&formula.over, &formula.expr) else { return true };
        let is_same = slots[*operand].elem == formula.elem
            && slots[*operand].count() == slots[*slot].count()
            && is_in_order(formula, &formula.expr, slots);
        if is_same {
            slots[*slot].source = SlotSource::Alias(*operand);
        }
        !is_same
    });
}

/// Whether a load reads its operand in the order of the result.
pub(super) fn is_in_order(formula: &Formula, load: &Expr, slots: &[Slot]) -> bool {
    place_of(formula, load, slots).is_some_and(|place| {
        let same = (0..formula.dims.len()).map(Position::index).collect::<Vec<_>>();
        let linear = |place: &Position| {
            let mut by = place.linear(formula.dims.len())?;
            // The stride of an index of extent 1 does not matter.
            by.iter_mut().zip(&formula.dims).filter(|(_, d)| **d == 1).for_each(|(by, _)| *by = 0);
            Some(by)
        };
        place.offset == 0
            && Position::place(&same, &formula.dims)
                .is_some_and(|same| linear(&same).is_some() && linear(&same) == linear(&place))
    })
}

/// The row-major offset of a load.
fn place_of(formula: &Formula, load: &Expr, slots: &[Slot]) -> Option<Position> {
    let Expr::Load(operand, position) = load else { return None };
    let extents = formula.extents();
    let indices: Vec<Position> = (0..extents.len()).map(Position::index).collect();
    let rewrite = Rewrite { indices: &indices, extents: &extents, total: None, load: &|_, _| None };
    let position: Vec<Position> = position.iter().map(|index| rewrite.index(index)).collect::<Option<_>>()?;
    Position::place(&position, &slots[*operand].dims)
}
