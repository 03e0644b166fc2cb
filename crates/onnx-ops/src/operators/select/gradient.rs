//! Derivatives: gradients go back to the selected elements.

use crate::gradient::{Cell, Done, by_position};

pub(super) fn compress(cell: &mut Cell<'_>) -> Done {
    let attrs = match cell.site.has_attr("axis") {
        true => format!("axis = {}", cell.site.int("axis").ok_or("its axis is unknown")?),
        false => String::new(),
    };
    by_position(cell, &["x1"], &attrs)
}

/// The values, scattered to their original places.
pub(super) fn top_k(cell: &mut Cell<'_>) -> Done {
    cell.need(11)?;
    if !cell.has_gradient(0) {
        return Ok(());
    }
    if cell.outputs.get(1).is_none_or(Option::is_none) {
        return Err("its indices are left out".to_owned());
    }
    let axis = cell.site.int("axis").unwrap_or(-1);
    let zeros = cell.zeros(0)?;
    let back = cell.op_with("ScatterElements", &format!("axis = {axis}"), &[&zeros, "y1", "dy0"]);
    cell.give(0, back);
    Ok(())
}
