//! Random graphs of nodes, deep, shared, with branches and loops: their plans compute what the nodes compute one by one, whose
//! loops are compared with the formulas, element by element.
//!
//! `ONNXTXT_PLANS=N` draws N models (a few otherwise).

use conformance::convert::read_text;
use conformance::corpus::in_parallel;
use conformance::graphs;
use conformance::results::of_tensors;
use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ops::schema::Registry;

/// How many models, unless `ONNXTXT_PLANS` says so.
const MODELS: u64 = 60;

fn run(text: &str, options: &CompileOptions, is_taken: bool, fuel: u64) -> Result<Tensor, String> {
    let model = read_text(text)?;
    let told =
        |found: Vec<onnx_ir::diag::Diagnostic>| found.first().map(|d| d.message.clone()).unwrap_or_default();
    let executable = compile(&model, Registry::builtin(), options).map_err(told)?;
    let numbers: Vec<f32> = (0..32u8).map(|i| f32::from(i * 7 % 32) / 16.0 - 1.0).collect();
    let x = Tensor::of(&graphs::DIMS, &numbers).map_err(|why| why.to_string())?;
    let condition = Tensor::of_bools(&[], [is_taken]).map_err(|why| why.to_string())?;
    let given = vec![Some(Value::Tensor(x)), Some(Value::Tensor(condition))];
    let options = RunOptions { fuel, threads: 1, ..RunOptions::default() };
    let results = executable.run(given, &options).map_err(|finding| finding.message.clone())?;
    results[0].tensor().cloned().map_err(|why| why.to_string())
}

fn failure(text: &str, is_taken: bool) -> Option<String> {
    const FUEL: u64 = 100_000;
    let plain = CompileOptions { check_loops: true, unchecked: true, ..CompileOptions::default() };
    let exact = CompileOptions { exact: true, unchecked: true, ..CompileOptions::default() };
    let how = match [exact, plain].map(|how| run(text, &how, is_taken, FUEL)) {
        [Ok(planned), Ok(expected)] => of_tensors(&planned, &expected, 2e-4)?,
        [Err(why), _] => format!("with plans: {why}"),
        [_, Err(why)] => format!("node by node: {why}"),
    };
    Some(format!("{how}\n{text}"))
}

#[test]
fn random_graphs_compute_what_their_nodes_compute() {
    let asked = std::env::var("ONNXTXT_PLANS").ok().and_then(|n| n.parse().ok());
    let seeds: Vec<u64> = (0..asked.unwrap_or(MODELS)).collect();
    let failures = in_parallel(&seeds, |&seed| {
        let nodes = [5, 20, 60, 200][seed as usize % 4];
        failure(&graphs::random(seed, nodes), seed % 3 == 0).map(|how| format!("seed {seed}: {how}"))
    });
    let failures: Vec<String> = failures.into_iter().flatten().collect();
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures[..failures.len().min(3)].join("\n\n"));
}

#[test]
fn regular_graphs_compute_what_their_nodes_compute() {
    let texts = [
        graphs::chain(&["Tanh", "Sigmoid", "Relu", "Neg"], 300),
        graphs::diamonds(100),
        graphs::fan(50),
        graphs::comb(80),
        graphs::dynamic(40),
        graphs::quantized(60),
        graphs::calls(7),
    ];
    for text in texts {
        assert_eq!(failure(&text, true), None);
    }
}

#[test]
fn planning_takes_no_more_than_its_fuel() {
    let text = graphs::chain(&["Tanh"], 4000);
    let ended = run(&text, &CompileOptions::default(), true, 3)
        .expect_err("4000 nodes are not planned in so few steps");
    assert!(ended.contains("planned") || ended.contains("planning"), "{ended}");
}
