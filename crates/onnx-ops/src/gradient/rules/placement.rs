//! Derivatives of operators that place elements where other operands say, or where windows are.

use crate::gradient::cell::{Cell, Done};
use onnx_ir::ElemType;

/// Columns added into images: the gradient of a column is a part of the image. A convolution with one kernel for each place of a window
/// takes the parts out.
pub(crate) fn columns_to_image(cell: &mut Cell<'_>) -> Done {
    let block = cell.known(2).ok_or("the shape of its blocks is unknown")?;
    let count =
        block.iter().try_fold(1i64, |all, n| all.checked_mul(*n)).filter(|n| (1..=1 << 12).contains(n));
    let count = count.ok_or("its blocks are too large")?;
    let elem = cell.elem(0)?;
    let head = cell.list(&[-1, 1]);
    let planes = cell.op_with("Concat", "axis = 0", &[&head, "x1"]);
    let planes = cell.op("Reshape", &["dy0", &planes]);
    let square = cell.list(&[count, count]);
    let zeros = cell.filled(&square, 0, elem);
    let unit = cell.op("EyeLike", &[&zeros]);
    let shape: Vec<i64> = [count, 1].into_iter().chain(block.iter().copied()).collect();
    let kernels = cell.reshape(&unit, &shape);
    let attrs = cell.copied(&["dilations", "pads", "strides"]);
    let parts = cell.op_with("Conv", &attrs, &[&planes, &kernels]);
    let back = cell.reshape_like(&parts, 0);
    cell.give(0, back);
    Ok(())
}

/// Numbered elements are placed as the node places its operand; where one arrives, its gradient comes from.
pub(crate) fn unpool(cell: &mut Cell<'_>) -> Done {
    cell.need(16)?;
    let (zero, one) = (cell.number_of(0.0, ElemType::INT64), cell.number_of(1.0, ElemType::INT64));
    let size = cell.size(0);
    let scalar = cell.list(&[]);
    let count = cell.op("Reshape", &[&size, &scalar]);
    // Zero is where no element arrives.
    let end = cell.op("Add", &[&count, &one]);
    let numbers = cell.op("Range", &[&one, &end, &one]);
    let numbers = cell.op_with("Cast", &format!("to = {}", ElemType::DOUBLE.0), &[&numbers]);
    let numbers = cell.reshape_like(&numbers, 0);
    let attrs = cell.copied(&["kernel_shape", "pads", "strides"]);
    let operands: &[&str] = if cell.has(2) { &[&numbers, "x1", "x2"] } else { &[&numbers, "x1"] };
    let placed = cell.op_with("MaxUnpool", &attrs, operands);
    let placed = cell.op_with("Cast", &format!("to = {}", ElemType::INT64.0), &[&placed]);
    let placed = cell.reshape(&placed, &[-1]);
    let gradient = cell.reshape("dy0", &[-1]);
    let (start, step) = (cell.list(&[1]), cell.list(&[1]));
    let all = cell.op("Add", &[&size, &step]);
    let zeros = cell.filled(&all, 0, cell.elem(0)?);
    let sums = cell.op_with("ScatterElements", "reduction = \"add\"", &[&zeros, &placed, &gradient]);
    let axis = cell.op("Reshape", &[&zero, &step]);
    let own = cell.op("Slice", &[&sums, &start, &all, &axis]);
    let back = cell.reshape_like(&own, 0);
    cell.give(0, back);
    Ok(())
}

/// Replaced rows have no gradient; replacing ones have the gradient of their place.
pub(crate) fn tensor_scatter(cell: &mut Cell<'_>) -> Done {
    let rank = cell.rank(0)?;
    let axis = cell.site.int("axis").unwrap_or(-2);
    let at = if axis < 0 { axis + rank } else { axis };
    if !(1..rank).contains(&at) {
        return Err(format!("its axis is {axis}"));
    }
    let zeros = cell.zeros(1)?;
    let attrs = cell.copied(&["axis", "mode"]);
    let operands: &[&str] = if cell.has(2) { &["dy0", &zeros, "x2"] } else { &["dy0", &zeros] };
    let rest = cell.op_with("TensorScatter", &attrs, operands);
    cell.give(0, rest);
    // The rows of the update are at `write_indices + 0, 1 …` of their batch element, modulo the size of the axis.
    let scalar = cell.list(&[]);
    let (length, most) = (cell.extent(1, at), cell.extent(0, at));
    let end = cell.op("Reshape", &[&length, &scalar]);
    let (zero, one) = (cell.number_of(0.0, ElemType::INT64), cell.number_of(1.0, ElemType::INT64));
    let range = cell.op("Range", &[&zero, &end, &one]);
    let mut shape = vec![1; usize::try_from(rank).unwrap_or(0)];
    shape[usize::try_from(at).unwrap_or(0)] = -1;
    let mut rows = cell.reshape(&range, &shape);
    if cell.has(2) {
        let mut shape = vec![1; shape.len()];
        shape[0] = -1;
        let starts = cell.reshape("x2", &shape);
        rows = cell.op("Add", &[&starts, &rows]);
    }
    let rows = cell.op("Mod", &[&rows, &most]);
    let shape = cell.shape_of(1);
    let rows = cell.op("Expand", &[&rows, &shape]);
    let update = cell.op_with("GatherElements", &format!("axis = {at}"), &["dy0", &rows]);
    cell.give(1, update);
    Ok(())
}
