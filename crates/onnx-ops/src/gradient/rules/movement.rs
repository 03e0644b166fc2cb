//! Derivatives of data movement: the gradient moves back.

use crate::gradient::cell::{Cell, Done};
use onnx_ir::ElemType;

/// Another shape.
pub(crate) fn reshape(cell: &mut Cell<'_>) -> Done {
    let back = cell.reshape_like("dy0", 0);
    cell.give(0, back);
    Ok(())
}

pub(crate) fn transpose(cell: &mut Cell<'_>) -> Done {
    let Some(perm) = cell.site.ints("perm") else {
        let back = cell.op("Transpose", &["dy0"]);
        cell.give(0, back);
        return Ok(());
    };
    let mut back = vec![0; perm.len()];
    for (to, from) in (0i64..).zip(&perm) {
        let slot = usize::try_from(*from).ok().and_then(|from| back.get_mut(from));
        *slot.ok_or("its permutation is not sound")? = to;
    }
    let back = cell.permute("dy0", &back);
    cell.give(0, back);
    Ok(())
}

/// Broadcast axes are summed.
pub(crate) fn expand(cell: &mut Cell<'_>) -> Done {
    let sum = cell.unbroadcast(0, "dy0");
    cell.give(0, sum);
    Ok(())
}

/// The slices that belong to the operands.
pub(crate) fn concat(cell: &mut Cell<'_>) -> Done {
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
pub(crate) fn split(cell: &mut Cell<'_>) -> Done {
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

/// The gradient of an element is the sum over its copies: copies become axes of their own for the sum.
pub(crate) fn tile(cell: &mut Cell<'_>) -> Done {
    let (extents, repeats) = (cell.extents(0), cell.known(1));
    let (Some(extents), Some(repeats)) = (extents, repeats) else { return by_position(cell, &["x1"], "") };
    let mut shape = Vec::new();
    for (extent, repeat) in extents.iter().zip(&repeats) {
        shape.extend([*repeat, *extent]);
    }
    let axes: Vec<i64> = (0..).step_by(2).take(extents.len()).collect();
    if axes.is_empty() {
        cell.give(0, "dy0");
        return Ok(());
    }
    let apart = cell.reshape("dy0", &shape);
    let sum = cell.sum(&apart, &axes, false);
    cell.give(0, sum);
    Ok(())
}

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

/// With steps of one, it is a pad with zeros.
pub(crate) fn slice(cell: &mut Cell<'_>) -> Done {
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
pub(crate) fn pad(cell: &mut Cell<'_>) -> Done {
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

/// Rows of the first axis are scattered back; other axes use positions.
pub(crate) fn gather(cell: &mut Cell<'_>) -> Done {
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

pub(crate) fn gather_elements(cell: &mut Cell<'_>) -> Done {
    cell.need(16)?;
    let axis = cell.site.int("axis").unwrap_or(0);
    let zeros = cell.zeros(0)?;
    let attrs = format!("axis = {axis}, reduction = \"add\"");
    let sum = cell.op_with("ScatterElements", &attrs, &[&zeros, "x1", "dy0"]);
    cell.give(0, sum);
    Ok(())
}

pub(crate) fn gather_nd(cell: &mut Cell<'_>) -> Done {
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

pub(crate) fn compress(cell: &mut Cell<'_>) -> Done {
    let attrs = match cell.site.has_attr("axis") {
        true => format!("axis = {}", cell.site.int("axis").ok_or("its axis is unknown")?),
        false => String::new(),
    };
    by_position(cell, &["x1"], &attrs)
}

/// Replaced elements have no gradient; replacing ones have the gradient of their place.
pub(crate) fn scatter_elements(cell: &mut Cell<'_>) -> Done {
    let axis = cell.site.int("axis").unwrap_or(0);
    let updates = cell.op_with("GatherElements", &format!("axis = {axis}"), &["dy0", "x1"]);
    scatter(cell, updates, &format!("axis = {axis}"))
}

pub(crate) fn scatter_nd(cell: &mut Cell<'_>) -> Done {
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

/// The values, scattered to their original places.
pub(crate) fn top_k(cell: &mut Cell<'_>) -> Done {
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

/// The same triangle.
pub(crate) fn triangle(cell: &mut Cell<'_>) -> Done {
    let upper = cell.site.int("upper").unwrap_or(1);
    let attrs = format!("upper = {upper}");
    let part = match cell.has(1) {
        true => cell.op_with("Trilu", &attrs, &["dy0", "x1"]),
        false => cell.op_with("Trilu", &attrs, &["dy0"]),
    };
    cell.give(0, part);
    Ok(())
}

/// Reversed again.
pub(crate) fn reverse_sequence(cell: &mut Cell<'_>) -> Done {
    let batch = cell.site.int("batch_axis").unwrap_or(1);
    let time = cell.site.int("time_axis").unwrap_or(0);
    let attrs = format!("batch_axis = {batch}, time_axis = {time}");
    let back = cell.op_with("ReverseSequence", &attrs, &["dy0", "x1"]);
    cell.give(0, back);
    Ok(())
}

pub(crate) fn space_to_depth(cell: &mut Cell<'_>) -> Done {
    let size = cell.site.int("blocksize").ok_or("its block size is unknown")?;
    let back = cell.op_with("DepthToSpace", &format!("blocksize = {size}, mode = \"DCR\""), &["dy0"]);
    cell.give(0, back);
    Ok(())
}

pub(crate) fn depth_to_space(cell: &mut Cell<'_>) -> Done {
    let size = cell.site.int("blocksize").ok_or("its block size is unknown")?;
    let mode = cell.site.string("mode").unwrap_or_else(|| "DCR".to_owned());
    let apart = cell.op_with("SpaceToDepth", &format!("blocksize = {size}"), &["dy0"]);
    if mode == "DCR" {
        cell.give(0, apart);
        return Ok(());
    }
    // The blocks are before the channels, and move after them.
    let blocks = size.checked_mul(size).ok_or("its block size is too large")?;
    let shape = cell.op("Shape", &[&apart]);
    let flat = cell.reshape(&apart, &[0, 0, -1]);
    let pixels = cell.extent_of(&flat, 2);
    let batch = cell.extent_of(&flat, 0);
    let (count, rest) = (cell.list(&[blocks]), cell.list(&[-1]));
    let split = cell.op_with("Concat", "axis = 0", &[&batch, &count, &rest, &pixels]);
    let blocks_first = cell.op("Reshape", &[&flat, &split]);
    let blocks_last = cell.permute(&blocks_first, &[0, 2, 1, 3]);
    let back = cell.op("Reshape", &[&blocks_last, &shape]);
    cell.give(0, back);
    Ok(())
}

/// For the off and on values: each gradient is the sum over its places.
pub(crate) fn one_hot(cell: &mut Cell<'_>) -> Done {
    cell.need(13)?;
    let axis = cell.site.int("axis").unwrap_or(-1);
    let elem = cell.elem(2)?;
    let (zero, one) = (cell.number_of(0.0, elem), cell.number_of(1.0, elem));
    let (zero, one) = (cell.unsqueeze(&zero, &[0]), cell.unsqueeze(&one, &[0]));
    let values = cell.op_with("Concat", "axis = 0", &[&zero, &one]);
    let is_on = cell.op_with("OneHot", &format!("axis = {axis}"), &["x0", "x1", &values]);
    let part = cell.op("Mul", &["dy0", &is_on]);
    let all = cell.op_with("ReduceSum", "keepdims = 0", &["dy0"]);
    let on = cell.op_with("ReduceSum", "keepdims = 0", &[&part]);
    let off = cell.op("Sub", &[&all, &on]);
    let (off, on) = (cell.unsqueeze(&off, &[0]), cell.unsqueeze(&on, &[0]));
    let both = cell.op_with("Concat", "axis = 0", &[&off, &on]);
    cell.give(2, both);
    Ok(())
}

/// Resizing is linear along each axis: resizing a unit matrix yields the weights.
pub(crate) fn resize(cell: &mut Cell<'_>) -> Done {
    cell.need(13)?;
    let (from, to) = (cell.extents(0), cell.result_shape(0).and_then(crate::gradient::cell::numbers));
    let (Some(from), Some(to)) = (from, to) else {
        return Err("the shapes before and behind have to be known".to_owned());
    };
    if cell.has(1)
        && cell.site.string("coordinate_transformation_mode").as_deref() == Some("tf_crop_and_resize")
    {
        return Err("it crops".to_owned());
    }
    let rank = cell.rank(0)?;
    let elem = cell.elem(0)?;
    let given_axes = cell.site.ints("axes");
    let scales = cell.known_floats(2);
    let mut gradient = "dy0".to_owned();
    for (axis, (n, m)) in (0i64..).zip(from.iter().zip(&to)) {
        let at = match &given_axes {
            None => Some(usize::try_from(axis).unwrap_or(0)),
            Some(axes) => axes.iter().position(|a| *a == axis || *a + rank == axis),
        };
        let scale = at.and_then(|at| scales.as_ref()?.get(at).copied());
        if at.is_none() || n == m && scale.is_none_or(|scale| scale == 1.0) {
            continue;
        }
        let weights = weights(cell, (*n, *m), scale, elem);
        // The axis is moved to the end, multiplied with the weights (from m to n), and moved back.
        let mut perm: Vec<i64> = (0..rank).filter(|a| *a != axis).collect();
        perm.push(axis);
        let last = cell.permute(&gradient, &perm);
        let sums = cell.op("MatMul", &[&last, &weights]);
        let mut back: Vec<i64> = (0..rank - 1).collect();
        back.insert(usize::try_from(axis).unwrap_or(0), rank - 1);
        gradient = cell.permute(&sums, &back);
    }
    cell.give(0, gradient);
    Ok(())
}

/// The weights of an axis: a row for each of `m` results, a column for each of `n` elements.
fn weights(cell: &mut Cell<'_>, (n, m): (i64, i64), scale: Option<f64>, elem: ElemType) -> String {
    let shape = cell.list(&[n, n]);
    let zeros = cell.filled(&shape, 0, ElemType::FLOAT);
    let unit = cell.op("EyeLike", &[&zeros]);
    let attrs = cell.copied(&[
        "antialias",
        "coordinate_transformation_mode",
        "cubic_coeff_a",
        "exclude_outside",
        "mode",
        "nearest_mode",
    ]);
    let rows = match scale {
        Some(scale) => {
            let scales = format!("value = float[2] {{{:?}, 1.0}}", scale as f32);
            let scales = cell.op_with("Constant", &scales, &[]);
            cell.op_with("Resize", &attrs, &[&unit, "", &scales])
        }
        None => {
            let sizes = cell.list(&[m, n]);
            cell.op_with("Resize", &attrs, &[&unit, "", "", &sizes])
        }
    };
    match elem {
        ElemType::FLOAT => rows,
        _ => cell.op_with("Cast", &format!("to = {}", elem.0), &[&rows]),
    }
}
