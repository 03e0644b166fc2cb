//! Models that are converted to other versions of ai.onnx compute the same: ONNX's own test models, version by version down and
//! up again.
#![allow(clippy::print_stderr, reason = "a count, for who wants to see it")]

use conformance::corpus::in_parallel;
use conformance::oracle::Oracle;
use conformance::trial::{Trial, backend, data, encoded, judge};
use onnx_ir::diag::Level;
use onnx_ir::{Model, VerifyOptions, pass};
use onnx_ops::convert::convert_opset;
use onnx_ops::schema::Registry;
use serde_json::json;

/// Versions that backend tests are converted to, one after the other, finally back to the newest.
const VERSIONS: &[i64] = &[28, 22, 18, 17, 13, 12, 11, 10, 9, 8, 7, 6, 5, 1];

/// No oracle runs operators of older versions. The models go back to the newest version, where they are judged.
const OLDEST_JUDGED: i64 = 7;

/// The oracles for a conversion.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judge {
    Evaluator,
    /// Rounding in between differs where a body takes the place of an operator on short floats.
    Roughly,
    /// The evaluator lacks the old version of the operator, or takes it for another one.
    Runtime,
    None,
}

/// Tests by the beginning of their name, with the version from which on the evaluator is right again.
const JUDGES: &[(&str, i64, Judge)] = &[
    ("node/test_batchnorm_", 14, Judge::Runtime), // trains always
    ("pytorch-converted/test_BatchNorm", 14, Judge::Runtime),
    ("node/test_bernoulli_seed", i64::MAX, Judge::None), // draws other numbers
    ("node/test_causal_conv_with_state_silu_fp16", i64::MAX, Judge::Roughly),
    ("node/test_swiglu_float16", i64::MAX, Judge::Roughly),
    ("node/test_dequantizelinear", 19, Judge::Runtime), // is not there
    ("node/test_gridsample", 20, Judge::Runtime),       // knows the new names of modes alone
    ("node/test_roialign", 16, Judge::Runtime),         // has the new default
    ("node/test_scatter_elements", 11, Judge::Runtime), // is not there
];

fn judge_of(name: &str, version: i64) -> Judge {
    if version < OLDEST_JUDGED {
        return Judge::None;
    }
    let name = name.trim_start_matches("backend/");
    let row = JUDGES.iter().find(|(start, until, _)| name.starts_with(start) && version < *until);
    row.map_or(Judge::Evaluator, |(.., judge)| *judge)
}

#[test]
fn conversions_keep_the_results_of_backend_tests() {
    let Some(oracle) = Oracle::find("results of conversions") else { return };
    let registry = Registry::builtin();
    let mistake = |model: &Model| {
        let options = VerifyOptions { level: Level::Types, payloads: false };
        let found = onnx_ops::check::check(model, registry, &options);
        found.into_iter().find(onnx_ir::diag::Diagnostic::is_error).map(|d| d.message)
    };
    let mut models = backend(1);
    models.retain(|(_, model)| model.opset_version(&model.header.opset_imports, "").is_some());
    let made = in_parallel(&models, |(from, model)| {
        let judges = [Judge::Evaluator, Judge::Roughly, Judge::Runtime];
        let mut trials = judges.map(|_| Trial::new(&from.name, model, Some(data(from))));
        let mut wrong = Vec::new();
        let is_sound = mistake(model).is_none();
        let mut now = model.clone();
        for &version in VERSIONS.iter().chain(&[28]) {
            let mut next = now.clone();
            let done = convert_opset(&mut next, registry, "", version);
            let why = done.report.diagnostics.first().map(|d| d.message.as_str());
            if !done.is_done {
                assert!(encoded(&next) == encoded(&now), "{}: refused, and changed", from.name);
                if version == 28 && is_sound {
                    wrong.push(format!("{} to {version}: {why:?}", from.name));
                }
                continue;
            }
            pass::compact(&mut next);
            if let Some(why) = mistake(&next).filter(|_| is_sound) {
                wrong.push(format!("{} in version {version}: {why}", from.name));
            }
            let judge = judge_of(&from.name, version);
            if let Some(i) = judges.iter().position(|j| *j == judge) {
                let mut variant = next.clone();
                if judge == Judge::Runtime {
                    variant.header.ir_version = Some(8); // which conversions do not lower, and runtimes lag behind
                }
                trials[i].add(&format!("in version {version}"), &variant);
            }
            now = next;
        }
        (trials, wrong)
    });
    let mut trials: [Vec<Trial>; 3] = Default::default();
    let mut wrong = Vec::new();
    for (made, mistakes) in made {
        wrong.extend(mistakes);
        for (all, trial) in trials.iter_mut().zip(made) {
            all.extend(Some(trial).filter(|trial| trial.variants.len() > 1));
        }
    }
    assert!(wrong.is_empty(), "{} conversions went wrong:\n{}", wrong.len(), wrong.join("\n"));
    let variants: usize = trials.iter().flatten().map(|trial| trial.variants.len() - 1).sum();
    let [exact, roughly, runtime] = trials;
    let judged = judge(&oracle, "conversions", &exact, &json!({ "rtol": 1e-5 }));
    let rough = judge(&oracle, "conversions_rough", &roughly, &json!({ "rtol": 2e-3 }));
    let run = judge(&oracle, "conversions_run", &runtime, &json!({ "rtol": 1e-4, "engine": "onnxruntime" }));
    eprintln!(
        "conversions: {variants} of {} models; {judged} + {rough} + {run} could be judged",
        models.len()
    );
    assert!(models.is_empty() || judged > 1000 && run > 10 && variants > 4000, "{judged} {run} {variants}");
}
