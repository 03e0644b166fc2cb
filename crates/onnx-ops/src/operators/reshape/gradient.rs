//! The derivative of another shape.

use crate::derivative::{Cell, Done};

/// Another shape.
pub(super) fn reshape(cell: &mut Cell<'_>) -> Done {
    let back = cell.reshape_like("dy0", 0);
    cell.give(0, back);
    Ok(())
}
