//! Conversion of operators of optional values.

use crate::change::site::{ConvertSite, Note};

/// An optional input was required.
pub(super) fn has_element_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    match s.input(0) {
        Some(v) if matches!(s.ty(v), crate::facts::Ty::Optional(_)) => Ok(None),
        Some(_) => Err("its input is not an optional".to_owned()),
        None => Err("its input is omitted".to_owned()),
    }
}
