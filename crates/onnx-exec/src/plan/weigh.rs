//! Properties of expressions that affect fusion: cost, selection by position, and rounding.

use super::Slot;
use crate::loops::is_padding;
use onnx_formula::{Binary, Cost, Expr, Formula, Index};
use onnx_ir::ElemType;

/// The cost of a function such as `Exp`.
pub(super) const HEAVY: usize = 8;

/// The cost of computing an element; 0 if it is only moved or widened.
pub(super) fn weight(expr: &Expr) -> usize {
    match expr {
        Expr::Load(..) | Expr::Number(_) | Expr::Total | Expr::Index(_) => 0,
        Expr::Cast(_, x) | Expr::Bits(_, _, x) if matches!(**x, Expr::Load(..)) => 0,
        Expr::Cast(_, x) | Expr::Bits(_, _, x) => 1 + weight(x),
        Expr::Unary(op, x) => {
            weight(x)
                + match op.cost() {
                    Cost::Simple => 1,
                    Cost::Division => 2,
                    Cost::Function => HEAVY,
                }
        }
        Expr::Binary(op, a, b) => {
            let own = if matches!(op, Binary::Pow) { HEAVY } else { 1 };
            own + weight(a) + weight(b)
        }
        // Padding only moves elements.
        Expr::Select(parts) if is_padding(parts) => 0,
        Expr::Select(parts) => 1 + parts.iter().map(weight).sum::<usize>(),
    }
}

/// Bytes of a cache line.
const LINE_BYTES: i64 = 64;
/// Tensors with shorter rows, and smaller tensors, stay in the first-level cache while their columns are read.
const MIN_ROW_ELEMENTS: usize = 32;
const MIN_TENSOR_BYTES: usize = 32 << 10;

/// Whether a formula computes from a tensor that it reads across its rows, one cache line per element. Formulas that only move
/// elements are tiled, so that no line is loaded twice.
pub(super) fn reads_across(formula: &Formula, slots: &[Slot]) -> bool {
    let Some(along) = formula.dims.iter().rposition(|d| *d > 1) else { return false };
    if formula.over.is_some()
        || formula.dims[along] < MIN_ROW_ELEMENTS
        || matches!(formula.expr, Expr::Load(..))
    {
        return false;
    }
    let mut is = false;
    formula.parts(&mut |part, _| {
        let Expr::Load(operand, position) = part else { return };
        let slot = &slots[*operand];
        let Some(width) = crate::tensor::width(slot.elem) else { return };
        let (mut step, mut stride) = (0i64, 1i64);
        for (index, d) in position.iter().zip(&slot.dims).rev() {
            if let Index::Affine(_, terms) = index {
                let by =
                    terms.iter().filter(|(axis, _)| *axis == along).map(|(_, by)| by.saturating_mul(stride));
                step = by.fold(step, i64::saturating_add);
            }
            stride = stride.saturating_mul(i64::try_from(*d).unwrap_or(i64::MAX));
        }
        let is_large = slot.count().saturating_mul(width) >= MIN_TENSOR_BYTES;
        is |= is_large && step.saturating_abs().saturating_mul(width as i64) >= LINE_BYTES;
    });
    is
}

/// Whether a formula selects between computations by position.
pub(super) fn chooses(formula: &Formula) -> bool {
    let mut is = false;
    formula.parts(&mut |part, _| {
        let Expr::Select(sides) = part else { return };
        is |=
            !is_padding(sides) && matches!(&sides[0], Expr::Binary(_, a, _) if matches!(**a, Expr::Index(_)));
    });
    is
}

/// Whether different indices always give different positions.
pub(super) fn walks_once(position: &[Index], extents: &[usize]) -> bool {
    let single = |index: &Index| match index {
        Index::Affine(_, terms) if terms.len() == 1 && terms[0].1 != 0 => Some(terms[0].0),
        _ => None,
    };
    let walked: Vec<usize> = position.iter().filter_map(single).collect();
    (0..extents.len()).all(|axis| extents[axis] <= 1 || walked.contains(&axis))
}

pub(super) fn mentions(index: &Index, axis: usize) -> bool {
    match index {
        Index::Affine(_, terms) => terms.iter().any(|(i, _)| *i == axis),
        Index::Sum(parts) => parts.iter().any(|(part, _)| mentions(part, axis)),
        Index::Div(x, _) | Index::Rem(x, _) => mentions(x, axis),
        Index::Element(_) => true,
    }
}

/// An expression as if its result were stored: converted to the type, unless it already has it.
pub(super) fn rounded(expr: Expr, was: &Expr, elem: ElemType, slots: &[Slot]) -> Expr {
    if keeps(was, elem, slots) { expr } else { expr.cast(elem) }
}

/// Whether an expression is single-precision arithmetic, including its accumulator.
pub(super) fn is_arithmetic(expr: &Expr, slots: &[Slot]) -> bool {
    match expr {
        Expr::Total => true,
        Expr::Unary(op, x) => !op.is_test() && is_arithmetic(x, slots),
        Expr::Binary(op, a, b) => !op.is_test() && is_arithmetic(a, slots) && is_arithmetic(b, slots),
        Expr::Select(parts) => is_arithmetic(&parts[1], slots) && is_arithmetic(&parts[2], slots),
        other => keeps(other, ElemType::FLOAT, slots),
    }
}

/// Whether an expression always yields values of a type.
fn keeps(expr: &Expr, elem: ElemType, slots: &[Slot]) -> bool {
    match expr {
        Expr::Load(operand, _) => slots[*operand].elem == elem,
        Expr::Cast(cast, _) => cast.to == elem,
        Expr::Bits(_, to, _) => *to == elem,
        Expr::Unary(op, _) if op.is_test() => elem == ElemType::BOOL,
        Expr::Binary(op, ..) if op.is_test() => elem == ElemType::BOOL,
        Expr::Select(parts) => keeps(&parts[1], elem, slots) && keeps(&parts[2], elem, slots),
        // Only single-precision operations round to their type; narrower types would have excess precision or would not wrap
        // around.
        Expr::Unary(_, x) => elem == ElemType::FLOAT && keeps(x, elem, slots),
        Expr::Binary(_, a, b) => elem == ElemType::FLOAT && keeps(a, elem, slots) && keeps(b, elem, slots),
        Expr::Number(_) => elem == ElemType::FLOAT,
        Expr::Total => false,
        Expr::Index(_) => elem == ElemType::INT64,
    }
}
