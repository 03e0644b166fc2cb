//! Running all of ONNX's own tests, and the models of the corpus that have expected outputs.
#![allow(clippy::print_stderr, reason = "a report, for who wants to see it")]

use crate::{Folder, onnxtxt, report};
use conformance::corpus::{folder, left_out};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

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
    assert!(failed.is_empty(), "{} cases fail:\n{failed:#?}", failed.len());
    assert!(passed > 2000, "only {passed} tests");
}

/// The folder of the models, and a Python; or that they are omitted.
fn models_and_python() -> Option<(PathBuf, OsString)> {
    let models = folder().map(|corpus| corpus.join("models")).filter(|models| models.is_dir());
    let found = models.zip(std::env::var_os("ONNXTXT_PYTHON"));
    if found.is_none() {
        left_out("running real models: there are none, or no Python to look at the results with");
    }
    found
}

#[test]
fn real_models_compute_what_they_should() {
    let Some((models, python)) = models_and_python() else { return };
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

/// Models whose results are not those of ONNX Runtime, with the reason.
const OTHERWISE: &[(&str, &str)] = &[
    (
        "asr_pre_gigaam_v3",
        "the STFT of ONNX Runtime is off by 1e-4 where the frame is not a power of 2; ours is not",
    ),
    (
        "isnet_int8",
        "538 results are the same, then 4 of 4 million elements round to the next byte in DynamicQuantizeLinear, and 60 layers that \
         are quantized again by what they find make more of it; what comes out of noise is near 0 everywhere",
    ),
    ("scrfd_nms_post", "TopK with sorted = 0 gives its elements in any order"),
];

/// How far the results of a quantised model may be apart: the root of the mean square, as a part of that of the output. One step
/// of a quantised value is more than any rounding.
pub(crate) const QUANTISED: f64 = 2e-2;

/// How many of the places where the greatest of a row is have to be the same in a quantised model.
const SAME_PLACES: f64 = 0.95;

/// Seconds that a model may take, unless `ONNXTXT_SLOW` is set, which removes the limit. `ONNXTXT_PROGRAM` is a program that has been
/// built with optimisations.
const LONGEST: &str = "60";

/// All models that ONNX Runtime runs, those without stored outputs too.
#[test]
fn real_models_compute_what_onnx_runtime_computes() {
    let Some((models, python)) = models_and_python() else { return };
    let scratch = Folder::new(&[]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/python/runtimes.py");
    let program = std::env::var_os("ONNXTXT_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_onnxtxt").into());
    let seconds = if std::env::var_os("ONNXTXT_SLOW").is_some() { "0" } else { LONGEST };
    let mut command = Command::new(python);
    command.arg(script).arg(program).arg(&models).arg(scratch.path("")).arg(seconds);
    let done = command.output().expect("Python can be run");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let (mut problems, mut slow, mut agreed, mut unfit) = (Vec::new(), Vec::new(), 0, 0);
    let mut all = Vec::new();
    for line in String::from_utf8_lossy(&done.stdout).lines() {
        let model: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        all.push(model.clone());
        eprintln!("{line}");
        let name = model["name"].as_str().unwrap_or_default();
        let number = |key: &str| model[key].as_f64();
        let is_right = match (number("rms"), number("worst").zip(number("allowed"))) {
            (Some(rms), Some(_)) => {
                rms <= QUANTISED && number("arg_max").is_some_and(|same| same >= SAME_PLACES)
            }
            (None, Some((worst, allowed))) => worst <= allowed,
            (_, None) => false,
        };
        if !model["unfit"].is_null() {
            unfit += 1;
        } else if !model["slow"].is_null() {
            slow.push(name.to_owned());
        } else if is_right {
            agreed += 1;
        } else if !OTHERWISE.iter().any(|(known, _)| *known == name) {
            problems.push(line.to_owned());
        }
    }
    let file = report::write(&models, &all);
    eprintln!(
        "{agreed} models as in ONNX Runtime, which does not run {unfit}; {} has them all",
        file.display()
    );
    if !slow.is_empty() {
        left_out(&format!(
            "comparing with ONNX Runtime, as it takes more than {LONGEST} s (ONNXTXT_SLOW=1, ONNXTXT_PROGRAM): {}",
            slow.join(", ")
        ));
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Models, the extents of their symbols, and the most kernels that they may be. A layer of BERT is 12 at most, of which it has
/// 12; around them are the embeddings, the mask and the pooler.
const KERNELS: &[(&str, &[&str], usize)] =
    &[("resnet50_ts", &["N=1"], 60), ("bert_base_ts", &["N=1", "S=64"], 12 * 12 + 3)];

#[test]
fn real_models_are_few_kernels() {
    let models = folder().map(|corpus| corpus.join("models")).filter(|models| models.is_dir());
    for (name, extents, max) in KERNELS {
        let model = models.as_ref().map(|models| models.join(name).join(format!("{name}.onnx")));
        let Some(model) = model.filter(|model| model.is_file()) else {
            left_out(&format!(
                "counting the kernels of {name}: it is not there (`cargo xtask corpus --set all`)"
            ));
            continue;
        };
        let mut command = onnxtxt();
        command.args(["lower", "--emit", "stats"]).arg(&model);
        extents.iter().for_each(|extent| {
            command.args(["-D", extent]);
        });
        let done = command.output().expect("the program can be run");
        let text = String::from_utf8_lossy(&done.stdout);
        let count = |what: &str| -> usize {
            let line = text.lines().find_map(|line| line.strip_prefix(what));
            line.and_then(|line| line.trim().parse().ok()).unwrap_or_else(|| panic!("{name}: {text}"))
        };
        assert!(count("kernels") <= *max, "{name}: {text}");
        assert_eq!(count("other nodes"), 0, "{name}: {text}");
    }
}
