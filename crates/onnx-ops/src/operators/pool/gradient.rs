//! Derivatives of pooling.

use crate::gradient::{Cell, Done};
use crate::operators::reduce::gradient::{extreme_from, spread};

/// The maximum over all axes but the first two.
pub(super) fn global_max(cell: &mut Cell<'_>) -> Done {
    extreme_from(cell, 2)
}

/// The mean over all axes but the first two.
pub(super) fn global_mean(cell: &mut Cell<'_>) -> Done {
    let axes: Vec<i64> = (2..cell.rank(0)?).collect();
    let ones = cell.zeros(0)?;
    let one = cell.number(1.0, 0);
    let ones = cell.op("Add", &[&ones, &one]);
    let count = cell.sum(&ones, &axes, true);
    let share = cell.op("Div", &["dy0", &count]);
    spread(cell, &share);
    Ok(())
}
