//! Derivatives of `Identity` and `OneHot`.

use crate::derivative::{Cell, Done};

pub(crate) fn identity(cell: &mut Cell<'_>) -> Done {
    cell.give(0, "dy0");
    Ok(())
}

/// For the off and on values: each gradient is the sum over its places.
pub(super) fn one_hot(cell: &mut Cell<'_>) -> Done {
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
