//! Targets of what is done with models: judging, inference, passes, conversion.

use crate::results::made_up;
use crate::rewrites::rewritten;
use crate::texts::places_are_sound;
use onnx_exec::RunOptions;
use onnx_ir::diag::{Diagnostic, Level};
use onnx_ir::{Model, VerifyOptions, verify};
use onnx_ops::infer::{InferOptions, apply, infer};
use onnx_ops::pass::Pass;
use onnx_ops::schema::Registry;

/// Any text as a model: judged at every level, inferred and changed by every pass without panic; what a pass makes of a
/// model without errors has none.
pub(super) fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let registry = Registry::builtin();
    let strict = VerifyOptions { level: Level::Strict, ..VerifyOptions::default() };
    let judge = |model: &Model| onnx_ops::check::check(model, registry, &strict);
    let checked = onnx_text::check_with(&text, Level::Strict, judge);
    places_are_sound(&checked.diagnostics, &text).expect("every finding lies in the text");

    let is_sound = !checked.diagnostics.iter().any(Diagnostic::is_error);
    let model = checked.value.model;
    let mut facts = infer(&model, registry, &InferOptions::default()).facts;
    apply(&mut model.clone(), &mut facts);
    let versions =
        [7, 13, 28].map(|version| Pass::parse(&format!("convert-opset={version}")).expect("a pass"));
    for pass in onnx_ops::pass::all().chain(versions) {
        let mut changed = model.clone();
        pass.run(&mut changed, registry);
        let mut found = verify(&changed, &VerifyOptions::default());
        found.retain(Diagnostic::is_error);
        assert!(!is_sound || found.is_empty(), "{}: {found:?}", pass.name());
    }
}

/// Passes, one after the other in an order that the text's length determines, leave a model without errors valid; and tidying,
/// expanding and converting a model keep its results.
pub(super) fn passes(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let registry = Registry::builtin();
    let judge = |model: &Model| verify(model, &VerifyOptions::default());
    let checked = onnx_text::check_with(&text, Level::Spec, judge);
    if checked.diagnostics.iter().any(Diagnostic::is_error) {
        return;
    }
    let mut model = checked.value.model.clone();
    let passes: Vec<_> = onnx_ops::pass::all().collect();
    let mut done = Vec::new();
    for turn in 0..4 {
        let pass = &passes[(data.len() * (2 * turn + 1) + turn * turn) % passes.len()];
        done.push(pass.name().to_string());
        pass.run(&mut model, registry);
        let mut found = verify(&model, &VerifyOptions::default());
        found.retain(Diagnostic::is_error);
        assert!(found.is_empty(), "{}: {found:?}\n{text}", done.join(" "));
    }
    let options = RunOptions { max_memory: 16 << 20, fuel: 40, ..RunOptions::default() };
    if let Some(given) = made_up(&checked.value.model)
        && let Some(how) = rewritten(&checked.value.model, &given, &options)
    {
        panic!("{how}\n{text}");
    }
}
