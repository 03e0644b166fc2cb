//! Checks a model: structural rules, and rules that need operator knowledge.
//!
//! [`check`] is [`onnx_ir::verify()`] plus the findings of inference (S01–S17) and of imports and functions (`imports`); on level
//! `strict` also lints (`lints`). One mistake gives one finding: where the structure is invalid, inference has no facts and
//! reports nothing.

mod fixed;
mod imports;
mod lints;
mod spellings;

pub use fixed::{FixedSymbol, fixed_symbols};

use crate::infer::{Facts, InferOptions, infer};
use crate::schema::Registry;
use onnx_ir::diag::{Diagnostic, Level, Severity};
use onnx_ir::{Model, VerifyOptions, verify_with};

/// Checks a model by every rule up to the level of the options, with the operators of a registry.
#[must_use]
pub fn check(model: &Model, registry: &Registry, options: &VerifyOptions) -> Vec<Diagnostic> {
    check_with_facts(model, registry, options).0
}

/// [`check`], and what inference has found out; on levels below `types`, nothing is inferred.
#[must_use]
pub fn check_with_facts(
    model: &Model,
    registry: &Registry,
    options: &VerifyOptions,
) -> (Vec<Diagnostic>, Option<Facts>) {
    let mut found = Vec::new();
    let mut facts = None;
    if options.level >= Level::Types {
        let mut inference = infer(model, registry, &InferOptions::default());
        found = inference.diagnostics;
        if !found.iter().any(Diagnostic::is_error) {
            found.extend(fixed_symbols(model, &mut inference.facts).iter().map(|fixed| fixed.finding(model)));
        }
        if options.level >= Level::Strict {
            lints::check(model, registry, &inference.facts, &mut found);
        }
        imports::check(model, registry, &mut found);
        facts = Some(inference.facts);
    }
    let mut found = verify_with(model, options, found);
    spellings::explain(model, registry, &mut found);
    (found, facts)
}

/// Decides whether a model may be run: whether every error of [`check`] on level `types` leaves its meaning clear. Such errors are
/// returned.
///
/// # Errors
///
/// All errors that make the meaning unclear.
pub fn ensure_clear(model: &Model, registry: &Registry) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    clear_errors(check(model, registry, &VerifyOptions { level: Level::Types, ..VerifyOptions::default() }))
}

/// The errors among findings, if all of them leave the meaning of the model clear ([`Code::clear`](onnx_ir::diag::Code)).
///
/// # Errors
///
/// The errors that make the meaning unclear.
pub fn clear_errors(mut found: Vec<Diagnostic>) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    found.retain(|diagnostic| diagnostic.code.severity == Severity::Error);
    let (unclear, clear): (Vec<_>, Vec<_>) = found.into_iter().partition(Diagnostic::makes_unclear);
    if unclear.is_empty() { Ok(clear) } else { Err(unclear) }
}
