//! Random networks over images: in the layouts that plans choose, they compute what their nodes compute one by one, on one thread
//! and on two.
//!
//! `ONNXTXT_IMAGES=N` draws N networks (a few otherwise).

use conformance::convert::read_text;
use conformance::corpus::in_parallel;
use conformance::images::{self, Network};
use conformance::results::of_tensors;
use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ops::schema::Registry;

/// How many networks, unless `ONNXTXT_IMAGES` says so.
const NETWORKS: u64 = 150;

fn run(network: &Network, options: &CompileOptions, threads: usize) -> Result<Vec<Tensor>, String> {
    let model = read_text(&network.text)?;
    let told =
        |found: Vec<onnx_ir::diag::Diagnostic>| found.first().map(|d| d.message.clone()).unwrap_or_default();
    let executable = compile(&model, Registry::builtin(), options).map_err(told)?;
    let count: usize = network.dims.iter().product();
    let numbers: Vec<f32> = (0..count).map(|i| ((i * 37 + i / 7) % 33) as f32 / 16.0 - 1.0).collect();
    let x = Tensor::of(&network.dims, &numbers).map_err(|why| why.to_string())?;
    let options = RunOptions { threads, ..RunOptions::default() };
    let results =
        executable.run(vec![Some(Value::Tensor(x))], &options).map_err(|finding| finding.message.clone())?;
    results.iter().map(|value| value.tensor().cloned().map_err(|why| why.to_string())).collect()
}

fn failure(network: &Network) -> Option<String> {
    let plain = CompileOptions { node_by_node: true, ..CompileOptions::default() };
    let planned = |threads| run(network, &CompileOptions::default(), threads);
    let how = match (planned(1), planned(2), run(network, &plain, 1)) {
        (Ok(one), Ok(two), Ok(expected)) => {
            let is_same = |(a, b): (&Tensor, &Tensor)| a.bytes() == b.bytes();
            if !one.iter().zip(&two).all(is_same) {
                Some("two threads give something else than one".to_owned())
            } else {
                one.iter().zip(&expected).find_map(|(a, b)| of_tensors(a, b, 2e-4))
            }
        }
        (Err(why), _, Ok(_)) | (_, Err(why), Ok(_)) => Some(format!("with a plan: {why}")),
        (Ok(_), Ok(_), Err(why)) => Some(format!("node by node: {why}")),
        // A network that cannot be run is a mistake of who draws it.
        (_, _, Err(why)) => Some(format!("it cannot be run: {why}")),
    };
    how.map(|how| format!("{how}\n{}", network.text))
}

#[test]
fn random_networks_over_images_compute_what_their_nodes_compute() {
    let asked = std::env::var("ONNXTXT_IMAGES").ok().and_then(|n| n.parse().ok());
    let seeds: Vec<u64> = (0..asked.unwrap_or(NETWORKS)).collect();
    let failures = in_parallel(&seeds, |&seed| {
        let network = images::random(seed, 3 + seed as usize % 9);
        failure(&network).map(|how| format!("seed {seed}: {how}"))
    });
    let failures: Vec<String> = failures.into_iter().flatten().collect();
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures[..failures.len().min(3)].join("\n\n"));
}
