//! The checker on every model of the corpus: it finds no error that is none.

use conformance::corpus::{CorpusModel, in_parallel, models};
use onnx_ir::VerifyOptions;
use onnx_ir::diag::{Diagnostic, Level};
use onnx_ops::schema::Registry;
use onnx_proto::file;
use std::collections::BTreeSet;

/// Expected findings in models of the corpus: the end of a model's name, the code, and the reason.
const REVIEWED: &[(&str, &str, &str)] = &[
    ("livekit_turn_int8", "E0202", "its nodes are not sorted"),
    ("guard_fp16", "E0202", "its nodes are not sorted"),
    ("resnet18_fp16", "E0202", "its nodes are not sorted"),
    ("tcaptcha_matcher", "E0201", "its graph has no name"),
    ("ddddocr_old_int8", "E1014", "the declared rank is wrong: onnxruntime computes rank 3"),
];

fn errors(model: &CorpusModel) -> Vec<Diagnostic> {
    let bytes = file::open(&model.path).expect("a model of the corpus can be read");
    let (model, mut found) = onnx_proto::read(bytes).into_parts();
    let options = VerifyOptions { level: Level::Types, ..VerifyOptions::default() };
    found.extend(onnx_ops::check::check(&model, Registry::builtin(), &options));
    found.retain(Diagnostic::is_error);
    found
}

#[test]
fn models_that_are_used_have_no_errors() {
    let models = models();
    let found = in_parallel(&models, errors);
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for (model, found) in models.iter().zip(found) {
        for diagnostic in found {
            let is_this =
                |row: &(&str, &str, &str)| model.name.ends_with(row.0) && diagnostic.code.id == row.1;
            match REVIEWED.iter().position(is_this) {
                Some(row) => _ = seen.insert(row),
                None => wrong.push(format!("{}: {}: {}", model.name, diagnostic.code.id, diagnostic.message)),
            }
        }
    }
    let is_there = |end: &str| models.iter().any(|model| model.name.ends_with(end));
    for (row, (end, code, _)) in REVIEWED.iter().enumerate() {
        if is_there(end) && !seen.contains(&row) {
            wrong.push(format!("{end}: {code} is reviewed, but not found"));
        }
    }
    assert!(wrong.is_empty(), "{} errors:\n{}", wrong.len(), wrong.join("\n"));
}
