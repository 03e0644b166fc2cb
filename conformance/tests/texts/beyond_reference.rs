//! `check --profile reference` compared with the reference parser: a finding W0132 if, and only if, the reference rejects the text.

use conformance::convert::{print, read_wire};
use conformance::corpus::{in_parallel, models};
use conformance::oracle::{Oracle, is_ok};
use conformance::random::{Choices, Generator, Random, Schema, Wildness};
use conformance::texts::small_texts;
use onnx_ir::Model;
use onnx_ir::diag::{Level, code};
use onnx_ops::opset::registry_of;
use onnx_text::{Profile, Readers, TextKind, check_completed, sniff_text};
use serde_json::json;
use std::fs;

/// Larger models of the corpus add nothing to small ones.
const LARGEST: u64 = 1 << 18;
const RANDOM_MODELS: usize = 600;

/// The findings about readers of a text; `None` if it has errors, or is not a model.
fn reported(text: &str) -> Option<Vec<String>> {
    if sniff_text(text) != TextKind::Model {
        return None;
    }
    let complete =
        |model: &mut Model, numbers: &_| onnx_ops::literals::complete(model, registry_of(model), numbers);
    let checked = check_completed(Readers::Reference, text, Level::Syntax, &complete, |_| Vec::new());
    // Expressions are errors of this code.
    if checked.diagnostics.iter().any(|d| d.is_error() && d.code != &code::BEYOND_REFERENCE)
        || checked.value.model.main.is_none()
    {
        return None;
    }
    let beyond = checked.diagnostics.into_iter().filter(|d| d.code == &code::BEYOND_REFERENCE);
    Some(beyond.map(|d| d.message).collect())
}

/// The texts whose findings contradict the reference, and how many it accepts and rejects.
fn contradictions(oracle: &Oracle, texts: Vec<(String, String)>) -> (Vec<String>, usize, usize) {
    let texts: Vec<_> =
        (texts.into_iter()).filter_map(|(name, text)| Some((name, reported(&text)?, text))).collect();
    let requests: Vec<_> = texts.iter().map(|(_, _, text)| json!({"op": "parse", "text": text})).collect();
    let answers = oracle.ask(&requests);
    let accepted = answers.iter().filter(|answer| is_ok(answer)).count();
    let mut wrong = Vec::new();
    for ((name, found, _), answer) in texts.iter().zip(&answers) {
        if is_ok(answer) != found.is_empty() {
            wrong.push(format!("{name}: the reference says {answer}, reported are {found:?}"));
        }
    }
    (wrong, accepted, texts.len() - accepted)
}

fn assert_agree((wrong, accepted, rejected): (Vec<String>, usize, usize), least: (usize, usize)) {
    let some: Vec<&str> = wrong.iter().take(12).map(|text| text.as_str()).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), accepted + rejected, some.join("\n"));
    assert!(accepted >= least.0 && rejected >= least.1, "{accepted} accepted, {rejected} rejected");
}

#[test]
fn texts_of_the_suite() {
    let Some(oracle) = Oracle::find("profile `reference` of the suite") else { return };
    let read = |path: std::path::PathBuf| Some((path.display().to_string(), fs::read_to_string(path).ok()?));
    let texts = small_texts().into_iter().filter_map(read).collect();
    assert_agree(contradictions(&oracle, texts), (500, 20));
}

#[test]
fn texts_of_the_corpus() {
    let Some(oracle) = Oracle::find("profile `reference` of the corpus") else { return };
    let small: Vec<_> = models().into_iter().filter(|model| model.size < LARGEST).collect();
    let texts = in_parallel(&small, |model| {
        let wire = fs::read(&model.path).expect("a model of the corpus can be read");
        let read = read_wire(wire.into()).expect("the round trips have read it");
        (model.name.clone(), print(&read, Profile::Onnx).text)
    });
    if !texts.is_empty() {
        assert_agree(contradictions(&oracle, texts), (1, 0));
    }
}

#[test]
fn texts_of_random_models() {
    let Some(oracle) = Oracle::find("profile `reference` of random models") else { return };
    let (schema, mut random) = (Schema::load(), Random::new(3));
    let texts = (0..RANDOM_MODELS).map(|number| {
        let wildness = if number % 3 == 0 { Wildness::Wild } else { Wildness::Plain };
        let choices = random.choices(20 + number % 300);
        let wire = Generator::new(&schema, Choices::new(&choices), wildness).model();
        let model = read_wire(wire.into()).expect("generated models can be read");
        let profile = [Profile::Onnx, Profile::Extended][number % 2];
        (format!("random model {number}"), print(&model, profile).text)
    });
    assert_agree(contradictions(&oracle, texts.collect()), (150, 100));
}
