//! Conversion of casts.

use crate::convert::site::{ConvertSite, Note, note};
use onnx_ir::{AttrValue, ElemType};

/// The element type was a name.
pub(super) fn cast_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let to = s.attrs().string("to")?.ok_or("`to` is missing")?;
    let elem =
        ElemType::from_name(&to.to_ascii_lowercase()).ok_or(format!("`{to}` is not an element type"))?;
    s.set("to", AttrValue::Int(elem.0.into()));
    note("`to` becomes an integer")
}
