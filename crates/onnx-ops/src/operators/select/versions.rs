//! Conversion of `TopK`, whose number of elements became an input.

use crate::change::site::{ConvertSite, Note, note};
use onnx_ir::AttrValue;

pub(super) fn top_k_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(k) = s.attrs().int("k")? else { return Ok(None) };
    s.drop_attr("k");
    let value = s.int_list("k", vec![k]);
    s.set_input(1, Some(value));
    note("`k` becomes an input")
}

pub(super) fn top_k_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(&[k]) = s.ints_of(1, "K")?.as_deref() else { return Err("`K` is not a scalar".to_owned()) };
    s.set_input(1, None);
    s.set("k", AttrValue::Int(k));
    note("`K` becomes an attribute")
}
