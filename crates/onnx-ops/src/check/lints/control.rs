//! Constant conditions, and training mode in an inference model.

use super::site::LintSite;
use onnx_ir::diag::{Diagnostic, code};

pub(crate) fn condition(site: &LintSite<'_>) -> Option<Diagnostic> {
    let condition = site.number(0)?;
    let (word, branch) = if condition == 0.0 { ("false", "else_branch") } else { ("true", "then_branch") };
    let message = format!("the condition of this `If` is always {word}: only `{branch}` runs");
    Some(
        Diagnostic::new(&code::CONSTANT_CONDITION, site.at_input(0), message)
            .help("replace the `If` by the nodes of the branch"),
    )
}

pub(crate) fn trips(site: &LintSite<'_>) -> Option<Diagnostic> {
    let trips = site.number(0)?;
    let often = match trips {
        ..=0.0 => "never",
        1.0 => "at most once",
        _ => return None,
    };
    let message = format!("body of this `Loop` runs {often}");
    Some(Diagnostic::new(&code::CONSTANT_CONDITION, site.at_input(0), message))
}

pub(crate) fn dropout(site: &LintSite<'_>) -> Option<Diagnostic> {
    let is_trained = site.number(2).is_some_and(|mode| mode != 0.0);
    is_trained.then(|| training(site, Diagnostic::new(&code::TRAINING_MODE, site.at_input(2), TRAINING)))?
}

/// Since version 14 an attribute sets training mode; before, the number of outputs did.
pub(crate) fn batch_normalization(site: &LintSite<'_>) -> Option<Diagnostic> {
    let is_trained = site.schema.since >= 14 && site.attrs().int("training_mode") == Some(1);
    let place = site.at_attr("training_mode");
    is_trained.then(|| training(site, Diagnostic::new(&code::TRAINING_MODE, place, TRAINING)))?
}

const TRAINING: &str = "this node is in training mode, but the model has no training step";

fn training(site: &LintSite<'_>, finding: Diagnostic) -> Option<Diagnostic> {
    site.model.training.is_empty().then(|| finding.help("export the model for inference"))
}
