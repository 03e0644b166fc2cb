//! Passes keep what models compute: ONNX's own test models, models put into disorder, and models with functions, held
//! against the reference evaluator, its inliner, and ONNX Runtime.
#![allow(clippy::print_stderr, reason = "a count, for who wants to see it")]

use conformance::convert::{read_text, read_wire, write_wire};
use conformance::corpus::{CorpusModel, folder, in_parallel, left_out, models, scratch};
use conformance::oracle::Oracle;
use conformance::random::Random;
use onnx_ir::pass::{self, Inline, OpRef, Operators as _, Report};
use onnx_ir::{
    Body, Data, Initializer, Level, Model, NodeId, Value, ValueDef, ValueId, VerifyOptions, normalize_domain,
};
use onnx_ops::convert::convert_opset;
use onnx_ops::schema::Registry;
use onnx_proto::{FileKind, file};
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Models that the reference evaluator takes seconds for.
const SLOW: &[&str] = &[
    "test_lppool_3d_default",
    "test_averagepool_3d_default",
    "test_maxpool_3d_default",
    "test_MaxPool2d_stride_padding_dilation",
    "test_MaxPool1d_stride_padding_dilation",
];

/// Larger models are left out: their tests have large inputs too.
const LARGEST: u64 = 1 << 20;

/// A model on its way through passes.
struct Trial {
    name: String,
    /// The model, and what has to compute the same, each with what was done to it.
    variants: Vec<(String, Vec<u8>)>,
    /// Where its inputs are; random ones otherwise.
    data: Option<PathBuf>,
}

impl Trial {
    fn new(name: &str, model: &Model, data: Option<PathBuf>) -> Self {
        let variants = vec![("itself".to_owned(), encoded(model))];
        Trial { name: name.to_owned(), variants, data }
    }

    /// Adds a variant, unless it is the model itself.
    fn add(&mut self, what: &str, model: &Model) {
        let bytes = encoded(model);
        if self.variants.iter().all(|(_, known)| *known != bytes) {
            self.variants.push((what.to_owned(), bytes));
        }
    }
}

fn encoded(model: &Model) -> Vec<u8> {
    write_wire(model).expect("models of tests are small")
}

/// Whether all variants compute the same; how many trials said something.
fn judge(oracle: &Oracle, folder: &str, trials: &[Trial], options: &serde_json::Value) -> usize {
    let folder = scratch(folder);
    let request = |(at, trial): (usize, &Trial)| {
        let write = |(i, (_, bytes)): (usize, &(String, Vec<u8>))| {
            let path = folder.join(format!("{at}_{i}.onnx"));
            std::fs::write(&path, bytes).expect("the scratch folder can be written to");
            json!({ "path": path })
        };
        let models: Vec<_> = trial.variants.iter().enumerate().map(write).collect();
        let mut request = json!({ "id": at, "op": "results", "models": models, "seed": at });
        if let Some(data) = &trial.data {
            request["data"] = json!(data);
        }
        for (key, value) in options.as_object().into_iter().flatten() {
            request[key] = value.clone();
        }
        request
    };
    let requests: Vec<_> = trials.iter().enumerate().map(request).collect();
    let answers = oracle.ask(&requests);
    let mut failures = Vec::new();
    let mut judged = 0;
    for (trial, answer) in trials.iter().zip(answers) {
        if answer["equal"] == true {
            judged += 1;
        } else if answer["unfit"].is_null() {
            let which = answer["which"].as_u64().and_then(|i| trial.variants.get(usize::try_from(i).ok()?));
            let what = which.map_or("the reference's inliner", |(what, _)| what);
            failures.push(format!("{}, {what}: {answer}", trial.name));
        }
    }
    let some: Vec<_> = failures.iter().take(10).map(String::as_str).collect();
    assert!(some.is_empty(), "{} results differ:\n{}", failures.len(), some.join("\n"));
    judged
}

/// The backend tests that are quick, with their models; of so many one.
fn backend(of: usize) -> Vec<(CorpusModel, Model)> {
    let is_quick = |model: &CorpusModel| {
        let kind = model.name.strip_prefix("backend/").is_some_and(|name| !name.starts_with("light/"));
        kind && model.size <= LARGEST && !SLOW.iter().any(|slow| model.name.contains(slow))
    };
    let quick: Vec<_> = models().into_iter().filter(is_quick).step_by(of).collect();
    quick
        .into_iter()
        .map(|model| {
            let bytes = file::open(&model.path).expect("a model of the corpus can be read");
            let read = read_wire(bytes).expect("a model of the corpus is sound");
            (model, read)
        })
        .collect()
}

fn data(model: &CorpusModel) -> PathBuf {
    model.path.with_file_name("test_data_set_0")
}

/// Runs passes by name.
fn run(model: &mut Model, passes: &[&str]) {
    for name in passes {
        pass::find(name).expect("a pass").run(model, Registry::builtin());
    }
}

const TIDY: &[&str] = &["topological-sort", "common-subexpressions", "dead-code"];

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
        // What can be merged with a branch depends on the order.
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

