//! Derivatives: replaced elements have no gradient, replacing ones have that of their place.

use crate::gradient::{Cell, Done};

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
