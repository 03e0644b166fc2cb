//! Conversion of recurrent layers.

use crate::change::site::{ConvertSite, Note, note};
use onnx_ir::AttrValue;

pub(super) fn gru_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.attrs().string("direction")?.as_deref() == Some("foward") {
        s.set("direction", "forward");
    }
    Ok(None)
}

pub(super) fn sequence_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.drop_attr("output_sequence");
    Ok(None)
}

/// The results of all steps were given where the node asked for them.
pub(super) fn sequence_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.output(0).is_none() {
        return Ok(None);
    }
    s.set("output_sequence", AttrValue::Int(1));
    note("`output_sequence = 1` is added")
}
