//! Inlining and outlining keep what models compute: parts of ONNX's own test models, real models with functions, and random
//! functions, compared with the reference evaluator, its inliner, and ONNX Runtime.
#![allow(clippy::print_stderr, reason = "a count, for who wants to see it")]

mod program;

use conformance::convert::{read_text, read_wire};
use conformance::corpus::{in_parallel, left_out, models};
use conformance::oracle::Oracle;
use conformance::random::Random;
use conformance::trial::{TIDY, Trial, backend, count, data, judge, run};
use onnx_ir::pass::{self, Inline};
use onnx_ir::{Model, NodeId};
use onnx_ops::schema::Registry;
use onnx_proto::file;
use program::{Kind, Program};
use serde_json::json;

#[test]
fn outlining_and_inlining_keep_the_results_of_backend_tests() {
    let Some(oracle) = Oracle::find("results of functions") else { return };
    let models = backend(2);
    let made = in_parallel(&models, |(from, model)| {
        let mut random = Random::new(from.size ^ 0x5eed);
        let mut trial = Trial::new(&from.name, model, Some(data(from)));
        let mut outlined = model.clone();
        let mut functions = 0;
        for i in 0..3 {
            let nodes = some_nodes(&outlined, &mut random);
            let Some(main) = outlined.main else { break };
            functions +=
                usize::from(pass::outline(&mut outlined, main, &nodes, "made.up", &format!("f{i}")).is_ok());
        }
        pass::compact(&mut outlined);
        let mut back = outlined.clone();
        let report = pass::inline(&mut back, Registry::builtin(), Inline::default());
        assert!(report.diagnostics.is_empty(), "{}: {:?}", from.name, report.diagnostics);
        pass::compact(&mut back);
        assert_eq!(
            (back.functions.len(), count(&back)),
            (model.functions.len(), count(model)),
            "{}",
            from.name
        );
        trial.add("outlined and inlined", &back);
        let inlined = (functions > 0).then(|| {
            let mut trial = Trial::new(&from.name, &outlined, Some(data(from)));
            trial.add("inlined", &back);
            trial
        });
        (trial, inlined)
    });
    let (mut back, inlined): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    back.retain(|trial| trial.variants.len() > 1);
    let judged = judge(&oracle, "outlined", &back, &json!({}));
    let inlined: Vec<Trial> = inlined.into_iter().flatten().collect();
    let compared = judge(&oracle, "inlined", &inlined, &json!({ "inline": true }));
    eprintln!(
        "functions of parts: {judged} models have the same results, {compared} as the reference inlines them too"
    );
    assert!(models.is_empty() || (judged > 150 && compared > 500), "{judged} {compared}");
}

/// Nodes of the main graph: a stretch of it, or some at random, which may not be fit for a function.
fn some_nodes(model: &Model, random: &mut Random) -> Vec<NodeId> {
    let Some((body, root)) = model.main_body().and_then(|body| Some((body, body.root()?))) else {
        return Vec::new();
    };
    let nodes = &body.graphs[root].nodes;
    let start = random.below(nodes.len());
    let end = start + 1 + random.below(nodes.len() - start.min(nodes.len()));
    if random.below(3) > 0 {
        return nodes.get(start..end.min(nodes.len())).unwrap_or_default().to_vec();
    }
    nodes.iter().copied().filter(|_| random.below(2) == 0).collect()
}

#[test]
fn models_with_functions_keep_their_results() {
    let Some(oracle) = Oracle::find("results of inlining") else { return };
    let with_functions: Vec<_> = (models().into_iter())
        .filter(|model| model.name.starts_with("models/") && model.size < 64 << 20)
        .filter_map(|from| {
            let model = read_wire(file::open(&from.path).ok()?).ok()?;
            (!model.functions.is_empty()).then_some((from, model))
        })
        .collect();
    if with_functions.is_empty() {
        left_out("inlining in real models: there are none with functions (`cargo xtask corpus`)");
    }
    let trials: Vec<Trial> = (with_functions.iter())
        .map(|(from, model)| {
            let mut trial = Trial::new(&from.name, model, None);
            let mut flat = model.clone();
            let report = pass::inline(&mut flat, Registry::builtin(), Inline::default());
            assert!(report.diagnostics.is_empty() && flat.functions.is_empty(), "{}", from.name);
            trial.add("inlined", &flat);
            run(&mut flat, TIDY);
            trial.add("inlined and tidied", &flat);
            trial
        })
        .collect();
    let options = json!({ "inline": true, "engine": "onnxruntime", "rtol": 1e-5 });
    let judged = judge(&oracle, "real_functions", &trials, &options);
    assert_eq!(judged, trials.len(), "models with functions that can be run");
}

/// Random functions: attributes with and without defaults, inputs that are omitted, branches, calls of calls, results that
/// are arguments.
#[test]
fn random_functions_keep_their_results() {
    let Some(oracle) = Oracle::find("results of random functions") else { return };
    let trial = |seed: u64, kind: Kind| {
        let text = Program::new(seed, kind).text();
        let model = read_text(&text).unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
        let mut trial = Trial::new(&format!("seed {seed}\n{text}"), &model, None);
        let mut flat = model.clone();
        let report = pass::inline(&mut flat, Registry::builtin(), Inline::default());
        assert!(
            report.diagnostics.is_empty() && flat.functions.is_empty(),
            "seed {seed}: {report:?}\n{text}"
        );
        trial.add("inlined", &flat);
        run(&mut flat, TIDY);
        trial.add("inlined and tidied", &flat);
        let (mut some, mut random) = (model.clone(), Random::new(seed));
        let chosen: Vec<bool> = (0..model.functions.len()).map(|_| random.below(2) == 0).collect();
        let select = |_: &Model, f: onnx_ir::FunctionId| chosen[onnx_ir::EntityId::index(f)];
        pass::inline(&mut some, Registry::builtin(), Inline { select: &select, ..Inline::default() });
        trial.add("some inlined", &some);
        let mut shallow = model;
        let depth = Some(1 + u32::from(random.byte() % 3));
        pass::inline(&mut shallow, Registry::builtin(), Inline { depth, ..Inline::default() });
        trial.add("inlined to a depth", &shallow);
        trial
    };
    // Cases without the bugs of the reference's inliner, which loses defaults, and results that are arguments.
    let plain: Vec<Trial> = (0..60).map(|seed| trial(seed, Kind::Plain)).collect();
    let options = json!({ "inline": true, "engine": "functions" });
    let compared = judge(&oracle, "plain_functions", &plain, &options);
    let any: Vec<Trial> = (100..220).map(|seed| trial(seed, Kind::Any)).collect();
    let judged = judge(&oracle, "random_functions", &any, &json!({ "engine": "functions" }));
    eprintln!("random functions: {compared} as the reference inlines them, {judged} more");
    assert_eq!((compared, judged), (plain.len(), any.len()), "all can be run");
}
