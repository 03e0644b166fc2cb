//! Operators and their function bodies give the same where both are run: ONNX's own tests with other numbers, and with floats of
//! other types.
#![allow(clippy::print_stderr, reason = "counts, for who wants to see them")]

use conformance::bodies::expand;
use conformance::convert::read_wire;
use conformance::corpus::{CorpusModel, in_parallel, models};
use conformance::random::Random;
use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ir::{ElemType, Model, Names, TypeKind};
use onnx_ops::schema::Registry;
use onnx_proto::{FileKind, file, read_data};
use std::collections::BTreeSet;

/// Larger models take long.
const LARGEST: u64 = 1 << 18;

/// Sets of numbers for each model and type.
const SETS: u64 = 3;

/// The types that floats become.
const ELEMS: &[ElemType] = &[ElemType::FLOAT, ElemType::DOUBLE, ElemType::FLOAT16, ElemType::BFLOAT16];

/// How far results may be apart, as a part of the largest magnitude: bodies round after each of their nodes.
fn tolerance(elem: ElemType) -> f64 {
    match elem {
        ElemType::DOUBLE => 1e-6,
        ElemType::FLOAT => 2e-4,
        ElemType::FLOAT16 => 2e-2,
        _ => 0.1,
    }
}

/// The model with floats of another type as inputs and outputs.
fn retyped(model: &Model, elem: ElemType) -> Model {
    let mut model = model.clone();
    let Some(main) = model.main else { return model };
    let body = &mut model.bodies[main];
    let Some(root) = body.root() else { return model };
    let graph = &mut body.graphs[root];
    for port in graph.inputs.iter_mut().chain(&mut graph.outputs).chain(&mut graph.value_info) {
        let Some(ty) = port.ty else { continue };
        let mut other = model.types[ty].clone();
        if let TypeKind::Tensor(tensor) = &mut other.kind
            && tensor.elem == Some(ElemType::FLOAT)
        {
            tensor.elem = Some(elem);
            port.ty = Some(model.types.intern(other));
        }
    }
    model
}

/// Floats between those that are there, others as they are.
fn varied(value: &Value, elem: ElemType, random: &mut Random) -> Value {
    let Value::Tensor(tensor) = value else { return value.clone() };
    let Ok(floats) = tensor.slice::<f32>() else { return value.clone() };
    let (least, most) = floats
        .iter()
        .fold((0.0f64, 0.0f64), |(least, most), x| (least.min((*x).into()), most.max((*x).into())));
    let between = |random: &mut Random| least + (most - least) * random.below(100_001) as f64 / 100_000.0;
    let numbers: Vec<f64> = floats.iter().map(|_| between(random)).collect();
    Tensor::of_floats(elem, tensor.dims(), &numbers).expect("as many floats").into()
}

fn run(model: &Model, given: &[Option<Value>]) -> Result<Vec<Value>, String> {
    let executable = compile(model, Registry::builtin(), &CompileOptions::default())
        .map_err(|found| found.first().map(|d| d.message.clone()).unwrap_or_default())?;
    executable.run(given.to_vec(), &RunOptions::default()).map_err(|finding| finding.message.clone())
}

fn apart(a: &Value, b: &Value) -> Option<String> {
    if let (Value::Sequence(a), Value::Sequence(b)) = (a, b) {
        return a.iter().zip(b.iter()).find_map(|(a, b)| apart(a, b));
    }
    let (a, b) = (a.tensor().ok()?, b.tensor().ok()?);
    if (a.elem(), a.dims()) != (b.elem(), b.dims()) {
        return Some(format!("shapes are {:?} and {:?}", a.dims(), b.dims()));
    }
    let (x, y) = (a.floats().ok()?, b.floats().ok()?);
    let scale = y.iter().filter(|y| y.is_finite()).fold(0.0, |most: f64, y| most.max(y.abs()));
    // A quotient that is rounded to a byte may be just at the edge.
    let least = if a.elem().is_integer() { 1.0 } else { 1e-7 };
    let is_same = |x: f64, y: f64| {
        x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= (tolerance(a.elem()) * scale).max(least)
    };
    let at = x.iter().zip(&y).position(|(x, y)| !is_same(*x, *y))?;
    Some(format!("element {at} is {} by the operator and {} by its body", x[at], y[at]))
}

/// The comparisons of a model: their number, the replaced operators, and the mismatches.
struct Compared {
    count: usize,
    used: BTreeSet<(String, u32)>,
    wrong: Vec<String>,
}

fn compare(from: &CorpusModel) -> Option<Compared> {
    let model = read_wire(file::open(&from.path).ok()?).ok()?;
    let mut used = BTreeSet::new();
    if expand(&mut model.clone(), &mut used) == 0 || used.iter().any(|(op, _)| op == "Bernoulli") {
        return None;
    }
    let body = &model.bodies[model.main?];
    let inputs = body.graphs[body.root()?].inputs.iter().enumerate().map(|(i, port)| {
        let path = from.path.with_file_name("test_data_set_0").join(format!("input_{i}.pb"));
        let kind = port.ty.map_or(FileKind::Tensor, |ty| FileKind::from(&model.types[ty].kind));
        let data = read_data(file::open(&path).ok()?, kind, &mut Names::new()).value;
        Value::stored(data?.data_ref()).ok()
    });
    let inputs: Vec<Option<Value>> = inputs.collect();
    let (mut count, mut wrong) = (0, Vec::new());
    for &elem in ELEMS {
        let model = retyped(&model, elem);
        let mut expanded = model.clone();
        if expand(&mut expanded, &mut BTreeSet::new()) == 0 {
            continue;
        }
        for seed in 0..SETS {
            let mut random = Random::new(seed);
            let given: Vec<Option<Value>> =
                inputs.iter().map(|v| v.as_ref().map(|v| varied(v, elem, &mut random))).collect();
            // Not every operator has every type.
            let Ok(by_operator) = run(&model, &given) else { continue };
            count += 1;
            let how = match run(&expanded, &given) {
                Err(why) => Some(why),
                Ok(by_body) => by_operator.iter().zip(&by_body).find_map(|(a, b)| apart(a, b)),
            };
            if let Some(how) = how {
                wrong.push(format!("{} as {}: {how}", from.name, elem.name().unwrap_or("?")));
                break;
            }
        }
    }
    Some(Compared { count, used, wrong })
}

#[test]
fn operators_give_what_their_bodies_give() {
    let is_small = |model: &CorpusModel| model.name.starts_with("backend/node/") && model.size <= LARGEST;
    let models: Vec<_> = models().into_iter().filter(is_small).collect();
    if models.is_empty() {
        return;
    }
    let (mut count, mut used, mut wrong) = (0, BTreeSet::new(), Vec::new());
    for compared in in_parallel(&models, compare).into_iter().flatten() {
        count += compared.count;
        used.extend(compared.used.into_iter().map(|(op, _)| op));
        wrong.extend(compared.wrong);
    }
    eprintln!("bodies: {count} comparisons of {} operators: {used:?}", used.len());
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(used.len() >= 40 && count > 1000, "{} operators, {count} comparisons", used.len());
}