/// The model of a test with its inputs as initializers, if they are tensors.
fn with_inputs_known(model: &Model, folder: &Path) -> Option<Model> {
    let mut model = model.clone();
    let main = model.main?;
    let root = model.bodies[main].root()?;
    for (i, port) in model.bodies[main].graphs[root].inputs.clone().into_iter().enumerate() {
        let bytes = std::fs::read(folder.join(format!("input_{i}.pb"))).ok()?;
        let (data, found) = onnx_proto::read_data(bytes.into(), FileKind::Tensor, &mut model.names);
        let (Some(Data::Tensor(mut tensor)), true, Some(value)) = (data, found.is_empty(), port.value) else {
            return None;
        };
        tensor.name = port.name;
        let body = &mut model.bodies[main];
        let tensor = body.tensors.push(tensor);
        body.values[value].def = ValueDef::Initializer(root);
        body.graphs[root].initializers.push(Initializer { value, tensor });
    }
    model.bodies[main].graphs[root].inputs.clear();
    Some(model)
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

/// Versions that backend tests are brought to, one after the other, and at last back to the newest.
const VERSIONS: &[i64] = &[28, 22, 18, 17, 13, 12, 11, 10, 9, 8, 7];

/// Who can judge a conversion.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judge {
    Evaluator,
    /// Rounding in between differs where a body takes the place of an operator on short floats.
    Roughly,
    /// The evaluator has not the old version of the operator, or takes it for another one.
    Runtime,
    Nobody,
}

/// Tests by the beginning of their name, with the version from which on the evaluator is right again.
const JUDGES: &[(&str, i64, Judge)] = &[
    ("node/test_batchnorm_", 14, Judge::Runtime), // trains always
    ("pytorch-converted/test_BatchNorm", 14, Judge::Runtime),
    ("node/test_bernoulli_seed", i64::MAX, Judge::Nobody), // draws other numbers
    ("node/test_causal_conv_with_state_silu_fp16", i64::MAX, Judge::Roughly),
    ("node/test_swiglu_float16", i64::MAX, Judge::Roughly),
    ("node/test_dequantizelinear", 19, Judge::Runtime), // is not there
    ("node/test_gridsample", 20, Judge::Runtime),       // knows the new names of modes alone
    ("node/test_roialign", 16, Judge::Runtime),         // has the new default
    ("node/test_scatter_elements", 11, Judge::Runtime), // is not there
];

