//! Gradients and optimizers against torch, in single precision: operators, whole networks, and the state after some steps.
//!
//! `ONNXTXT_TORCH` names a Python with torch (`cargo xtask torch` makes one and runs this); without it, the comparison is left out.
//! `ONNXTXT_TORCH_OF=Conv` tries only cases whose names have this.
#![allow(clippy::print_stderr, reason = "what has been compared, for who wants to see it")]

use conformance::corpus::{left_out, workspace};
use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ir::{ElemType, Model};
use onnx_ops::gradient::Results;
use onnx_ops::schema::Registry;
use onnxtxt::train::{Loss, TrainOptions, Trainable, Trainer, trainable};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// How far a gradient may be from that of torch, as a part of the largest element of its tensor.
const TOLERANCE: f64 = 1e-5;
/// The tolerance of weights and of the state of optimizers after some steps.
const TOLERANCE_OF_STEPS: f64 = 1e-4;

/// The least numbers of cases: a script that stops early does not pass.
const MIN_CASES: [(&str, usize); 3] = [("operator", 60), ("network", 5), ("optimizer", 4)];

fn floats(json: &Json) -> Vec<f64> {
    let numbers = json["data"].as_array().into_iter().flatten();
    numbers.map(|number| number.as_f64().expect("a number")).collect()
}

fn tensor(json: &Json) -> Tensor {
    let dims = json["dims"].as_array().into_iter().flatten();
    let dims: Vec<usize> = dims.filter_map(|dim| usize::try_from(dim.as_u64()?).ok()).collect();
    let numbers = floats(json);
    match json["type"].as_str() {
        Some("int64") => {
            let numbers: Vec<i64> =
                json["data"].as_array().into_iter().flatten().filter_map(Json::as_i64).collect();
            Tensor::of(&dims, &numbers).expect("as many numbers")
        }
        _ => Tensor::of_floats(ElemType::FLOAT, &dims, &numbers).expect("as many numbers"),
    }
}

fn read(text: &str) -> Result<Model, String> {
    let read = onnx_text::read_model(text);
    match read.diagnostics.first() {
        Some(found) => Err(format!("{}\n{text}", found.message)),
        None => Ok(read.value),
    }
}

/// The failure of a tensor, or its distance.
fn compare(name: &str, ours: &Tensor, json: &Json, tolerance: f64) -> Result<f64, String> {
    let (ours, theirs) = (ours.floats().map_err(|why| why.to_string())?, floats(json));
    if ours.len() != theirs.len() {
        return Err(format!("{name} has {} elements, not {}", ours.len(), theirs.len()));
    }
    let largest = theirs.iter().fold(0f64, |most, x| most.max(x.abs()));
    // The sum of all results may be small because they cancel out.
    let is_sum = matches!(name, "total" | "loss");
    let scale = if largest < 1e-6 || is_sum { largest.max(1.0) } else { largest };
    let mut most = 0f64;
    for (i, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        let distance = (ours - theirs).abs() / scale;
        if distance.is_nan() || distance > tolerance {
            return Err(format!("{name}[{i}] is {ours}, but {theirs} in torch (largest element {largest})"));
        }
        most = most.max(distance);
    }
    Ok(most)
}

/// Gradients of a graph.
fn gradients(case: &Json) -> Result<f64, String> {
    let model = read(case["text"].as_str().unwrap_or_default())?;
    let executable = compile(&model, Registry::builtin(), &CompileOptions::default())
        .map_err(|found| found.first().map(|d| d.message.clone()).unwrap_or_default())?;
    let names = executable.model();
    let inputs: Vec<Option<Value>> = (executable.inputs().iter())
        .map(|port| Some(tensor(&case["inputs"][names.text(port.name)]).into()))
        .collect();
    let results = executable.run(inputs, &RunOptions::default()).map_err(|why| why.message.clone())?;
    let mut most = 0f64;
    for (port, result) in executable.outputs().iter().zip(&results) {
        let name = names.text(port.name);
        let result = result.tensor().map_err(|why| why.to_string())?;
        most = most.max(compare(name, result, &case["expected"][name], TOLERANCE)?);
    }
    Ok(most)
}

/// Weights and the state of an optimizer after some steps.
fn steps(case: &Json) -> Result<f64, String> {
    let mut model = read(case["text"].as_str().unwrap_or_default())?;
    let registry = Registry::builtin();
    let options = Trainable {
        loss: Loss::SoftmaxCrossEntropy,
        optimizer: case["name"].as_str().unwrap_or_default().parse()?,
        output: None,
        label: "label".to_owned(),
        initial: None,
        is_frozen: &|_| false,
        gradient_results: Results::Kept,
    };
    let first =
        |found: Vec<onnx_ir::diag::Diagnostic>| found.first().map(|d| d.message.clone()).unwrap_or_default();
    trainable(&mut model, registry, &options).map_err(first)?;
    let mut trainer = Trainer::new(&model, registry, &TrainOptions::default()).map_err(first)?;
    let inputs = case["inputs"].as_object().into_iter().flatten();
    let inputs: Vec<(&str, Value)> =
        inputs.map(|(name, json)| (name.as_str(), tensor(json).into())).collect();
    let mut outputs = Vec::new();
    for _ in 0..case["steps"].as_u64().unwrap_or(0) {
        outputs = trainer.step(&inputs).map_err(|found| found.message.clone())?;
    }
    let mut most = 0f64;
    for (name, json) in case["expected"].as_object().into_iter().flatten() {
        let output = outputs.iter().find(|(known, _)| known == name);
        let ours = match output {
            Some((_, value)) => value.tensor().map_err(|why| why.to_string())?,
            None => trainer.variable(name).ok_or_else(|| format!("no state `{name}`"))?,
        };
        most = most.max(compare(name, ours, json, TOLERANCE_OF_STEPS)?);
    }
    Ok(most)
}

#[test]
fn gradients_and_steps_are_those_of_torch() {
    let Some(python) = std::env::var_os("ONNXTXT_TORCH") else {
        left_out(
            "gradients and optimizers of torch: ONNXTXT_TORCH names no Python with torch (`cargo xtask torch`)",
        );
        return;
    };
    let script = workspace().join("tests/python/torch_gradients.py");
    let output = Command::new(&python).arg(&script).stderr(Stdio::inherit()).output().expect("Python runs");
    assert!(output.status.success(), "{} failed", script.display());
    let text = String::from_utf8(output.stdout).expect("JSON is UTF-8");
    let only = std::env::var("ONNXTXT_TORCH_OF").unwrap_or_default();
    let (mut wrong, mut counts) = (Vec::new(), BTreeMap::<String, (usize, f64)>::new());
    for line in text.lines() {
        let case: Json = serde_json::from_str(line).expect("a case is JSON");
        let (kind, name) =
            (case["kind"].as_str().unwrap_or_default(), case["name"].as_str().unwrap_or_default());
        if !name.contains(&only) {
            continue;
        }
        let verdict = if kind == "optimizer" { steps(&case) } else { gradients(&case) };
        let entry = counts.entry(kind.to_owned()).or_default();
        entry.0 += 1;
        match verdict {
            Ok(distance) => entry.1 = entry.1.max(distance),
            Err(why) => wrong.push(format!("{kind} {name}: {why}")),
        }
    }
    for (kind, (count, most)) in &counts {
        eprintln!("torch: {count} cases of kind {kind}, relative distance at most {most:.1e}");
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    if only.is_empty() {
        for (kind, least) in MIN_CASES {
            let count = counts.get(kind).map_or(0, |(count, _)| *count);
            assert!(count >= least, "only {count} cases of kind {kind}");
        }
    }
}
