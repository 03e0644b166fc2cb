//! Running all of ONNX's own tests, and the models of the corpus that have expected outputs.
#![allow(clippy::print_stderr, reason = "a report, for who wants to see it")]

use crate::{Folder, onnxtxt};
use conformance::corpus::{folder, left_out};
use std::collections::BTreeMap;
use std::process::Command;

/// Cases of ONNX's own tests that fail, with the reason.
const FAILING: &[(&str, &str)] = &[
    ("node/test_attention_3d_causal_bf16", ROUNDED_SUMS),
    ("node/test_attention_3d_causal_bf16_expanded", ROUNDED_SUMS),
    ("node/test_attention_4d_causal_bf16", ROUNDED_SUMS),
    ("node/test_attention_4d_causal_bf16_expanded", ROUNDED_SUMS),
    ("node/test_attention_4d_causal_padded_kv_bf16", ROUNDED_SUMS),
    ("node/test_attention_4d_causal_padded_kv_bf16_expanded", ROUNDED_SUMS),
    ("node/test_attention_4d_padded_kv_bf16", ROUNDED_SUMS),
    ("node/test_attention_4d_padded_kv_bf16_expanded", ROUNDED_SUMS),
    ("node/test_dft_inverse", "what is expected is not 0 by the rounding of another algorithm"),
    ("node/test_dft_inverse_opset19", "what is expected is not 0 by the rounding of another algorithm"),
    ("node/test_image_decoder_decode_jpeg_bgr", OTHER_DECODER),
    ("node/test_image_decoder_decode_jpeg_grayscale", OTHER_DECODER),
    ("node/test_image_decoder_decode_jpeg_rgb", OTHER_DECODER),
    ("simple/test_gradient_of_add", "there is no Gradient yet"),
    ("simple/test_gradient_of_add_and_mul", "there is no Gradient yet"),
];

const ROUNDED_SUMS: &str =
    "the expected sum of bfloat16 was rounded after each addition, ours is rounded once";

const OTHER_DECODER: &str =
    "libjpeg and the decoder that we have round some pixels otherwise, by 2 of 255 at most";

/// A part of the largest magnitude of an output.
const TOLERANCE: f64 = 1e-4;

/// Models that magnify rounding: four times what ONNX Runtime's own results differ with and without its optimisations.
const MAGNIFYING: &[(&str, f64)] = &[("fcn_resnet50_dynamo", 4e-4)];

#[test]
fn the_tests_of_onnx_pass() {
    let Some(corpus) = folder() else {
        left_out("running ONNX's own tests: they are not there (`cargo xtask corpus`)");
        return;
    };
    let backend = corpus.join("backend");
    let mut command = onnxtxt();
    command
        .args(["backend-test", "--timeout", "600"])
        .arg("--index")
        .arg(backend.join("index.json"))
        .arg(&backend);
    let done = command.output().expect("the program can be run");
    let report = String::from_utf8(done.stdout).expect("the report is UTF-8");
    let failed: BTreeMap<&str, &str> = (report.lines())
        .filter_map(|line| line.strip_prefix("FAILED")?.split_once(": "))
        .map(|(path, why)| (path.rsplit_once("backend/").map_or(path, |(_, name)| name), why))
        .collect();
    let passed = report.lines().filter(|line| line.starts_with("ok ")).count();
    eprintln!("ONNX's own tests: {passed} pass, {} fail", failed.len());
    let new: Vec<_> =
        failed.iter().filter(|(name, _)| !FAILING.iter().any(|(known, _)| known == *name)).collect();
    let mended: Vec<_> = FAILING.iter().filter(|(name, _)| !failed.contains_key(name)).collect();
    assert!(new.is_empty(), "{} cases fail that should not:\n{new:#?}", new.len());
    assert!(mended.is_empty(), "these pass, and are listed as failing: {mended:#?}");
    assert!(passed + failed.len() > 2000, "{passed} of {}", passed + failed.len());
}

#[test]
fn real_models_compute_what_they_should() {
    let models = folder().map(|corpus| corpus.join("models")).filter(|models| models.is_dir());
    let (Some(models), Some(python)) = (models, std::env::var_os("ONNXTXT_PYTHON")) else {
        left_out("running real models: there are none, or no Python to look at the results with");
        return;
    };
    let scratch = Folder::new(&[]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/python/stored.py");
    let mut command = Command::new(python);
    command.arg(script).arg(env!("CARGO_BIN_EXE_onnxtxt")).arg(&models).arg(scratch.path(""));
    let done = command.output().expect("Python can be run");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut problems = Vec::new();
    let mut count = 0;
    for line in String::from_utf8_lossy(&done.stdout).lines() {
        let model: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        eprintln!("{line}");
        count += 1;
        let magnifying = MAGNIFYING.iter().find(|(name, _)| model["name"] == *name);
        let tolerance = magnifying.map_or(TOLERANCE, |(_, tolerance)| *tolerance);
        let is_right = model["worst"].as_f64().is_some_and(|worst| worst <= tolerance);
        if !is_right {
            problems.push(line.to_owned());
        }
    }
    if count == 0 {
        left_out("running real models: none has expected outputs (`cargo xtask corpus --set all`)");
    }
    assert!(problems.is_empty(), "{problems:#?}");
}
