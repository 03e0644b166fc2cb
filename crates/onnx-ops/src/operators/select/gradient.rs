//! Derivatives: gradients go back to the selected elements.

use crate::derivative::{Cell, Done, by_position};

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

/// The gradient of a unique element flows to its first occurrence, from which the result has it. Which elements are equal is constant
/// between jumps.
pub(super) fn unique(cell: &mut Cell<'_>) -> Done {
    cell.need(11)?;
    let attrs = cell.copied(&["axis", "sorted"]);
    let (values, first) = (cell.name("values"), cell.name("first"));
    cell.line(format_args!("{values}, {first} = Unique <{attrs}> (x0)"));
    let elem = cell.elem(0)?;
    let Some(axis) = cell.site.int("axis") else {
        let size = cell.size(0);
        let zeros = cell.filled(&size, 0, elem);
        let all = cell.op_with("ScatterElements", "axis = 0", &[&zeros, &first, "dy0"]);
        let all = cell.reshape_like(&all, 0);
        cell.give(0, all);
        return Ok(());
    };
    let rank = cell.rank(0)?;
    let at = if axis < 0 { axis + rank } else { axis };
    let mut shape = vec![1; usize::try_from(rank).unwrap_or(0)];
    *usize::try_from(at).ok().and_then(|at| shape.get_mut(at)).ok_or("its axis is not sound")? = -1;
    let first = cell.reshape(&first, &shape);
    let extents = cell.op("Shape", &["dy0"]);
    let first = cell.op("Expand", &[&first, &extents]);
    let zeros = cell.zeros(0)?;
    let all = cell.op_with("ScatterElements", &format!("axis = {axis}"), &[&zeros, &first, "dy0"]);
    cell.give(0, all);
    Ok(())
}
