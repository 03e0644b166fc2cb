//! Passes keep what models compute: ONNX's own test models, and models put into disorder.
//!
//! `ONNXTXT_LARGEST_MB=N` takes real models of up to N megabytes (16 otherwise).
#![allow(clippy::print_stderr, reason = "a count, for who wants to see it")]

use conformance::convert::read_wire;
use conformance::corpus::{CorpusModel, folder, in_parallel, models};
use conformance::oracle::Oracle;
use conformance::random::Random;
use conformance::trial::{
    TIDY, Trial, backend, count, data, encoded, is_determinate, judge, run, shuffle, with_inputs_known,
};
use onnx_ir::pass::{self, OpRef, Operators as _, Report};
use onnx_ir::{Body, Model, NodeId, Value, ValueDef, ValueId, normalize_domain};
use onnx_ops::opset::registry_of;
use onnx_ops::schema::Registry;
use onnx_proto::file;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Orders of the passes that are tried on each model.
const ORDERS: usize = 2;

/// Size in bytes up to which real models are tried: larger ones take long.
fn largest_real() -> u64 {
    std::env::var("ONNXTXT_LARGEST_MB").ok().and_then(|n| n.parse::<u64>().ok()).unwrap_or(16) << 20
}

#[test]
fn passes_keep_the_results_of_backend_tests() {
    let Some(oracle) = Oracle::find("results of passes") else { return };
    let models = backend(1);
    let mut trials = in_parallel(&models, |(from, model)| {
        let mut trial = Trial::new(&from.name, model, Some(data(from)));
        for pass in onnx_ops::pass::all() {
            let mut changed = model.clone();
            pass.run(&mut changed, Registry::builtin());
            trial.add(pass.name(), &changed);
            let again = pass.run(&mut changed.clone(), Registry::builtin()).report;
            assert!(!again.is_changed(), "{}, {} a second time: {again}", from.name, pass.name());
        }
        let mut random = Random::new(from.size);
        let mut changed = model.clone();
        let nodes = count(&tidied(&changed));
        disorder(&mut changed, &mut random);
        let tidy = tidied(&changed);
        // Which nodes can be merged with a branch depends on the order.
        let is_flat = model.bodies.values().all(|body| body.graphs.len() == 1);
        assert!(!is_flat || count(&tidy) == nodes, "{}: nodes after putting it in order again", from.name);
        trial.add("in disorder and tidied", &tidy);
        trial
    });
    trials.retain(|trial| trial.variants.len() > 1);
    let judged = judge(&oracle, "passes", &trials, &json!({}));
    eprintln!("passes: {judged} of {} models that they changed, all with the same results", trials.len());
    assert!(models.is_empty() || judged > 1000, "{judged}");
}

/// The formulas of operators against the reference evaluator, to the bit: backend tests whose inputs are constants.
#[test]
fn constants_are_folded_to_what_models_compute() {
    let Some(oracle) = Oracle::find("results of folding") else { return };
    let models = backend(1);
    let fold = onnx_ops::pass::Pass::parse("fold-constants").expect("a pass");
    let made = in_parallel(&models, |(from, model)| {
        let is_light = model.header.ir_version.is_some_and(|v| v >= 4);
        let known = with_inputs_known(model, &data(from)).filter(|_| is_light)?;
        let mut folded = known.clone();
        fold.run(&mut folded, Registry::builtin());
        let mut trial = Trial::new(&from.name, &known, None);
        trial.add("folded", &folded);
        Some(trial).filter(|trial| trial.variants.len() > 1)
    });
    let trials: Vec<Trial> = made.into_iter().flatten().collect();
    // A product of matrices rounds otherwise where a transposed one has been stored anew.
    let (bodies, single): (Vec<_>, Vec<_>) =
        trials.into_iter().partition(|trial| trial.name.contains("_expanded"));
    let judged = judge(&oracle, "folded", &single, &json!({}));
    let close = judge(&oracle, "folded_bodies", &bodies, &json!({ "rtol": 1e-6 }));
    eprintln!("folding: {judged} of {} models to the bit, {close} of {} bodies", single.len(), bodies.len());
    assert!(models.is_empty() || judged > 250 && close > 300, "{judged} {close}");
}

