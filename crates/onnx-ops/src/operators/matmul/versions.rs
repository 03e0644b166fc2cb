//! Conversion of matrix products.

use crate::convert::site::{ConvertSite, Note, note};

/// Gemm had an attribute for broadcasting its third matrix.
pub(super) fn gemm_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let is_said = s.drop_attr("broadcast");
    Ok(is_said.then(|| "`broadcast` is removed".to_owned()))
}

/// Gemm without a third matrix.
pub(super) fn gemm_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.input(2).is_some() {
        return Ok(None);
    }
    let elem = s.elem(0)?;
    let zero = s.scalar("C", elem, 0.0)?;
    s.set_input(2, Some(zero));
    note("a zero is added")
}
