//! Any text as a model: judged at every level, inferred and changed by every pass without panic; what a pass makes of a
//! model without errors has none.
#![no_main]

use conformance::texts::places_are_sound;
use onnx_ir::{Diagnostic, Level, Model, VerifyOptions, verify};
use onnx_ops::infer::{InferOptions, apply, infer};
use onnx_ops::pass::Pass;
use onnx_ops::schema::Registry;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let registry = Registry::builtin();
    let strict = VerifyOptions { level: Level::Strict, ..VerifyOptions::default() };
    let judge = |model: &Model| onnx_ops::check::check(model, registry, &strict);
    let checked = onnx_text::check_with(&text, Level::Strict, judge);
    places_are_sound(&checked.diagnostics, &text).expect("every finding lies in the text");

    let is_sound = !checked.diagnostics.iter().any(Diagnostic::is_error);
    let model = checked.model;
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
});
