//! Random nodes in a row: a model computes what its nodes compute one by one, and what its loops compute is what its formulas
//! say.
#![allow(clippy::print_stderr, reason = "counts, for who wants to see them")]

use conformance::chains::{Chain, ChainNode};
use conformance::convert::read_text;
use conformance::corpus::in_parallel;
use conformance::inferred::contradiction;
use conformance::results::of_tensors;
use conformance::rewrites::rewritten;
use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ir::{ElemType, Initializer, Model, ValueDef};
use onnx_ops::meaning::has_definition;
use onnx_ops::schema::{Lookup, Registry};
use std::collections::{BTreeMap, BTreeSet};

/// How many models, unless `ONNXTXT_CHAINS` says so.
const MODELS: u64 = 3000;

/// Nodes that make larger results make no sense.
const MAX_BYTES: usize = 4 << 20;

/// The least operators with a definition that are met; the others have inputs of their own kinds, and tests of their own.
const MET: usize = 90;

/// A model of these nodes: what is stored as initializers, the rest as inputs.
fn model(
    chain: &Chain,
    lines: &[ChainNode],
    outputs: &[String],
    is_open: bool,
) -> (Model, Vec<Option<Value>>) {
    let made: BTreeSet<&str> = lines.iter().map(|line| &line.output[..]).collect();
    let mut needed: Vec<&str> = Vec::new();
    for input in lines.iter().flat_map(|line| &line.inputs).map(String::as_str) {
        if !made.contains(input) && !needed.contains(&input) {
            needed.push(input);
        }
    }
    let mut ports = Vec::new();
    let mut given = Vec::new();
    for name in &needed {
        let value = chain.get(name).expect("it is there");
        let elem = value.tensor.elem().name().expect("a type");
        // Extents that are not known beforehand, or are.
        let extent = |(i, d): (usize, &usize)| {
            if is_open && !value.is_stored { format!("{name}_{i}") } else { d.to_string() }
        };
        let dims: Vec<String> = value.tensor.dims().iter().enumerate().map(extent).collect();
        ports.push(format!("{elem}[{}] {name}", dims.join(",")).replace("[]", ""));
        given.push((!value.is_stored).then(|| Value::Tensor(value.tensor.clone())));
    }
    let nodes: Vec<String> = lines.iter().map(|line| format!("{} = {}", line.output, line.text)).collect();
    let text = format!(
        "<ir_version: 11, opset_import: [\"\": 25]> g ({}) => ({}) {{ {} }}",
        ports.join(", "),
        outputs.join(", "),
        nodes.join("\n")
    );
    let mut model = read_text(&text).unwrap_or_else(|how| panic!("{text}: {how}"));
    store(&mut model, chain, &needed);
    (model, given)
}

/// Puts values into a model.
fn store(model: &mut Model, chain: &Chain, names: &[&str]) {
    let body = &mut model.bodies[model.main.expect("it has a graph")];
    let root = body.root().expect("it has a graph");
    for (i, name) in names.iter().enumerate() {
        let named = chain.get(name).expect("it is there");
        if !named.is_stored {
            continue;
        }
        let port = body.graphs[root].inputs[i].clone();
        let value = port.value.expect("an input is a value");
        let mut tensor = named.tensor.to_stored().expect("there is room");
        tensor.name = port.name;
        let tensor = body.tensors.push(tensor);
        body.values[value].def = ValueDef::Initializer(root);
        body.graphs[root].initializers.push(Initializer { value, tensor });
    }
    let is_input = |i: &usize| !chain.get(names[*i]).expect("it is there").is_stored;
    let kept: Vec<usize> = (0..names.len()).filter(is_input).collect();
    let inputs = &mut body.graphs[root].inputs;
    *inputs = kept.iter().map(|&i| inputs[i].clone()).collect();
}

fn run(
    model: &Model,
    given: Vec<Option<Value>>,
    check_loops: bool,
    max_memory: usize,
) -> Result<Vec<Value>, String> {
    let options = CompileOptions { check_loops, exact: true, ..CompileOptions::default() };
    let told =
        |found: Vec<onnx_ir::diag::Diagnostic>| found.first().map(|d| d.message.clone()).unwrap_or_default();
    let executable = compile(model, Registry::builtin(), &options).map_err(told)?;
    let given = given.into_iter().flatten().map(Some).collect();
    let options = RunOptions { max_memory, fuel: 10_000, ..RunOptions::default() };
    executable.run(given, &options).map_err(|finding| finding.message.clone())
}

/// The outcome of a seed.
#[derive(Default)]
struct Outcome {
    wrong: Option<String>,
    /// Nodes that were run, by operator; and how many were drawn that make no sense.
    nodes: BTreeMap<String, usize>,
    senseless: usize,
}

