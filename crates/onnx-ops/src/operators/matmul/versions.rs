//! Conversion of matrix products.

use crate::change::site::{ConvertSite, Note, note};
use crate::operators::elementwise::versions::{covered, is_same, shape};
use onnx_ir::AttrValue;

/// Gemm had an attribute for broadcasting its third matrix.
pub(super) fn gemm_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let is_said = s.drop_attr("broadcast");
    Ok(is_said.then(|| "`broadcast` is removed".to_owned()))
}

/// Only the last axes of the third matrix can be missing.
pub(super) fn gemm_broadcast_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let (Some(c), Some(y)) = (s.input(2), s.output(0)) else { return Ok(None) };
    let (c, y) = (shape(s, c)?, shape(s, y)?);
    if is_same(&c, &y) {
        return Ok(None);
    }
    let fits =
        covered(&y, &c).is_some_and(|axes| axes.end == y.len() && (axes.is_empty() || axes.len() == c.len()));
    if !fits {
        return Err("the third matrix is not broadcast along its first axis".to_owned());
    }
    s.set("broadcast", AttrValue::Int(1));
    note("`broadcast = 1` is added")
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