/// All passes in an order drawn at random, on models of the corpus with their nodes in disorder; ONNX Runtime has to load what
/// comes out, and to compute the same.
#[test]
fn passes_in_any_order_keep_the_results_of_models_in_disorder() {
    let Some(oracle) = Oracle::find("results of passes in any order") else { return };
    let tests: Vec<_> =
        backend(4).into_iter().map(|(from, model)| (Some(data(&from)), from, model)).collect();
    let real = models().into_iter().filter(|m| m.name.starts_with("models/") && m.size <= largest_real());
    let read = |from: CorpusModel| {
        let model = read_wire(file::open(&from.path).expect("a model of the corpus")).ok()?;
        let is_whole = onnx_proto::external::external_tensors(&model).is_empty();
        (is_whole && is_determinate(&model)).then_some((None, from, model))
    };
    let real: Vec<_> = real.filter_map(read).collect();
    let made = |all: &[(Option<PathBuf>, CorpusModel, Model)]| {
        in_parallel(all, |(data, from, model)| {
            let mut trial = Trial::new(&from.name, model, data.clone().or(Some(from.path.clone())));
            let mut random = Random::new(from.size);
            for _ in 0..ORDERS {
                let mut changed = model.clone();
                shuffle(&mut changed, &mut random);
                let mut passes: Vec<_> = onnx_ops::pass::all().collect();
                let mut way = Vec::new();
                while !passes.is_empty() {
                    let pass = passes.swap_remove(random.below(passes.len()));
                    pass.run(&mut changed, registry_of(model));
                    way.push(pass.name());
                }
                // Evaluators take the nodes as they are listed.
                run(&mut changed, &["topological-sort"]);
                trial.add(&way.join(" "), &changed);
            }
            trial
        })
    };
    let judged = judge(&oracle, "disorder", &made(&tests), &json!({}));
    // A product of matrices may round otherwise where an operand has been computed beforehand.
    let options = json!({ "engine": "onnxruntime", "beside": true, "rtol": 1e-4 });
    let loaded = judge(&oracle, "disorder_real", &made(&real), &options);
    eprintln!("passes in any order: {judged} of {} tests, {loaded} of {} models", tests.len(), real.len());
    assert!(tests.is_empty() || judged > 250, "{judged}");
    assert!(real.is_empty() || loaded > real.len() / 2, "{loaded} of {}", real.len());
}

fn tidied(model: &Model) -> Model {
    let mut model = model.clone();
    run(&mut model, TIDY);
    model
}

/// Computes most values of the main graph twice, lets half of what reads them read the second one, and shuffles the nodes.
fn disorder(model: &mut Model, random: &mut Random) {
    let Some(main) = model.main else { return };
    let version = |domain: &str| model.opset_version(&model.header.opset_imports, domain);
    let is_random = |op: OpRef<'_>| Registry::builtin().is_random(op);
    let body = &model.bodies[main];
    let repeatable: Vec<NodeId> = (body.nodes.iter())
        .filter(|(id, node)| {
            let domain = normalize_domain(model.text(node.domain));
            let op = OpRef { domain, op: model.text(node.op), version: version(domain) };
            body.subgraphs(*id).next().is_none() && !is_random(op)
        })
        .map(|(id, _)| id)
        .collect();
    let Model { names, bodies, .. } = &mut *model;
    let body = &mut bodies[main];
    let mut second: Vec<(ValueId, ValueId)> = Vec::new();
    let graphs: Vec<_> = body.graphs.ids().collect();
    for graph in graphs {
        let mut list = body.graphs[graph].nodes.clone();
        for &node in body.graphs[graph].nodes.clone().iter().filter(|n| repeatable.contains(n)) {
            let mut again = body.nodes[node].clone();
            let id = body.nodes.next_id();
            for (i, output) in (0..).zip(&mut again.outputs) {
                let Some(first) = *output else { continue };
                let name = names.intern(&format!("{} again", &names[body.values[first].name]));
                let copy = body.values.push(Value { name, def: ValueDef::Output(id, i) });
                second.push((first, copy));
                *output = Some(copy);
            }
            body.nodes.push(again);
            list.push(id);
        }
        for i in (1..list.len()).rev() {
            list.swap(i, random.below(i + 1));
        }
        body.graphs[graph].nodes = list;
    }
    let ids: Vec<_> = body.nodes.ids().collect();
    for node in ids {
        for input in body.nodes[node].inputs.iter_mut().flatten() {
            if let Some((_, copy)) =
                second.iter().find(|(first, _)| first == input).filter(|_| random.below(2) == 0)
            {
                *input = *copy;
            }
        }
    }
}

#[test]
fn the_reports_of_passes_say_whether_they_changed_something() {
    let Some(corpus) = folder() else { return };
    let path: &Path = &corpus.join("backend/node/test_abs/model.onnx");
    let model = read_wire(file::open(path).expect("a backend test")).expect("it is sound");
    for pass in pass::ALL {
        let mut changed = model.clone();
        let report: Report = pass.run(&mut changed, Registry::builtin());
        assert_eq!(report.is_changed(), encoded(&changed) != encoded(&model), "{}", pass.name);
    }
    let _: &Body = model.main_body().expect("a main graph");
}
