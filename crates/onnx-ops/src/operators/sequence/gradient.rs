//! Derivatives: the gradient of a sequence is the sequence of the gradients of its elements, which move back.

use crate::derivative::sequences::{MAPS, element_type, filling_body};
use crate::derivative::shapes::filling;
use crate::derivative::{Cell, Done};
use onnx_ir::ElemType;

/// Zeros in the shape of each element of the first operand.
fn zeros(cell: &mut Cell<'_>) -> Result<String, String> {
    cell.need(MAPS)?;
    let body = filling_body(&filling(0, element(cell)?));
    Ok(cell.op_with("SequenceMap", &body, &["x0"]))
}

/// The element type of the tensors of the first operand.
fn element(cell: &Cell<'_>) -> Result<ElemType, String> {
    let fact = cell.inputs.first().and_then(Option::as_ref);
    fact.and_then(|fact| element_type(&fact.ty)).ok_or_else(|| "its element type is unknown".to_owned())
}

/// A position among the elements of the first operand, counted from its beginning.
fn position(cell: &mut Cell<'_>, operand: usize) -> String {
    let name = format!("x{operand}");
    if cell.known(operand).is_some_and(|known| known.iter().all(|at| *at >= 0)) {
        return name;
    }
    let at = cell.op_with("Cast", &format!("to = {}", ElemType::INT64.0), &[&name]);
    let (count, zero) = (cell.op("SequenceLength", &["x0"]), cell.number_of(0.0, ElemType::INT64));
    let is_from_end = cell.op("Less", &[&at, &zero]);
    let from_end = cell.op("Add", &[&at, &count]);
    cell.op("Where", &[&is_from_end, &from_end, &at])
}

fn last(cell: &mut Cell<'_>) -> String {
    cell.number_of(-1.0, ElemType::INT64)
}

/// Zeros for the other elements.
pub(super) fn at(cell: &mut Cell<'_>) -> Done {
    let zeros = zeros(cell)?;
    let at = position(cell, 1);
    let others = cell.op("SequenceErase", &[&zeros, &at]);
    let all = cell.op("SequenceInsert", &[&others, "dy0", &at]);
    cell.give(0, all);
    Ok(())
}

pub(super) fn construct(cell: &mut Cell<'_>) -> Done {
    for i in 0..cell.arity() {
        let at = cell.number_of(i as f64, ElemType::INT64);
        let one = cell.op("SequenceAt", &["dy0", &at]);
        cell.give(i, one);
    }
    Ok(())
}

pub(super) fn insert(cell: &mut Cell<'_>) -> Done {
    let at = if cell.has(2) { position(cell, 2) } else { last(cell) };
    let (others, one) = (cell.op("SequenceErase", &["dy0", &at]), cell.op("SequenceAt", &["dy0", &at]));
    cell.give(0, others);
    cell.give(1, one);
    Ok(())
}

/// Zeros for the element that is gone.
pub(super) fn erase(cell: &mut Cell<'_>) -> Done {
    let elem = element(cell)?;
    let (at, place) = match cell.has(1) {
        true => {
            let at = position(cell, 1);
            (at.clone(), Some(at))
        }
        false => (last(cell), None),
    };
    let gone = cell.op("SequenceAt", &["x0", &at]);
    let extents = cell.op("Shape", &[&gone]);
    let zeros = cell.filled(&extents, 0, elem);
    let mut operands = vec!["dy0", &*zeros];
    operands.extend(place.as_deref());
    let all = cell.op("SequenceInsert", &operands);
    cell.give(0, all);
    Ok(())
}

/// The parts of the whole, which have the sizes of the elements.
pub(super) fn concat(cell: &mut Cell<'_>) -> Done {
    let axis = cell.site.int("axis").ok_or("its axis is unknown")?;
    let parts = if cell.site.int("new_axis").unwrap_or(0) != 0 {
        cell.op_with("SplitToSequence", &format!("axis = {axis}, keepdims = 0"), &["dy0"])
    } else {
        cell.need(MAPS)?;
        let body = format!(
            "body = size (element) => (extent) {{ extents = Shape (element) at = Constant <value = int64[1] {{{axis}}}> () extent = Gather (extents, at) }}"
        );
        let sizes = cell.op_with("SequenceMap", &body, &["x0"]);
        let sizes = cell.op_with("ConcatFromSequence", "axis = 0", &[&sizes]);
        cell.op_with("SplitToSequence", &format!("axis = {axis}"), &["dy0", &sizes])
    };
    cell.give(0, parts);
    Ok(())
}

pub(super) fn split(cell: &mut Cell<'_>) -> Done {
    let axis = cell.site.int("axis").unwrap_or(0);
    let keeps = cell.has(1) || cell.site.int("keepdims").unwrap_or(1) != 0;
    let attrs = format!("axis = {axis}, new_axis = {}", i64::from(!keeps));
    let whole = cell.op_with("ConcatFromSequence", &attrs, &["dy0"]);
    cell.give(0, whole);
    Ok(())
}
