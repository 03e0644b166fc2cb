//! Compares `check --target ort` for the backend tests with the installed runtime.

use conformance::corpus;
use conformance::oracle::Oracle;
use onnx_ops::opset::registry_of;
use onnx_ops::targets::{TargetRuntime, check};

/// Operators that a function defines, of which the runtime lacks an operator inside: the table says nothing of bodies.
const INSIDE_BODIES: [&str; 3] = ["test_attention_", "test_bernoulli", "test_castlike_"];

#[test]
fn the_runtime_refuses_what_the_table_says() {
    let Some(corpus) = corpus::folder() else {
        corpus::left_out("targets: no corpus (`cargo xtask corpus`)");
        return;
    };
    let Some(oracle) = Oracle::find("targets") else { return };
    let folder = corpus.join("backend/node");
    let theirs = oracle.run("tests/python/load_models.py", &[folder.as_os_str()]);
    let Some(theirs) = theirs.as_object() else {
        corpus::left_out("targets: no Python with the `onnxruntime` package");
        return;
    };
    let target = TargetRuntime::find("ort").expect("there is a table");
    let (mut wrong, mut refused) = (Vec::new(), 0);
    for (case, runs) in theirs {
        let Some(runs) = runs.as_bool() else { continue };
        let bytes = std::fs::read(folder.join(case).join("model.onnx")).expect("the corpus can be read");
        let model = onnx_proto::read(bytes.into()).value;
        let found = check(&model, registry_of(&model), target);
        refused += usize::from(!found.is_empty());
        let is_inside = INSIDE_BODIES.iter().any(|name| case.starts_with(name));
        match (runs, found.first()) {
            (true, Some(first)) => wrong.push(format!("{case} runs: {}", first.message)),
            (false, None) if !is_inside => wrong.push(format!("{case} does not run, and nothing is said")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), theirs.len(), wrong.join("\n"));
    assert!(refused > 20, "only {refused} of {} are refused", theirs.len());
}
