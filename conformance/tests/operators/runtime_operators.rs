//! The list of ONNX Runtime's operators says of each what becomes of it here.

use conformance::convert::read_text;
use conformance::runtime::{State, operators};
use onnx_exec::{CompileOptions, compile, is_run};
use onnx_ops::opset::whole_registry;
use std::collections::{BTreeMap, BTreeSet};

/// Its kernels, as `cargo xtask codegen` takes them from its package.
const TABLE: &str = include_str!("../../../crates/onnx-ops/targets/ort.txt");

/// The first versions of the kernels of each operator.
fn kernels() -> BTreeMap<String, BTreeSet<i64>> {
    let mut all: BTreeMap<String, BTreeSet<i64>> = BTreeMap::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        // Other lines are about versions and types.
        if let [domain, op, versions, ..] = words[..]
            && let Some((first, _)) = versions.split_once('-')
        {
            let first = first.parse().expect("a version is a number");
            all.entry(format!("{domain} {op}")).or_default().insert(first);
        }
    }
    all
}

#[test]
fn every_operator_of_the_runtime_has_a_state() {
    let kernels = kernels();
    let listed = operators();
    let names: Vec<String> = listed.iter().map(|row| row.name()).collect();
    assert_eq!(names, kernels.keys().cloned().collect::<Vec<_>>(), "the list is not that of targets/ort.txt");
    let registry = whole_registry();
    let mut wrong = Vec::new();
    for row in &listed {
        let versions = &kernels[&row.name()];
        let run = |version: &&i64| is_run(registry, row.domain, row.op, **version);
        match row.state {
            State::Equal | State::Runs => {
                wrong.extend(
                    versions.iter().filter(|v| !run(v)).map(|v| format!("{} {v} is not run", row.name())),
                );
            }
            State::Refused(reason) => {
                wrong.extend(versions.iter().find(run).map(|v| format!("{} {v} is run", row.name())));
                let said = onnx_ops::refusal(row.domain, row.op);
                if said.is_some_and(|said| said != reason) || reason.is_empty() {
                    wrong.push(format!("{} is refused: {said:?}", row.name()));
                }
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn a_refusal_says_why() {
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"com.microsoft\": 1]>
        g (int32[1,2] ids, int32[1] n) => (int32[1,L] y) {
            y = com.microsoft.GreedySearch <
                eos_token_id = 1, pad_token_id = 0, decoder = d (int32[1,L] i) => (float[1,L,V] o) { o = Cast <to = 1> (i) }
            > (ids, n)
        }";
    let model = read_text(text).expect("the text is a model");
    let Err(found) = compile(&model, whole_registry(), &CompileOptions::default()) else {
        panic!("it is run")
    };
    let reason = onnx_ops::refusal("com.microsoft", "GreedySearch").expect("there is a reason");
    assert!(found.iter().any(|d| d.message.ends_with(reason)), "{found:?}");
}
