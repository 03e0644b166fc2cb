//! Properties of expressions that affect fusion: cost, selection by position, and rounding.

use super::Slot;
use crate::loops::{is_padding, times_of_power};
use onnx_formula::{Binary, Cost, Expr, Formula, Index};
use onnx_ir::ElemType;
use smallvec::SmallVec;

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
            let own = if matches!(op, Binary::Pow) && times_of_power(b).is_none() { HEAVY } else { 1 };
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
        let step = distances(position, slot, formula.dims.len())[along];
        let is_large = slot.count().saturating_mul(width) >= MIN_TENSOR_BYTES;
        is |= is_large && step.saturating_abs().saturating_mul(width as i64) >= LINE_BYTES;
    });
    is
}

/// The distances of elements of a tensor along each axis of a result, as far as positions are linear.
fn distances(position: &[Index], slot: &Slot, rank: usize) -> SmallVec<[i64; 6]> {
    let mut by: SmallVec<[i64; 6]> = SmallVec::from_elem(0, rank);
    let mut stride = 1i64;
    for (index, d) in position.iter().zip(&slot.dims).rev() {
        if let Index::Affine(_, terms) = index {
            for (axis, times) in terms.iter().filter(|(axis, _)| *axis < rank) {
                by[*axis] = by[*axis].saturating_add(times.saturating_mul(stride));
            }
        }
        stride = stride.saturating_mul(i64::try_from(*d).unwrap_or(i64::MAX));
    }
    by
}

/// Whether a formula only moves elements.
pub(super) fn moves(formula: &Formula) -> bool {
    fn is_moved(expr: &Expr) -> bool {
        match expr {
            Expr::Load(..) | Expr::Number(_) => true,
            Expr::Select(parts) => is_moved(&parts[1]) && is_moved(&parts[2]),
            _ => false,
        }
    }
    formula.over.is_none() && formula.then.is_none() && is_moved(&formula.expr)
}

/// Whether a formula moves each element of a tensor to one place at most.
pub(super) fn permutes(formula: &Formula, slots: &[Slot]) -> bool {
    moves(formula)
        && matches!(&formula.expr, Expr::Load(operand, _) if slots[*operand].count() >= formula.dims.iter().product())
}

/// Whether a formula moves rows whose positions are looked up or computed: the elements of a row are contiguous.
pub(super) fn finds_rows(formula: &Formula) -> bool {
    let (Expr::Load(_, position), None, None) = (&formula.expr, &formula.over, &formula.then) else {
        return false;
    };
    let Some(along) = formula.dims.iter().rposition(|d| *d > 1) else { return false };
    let is_affine = |index: &Index| matches!(index, Index::Affine(..));
    let is_along = |index: &Index| matches!(index, Index::Affine(_, terms) if terms.contains(&(along, 1)));
    let is_free = |index: &Index| is_affine(index) || !depends(index, along);
    position.last().is_some_and(is_along) && !position.iter().all(is_affine) && position.iter().all(is_free)
}

/// Whether an index depends on an axis, also by what it looks up.
fn depends(index: &Index, axis: usize) -> bool {
    match index {
        Index::Affine(..) => mentions(index, axis),
        Index::Sum(parts) => parts.iter().any(|(part, _)| depends(part, axis)),
        Index::Div(x, _) | Index::Rem(x, _) => depends(x, axis),
        Index::Element(expr) => {
            let mut is = false;
            expr.walk(&mut |part| match part {
                Expr::Load(_, position) => is |= position.iter().any(|index| depends(index, axis)),
                Expr::Index(index) => is |= depends(index, axis),
                _ => {}
            });
            is
        }
    }
}

/// Strips with fewer elements take longer than a copy, after which strips are whole: in the second-level cache, and in memory.
const MIN_STRIP: [usize; 2] = [96, 8];
const NEAR_BYTES: usize = 1 << 20;
/// A copy takes as long as so many strips, at least.
const STRIPS_OF_COPY: usize = 16;

/// Whether strips of so many elements are too short for a result.
pub(super) fn are_short(strip: usize, result: &Slot) -> bool {
    let width = crate::tensor::width(result.elem).unwrap_or(1);
    let is_near = result.count().saturating_mul(width) <= NEAR_BYTES;
    let least = if is_near { MIN_STRIP[0] } else { MIN_STRIP[1] };
    strip < least && result.count() / strip.max(1) > STRIPS_OF_COPY
}

/// The axes of a formula without a reduction, after those are merged along which all that it loads at linear positions is at equal
/// distances: their number, and the size of the last one.
pub(super) fn merged(formula: &Formula, slots: &[Slot]) -> (usize, usize) {
    let dims = &formula.dims;
    // The distances of each load along the axes.
    let mut loads: SmallVec<[SmallVec<[i64; 6]>; 4]> = SmallVec::new();
    formula.parts(&mut |part, _| {
        if let Expr::Load(operand, position) = part {
            loads.push(distances(position, &slots[*operand], dims.len()));
        }
    });
    let (mut rank, mut last) = (0, 1);
    // The inner axis, and the size of those merged into it.
    let mut inner: Option<(usize, usize)> = None;
    for axis in (0..dims.len()).rev().filter(|axis| dims[*axis] > 1) {
        let merges = |(inner, size): (usize, usize)| {
            loads.iter().all(|by| by[axis] == by[inner].saturating_mul(size as i64))
        };
        let size = match inner.filter(|inner| merges(*inner)) {
            Some((inner, size)) => (inner, size.saturating_mul(dims[axis])),
            None => {
                rank += 1;
                (axis, dims[axis])
            }
        };
        inner = Some(size);
        if rank == 1 {
            last = size.1;
        }
    }
    (rank, last)
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
