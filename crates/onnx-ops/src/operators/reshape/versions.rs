//! Conversion of operators that change the shape: attributes that became inputs, and back.

use crate::change::site::{ConvertSite, Empty, Note, note};
use onnx_ir::AttrValue;

pub(super) fn axes_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.ints_to_input("axes", 1, Empty::Counts)
}

pub(super) fn axes_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.input_to_ints(1, "axes", Empty::Counts)
}

pub(super) fn reshape_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.drop_attr("consumed_inputs");
    s.ints_to_input("shape", 1, Empty::Counts)
}

pub(super) fn reshape_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.input_to_ints(1, "shape", Empty::Counts)
}

/// The axes of Unsqueeze refer to the result.
pub(super) fn unsqueeze_axis_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let axes = s.attrs().ints("axes")?.filter(|axes| axes.iter().any(|axis| *axis < 0));
    let Some(mut axes) = axes.map(<[_]>::to_vec) else { return Ok(None) };
    let rank = s.rank(0)?.saturating_add_unsigned(axes.len() as u64);
    axes.iter_mut().filter(|axis| **axis < 0).for_each(|axis| *axis += rank);
    s.set("axes", AttrValue::Ints(axes.into()));
    note("axes are counted from the front")
}
