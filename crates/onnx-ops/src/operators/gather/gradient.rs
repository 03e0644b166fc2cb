//! Derivatives: gradients are added where the elements come from.

use crate::derivative::{Cell, Done, by_position};

/// Rows of the first axis are scattered back; other axes use positions.
pub(super) fn gather(cell: &mut Cell<'_>) -> Done {
    cell.need(16)?;
    let axis = cell.site.int("axis").unwrap_or(0);
    if axis == 0 {
        let column = cell.unsqueeze("x1", &[-1]);
        let zeros = cell.zeros(0)?;
        let sum = cell.op_with("ScatterND", "reduction = \"add\"", &[&zeros, &column, "dy0"]);
        cell.give(0, sum);
        return Ok(());
    }
    by_position(cell, &["x1"], &format!("axis = {axis}"))
}

pub(super) fn gather_elements(cell: &mut Cell<'_>) -> Done {
    cell.need(16)?;
    let axis = cell.site.int("axis").unwrap_or(0);
    let zeros = cell.zeros(0)?;
    let attrs = format!("axis = {axis}, reduction = \"add\"");
    let sum = cell.op_with("ScatterElements", &attrs, &[&zeros, "x1", "dy0"]);
    cell.give(0, sum);
    Ok(())
}

pub(super) fn gather_nd(cell: &mut Cell<'_>) -> Done {
    cell.need(16)?;
    let batch = cell.site.int("batch_dims").unwrap_or(0);
    if batch != 0 {
        return by_position(cell, &["x1"], &format!("batch_dims = {batch}"));
    }
    let zeros = cell.zeros(0)?;
    let sum = cell.op_with("ScatterND", "reduction = \"add\"", &[&zeros, "x1", "dy0"]);
    cell.give(0, sum);
    Ok(())
}
