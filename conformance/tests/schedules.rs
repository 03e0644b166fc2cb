//! Schedules as text: every schedule that is written can be read back, is the same text when it is written again, and computes the
//! same. Texts that somebody has broken are refused with a place.

use conformance::convert::{read_text, read_wire};
use conformance::corpus::{in_parallel, models};
use conformance::graphs;
use conformance::images;
use conformance::results::made_up;
use conformance::texts::small_texts;
use conformance::trial::{self, is_determinate};
use onnx_exec::{CompileOptions, Executable, RunOptions, Value, compile};
use onnx_ir::Model;
use onnx_ir::diag::{Diagnostic, Place};
use onnx_ops::opset::registry_of;
use onnx_proto::file;
use std::fs;

/// Models of the corpus that are larger are left to benchmarks.
const LARGEST: u64 = 1 << 20;

/// What a run may take: texts of the suite have loops without end.
const MOST_BYTES: usize = 64 << 20;
const FUEL: u64 = 2_000;

fn ready(model: &Model) -> Option<Executable<'static>> {
    compile(model, registry_of(model), &CompileOptions::default()).ok()
}

fn told(finding: Box<Diagnostic>, text: &str) -> String {
    let at = match finding.primary.place {
        Place::Source(span) => text.get(span.range()).unwrap_or("no place in the text").to_owned(),
        _ => "no place".to_owned(),
    };
    format!("{} {}: {at}", finding.code.id, finding.message)
}

/// What is wrong with the schedule of a model for inputs; nothing if there is none.
fn failure(model: &Model, inputs: Vec<Option<Value>>) -> Option<String> {
    let options = RunOptions { threads: 1, max_memory: MOST_BYTES, fuel: FUEL, ..RunOptions::default() };
    let first = ready(model)?;
    let expected = first.run(inputs.clone(), &options).ok()?;
    let text = first.schedule(inputs.clone(), &options).ok()?.text;
    if text.is_empty() {
        return None;
    }
    let second = ready(model)?;
    let wrong = |how: String| Some(format!("{how}\n{text}"));
    if let Err(finding) = second.read_schedule(&text, inputs.clone(), &options) {
        return wrong(told(finding, &text));
    }
    let again = match second.schedule(inputs.clone(), &options) {
        Ok(again) => again.text,
        Err(finding) => return wrong(finding.message.clone()),
    };
    if without_reasons(&again) != without_reasons(&text) {
        return wrong(format!("it is written as\n{again}\nwhen it has been read from"));
    }
    let results = match second.run(inputs, &options) {
        Ok(results) => results,
        Err(finding) => return wrong(finding.message.clone()),
    };
    let is_same = expected.iter().zip(&results).all(|(a, b)| is_same(a, b));
    if is_same || !is_determinate(model) { None } else { wrong("other results".to_owned()) }
}

/// Whether two values are the same to the bit.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tensor(a), Value::Tensor(b)) => a.bytes() == b.bytes() && a.dims() == b.dims(),
        (Value::Sequence(a), Value::Sequence(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_same(a, b))
        }
        (a, b) => a == b || format!("{a:?}") == format!("{b:?}"),
    }
}

/// Why formulas are apart is known to who has put them apart.
fn without_reasons(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.trim_start().starts_with("# apart")).collect()
}

fn all_are_right(failures: Vec<Option<String>>, least: usize) {
    assert!(failures.len() >= least, "{} schedules", failures.len());
    let failures: Vec<String> = failures.into_iter().flatten().collect();
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures[..failures.len().min(3)].join("\n\n"));
}

#[test]
fn schedules_of_texts_are_read_back() {
    let failures = in_parallel(&small_texts(), |path| {
        let text = fs::read_to_string(path).ok()?;
        let model = read_text(&text).ok()?;
        let how = failure(&model, made_up(&model)?)?;
        Some(format!("{}: {how}", path.display()))
    });
    all_are_right(failures, 500);
}

#[test]
fn schedules_of_random_networks_are_read_back() {
    let seeds: Vec<u64> = (0..150).collect();
    let failures = in_parallel(&seeds, |&seed| {
        let network = images::random(seed, 3 + seed as usize % 9);
        let model = read_text(&network.text).ok()?;
        failure(&model, made_up(&model)?).map(|how| format!("images, seed {seed}: {how}"))
    });
    all_are_right(failures, 100);
    let failures = in_parallel(&seeds, |&seed| {
        let model = read_text(&graphs::random(seed, [5, 20, 60][seed as usize % 3])).ok()?;
        failure(&model, made_up(&model)?).map(|how| format!("graphs, seed {seed}: {how}"))
    });
    all_are_right(failures, 100);
}

#[test]
fn schedules_of_the_corpus_are_read_back() {
    let models: Vec<_> = models().into_iter().filter(|model| model.size <= LARGEST).collect();
    let failures = in_parallel(&models, |model| {
        let read = read_wire(file::open(&model.path).ok()?).ok()?;
        let inputs = trial::inputs(&ready(&read)?, &trial::data(model));
        failure(&read, inputs).map(|how| format!("{}: {how}", model.name))
    });
    all_are_right(failures, 0);
}
