//! Passes keep a model without errors valid and introduce no warnings: texts of the suite and examples of operators, changed at
//! random while they stay valid, half of them with unsorted nodes, then transformed by several passes.
//!
//! `ONNXTXT_PASSES=N` draws N models of each text (a quarter of one otherwise).

mod change;

use change::change;
use conformance::convert::{print, read_wire};
use conformance::corpus::in_parallel;
use conformance::random::Random;
use conformance::texts::small_texts;
use conformance::trial::{encoded, run, shuffle};
use onnx_ir::diag::{Diagnostic, Level, code};
use onnx_ir::{Model, VerifyOptions};
use onnx_ops::pass::Pass;
use onnx_ops::schema::Registry;
use onnx_text::Profile;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Changes that are tried on a model.
const CHANGES: usize = 24;
/// Passes that follow each other.
const PASSES: usize = 3;

#[test]
fn passes_in_any_order_break_nothing() {
    let given = std::env::var("ONNXTXT_PASSES").ok().and_then(|n| n.parse::<u64>().ok());
    let texts = small_texts();
    let (rounds, step) = given.map_or((1, 4), |n| (n, 1));
    let jobs: Vec<(u64, &PathBuf)> =
        (0..rounds).flat_map(|round| texts.iter().step_by(step).map(move |path| (round, path))).collect();
    let failures: Vec<String> =
        (in_parallel(&jobs, |&(round, path)| failure(path, round)).into_iter()).flatten().collect();
    let some: Vec<_> = failures.iter().take(8).map(String::as_str).collect();
    assert!(some.is_empty(), "{} models were broken:\n{}", failures.len(), some.join("\n"));
    assert!(texts.len() > 700, "{}", texts.len());
}

fn errors(model: &Model, level: Level) -> Vec<Diagnostic> {
    let options = VerifyOptions { level, ..VerifyOptions::default() };
    let mut found = onnx_ops::check::check(model, Registry::builtin(), &options);
    // The findings of inference before it reaches its limit depend on the whole model: such models are skipped.
    found.retain(|d| d.is_error() || d.code.id == code::INFERENCE_LIMIT.id);
    found
}

/// Warnings of codes of which there are more than before.
fn new_warnings(before: &Model, after: &Model) -> Vec<String> {
    let warnings = |model: &Model| {
        let mut found = onnx_ops::check::check(model, Registry::builtin(), &VerifyOptions::default());
        found.retain(|d| !d.is_error() && d.code.level <= Level::Types);
        found
    };
    let known = warnings(before);
    let count = |found: &[Diagnostic], id: &str| found.iter().filter(|d| d.code.id == id).count();
    let mut found = warnings(after);
    // A function without a domain keeps a model before IR version 8, whatever its imports need.
    let is_kept_back = after.header.ir_version.is_some_and(|version| version < 8)
        && after.functions.values().any(|function| function.domain.is_none());
    found.retain(|d| !(is_kept_back && d.code.id == code::OPSET_NEEDS_NEWER_IR.id));
    let is_new = |d: &&Diagnostic| count(&found, d.code.id) > count(&known, d.code.id);
    found.iter().filter(is_new).map(|d| format!("{}: {}", d.code.id, d.message)).collect()
}

/// Changes a text at random, runs passes on it, and returns the first failure.
fn failure(path: &Path, round: u64) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let mut model = onnx_text::read_model(&text).value;
    if model.main.is_none() || !errors(&model, Level::Types).is_empty() {
        return None;
    }
    let mut random = Random::of_file(path, round);
    for _ in 0..random.below(CHANGES) {
        let mut changed = model.clone();
        let before = model.clone();
        if catch_unwind(AssertUnwindSafe(|| change(&mut changed, &mut random))).is_err() {
            return Some(format!("{}, a change:\n{}", path.display(), print(&before, Profile::Onnx).text));
        }
        // Names are found anew.
        let Ok(read) = read_wire(encoded(&changed).into()) else { continue };
        match catch_unwind(|| errors(&read, Level::Types)) {
            Ok(errors) if errors.is_empty() => model = read,
            Ok(_) => {}
            Err(_) => {
                return Some(format!("{}, check:\n{}", path.display(), print(&read, Profile::Onnx).text));
            }
        }
    }
    let is_shuffled = random.below(2) == 0;
    if is_shuffled {
        shuffle(&mut model, &mut random);
        // In another order, a name in a nested graph may hide one that comes before it now.
        let mut sorted = model.clone();
        run(&mut sorted, &["topological-sort"]);
        if !errors(&sorted, Level::Types).is_empty() {
            return None;
        }
    }
    let mut passes: Vec<Pass> = onnx_ops::pass::all().collect();
    let versions =
        [1, 5, 7, 9, 13, 18, 21, 28].map(|version| Pass::parse(&format!("convert-opset={version}")));
    passes.extend(versions.into_iter().flatten());
    let mut way = Vec::new();
    for _ in 0..PASSES {
        let pass = &passes[random.below(passes.len())];
        way.push(pass.name());
        let mut changed = model.clone();
        let found = catch_unwind(AssertUnwindSafe(|| {
            let outcome = pass.run(&mut changed, Registry::builtin());
            // Findings of the pass may announce errors.
            if !outcome.report.diagnostics.is_empty() {
                return None;
            }
            // In place of a call, types that contradict what a function declares are seen.
            let level = if pass.name() == "inline" { Level::Spec } else { Level::Types };
            let mut sorted = changed.clone();
            if is_shuffled {
                run(&mut sorted, &["topological-sort"]);
            }
            let mut wrong: Vec<String> = (errors(&sorted, level).into_iter())
                .map(|d| format!("{}: {}", d.code.id, d.message))
                .collect();
            if wrong.is_empty() && level == Level::Types {
                wrong = new_warnings(&model, &sorted);
            }
            Some(wrong)
        }));
        let wrong = found.unwrap_or_else(|_| Some(vec!["panic".to_owned()]))?;
        if !wrong.is_empty() {
            let before = print(&model, Profile::Onnx).text;
            return Some(format!("{}, {way:?}: {wrong:#?}\n{before}", path.display()));
        }
        if !is_shuffled && !errors(&changed, Level::Types).is_empty() {
            return None;
        }
        model = changed;
    }
    None
}
