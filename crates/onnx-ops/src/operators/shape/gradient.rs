//! The derivatives of the identity.

use crate::gradient::{Cell, Done};

pub(crate) fn identity(cell: &mut Cell<'_>) -> Done {
    cell.give(0, "dy0");
    Ok(())
}
