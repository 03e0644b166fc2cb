//! Derivatives of the inverse operators of windows: `Col2Im` and `MaxUnpool`.

use crate::derivative::{Cell, Done};
use onnx_ir::ElemType;

/// Columns added into images: the gradient of a column is a part of the image. A convolution with one kernel for each place of a window
/// takes the parts out.
pub(in crate::operators::conv) fn columns_to_image(cell: &mut Cell<'_>) -> Done {
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
pub(in crate::operators::conv) fn unpool(cell: &mut Cell<'_>) -> Done {
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
