//! Every derivative against differences of the function, in double precision, on shapes and numbers that are drawn.
//!
//! A case is a node or a few; its results are weighted and summed, so that each element of a gradient counts. The same case runs with
//! shapes that the model says and with symbols for them. `ONNXTXT_GRADIENTS=N` draws N shapes of each case, and
//! `ONNXTXT_GRADIENTS_OF=Conv` only those whose text has this.
#![allow(clippy::print_stderr, reason = "counts, for who wants to see them")]

mod cases;

use cases::CASES;
use conformance::random::Random;
use onnx_exec::{CompileOptions, Executable, RunOptions, Tensor, Value, compile};
use onnx_ir::ElemType;
use onnx_ops::schema::Registry;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Half of the distance between the two places where a function is evaluated.
const STEP: f64 = 1e-5;

/// How far a gradient may be from the differences, as a part of its magnitude or one.
const TOLERANCE: f64 = 2e-5;

/// These two for operators that take single floats and no doubles, between casts: these cases say `# float`.
const STEP_OF_FLOATS: f64 = 1e-2;
const TOLERANCE_OF_FLOATS: f64 = 2e-3;

/// The number of elements of an input that are tried.
const ELEMENTS: usize = 5;

/// An input that is differentiated.
struct Input {
    name: String,
    dims: Vec<String>,
    range: (f64, f64),
}

/// `x[A,B] w+[3]`: names with their extents, where a letter is drawn. A sign says which numbers: `+` positive ones, `~` between -1
/// and 1, `>` above 1.
fn inputs(text: &str) -> Vec<Input> {
    let input = |word: &str| {
        let (name, dims) = word.split_once('[').expect("an input has extents");
        let dims = dims.trim_end_matches(']').split(',').filter(|dim| !dim.is_empty());
        let sign = name.chars().last().expect("an input has a name");
        let range = match sign {
            '+' => (0.3, 1.8),
            '~' => (-0.9, 0.9),
            '>' => (1.2, 2.5),
            _ => (-1.6, 1.6),
        };
        let name = name.trim_end_matches(['+', '~', '>']);
        Input { name: name.to_owned(), dims: dims.map(str::to_owned).collect(), range }
    };
    text.split_whitespace().map(input).collect()
}

/// The case as a model: its results as one number, and the gradients of its inputs if they are wanted.
fn text(
    version: i64,
    inputs: &[Input],
    body: &str,
    extents: Option<&BTreeMap<String, usize>>,
    with_gradients: bool,
) -> String {
    let dim = |dim: &String| match extents.and_then(|extents| extents.get(dim)) {
        Some(extent) => extent.to_string(),
        None => dim.clone(),
    };
    let ty = |input: &Input| {
        let dims: Vec<String> = input.dims.iter().map(dim).collect();
        if dims.is_empty() { "double".to_owned() } else { format!("double[{}]", dims.join(",")) }
    };
    let params: Vec<String> = inputs.iter().map(|input| format!("{} {}", ty(input), input.name)).collect();
    let mut outputs = vec!["double total".to_owned()];
    if with_gradients {
        outputs.extend(inputs.iter().map(|input| format!("{} d_{}", ty(input), input.name)));
    }
    let mut nodes = format!("{body}\n");
    let mut sums = Vec::new();
    for result in ["y", "z"].into_iter().filter(|name| defines(body, name)) {
        let _ = writeln!(
            nodes,
            "{result}_count = Size({result})
             {result}_zero = Constant <value = int64 {{0}}> ()
             {result}_one = Constant <value = int64 {{1}}> ()
             {result}_at = Range({result}_zero, {result}_count, {result}_one)
             {result}_angle = Cast <to = 11> ({result}_at)
             {result}_shift = Constant <value = double {{0.7}}> ()
             {result}_shifted = Add({result}_angle, {result}_shift)
             {result}_wave = Cos({result}_shifted)
             {result}_shape = Shape({result})
             {result}_weights = Reshape({result}_wave, {result}_shape)
             {result}_weighted = Mul({result}, {result}_weights)
             {result}_sum = ReduceSum <keepdims = 0> ({result}_weighted)"
        );
        sums.push(format!("{result}_sum"));
    }
    let _ = writeln!(nodes, "total = Sum({})", sums.join(", "));
    if with_gradients {
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        let results: Vec<String> = names.iter().map(|name| format!("d_{name}")).collect();
        let _ = writeln!(
            nodes,
            "{} = ai.onnx.preview.training.Gradient <xs = [\"{}\"], y = \"total\"> ({})",
            results.join(", "),
            names.join("\", \""),
            names.join(", ")
        );
    }
    let (params, outputs) = (params.join(", "), outputs.join(", "));
    format!(
        "<ir_version: 10, opset_import: [\"\": {version}, \"ai.onnx.preview.training\": 1]> g ({params}) => ({outputs}) {{ {nodes} }}"
    )
}

fn defines(body: &str, name: &str) -> bool {
    body.lines()
        .filter_map(|line| line.split_once(" = "))
        .any(|(results, _)| results.split(',').any(|r| r.trim() == name))
}

