//! Axes whose meaning changed.

use crate::dims::Dim;
use crate::lint::LintSite;
use onnx_ir::diag::{Diagnostic, code, counted};

/// Before version 13, Softmax and similar operators flattened everything from the axis on.
pub(super) fn softmax(site: &LintSite<'_>) -> Option<Diagnostic> {
    if site.schema.since >= 13 {
        return None;
    }
    let axis = site.attrs().int("axis")?;
    let shape = site.ty(0)?.shape()?;
    let axis = usize::try_from(if axis < 0 { axis + i64::try_from(shape.len()).ok()? } else { axis }).ok()?;
    let after = shape.get(axis + 1..)?;
    let together = shape.len() - axis;
    if after.iter().all(|&d| d == Dim::Const(1)) {
        return None;
    }
    let op = site.op();
    let message = format!(
        "this `{op}` normalizes over the last {} together, not over axis {axis} alone",
        counted(together, "axis")
    );
    Some(
        Diagnostic::new(&code::SOFTMAX_COERCION, site.at_attr("axis"), message)
            .label("before version 13, the input is flattened from this axis on")
            .help("move the axis to the end, or import version 13"),
    )
}
