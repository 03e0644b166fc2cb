//! Conversion of pooling.

use crate::change::site::{ConvertSite, Note, note};
use onnx_ir::AttrValue;

/// Dilations of 1 are removed.
pub(super) fn dilations_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(list) = s.attrs().ints("dilations")? else { return Ok(None) };
    if list.iter().any(|d| *d != 1) {
        return Err("it has dilations".to_owned());
    }
    s.drop_attr("dilations");
    note("dilations of 1 are removed")
}

/// `p` became an integer.
pub(super) fn p_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(p) = s.attrs().float("p")? else { return Ok(None) };
    if p.fract() != 0.0 || p.abs() > 1e6 {
        return Err(format!("`p` is {p}: expected an integer"));
    }
    s.set("p", AttrValue::Int(p as i64));
    note("`p` becomes an integer")
}

pub(super) fn p_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(p) = s.attrs().int("p")? else { return Ok(None) };
    s.set("p", AttrValue::Float(p as f32));
    note("`p` becomes a float")
}

/// Regions were shifted by half a pixel.
pub(super) fn roi_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.set("coordinate_transformation_mode", "output_half_pixel");
    note("`coordinate_transformation_mode` says what version 10 means")
}

pub(super) fn roi_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.attrs().string("coordinate_transformation_mode")?.as_deref() != Some("output_half_pixel") {
        return Err("its coordinates are not `output_half_pixel`".to_owned());
    }
    s.drop_attr("coordinate_transformation_mode");
    note("the coordinate attribute is removed")
}
