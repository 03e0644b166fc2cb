//! Loops give what formulas say: each formula of ONNX's own tests is computed both ways.
#![allow(clippy::print_stderr, reason = "a count, for who wants to see it")]

use conformance::convert::{read_text, read_wire};
use conformance::corpus::{CorpusModel, in_parallel, models};
use onnx_exec::{CompileOptions, Executable, RunOptions, Tensor, Value, compile};
use onnx_ir::Names;
use onnx_ops::opset::registry_of;
use onnx_proto::{FileKind, file, read_data};

/// Larger models take minutes element by element.
const LARGEST: u64 = 1 << 20;

#[test]
fn loops_give_what_formulas_say() {
    let is_small = |model: &CorpusModel| model.name.starts_with("backend/") && model.size <= LARGEST;
    let models: Vec<_> = models().into_iter().filter(is_small).collect();
    let failures: Vec<(String, String)> = in_parallel(&models, run).into_iter().flatten().collect();
    eprintln!("loops of {} models are what their formulas say", models.len() - failures.len());
    let wrong: Vec<_> = failures.iter().filter(|(_, why)| why.contains("by its loops")).collect();
    assert!(wrong.is_empty(), "{} models: {wrong:#?}", wrong.len());
    // Gradient is all that cannot be run.
    assert!(failures.len() <= 2, "{failures:#?}");
}

/// Runs a model on its first data set; what is wrong, if something is.
fn run(from: &CorpusModel) -> Option<(String, String)> {
    let fault = |why: String| Some((from.name.clone(), why));
    let model = read_wire(file::open(&from.path).ok()?).ok()?;
    let options = CompileOptions { check_loops: true, ..CompileOptions::default() };
    let executable = match compile(&model, registry_of(&model), &options) {
        Ok(executable) => executable,
        Err(found) => return fault(found.first().map(|d| d.message.clone()).unwrap_or_default()),
    };
    match executable.run(inputs(from, &executable), &RunOptions::default()) {
        Ok(_) => None,
        Err(why) => fault(why.message.clone()),
    }
}

/// The inputs of the first data set, counted without those that have a value.
fn inputs(from: &CorpusModel, executable: &Executable<'_>) -> Vec<Option<Value>> {
    let set = from.path.with_file_name("test_data_set_0");
    let mut count = 0;
    let input = |port: &onnx_ir::Port| {
        if executable.has_default(port) {
            return None;
        }
        let path = set.join(format!("input_{count}.pb"));
        count += 1;
        let kind =
            port.ty.map(|ty| FileKind::from(&executable.model().types[ty].kind)).unwrap_or(FileKind::Tensor);
        let (data, _) = read_data(file::open(&path).ok()?, kind, &mut Names::new());
        Value::stored(data?.held()).ok()
    };
    executable.inputs().iter().map(input).collect()
}

/// Nodes of each kind of loops, and the extents of what they are given; large enough to be shared out.
const SHARED: &[(&str, &[&[usize]])] = &[
    ("(float[512,300] x) => (float[512,300] y) { y = Sin(x) }", &[&[512, 300]]),
    ("(float[200003] x) => (float[200003] y) { y = Cos(x) }", &[&[200_003]]),
    ("(float[300,700] x) => (float[300,700] y) { y = Softmax(x) }", &[&[300, 700]]),
    ("(float[64,30,50] x) => (float[50,64,30] y) { y = Transpose <perm = [2, 0, 1]> (x) }", &[&[64, 30, 50]]),
    (
        "(float[300,200] a, float[200,130] b) => (float[300,130] y) { y = MatMul(a, b) }",
        &[&[300, 200], &[200, 130]],
    ),
    (
        "(float[3,70,80] a, float[3,80,90] b) => (float[3,70,90] y) { y = MatMul(a, b) }",
        &[&[3, 70, 80], &[3, 80, 90]],
    ),
    (
        "(float[2,16,33,35] x, float[24,16,3,3] w, float[24] b) => (float[2,24,33,35] y)
         { y = Conv <pads = [1, 1, 1, 1]> (x, w, b) }",
        &[&[2, 16, 33, 35], &[24, 16, 3, 3], &[24]],
    ),
    (
        "(float[1,16,33,35] x, float[24,16,5,3] w) => (float[1,24,16,34] y)
         { y = Conv <pads = [1, 1, 1, 1], strides = [2, 1], dilations = [1, 1]> (x, w) }",
        &[&[1, 16, 33, 35], &[24, 16, 5, 3]],
    ),
    (
        "(float[1,40,61,63] x, float[40,1,3,3] w) => (float[1,40,61,63] y)
         { y = Conv <group = 40, pads = [1, 1, 1, 1]> (x, w) }",
        &[&[1, 40, 61, 63], &[40, 1, 3, 3]],
    ),
    (
        "(float[1,40,61,63] x) => (float[1,40,31,32] y)
         { y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x) }",
        &[&[1, 40, 61, 63]],
    ),
    (
        "(float[1,900] a, float[900,700] b) => (float[1,700] y) { y = MatMul(a, b) }",
        &[&[1, 900], &[900, 700]],
    ),
];

