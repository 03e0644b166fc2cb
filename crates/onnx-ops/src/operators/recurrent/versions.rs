//! Conversion of recurrent layers.

use crate::convert::site::{ConvertSite, Note};

pub(super) fn gru_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.attrs().string("direction")?.as_deref() == Some("foward") {
        s.set("direction", "forward");
    }
    Ok(None)
}

pub(super) fn output_sequence(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.drop_attr("output_sequence");
    Ok(None)
}
