//! Constant conditions.

use crate::lint::LintSite;
use onnx_ir::diag::{Diagnostic, code};

pub(super) fn condition(site: &LintSite<'_>) -> Option<Diagnostic> {
    let condition = site.number(0)?;
    let (word, branch) = if condition == 0.0 { ("false", "else_branch") } else { ("true", "then_branch") };
    let message = format!("the condition of this `If` is always {word}: only `{branch}` runs");
    Some(
        Diagnostic::new(&code::CONSTANT_CONDITION, site.at_input(0), message)
            .help("replace the `If` by the nodes of the branch"),
    )
}

pub(super) fn trips(site: &LintSite<'_>) -> Option<Diagnostic> {
    let trips = site.number(0)?;
    let often = match trips {
        ..=0.0 => "never",
        1.0 => "at most once",
        _ => return None,
    };
    let message = format!("body of this `Loop` runs {often}");
    Some(Diagnostic::new(&code::CONSTANT_CONDITION, site.at_input(0), message))
}