#[test]
fn results_depend_on_no_number_of_threads() {
    for (graph, extents) in SHARED {
        let text = format!("<ir_version: 10, opset_import: [\"\": 21]>\nlarge {graph}\n");
        let model = read_text(&text).unwrap_or_else(|why| panic!("{graph}: {why}"));
        let executable =
            compile(&model, registry_of(&model), &CompileOptions::default()).expect("operators that are run");
        let inputs: Vec<Option<Value>> =
            (extents.iter().enumerate()).map(|(i, dims)| Some(Value::Tensor(waves(dims, i)))).collect();
        let run = |threads: usize| {
            let options = RunOptions { threads, ..RunOptions::default() };
            let results =
                executable.run(inputs.clone(), &options).unwrap_or_else(|why| panic!("{graph}: {why:?}"));
            results[0].tensor().expect("a tensor").bytes().to_vec()
        };
        let alone = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == alone, "{graph}: {threads} threads give something else");
        }
    }
}

/// What is stored in the model is prepared once; what is given, in each run.
#[test]
fn stored_factors_give_what_given_ones_give() {
    let list = |count: usize| {
        let numbers: Vec<String> = wave(count, 5).iter().map(f32::to_string).collect();
        numbers.join(", ")
    };
    let nodes = [
        ("float[70,40] x", "float[40,50] w", "float[70,50] y", "MatMul(x, w)"),
        ("float[40,300] x", "float[70,40] w", "float[70,300] y", "MatMul(w, x)"),
        ("float[3,70,40] x", "float[40,50] w", "float[3,70,50] y", "MatMul(x, w)"),
        (
            "float[2,8,19,17] x",
            "float[30,8,3,3] w",
            "float[2,30,19,17] y",
            "Conv <pads = [1, 1, 1, 1]> (x, w)",
        ),
    ];
    let run = |text: &str, inputs: Vec<Option<Value>>, threads: usize| {
        let model = read_text(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        let executable =
            compile(&model, registry_of(&model), &CompileOptions::default()).expect("known operators");
        let options = RunOptions { threads, ..RunOptions::default() };
        let results = executable.run(inputs, &options).unwrap_or_else(|why| panic!("{text}: {why:?}"));
        results[0].tensor().expect("a tensor").bytes().to_vec()
    };
    let dims = |port: &str| -> Vec<usize> {
        let inner = port.split(['[', ']']).nth(1).unwrap_or_default();
        inner.split(',').filter_map(|d| d.parse().ok()).collect()
    };
    for (x, w, y, node) in nodes {
        let head = "<ir_version: 10, opset_import: [\"\": 21]>\n";
        let given = format!("{head}g ({x}, {w}) => ({y}) {{ y = {node} }}");
        let count = dims(w).iter().product();
        let stored = format!("{head}g ({x}) => ({y}) <{w} = {{{}}}> {{ y = {node} }}", list(count));
        let weights = Tensor::of(&dims(w), &wave(count, 5)).expect("small tensors");
        let x = Some(Value::Tensor(waves(&dims(x), 1)));
        let expected = run(&given, vec![x.clone(), Some(Value::Tensor(weights))], 1);
        for threads in [1, 2, 3] {
            assert!(run(&stored, vec![x.clone()], threads) == expected, "{node} on {threads} threads");
        }
    }
}

/// Numbers that differ.
fn waves(dims: &[usize], phase: usize) -> Tensor {
    Tensor::of(dims, &wave(dims.iter().product(), phase)).expect("small tensors")
}

fn wave(count: usize, phase: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7 + phase) as f32 * 0.37).sin()).collect()
}
