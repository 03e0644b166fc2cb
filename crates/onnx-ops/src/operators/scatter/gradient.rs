//! Derivatives: replaced elements have no gradient, replacing ones have that of their place.

use crate::derivative::{Cell, Done};
use onnx_ir::ElemType;

/// Replaced elements have no gradient; replacing ones have the gradient of their place.
pub(super) fn scatter_elements(cell: &mut Cell<'_>) -> Done {
    let axis = cell.site.int("axis").unwrap_or(0);
    let updates = cell.op_with("GatherElements", &format!("axis = {axis}"), &["dy0", "x1"]);
    scatter(cell, updates, &format!("axis = {axis}"))
}

pub(super) fn scatter_nd(cell: &mut Cell<'_>) -> Done {
    let updates = cell.op("GatherND", &["dy0", "x1"]);
    scatter(cell, updates, "")
}

fn scatter(cell: &mut Cell<'_>, updates: String, attrs: &str) -> Done {
    let reduction = cell.site.string("reduction").unwrap_or_else(|| "none".to_owned());
    match &*reduction {
        "add" => cell.give(0, "dy0"),
        "none" => {
            let zeros = cell.zeros(2)?;
            // Before version 18, the same operator is called `Scatter`.
            let op = cell.operator().to_owned();
            let rest = cell.op_with(&op, attrs, &["dy0", "x1", &zeros]);
            cell.give(0, rest);
        }
        other => return Err(format!("its reduction is `{other}`")),
    }
    cell.give(2, updates);
    Ok(())
}

/// Replaced rows have no gradient; replacing ones have the gradient of their place.
pub(super) fn tensor_scatter(cell: &mut Cell<'_>) -> Done {
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