fn compiled(text: &str) -> Result<Executable<'static>, String> {
    let read = onnx_text::read_model(text);
    if let Some(found) = read.diagnostics.first() {
        return Err(format!("{}\n{text}", found.message));
    }
    let options = CompileOptions::default();
    compile(&read.value, Registry::builtin(), &options)
        .map_err(|found| found.first().map(|d| d.message.clone()).unwrap_or_default())
}

fn values(tensors: &[(Vec<usize>, Vec<f64>)]) -> Vec<Option<Value>> {
    let value = |(dims, numbers): &(Vec<usize>, Vec<f64>)| {
        Some(Tensor::of_floats(ElemType::DOUBLE, dims, numbers).expect("as many numbers").into())
    };
    tensors.iter().map(value).collect()
}

fn floats(value: &Value) -> Vec<f64> {
    value.tensor().ok().and_then(|tensor| tensor.floats().ok()).map(|list| list.to_vec()).unwrap_or_default()
}

fn total(executable: &Executable<'_>, tensors: &[(Vec<usize>, Vec<f64>)]) -> Result<f64, String> {
    let results =
        executable.run(values(tensors), &RunOptions::default()).map_err(|why| why.message.clone())?;
    floats(&results[0]).first().copied().ok_or_else(|| "no total".to_owned())
}

/// The failure of a case, for shapes and numbers drawn from a seed.
fn judge((version, given, body): (i64, &str, &str), seed: u64, is_static: bool) -> Result<(), String> {
    let mut random = Random::new(seed);
    let inputs = inputs(given);
    let (step, tolerance) =
        if body.contains("# float") { (STEP_OF_FLOATS, TOLERANCE_OF_FLOATS) } else { (STEP, TOLERANCE) };
    let mut extents = BTreeMap::new();
    for dim in inputs.iter().flat_map(|input| &input.dims) {
        match dim.parse() {
            Ok(extent) => extents.insert(dim.clone(), extent),
            Err(_) => extents.insert(dim.clone(), 1 + random.below(4)),
        };
    }
    let known = is_static.then_some(&extents);
    let forward = compiled(&text(version, &inputs, body, known, false))?;
    let with_gradients = text(version, &inputs, body, known, true);
    let backward = compiled(&with_gradients)?;
    let mut tensors = Vec::new();
    for input in &inputs {
        let dims: Vec<usize> = input.dims.iter().map(|dim| extents[dim]).collect();
        let (least, most) = input.range;
        let count: usize = dims.iter().product();
        let mut number = || least + (most - least) * random.below(1_000_003) as f64 / 1_000_003.0;
        let numbers: Vec<f64> = (0..count).map(|_| number()).collect();
        tensors.push((dims, numbers));
    }
    let results =
        backward.run(values(&tensors), &RunOptions::default()).map_err(|why| why.message.clone())?;
    for (i, input) in inputs.iter().enumerate() {
        let gradient = floats(&results[i + 1]);
        let shape = results[i + 1].tensor().map(|tensor| tensor.dims().to_vec()).unwrap_or_default();
        if shape != tensors[i].0 {
            return Err(format!(
                "the gradient of {} has shape {shape:?}, not {:?}",
                input.name, tensors[i].0
            ));
        }
        for _ in 0..ELEMENTS.min(gradient.len()) {
            let at = random.below(gradient.len());
            let before = tensors[i].1[at];
            tensors[i].1[at] = before + step;
            let above = total(&forward, &tensors)?;
            tensors[i].1[at] = before - step;
            let below = total(&forward, &tensors)?;
            tensors[i].1[at] = before;
            let difference = (above - below) / (2.0 * step);
            let limit = tolerance * difference.abs().max(1.0);
            if (gradient[at] - difference).abs() > limit || gradient[at].is_nan() {
                let (name, g) = (&input.name, gradient[at]);
                return Err(format!(
                    "element {at} of the gradient of {name} is {g}, not {difference}; extents {extents:?}"
                ));
            }
        }
    }
    Ok(())
}

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[test]
fn gradients_are_what_differences_say() {
    let trials: u64 = setting("ONNXTXT_GRADIENTS").and_then(|n| n.parse().ok()).unwrap_or(3);
    let only = setting("ONNXTXT_GRADIENTS_OF").unwrap_or_default();
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in CASES.iter().filter(|(_, inputs, body)| format!("{inputs} {body}").contains(&only)) {
        for seed in 0..trials {
            // Shapes that are not known before the model runs are the last to be tried.
            let is_static = seed + 1 < trials || trials == 1 || case.2.contains("# static");
            let verdict = judge((case.0, case.1, &case.2.replace("# static", "")), seed, is_static);
            count += 1;
            if let Err(why) = verdict {
                wrong.push(format!("{} ({}), seed {seed}, static {is_static}: {why}", case.2, case.1));
                break;
            }
        }
    }
    eprintln!("gradients: {count} comparisons of {} cases", CASES.len());
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), CASES.len(), wrong.join("\n"));
}
