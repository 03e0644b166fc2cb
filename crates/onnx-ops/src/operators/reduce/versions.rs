//! Conversion of reductions, whose axes became an input.

use crate::change::site::{ConvertSite, Empty, Note};

/// Without axes, all axes are reduced.
pub(super) fn reduce_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.ints_to_input("axes", 1, Empty::IsNone)
}

pub(super) fn reduce_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let is_noop = s.attrs().int("noop_with_empty_axes")?.unwrap_or(0) != 0;
    let axes = s.ints_of(1, "axes")?;
    if is_noop && axes.is_none_or(|list| list.is_empty()) {
        return Err("it does not reduce (`noop_with_empty_axes`)".to_owned());
    }
    s.drop_attr("noop_with_empty_axes");
    s.input_to_ints(1, "axes", Empty::IsNone)
}
