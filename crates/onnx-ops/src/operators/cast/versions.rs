//! Conversion of casts.

use crate::change::site::{ConvertSite, Note, note};
use onnx_ir::{AttrValue, ElemType};

/// The element type was a name.
pub(super) fn cast_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let to = s.attrs().string("to")?.ok_or("`to` is missing")?;
    let elem =
        ElemType::from_name(&to.to_ascii_lowercase()).ok_or(format!("`{to}` is not an element type"))?;
    s.set("to", AttrValue::Int(elem.0.into()));
    note("`to` becomes an integer")
}

pub(super) fn cast_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let to = s.attrs().int("to")?.ok_or("`to` is missing")?;
    let elem = i32::try_from(to).ok().and_then(|to| ElemType(to).name());
    let name =
        elem.ok_or_else(|| format!("`to` is {to}, which is not an element type"))?.to_ascii_uppercase();
    s.set("to", name.as_str());
    note("`to` becomes a name")
}
