//! Shapes for one batch size only.

use crate::dims::Dim;
use crate::facts::Ints;
use crate::lint::LintSite;
use onnx_ir::diag::{Diagnostic, code};

/// A Reshape of a symbolic shape to constant sizes: it is valid for one value of the symbol.
pub(super) fn batch(site: &LintSite<'_>) -> Option<Diagnostic> {
    let target = match site.schema.since {
        ..5 => Ints::from_slice(site.attrs().ints("shape")?),
        _ => site.value(1)?.ints()?,
    };
    let shape = site.ty(0)?.shape()?;
    let extents = shape.iter().filter(|d| matches!(d, Dim::Expr(_))).count();
    // Only a single symbolic size is reported; a product of several may be constant.
    let &[Dim::Expr(_), ..] = &shape[..] else { return None };
    if extents != 1 || shape.contains(&Dim::Unknown) || target.iter().any(|&d| d <= 0) {
        return None;
    }
    let symbol = site.facts.dims.text(shape[0]);
    let target = target.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let message = format!("this `Reshape` to [{target}] works for only one value of `{symbol}`");
    let place = if site.schema.since < 5 { site.at_attr("shape") } else { site.at_input(1) };
    Some(
        Diagnostic::new(&code::RESHAPE_BATCH, place, message)
            .help("write -1 or 0 for the dimension that may vary"),
    )
}
