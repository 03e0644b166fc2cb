//! Checks a model: structural rules, and rules that need operator knowledge.
//!
//! [`check`] is [`onnx_ir::verify()`] plus the findings of inference (S01–S17) and of imports and functions (`imports`); on level
//! `strict` also lints (`lints`). One mistake gives one finding: where the structure is invalid, inference has no facts and
//! reports nothing.

mod imports;
mod lints;

pub(crate) use lints::{Lint, LintSite, idle, training_mode};

use crate::infer::{InferOptions, infer};
use crate::schema::Registry;
use onnx_ir::diag::{Diagnostic, Level};
use onnx_ir::{Model, VerifyOptions, verify_with};

/// Checks a model by every rule up to the level of the options, with the operators of a registry.
#[must_use]
pub fn check(model: &Model, registry: &Registry, options: &VerifyOptions) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if options.level >= Level::Types {
        let inference = infer(model, registry, &InferOptions::default());
        found = inference.diagnostics;
        if options.level >= Level::Strict {
            lints::check(model, registry, &inference.facts, &mut found);
        }
        imports::check(model, registry, &mut found);
    }
    verify_with(model, options, found)
}
