//! Conversion of `Scatter`, which is now called `ScatterElements`.

use crate::change::site::{ConvertSite, Note, note};

pub(super) fn to_scatter_elements(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.rename_op("ScatterElements");
    note("Scatter becomes ScatterElements")
}

pub(super) fn to_scatter(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.rename_op("Scatter");
    note("ScatterElements becomes Scatter")
}
