//! Derivatives of softmax and its logarithm.

use crate::derivative::{Cell, Done};

/// Before version 13, the axes from the given one on are flattened.
fn softmax_axes(cell: &Cell<'_>) -> Result<Vec<i64>, String> {
    let axis = cell.site.int("axis").ok_or("its axis is unknown")?;
    if cell.version() >= 13 {
        return Ok(vec![axis]);
    }
    let rank = cell.rank(0)?;
    Ok((if axis < 0 { axis + rank } else { axis }..rank).collect())
}

pub(super) fn softmax(cell: &mut Cell<'_>) -> Done {
    let axes = softmax_axes(cell)?;
    let product = cell.op("Mul", &["dy0", "y0"]);
    let sum = cell.sum(&product, &axes, true);
    let apart = cell.op("Sub", &["dy0", &sum]);
    let part = cell.op("Mul", &["y0", &apart]);
    cell.give(0, part);
    Ok(())
}

pub(super) fn log_softmax(cell: &mut Cell<'_>) -> Done {
    let axes = softmax_axes(cell)?;
    let sum = cell.sum("dy0", &axes, true);
    let power = cell.op("Exp", &["y0"]);
    let share = cell.op("Mul", &[&power, &sum]);
    let part = cell.op("Sub", &["dy0", &share]);
    cell.give(0, part);
    Ok(())
}