fn chain(seed: u64) -> Outcome {
    let mut chain = Chain::new(seed);
    let mut outcome = Outcome::default();
    let length = 2 + chain.below(5);
    let mut tries = 0;
    while chain.nodes.len() < length && tries < 20 {
        tries += 1;
        let line = chain.draw();
        let outputs = [line.output.clone()];
        let (model, given) =
            model(&chain, std::slice::from_ref(&line), &outputs, chain.nodes.len().is_multiple_of(2));
        match run(&model, given, true, MAX_BYTES) {
            Ok(results) => {
                let op = line.text.split(' ').next().unwrap_or_default().to_owned();
                *outcome.nodes.entry(op).or_default() += 1;
                chain.add(line, &results[0]);
            }
            Err(why) if why.contains("by its loops") || why.contains("cannot be run yet") => {
                outcome.wrong = Some(format!("{line:?}: {why}"));
                return outcome;
            }
            Err(_) => outcome.senseless += 1,
        }
    }
    let Some(last) = chain.nodes.last() else { return outcome };
    let mut outputs = vec![last.output.clone()];
    let other = chain.below(chain.nodes.len() * 3);
    if let Some(line) = chain.nodes.get(other).filter(|line| line.output != outputs[0]) {
        outputs.push(line.output.clone());
    }
    let is_open = chain.below(2) == 0;
    let lines = chain.nodes.clone();
    let (model, given) = model(&chain, &lines, &outputs, is_open);
    let passed: Vec<_> = given.iter().flatten().cloned().map(Some).collect();
    outcome.wrong = match run(&model, given, false, usize::MAX) {
        Err(why) => Some(why),
        Ok(results) => outputs.iter().zip(&results).find_map(|(name, result)| {
            let expected = &chain.get(name).expect("it has been run").tensor;
            let how = differ(result.tensor().ok()?, expected, &lines)?;
            Some(format!("`{name}` {how}"))
        }),
    }
    // The remainder of a division is discontinuous, and half floats with more roundings can differ greatly.
    .or_else(|| {
        let is_half = chain.values.iter().any(|value| value.tensor.elem() == ElemType::FLOAT16);
        let leaps = is_half || lines.iter().any(|line| line.text.contains("fmod"));
        if leaps { None } else { rewritten(&model, &passed, &RunOptions::default()) }
    })
    .or_else(|| contradiction(&model, &passed, &RunOptions::default()))
    .map(|how| {
        let text: Vec<String> = lines.iter().map(|line| format!("{} = {}", line.output, line.text)).collect();
        let shapes: Vec<String> = chain
            .values
            .iter()
            .map(|v| format!("{}: {}{:?}", v.name, v.tensor.elem().name().unwrap_or("?"), v.tensor.dims()))
            .collect();
        format!("seed {seed}: {how}\n{}\n{}", text.join("\n"), shapes.join(" "))
    });
    outcome
}

/// How two tensors differ, if they do by more than rounding.
fn differ(ours: &Tensor, expected: &Tensor, lines: &[ChainNode]) -> Option<String> {
    // Half floats in between are rounded as results are.
    let is_half =
        lines.iter().any(|line| line.text.contains("to = 10")) || expected.elem() == ElemType::FLOAT16;
    // Near a pole, a tangent of thousands has thousands of times the rounding error of its argument.
    let is_steep = lines.iter().any(|line| line.text.starts_with("Tan "));
    let part = match (is_half, is_steep) {
        (true, _) => 4e-3,
        (false, true) => 2e-3,
        (false, false) => 2e-4,
    };
    of_tensors(ours, expected, part)
}

#[test]
fn models_compute_what_their_nodes_compute() {
    let asked = std::env::var("ONNXTXT_CHAINS").ok().and_then(|n| n.parse().ok());
    let seeds: Vec<u64> = (0..asked.unwrap_or(MODELS)).collect();
    let outcomes = in_parallel(&seeds, |seed| chain(*seed));
    let mut nodes: BTreeMap<&str, usize> = BTreeMap::new();
    for (op, count) in outcomes.iter().flat_map(|outcome| &outcome.nodes) {
        *nodes.entry(op).or_default() += count;
    }
    let senseless: usize = outcomes.iter().map(|outcome| outcome.senseless).sum();
    let total: usize = nodes.values().sum();
    eprintln!("chains: {total} nodes of {} operators, {senseless} make no sense", nodes.len());
    let registry = Registry::builtin();
    let is_formula = |op: &str| match registry.lookup("", op, 25) {
        Lookup::Found(id) => has_definition(registry.get(id)),
        _ => false,
    };
    let missed: Vec<&str> =
        registry.operators("").filter(|op| is_formula(op) && !nodes.contains_key(*op)).collect();
    eprintln!("not met: {}", missed.join(" "));
    let wrong: Vec<&str> = outcomes.iter().filter_map(|outcome| outcome.wrong.as_deref()).collect();
    assert!(wrong.is_empty(), "{} models:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n\n"));
    assert!(nodes.keys().filter(|op| is_formula(op)).count() >= MET && senseless < total / 4);
}
