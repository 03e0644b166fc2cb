//! Derivatives of operators that select elements: the same selection of positions says where each gradient belongs.

use super::cell::{Cell, Done};
use onnx_ir::ElemType;

/// Applies a selecting operator to element positions as well: the gradients are scattered back to these positions.
///
/// `operands` are those after the first one.
pub(crate) fn by_position(cell: &mut Cell<'_>, operands: &[&str], attrs: &str) -> Done {
    cell.need(16)?;
    let positions = positions(cell);
    let mut all = vec![positions.as_str()];
    all.extend_from_slice(operands);
    let operator = cell.operator().to_owned();
    let picked = cell.op_with(&operator, attrs, &all);
    let back = add_at(cell, &picked)?;
    cell.give(0, back);
    Ok(())
}

/// The position of each element of the first operand, in its shape.
fn positions(cell: &mut Cell<'_>) -> String {
    let size = cell.size(0);
    let scalar = cell.list(&[]);
    let end = cell.op("Reshape", &[&size, &scalar]);
    let (zero, one) = (cell.number_of(0.0, ElemType::INT64), cell.number_of(1.0, ElemType::INT64));
    let range = cell.op("Range", &[&zero, &end, &one]);
    let shape = cell.shape_of(0);
    cell.op("Reshape", &[&range, &shape])
}

/// Adds the gradient of the first result at positions of the first operand.
pub(crate) fn add_at(cell: &mut Cell<'_>, positions: &str) -> Result<String, String> {
    let (flat_at, flat) = (cell.reshape(positions, &[-1]), cell.reshape("dy0", &[-1]));
    let (size, elem) = (cell.size(0), cell.elem(0)?);
    let zeros = cell.filled(&size, 0, elem);
    let sum = cell.op_with("ScatterElements", "axis = 0, reduction = \"add\"", &[&zeros, &flat_at, &flat]);
    Ok(cell.reshape_like(&sum, 0))
}
