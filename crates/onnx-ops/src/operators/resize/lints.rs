//! Modes that were removed.

use crate::lint::LintSite;
use onnx_ir::diag::{Diagnostic, code};

/// A mode that later versions of Resize do not have.
pub(super) fn resize(site: &LintSite<'_>) -> Option<Diagnostic> {
    let mode = site.attrs().string("coordinate_transformation_mode")?;
    if mode != "tf_half_pixel_for_nn" {
        return None;
    }
    let message = "`tf_half_pixel_for_nn` is deprecated and was removed in version 13 of `Resize`";
    let place = site.at_attr("coordinate_transformation_mode");
    Some(Diagnostic::new(&code::RESIZE_MODE, place, message).help("use `half_pixel`"))
}
