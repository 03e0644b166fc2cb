//! Nodes of neural networks at random: what the executor computes is what ONNX Runtime computes, and the reference evaluator
//! where that has no kernel. `ONNXTXT_NEURAL` says how many of each family.
#![allow(clippy::print_stderr, reason = "counts, for who wants to see them")]

mod activate;
mod case;
mod found;
mod images;
mod normalize;
mod pools;
mod products;
mod quantize;
mod recurrent;
mod windows;

use case::{Case, Draw, Form};
use conformance::convert::write_wire;
use conformance::corpus::{in_parallel, scratch};
use conformance::inferred::contradiction;
use conformance::oracle::{Oracle, say_if_products_saturate};
use conformance::results;
use conformance::rewrites::rewritten;
use onnx_exec::{RunOptions, Value};
use onnx_ir::Data;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// How many nodes of each family, unless `ONNXTXT_NEURAL` says so.
const NODES: u64 = 150;

/// The text of a panic report.
const PANIC: &str = "panicked: ";

/// The results, or why there are none.
fn run(case: &Case) -> Result<Vec<Value>, String> {
    catch_unwind(AssertUnwindSafe(|| computed(case))).unwrap_or_else(|why| {
        let said = why.downcast_ref::<String>().map(String::as_str).or(why.downcast_ref::<&str>().copied());
        Err(format!("{PANIC}{}", said.unwrap_or_default()))
    })
}

fn computed(case: &Case) -> Result<Vec<Value>, String> {
    let (model, given) = case.model(Form::Given);
    results::run(&model, &given, &RunOptions::default())
}

/// The request that asks whether others compute the same.
fn request(case: &Case, at: usize, folder: &Path, ours: &Result<Vec<Value>, String>) -> Json {
    let path = folder.join(format!("{at}.onnx"));
    let (model, _) = case.model(Form::Stored);
    std::fs::write(&path, write_wire(&model).expect("it is small")).expect("the folder can be written to");
    let mut results = Vec::new();
    for (i, value) in ours.iter().flatten().enumerate() {
        let Value::Tensor(tensor) = value else { panic!("no tensor") };
        let path = folder.join(format!("{at}_{i}.pb"));
        let bytes =
            onnx_proto::write_data(&Data::Tensor(tensor.to_stored().expect("there is room")), &model.names)
                .expect("it is small");
        std::fs::write(&path, bytes).expect("the folder can be written to");
        results.push(path);
    }
    let ours = if ours.is_ok() { json!(results) } else { Json::Null };
    json!({ "id": at, "op": "agree", "path": path, "ours": ours, "tolerance": case.tolerance, "runtime": case.is_for_runtime })
}

/// Draws nodes of a family, runs them, and has them judged.
fn judge(family: &str, draw: impl Fn(Draw) -> Case + Sync) {
    let Some(oracle) = Oracle::find(family) else { return };
    say_if_products_saturate(family);
    let asked = std::env::var("ONNXTXT_NEURAL").ok().and_then(|n| n.parse().ok());
    let seeds: Vec<u64> = (0..asked.unwrap_or(NODES)).collect();
    let folder = scratch(&format!("random_neural_{family}"));
    let cases: Vec<Case> = seeds.iter().map(|seed| draw(Draw::new(*seed))).collect();
    let ours = in_parallel(&cases, run);
    let request = |(at, case): (usize, &Case)| request(case, at, &folder, &ours[at]);
    let answers = oracle.ask(&cases.iter().enumerate().map(request).collect::<Vec<_>>());
    let mut wrong: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let options = RunOptions::default();
    for (at, ((case, ours), answer)) in cases.iter().zip(&ours).zip(&answers).enumerate() {
        let engine = answer["engine"].as_str();
        let how = match (ours, engine) {
            (Ok(_), Some(_)) => answer["difference"].as_str().map(str::to_owned),
            // The reference evaluator takes what no schema has.
            (Err(why), Some("reference")) if !why.starts_with(PANIC) => None,
            (Err(why), Some(_)) => Some(format!("we refuse it: {why}")),
            (Err(why), None) if why.starts_with(PANIC) => Some(why.clone()),
            (_, None) => None,
        };
        let who = engine.unwrap_or(if ours.is_ok() { "only ours" } else { "none" });
        *counts.entry(format!("{} {who}", case.op)).or_default() += 1;
        // Integers are cut off, and a scale may be a factor or a divisor.
        let is_cut_off = ["Resize", "Upsample"].contains(&case.op);
        let (model, given) = case.model(Form::Given);
        let how = how.or_else(|| if is_cut_off { None } else { rewritten(&model, &given, &options) });
        let (model, given) = case.model(Form::Symbolic);
        let how = how.or_else(|| contradiction(&model, &given, &options));
        if let Some(how) = how {
            wrong.entry(case.op).or_default().push(format!(
                "{at} {}: {}: {how}",
                engine.unwrap_or("?"),
                case.told()
            ));
        }
    }
    eprintln!("{family}: {counts:?}");
    let total: usize = wrong.values().map(Vec::len).sum();
    let told: Vec<String> = wrong
        .values_mut()
        .map(|all| {
            all.sort_by_key(String::len);
            let count = all.len();
            all.truncate(4);
            format!("{count} times\n{}", all.join("\n"))
        })
        .collect();
    assert!(total == 0, "{total} differ:\n{}", told.join("\n"));
}

#[test]
fn found() {
    judge("found", found::draw);
}

#[test]
fn windows() {
    judge("windows", windows::draw);
}

#[test]
fn activate() {
    judge("activate", activate::draw);
}

#[test]
fn normalize() {
    judge("normalize", normalize::draw);
}

#[test]
fn products() {
    judge("products", products::draw);
}

#[test]
fn pools() {
    judge("pools", pools::draw);
}

#[test]
fn images() {
    judge("images", images::draw);
}

#[test]
fn quantize() {
    judge("quantize", quantize::draw);
}

#[test]
fn recurrent() {
    judge("recurrent", recurrent::draw);
}
