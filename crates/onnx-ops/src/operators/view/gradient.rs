//! Derivatives of operators that rearrange and repeat elements: the gradient moves back.

use crate::derivative::{Cell, Done, by_position};

pub(super) fn transpose(cell: &mut Cell<'_>) -> Done {
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
pub(super) fn expand(cell: &mut Cell<'_>) -> Done {
    let sum = cell.unbroadcast(0, "dy0");
    cell.give(0, sum);
    Ok(())
}

/// The gradient of an element is the sum over its copies: copies become axes of their own for the sum.
pub(super) fn tile(cell: &mut Cell<'_>) -> Done {
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

/// The triangle of the gradient that `Trilu` keeps.
pub(super) fn triangle(cell: &mut Cell<'_>) -> Done {
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
pub(super) fn reverse_sequence(cell: &mut Cell<'_>) -> Done {
    let batch = cell.site.int("batch_axis").unwrap_or(1);
    let time = cell.site.int("time_axis").unwrap_or(0);
    let attrs = format!("batch_axis = {batch}, time_axis = {time}");
    let back = cell.op_with("ReverseSequence", &attrs, &["dy0", "x1"]);
    cell.give(0, back);
    Ok(())
}

pub(super) fn space_to_depth(cell: &mut Cell<'_>) -> Done {
    let size = cell.site.int("blocksize").ok_or("its block size is unknown")?;
    let back = cell.op_with("DepthToSpace", &format!("blocksize = {size}, mode = \"DCR\""), &["dy0"]);
    cell.give(0, back);
    Ok(())
}

pub(super) fn depth_to_space(cell: &mut Cell<'_>) -> Done {
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
