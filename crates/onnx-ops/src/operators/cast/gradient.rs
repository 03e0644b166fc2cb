//! The derivative of casts.

use crate::derivative::{Cell, Done, is_float};

/// The gradient of a cast between floats is cast back.
pub(super) fn cast(cell: &mut Cell<'_>) -> Done {
    let elem = cell.elem(0)?;
    if !is_float(elem) {
        return Ok(());
    }
    let back = cell.op_with("Cast", &format!("to = {}", elem.0), &["dy0"]);
    cell.give(0, back);
    Ok(())
}
