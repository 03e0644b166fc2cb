//! Conversions that operators of several families have.

use super::site::{ConvertSite, Note};
use onnx_ir::AttrValue;

/// `consumed_inputs`, which a framework needed for in-place computation.
pub(crate) fn consumed(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let is_said = s.drop_attr("consumed_inputs");
    Ok(is_said.then(|| "`consumed_inputs` is removed".to_owned()))
}

/// Negative axes were not allowed.
pub(crate) fn axis_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let mut is_changed = false;
    if let Some(axis) = s.attrs().int("axis")?.filter(|axis| *axis < 0) {
        s.set("axis", AttrValue::Int(axis + s.rank(0)?));
        is_changed = true;
    }
    let axes = s.attrs().ints("axes")?.filter(|axes| axes.iter().any(|axis| *axis < 0));
    if let Some(mut axes) = axes.map(<[_]>::to_vec) {
        let rank = s.rank(0)?;
        axes.iter_mut().filter(|axis| **axis < 0).for_each(|axis| *axis += rank);
        s.set("axes", AttrValue::Ints(axes.into()));
        is_changed = true;
    }
    Ok(is_changed.then(|| "axes are counted from the front".to_owned()))
}