fn judge_of(name: &str, version: i64) -> Judge {
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
        found.into_iter().find(onnx_ir::Diagnostic::is_error).map(|d| d.message)
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

fn tidied(model: &Model) -> Model {
    let mut model = model.clone();
    run(&mut model, TIDY);
    model
}

fn count(model: &Model) -> usize {
    model.bodies.values().map(|body| body.nodes.len()).sum()
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

/// Random functions: attributes with and without defaults, inputs that are left out, branches, calls of calls, results that
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
    // What the reference's inliner gets right: it loses defaults, and results that are arguments.
    let plain: Vec<Trial> = (0..60).map(|seed| trial(seed, Kind::Plain)).collect();
    let options = json!({ "inline": true, "engine": "functions" });
    let compared = judge(&oracle, "plain_functions", &plain, &options);
    let any: Vec<Trial> = (100..220).map(|seed| trial(seed, Kind::Any)).collect();
    let judged = judge(&oracle, "random_functions", &any, &json!({ "engine": "functions" }));
    eprintln!("random functions: {compared} as the reference inlines them, {judged} more");
    assert_eq!((compared, judged), (plain.len(), any.len()), "all can be run");
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Any,
}

/// A random model with functions, as text. All values are `float[3]`.
struct Program {
    random: Random,
    kind: Kind,
    functions: Vec<Signature>,
    fresh: usize,
}

/// What is known of a function that can be called.
struct Signature {
    inputs: usize,
    /// The last input may be left out.
    has_optional: bool,
    outputs: usize,
    attributes: usize,
    has_default: bool,
}

impl Program {
    fn new(seed: u64, kind: Kind) -> Self {
        Program { random: Random::new(seed), kind, functions: Vec::new(), fresh: 0 }
    }

    fn text(mut self) -> String {
        let mut functions = String::new();
        for i in 0..2 + self.random.below(4) {
            functions += &self.function(i);
        }
        let (body, values) = self.nodes(&["x".into(), "z".into()], 0, 3, 0);
        let [first, second] = [0, 1].map(|_| values[self.random.below(values.len())].clone());
        format!(
            "<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]>\n\
             g (bool c, float[3] x, float[3] z) => (float[3] y, float[3] w)\n\
             {{\n{body}   y = Abs({first})\n   w = Neg({second})\n}}\n{functions}"
        )
    }

    fn function(&mut self, i: usize) -> String {
        let inputs = 1 + self.random.below(3);
        let has_optional = self.kind == Kind::Any && self.random.below(2) == 0;
        let attributes = self.random.below(3);
        let has_default = self.kind == Kind::Any && attributes > 0;
        let names: Vec<String> = (0..inputs).map(|i| format!("a{i}")).collect();
        let (mut body, mut values) = self.nodes(&names, attributes, 1, 0);
        let mut formals = format!("c, {}", names.join(", "));
        if has_optional {
            let (from, to) = (values[self.random.below(values.len())].clone(), self.name());
            let _ = writeln!(body, "   {to} = Clip({from}, low)");
            values.push(to);
            formals += ", low";
        }
        let mut outputs: Vec<String> = Vec::new();
        for _ in 0..1 + self.random.below(2) {
            let value = values[self.random.below(values.len())].clone();
            let is_argument = names.contains(&value) || outputs.contains(&value);
            if is_argument && (self.kind == Kind::Plain || outputs.contains(&value)) {
                let copy = self.name();
                let _ = writeln!(body, "   {copy} = Exp({value})");
                outputs.push(copy);
            } else {
                outputs.push(value);
            }
        }
        let parameter = |i: usize| match i {
            0 if has_default => "p0: float = 0.25".to_owned(),
            i => format!("p{i}"),
        };
        let parameters: Vec<String> = (0..attributes).map(parameter).collect();
        let parameters = if attributes > 0 { format!(" <{}>", parameters.join(", ")) } else { String::new() };
        self.functions.push(Signature {
            inputs,
            has_optional,
            outputs: outputs.len(),
            attributes,
            has_default,
        });
        format!(
            "<domain: \"l\", opset_import: [\"\": 21, \"l\": 1]>\n\
             f{i}{parameters} ({formals}) => ({})\n{{\n{body}}}\n",
            outputs.join(", ")
        )
    }

    fn name(&mut self) -> String {
        self.fresh += 1;
        format!("t{}", self.fresh)
    }

    /// Some lines, which may refer to so many parameters, and the values that are there behind them.
    fn nodes(
        &mut self,
        given: &[String],
        parameters: usize,
        least: usize,
        depth: usize,
    ) -> (String, Vec<String>) {
        let (mut text, mut values) = (String::new(), given.to_vec());
        for _ in 0..least + self.random.below(4) {
            let pick = |this: &mut Self| values[this.random.below(values.len())].clone();
            let (a, b) = (pick(self), pick(self));
            let result = self.name();
            match self.random.below(8) {
                0 => _ = writeln!(text, "   {result} = Sin({a})"),
                1 => _ = writeln!(text, "   {result} = Add({a}, {b})"),
                2 => {
                    let alpha = match parameters {
                        0 => "alpha = 0.5".to_owned(),
                        n => format!("alpha: float = @p{}", self.random.below(n)),
                    };
                    let _ = writeln!(text, "   {result} = LeakyRelu <{alpha}> ({a})");
                }
                3 if depth < 2 => {
                    let branch = |this: &mut Self| {
                        let (text, values) = this.nodes(&values, parameters, 0, depth + 1);
                        let (name, last) = (this.name(), values[values.len() - 1].clone());
                        format!("{} () => ({name}) {{\n{text}   {name} = Neg({last})\n}}", this.name())
                    };
                    let (then, other) = (branch(self), branch(self));
                    let _ =
                        writeln!(text, "   {result} = If (c) <then_branch = {then}, else_branch = {other}>");
                }
                4..8 if !self.functions.is_empty() => {
                    let call = self.call(&values, parameters, &result);
                    text += &call;
                }
                _ => _ = writeln!(text, "   {result} = Mul({a}, {b})"),
            }
            values.push(result);
        }
        (text, values)
    }

    fn call(&mut self, values: &[String], parameters: usize, result: &str) -> String {
        let which = self.random.below(self.functions.len());
        let Signature { inputs, has_optional, outputs, attributes, has_default } = self.functions[which];
        let mut arguments = vec!["c".to_owned()];
        arguments.extend((0..inputs).map(|_| values[self.random.below(values.len())].clone()));
        let mut text = String::new();
        if has_optional && self.random.below(2) == 0 {
            let low = self.name();
            let _ = writeln!(text, "   {low} = Constant <value_float = -0.5> ()");
            arguments.push(low);
        }
        let mut given: Vec<String> = Vec::new();
        for i in 0..attributes {
            let is_left_out = i == 0 && has_default && self.random.below(2) == 0;
            // A parameter that may be missing is not passed on: its default would be lost.
            let passed = (1..parameters).next().filter(|_| self.random.below(2) == 0);
            match passed {
                _ if is_left_out => {}
                Some(p) => given.push(format!("p{i}: float = @p{p}")),
                None => given.push(format!("p{i} = {}.5", self.random.below(3))),
            }
        }
        let attributes = if given.is_empty() { String::new() } else { format!(" <{}>", given.join(", ")) };
        let mut results = vec![result.to_owned()];
        if outputs > 1 && self.random.below(2) == 0 {
            let more = self.name();
            results.push(more);
        }
        let _ =
            writeln!(text, "   {} = l.f{which}{attributes}({})", results.join(", "), arguments.join(", "));
        text
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
