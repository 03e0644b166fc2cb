//! Derivatives: the gradients of parts are parts of the gradient.

use crate::derivative::{Cell, Done, by_position};

/// The slices that belong to the operands.
pub(super) fn concat(cell: &mut Cell<'_>) -> Done {
    let count = cell.arity();
    if count == 1 {
        cell.give(0, "dy0");
        return Ok(());
    }
    cell.need(13)?;
    let axis = cell.site.int("axis").ok_or("its axis is unknown")?;
    let at = if axis < 0 { axis + cell.rank(0)? } else { axis };
    let parts: Vec<String> = (0..count).map(|i| cell.extent(i, at)).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let sizes = cell.op_with("Concat", "axis = 0", &parts);
    let names: Vec<String> = (0..count).map(|i| format!("part_{i}")).collect();
    let list = names.join(", ");
    cell.line(format_args!("{list} = Split <axis = {axis}> (dy0, {sizes})"));
    names.into_iter().enumerate().for_each(|(i, name)| cell.give(i, name));
    Ok(())
}

/// Concatenates the gradients of the parts; zeros for those that have none.
pub(super) fn split(cell: &mut Cell<'_>) -> Done {
    let axis = cell.site.int("axis").unwrap_or(0);
    let elem = cell.elem(0)?;
    let mut parts = Vec::new();
    for j in 0..cell.outputs.len() {
        if cell.has_gradient(j) {
            parts.push(format!("dy{j}"));
            continue;
        }
        if cell.outputs[j].is_none() {
            return Err(format!("result {j} is left out"));
        }
        let shape = cell.shape_of_result(j);
        parts.push(cell.filled(&shape, 0, elem));
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let whole = cell.op_with("Concat", &format!("axis = {axis}"), &parts);
    cell.give(0, whole);
    Ok(())
}

/// With steps of one, it is a pad with zeros.
pub(super) fn slice(cell: &mut Cell<'_>) -> Done {
    let steps_are_one =
        !cell.has(4) || cell.known(4).is_some_and(|steps| steps.iter().all(|step| *step == 1));
    if let (true, Some(pads)) = (steps_are_one && cell.version() >= 11, slice_pads(cell)) {
        let pads = cell.list(&pads);
        let back = cell.op("Pad", &["dy0", &pads]);
        cell.give(0, back);
        return Ok(());
    }
    cell.need(10)?;
    let operands = ["x1", "x2", "x3", "x4"];
    let operands: Vec<&str> =
        (1..cell.arity()).map(|i| if cell.has(i) { operands[i - 1] } else { "" }).collect();
    by_position(cell, &operands, "")
}

/// The numbers of elements before and after the slice on each axis, if known.
fn slice_pads(cell: &Cell<'_>) -> Option<Vec<i64>> {
    let extents = cell.extents(0)?;
    let (starts, ends) = (cell.known(1)?, cell.known(2)?);
    let rank = i64::try_from(extents.len()).ok()?;
    let axes = if cell.has(3) { cell.known(3)? } else { (0..i64::try_from(starts.len()).ok()?).collect() };
    let mut pads = vec![0; extents.len() * 2];
    for ((start, end), axis) in starts.iter().zip(&ends).zip(axes) {
        let axis = usize::try_from(if axis < 0 { axis + rank } else { axis }).ok()?;
        let extent = *extents.get(axis)?;
        let clamp = |at: i64| (if at < 0 { at.saturating_add(extent) } else { at }).clamp(0, extent);
        let (start, end) = (clamp(*start), clamp(*end));
        *pads.get_mut(axis)? = start;
        *pads.get_mut(axis + extents.len())? = extent - end.max(start);
    }
    Some(pads)
}

/// A constant border is cropped; other borders are copies, whose gradients are added to those of their sources.
pub(super) fn pad(cell: &mut Cell<'_>) -> Done {
    cell.need(11)?;
    let mode = cell.site.string("mode").unwrap_or_else(|| "constant".to_owned());
    if mode != "constant" {
        let operands: &[&str] = match (cell.arity(), cell.has(3)) {
            (4, true) => &["x1", "", "x3"],
            _ => &["x1"],
        };
        return by_position(cell, operands, &format!("mode = \"{mode}\""));
    }
    let less = match cell.known(1) {
        Some(pads) => {
            let less: Vec<i64> = pads.iter().map(|pad| -pad).collect();
            cell.list(&less)
        }
        None => cell.op("Neg", &["x1"]),
    };
    let inner = match cell.has(3) {
        true => cell.op("Pad", &["dy0", &less, "", "x3"]),
        false => cell.op("Pad", &["dy0", &less]),
    };
    cell.give(0, inner.clone());
    if cell.has(2) {
        let (all, own) = (
            cell.op_with("ReduceSum", "keepdims = 0", &["dy0"]),
            cell.op_with("ReduceSum", "keepdims = 0", &[&inner]),
        );
        let border = cell.op("Sub", &[&all, &own]);
        let border = cell.reshape_like(&border, 2);
        cell.give(2, border);
    }
    Ok(())
}
