//! Everything that is wrong with a model: the rules of the structure, and those that need to know the operators.
//!
//! [`check`] is [`onnx_ir::verify()`] with what inference finds (S01–S17), and with what imports and functions say of
//! operators (`imports`); on the level `strict` also with what could be better (`lints`). One mistake gives one finding:
//! where the structure is broken, inference knows nothing and stays silent.

mod imports;
mod lints;

use crate::infer::{InferOptions, infer};
use crate::schema::Registry;
use onnx_ir::{Diagnostic, Level, Model, VerifyOptions, verify_with};

/// Judges a model by every rule up to the level of the options, with the operators of a registry.
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
