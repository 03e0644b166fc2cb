//! Conversion of `DFT`, whose axis became an input.

use crate::change::site::{ConvertSite, Note, note};
use onnx_ir::AttrValue;

pub(super) fn dft_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let axis = s.attrs().int("axis")?.unwrap_or(1);
    s.drop_attr("axis");
    let value = s.int_scalar("axis", axis);
    s.set_input(2, Some(value));
    note("`axis` becomes an input")
}

pub(super) fn dft_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let axis = match s.ints_of(2, "axis")?.as_deref() {
        None => -2,
        Some(&[axis]) => axis,
        Some(_) => return Err("`axis` is not a scalar".to_owned()),
    };
    let axis = if axis < 0 { axis + s.rank(0)? } else { axis };
    s.set_input(2, None);
    s.set("axis", AttrValue::Int(axis));
    note("`axis` becomes an attribute")
}
