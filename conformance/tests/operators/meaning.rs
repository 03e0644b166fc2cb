//! Compares the results of formulas with the stored outputs of ONNX's operator tests.
#![allow(clippy::print_stderr, reason = "counts, for who wants to see them")]

use conformance::convert::read_wire;
use conformance::corpus::{folder, in_parallel};
use conformance::formulas::evaluate;
use conformance::trial::{tensor, with_inputs_known};
use onnx_ir::{Names, normalize_domain};
use onnx_ops::meaning::{Dense, Number};
use onnx_proto::file;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The outcome of a test.
enum Outcome {
    /// As many outputs are as they should be.
    Same,
    /// The node has no definition.
    Undefined,
    /// The mismatch.
    Different(String),
}

#[test]
fn formulas_give_what_backend_tests_store() {
    let Some(folder) = folder() else { return };
    let index = std::fs::read(folder.join("backend/index.json")).expect("the corpus has an index");
    let index: Value = serde_json::from_slice(&index).expect("the index is JSON");
    let cases: Vec<&Value> =
        index.as_array().expect("a list").iter().filter(|case| is_one_node(case)).collect();
    let outcomes = in_parallel(&cases, |case| judge(case, &folder.join("backend")));
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let mut failures = Vec::new();
    for (case, outcome) in cases.iter().zip(outcomes) {
        let Some((op, outcome)) = outcome else { continue };
        let count = counts.entry(op).or_default();
        match outcome {
            Outcome::Same => count[0] += 1,
            Outcome::Undefined => count[1] += 1,
            Outcome::Different(how) => {
                count[2] += 1;
                failures.push(format!("{}: {how}", case["name"].as_str().unwrap_or("?")));
            }
        }
    }
    for (op, [same, undefined, different]) in &counts {
        eprintln!("{op}: {same} as stored, {undefined} without a definition, {different} different");
    }
    let total: usize = counts.values().map(|count| count[0]).sum();
    let operators = counts.values().filter(|count| count[0] > 0).count();
    eprintln!("formulas: {total} tests of {operators} operators");
    assert!(failures.is_empty(), "{} tests differ:\n{}", failures.len(), failures.join("\n"));
    assert!(total > 950, "{total}");
}

fn is_one_node(case: &Value) -> bool {
    case["kind"] == "node"
        && case["random"] == false
        && case["ops"].as_array().is_some_and(|ops| ops.len() == 1)
}

/// `None` if the model has more than one node, or inputs or outputs that are not numeric tensors.
fn judge(case: &Value, backend: &Path) -> Option<(String, Outcome)> {
    let folder = backend.join(case["path"].as_str()?);
    let model = read_wire(file::open(&folder.join("model.onnx")).ok()?).ok()?;
    let data = folder.join("test_data_set_0");
    let known = with_inputs_known(&model, &data)?;
    let body = &known.bodies[known.main?];
    let graph = &body.graphs[body.root()?];
    let [node] = graph.nodes[..] else { return None };
    let n = &body.nodes[node];
    let domain = normalize_domain(known.text(n.domain));
    let op = if domain.is_empty() {
        known.text(n.op).to_owned()
    } else {
        format!("{domain}.{}", known.text(n.op))
    };
    let mut names = Names::default();
    let mut expected = Vec::new();
    for (i, port) in graph.outputs.iter().enumerate() {
        let stored = tensor(&data.join(format!("output_{i}.pb")), &mut names)?;
        expected.push((port.value?, Dense::of(&stored, usize::MAX)?));
    }
    let Some(results) = evaluate(&known) else { return Some((op, Outcome::Undefined)) };
    let tolerance = (case["rtol"].as_f64()?, case["atol"].as_f64()?);
    for (value, expected) in expected {
        let at = n.outputs.iter().position(|output| *output == Some(value))?;
        let outcome = match &results {
            Err(how) => Some(how.clone()),
            Ok(results) => match results.get(at).and_then(Option::as_ref) {
                None => Some(format!("output {at} is missing")),
                Some(result) => difference(result, &expected, tolerance),
            },
        };
        if let Some(how) = outcome {
            return Some((op, Outcome::Different(how)));
        }
    }
    Some((op, Outcome::Same))
}

fn difference(result: &Dense, expected: &Dense, (rtol, atol): (f64, f64)) -> Option<String> {
    if (result.elem, &result.dims) != (expected.elem, &expected.dims) {
        let tell = |dense: &Dense| format!("{}{:?}", dense.elem.name().unwrap_or("?"), dense.dims);
        return Some(format!("{} instead of {}", tell(result), tell(expected)));
    }
    let is_same = |a: &Number, b: &Number| match (a, b) {
        (Number::Int(a), Number::Int(b)) => a == b,
        (Number::Float(a), Number::Float(b)) => {
            a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= atol + rtol * b.abs()
        }
        _ => false,
    };
    let mut pairs = result.numbers.iter().zip(&expected.numbers).enumerate();
    pairs
        .find(|(_, (a, b))| !is_same(a, b))
        .map(|(i, (a, b))| format!("element {i} is {a:?} instead of {b:?}"))
}
