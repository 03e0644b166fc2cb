//! Pads that remove elements.

use crate::facts::Ints;
use crate::lint::LintSite;
use onnx_ir::diag::{Diagnostic, code};

/// The padding at both ends of each axis: an input since version 11.
fn pads(site: &LintSite<'_>) -> Option<Ints> {
    let attrs = site.attrs();
    if site.schema.since >= 11 {
        site.value(1)?.ints()
    } else {
        attrs.ints("pads").or(attrs.ints("paddings")).map(Ints::from_slice)
    }
}

pub(super) fn pad(site: &LintSite<'_>) -> Option<Diagnostic> {
    let &least = pads(site)?.iter().min()?;
    if least >= 0 {
        return None;
    }
    let place = if site.schema.since >= 11 { site.at_input(1) } else { site.at_attr("pads") };
    let message = format!("this `Pad` removes {} at an end of an axis", least.unsigned_abs());
    Some(Diagnostic::new(&code::PAD_NEGATIVE, place, message).help("use `Slice` to remove elements"))
}
