//! The examples of the operators' documentation are accepted by the reference implementation, and run.

use conformance::corpus::workspace;
use conformance::oracle::Oracle;
use std::collections::BTreeSet;

/// Examples that neither the reference evaluator nor ONNX Runtime runs according to the specification.
const NOT_RUN: [(&str, &str); 6] = [
    ("ai.onnx.ml/DictVectorizer.onnxtxt", "both give a matrix of one row, where a list is specified"),
    ("ai.onnx/GlobalLpPool.onnxtxt", "neither has this version"),
    ("ai.onnx/ImageDecoder.onnxtxt", "wants the bytes of an image"),
    ("ai.onnx/MaxRoiPool.onnxtxt", "neither has this version"),
    ("ai.onnx/Multinomial.onnxtxt", "neither has this version"),
    ("ai.onnx.preview.training/Gradient.onnxtxt", "neither has it"),
];

#[test]
fn examples_are_accepted_and_run() {
    let Some(oracle) = Oracle::find("examples of operators") else { return };
    let docs = workspace().join("crates/onnx-ops/docs");
    let outcomes = oracle.run("tests/python/run_examples.py", &[docs.as_os_str()]);
    let outcomes = outcomes.as_object().expect("an outcome for each file");
    let refused: Vec<String> = outcomes
        .iter()
        .filter(|(_, outcome)| !outcome["error"].is_null())
        .map(|(file, outcome)| format!("{file}: {}", outcome["error"]))
        .collect();
    assert!(refused.is_empty(), "refused:\n{}", refused.join("\n"));

    let not_run: BTreeSet<&str> = outcomes
        .iter()
        .filter(|(_, outcome)| outcome["ran"].is_null())
        .map(|(file, _)| file.as_str())
        .collect();
    let expected: BTreeSet<&str> = NOT_RUN.iter().map(|(file, _)| *file).collect();
    let why: Vec<_> = not_run.difference(&expected).map(|file| &outcomes[*file]["why"]).collect();
    assert_eq!(not_run, expected, "{why:#?}");
    assert_eq!(outcomes.len(), 227);
}
