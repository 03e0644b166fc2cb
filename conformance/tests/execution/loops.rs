//! Loops give what formulas say: each formula of ONNX's own tests is computed both ways.
#![allow(clippy::print_stderr, reason = "a count, for who wants to see it")]

use conformance::convert::{read_text, read_wire};
use conformance::corpus::{CorpusModel, in_parallel, models};
use conformance::trial::{data, inputs};
use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ops::opset::registry_of;
use onnx_proto::file;

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
    match executable.run(inputs(&executable, &data(from)), &RunOptions::default()) {
        Ok(_) => None,
        Err(why) => fault(why.message.clone()),
    }
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
        "(float[3,40,2001] x, float[24,40,7] w) => (float[3,24,1001] y)
         { y = Conv <pads = [3, 3], strides = [2]> (x, w) }",
        &[&[3, 40, 2001], &[24, 40, 7]],
    ),
    (
        "(float[1,300,60,60] x, float[24,300,3,3] w) => (float[1,24,60,60] y)
         { y = Conv <pads = [1, 1, 1, 1]> (x, w) }",
        &[&[1, 300, 60, 60], &[24, 300, 3, 3]],
    ),
    (
        "(float[2,30,23,7] x, float[40,30,1,1] w) => (float[2,40,23,7] y) { y = Conv(x, w) }",
        &[&[2, 30, 23, 7], &[40, 30, 1, 1]],
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
        "(float[2,40,61,63] x, float[40,1,5,5] w) => (float[2,40,31,32] y)
         { c = Conv <group = 40, strides = [2, 2], pads = [2, 2, 2, 2]> (x, w)\n y = Relu(c) }",
        &[&[2, 40, 61, 63], &[40, 1, 5, 5]],
    ),
    (
        "(float[3,900,7,7] x, float[900,1,3,3] w) => (float[3,900,7,7] y)
         { y = Conv <group = 900, pads = [1, 1, 1, 1]> (x, w) }",
        &[&[3, 900, 7, 7], &[900, 1, 3, 3]],
    ),
    (
        "(float[1,40,61,63] x) => (float[1,40,61,63] y)
         { y = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x) }",
        &[&[1, 40, 61, 63]],
    ),
    ("(float[700,3,49,49] x) => (float[700,3,49,49] y) { y = Softmax(x) }", &[&[700, 3, 49, 49]]),
    ("(float[900,9,7,7] x) => (float[900,9,1,1] y) { y = GlobalAveragePool(x) }", &[&[900, 9, 7, 7]]),
    (
        "(float[700,9,5] x, float[9,1] a, float[5] b) => (float[700,9,5] y)
         { p = Mul(x, a)\n s = Add(p, b)\n y = Sigmoid(s) }",
        &[&[700, 9, 5], &[9, 1], &[5]],
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

/// Windows of all strides, distances and edges, over images narrower and wider than a hardware register.
#[test]
fn windows_give_what_formulas_say() {
    let mut images = Vec::new();
    for kernel in [1, 2, 3, 5, 7] {
        for (stride, dilation) in [(1, 1), (2, 1), (1, 2), (3, 2)] {
            for (height, width) in [(9, 10), (6, 21)] {
                let most = (kernel * dilation / 2).min(kernel - 1);
                for pad in [0, most] {
                    if dilation * (kernel - 1) < height + 2 * pad {
                        images.push((vec![height, width], kernel, stride, dilation, pad));
                    }
                }
            }
        }
    }
    images.push((vec![1100], 5, 1, 1, 2));
    images.push((vec![1100], 4, 2, 3, 0));
    images.push((vec![5, 6, 7], 3, 1, 1, 1));
    images.push((vec![5, 6, 7], 2, 2, 1, 0));
    for (image, kernel, stride, dilation, pad) in images {
        let rank = image.len();
        let each = |n: usize| vec![n.to_string(); rank].join(", ");
        let window = format!(
            "strides = [{}], dilations = [{}], pads = [{}]",
            each(stride),
            each(dilation),
            vec![pad.to_string(); 2 * rank].join(", ")
        );
        let (dims, kernel) = (image.iter().map(usize::to_string).collect::<Vec<_>>().join(","), each(kernel));
        let graph = format!(
            "(float[1,2,{dims}] x, float[2,1,{kernel}] w, float[2] b)
             => (float convolved, float active, float most, float mean, float all) {{
             convolved = Conv <group = 2, {window}> (x, w)
             biased = Conv <group = 2, {window}> (x, w, b)
             active = Relu(biased)
             most = MaxPool <kernel_shape = [{kernel}], {window}> (x)
             mean = AveragePool <kernel_shape = [{kernel}], {window}> (x)
             all = AveragePool <kernel_shape = [{kernel}], count_include_pad = 1, {window}> (x) }}"
        );
        let dims: Vec<usize> = [1, 2].into_iter().chain(image).collect();
        let kernel: Vec<usize> = kernel.split(", ").filter_map(|d| d.parse().ok()).collect();
        let weights: Vec<usize> = [2, 1].into_iter().chain(kernel).collect();
        let mut x = wave(dims.iter().product(), 1);
        let others = [(&weights[..], wave(weights.iter().product(), 2)), (&[2][..], wave(2, 3))];
        let with = |x: Vec<f32>| [vec![(&dims[..], x)], others.to_vec()].concat();
        run_both_ways(&graph, &with(x.clone()));
        // NaN is found at any place.
        x[40] = f32::NAN;
        run_both_ways(&graph, &with(x));
    }
}

/// Convolutions of all strides, distances and edges, of images that are copied as a whole and in parts, and plain products.
#[test]
fn products_give_what_formulas_say() {
    let nodes: &[(&str, &[&[usize]])] = &[
        ("Conv <pads = [1, 1, 1, 1]> (a, b)", &[&[2, 6, 14, 14], &[13, 6, 3, 3]]),
        ("Conv <pads = [2, 1, 1, 3], strides = [2, 1]> (a, b)", &[&[2, 5, 13, 12], &[5, 5, 3, 5]]),
        (
            "Conv <pads = [1, 2, 3, 0], strides = [3, 3], dilations = [2, 2], group = 2> (a, b)",
            &[&[1, 4, 25, 26], &[12, 2, 5, 3]],
        ),
        ("Conv <pads = [3, 3], strides = [2]> (a, b)", &[&[3, 7, 101], &[4, 7, 7]]),
        ("Conv <pads = [1, 1, 1, 1, 1, 1]> (a, b)", &[&[1, 3, 5, 7, 9], &[5, 3, 3, 3, 3]]),
        ("Conv <pads = [0, 1, 0, 1]> (a, b)", &[&[1, 4, 9, 11], &[6, 4, 3, 3]]),
        // Rows that end where a block does, and before it.
        ("Conv <pads = [1, 1, 1, 1]> (a, b)", &[&[1, 3, 5, 510], &[4, 3, 3, 3]]),
        ("Conv <pads = [1, 9, 1, 9]> (a, b)", &[&[2, 3, 5, 496], &[4, 3, 3, 3]]),
        ("Conv <pads = [1, 1, 1, 1]> (a, b)", &[&[2, 3, 4, 505], &[5, 3, 3, 5]]),
        // More than a copy of an image has at a time.
        ("Conv <pads = [1, 1]> (a, b)", &[&[1, 4, 70_000], &[4, 4, 3]]),
        ("Conv <pads = [1, 1, 0, 0]> (a, b)", &[&[1, 2, 380, 390], &[4, 2, 2, 2]]),
        ("Conv(a, b)", &[&[2, 10, 5, 7], &[9, 10, 1, 1]]),
        ("MatMul(a, b)", &[&[3, 17, 20], &[3, 20, 37]]),
        ("MatMul(a, b)", &[&[17, 300], &[300, 600]]),
        ("Gemm <transA = 1, transB = 1> (a, b)", &[&[20, 17], &[37, 20]]),
        // More steps than are packed at a time, which are far apart in both factors.
        ("Gemm <transA = 1> (a, b)", &[&[1100, 70], &[1100, 150]]),
        // Windows as large as the image, as in gradients of weights.
        ("Conv <pads = [1, 1, 1, 1]> (a, b)", &[&[6, 5, 14, 33], &[7, 5, 14, 33]]),
        ("Conv <pads = [1, 0, 2, 1], dilations = [2, 2]> (a, b)", &[&[5, 8, 28, 23], &[13, 8, 14, 11]]),
        ("Conv <pads = [2, 2]> (a, b)", &[&[33, 9, 70], &[17, 9, 70]]),
    ];
    for (node, extents) in nodes {
        let dims = extents.iter().map(|dims| dims.iter().map(usize::to_string).collect::<Vec<_>>().join(","));
        let [a, b] = &dims.collect::<Vec<_>>()[..] else { panic!("two factors") };
        let graph = format!("(float[{a}] a, float[{b}] b) => (float c) {{ c = {node} }}");
        let factor = |at: usize| (extents[at], wave(extents[at].iter().product(), at));
        run_both_ways(&graph, &[factor(0), factor(1)]);
    }
}

/// Epilogues of products of batches: numbers of each row and of each element, limits, conditions and functions.
#[test]
fn epilogues_of_batches_give_what_formulas_say() {
    let (images, weights) = ([3, 6, 9, 11], [13, 6, 3, 3]);
    let others = [[3, 13, 9, 11], [1, 13, 1, 1], [1, 1, 9, 11]];
    let ends = [
        "y = Identity(c)",
        "y = Relu(c)",
        "s = Add(c, o0)  y = Relu(s)",
        "s = Add(c, o1)  y = Clip(s, low, high)",
        "s = Mul(c, o1)  y = Add(s, o2)",
        "s = Add(c, o0)  y = Add(s, o1)",
        "is = Greater(o0, low)  y = Where(is, c, low)",
        "y = Sigmoid(c)",
        "y = HardSwish(c)",
        "s = Erf(c)  y = Mul(s, o0)",
    ];
    for end in ends {
        for (conv, bias) in [("Conv", "x, w, b"), ("Conv", "x, w"), ("ConvTranspose", "x, wt, b")] {
            let graph = format!(
                "(float[3,6,9,11] x, float[13,6,3,3] w, float[6,13,3,3] wt, float[13] b, float[3,13,9,11] o0,
                 float[1,13,1,1] o1, float[1,1,9,11] o2) => (float y)
                 <float low = {{-0.25}}, float high = {{0.5}}> {{ c = {conv} <pads = [1, 1, 1, 1]> ({bias})  {end} }}"
            );
            let given = [&images[..], &weights, &[6, 13, 3, 3], &[13], &others[0], &others[1], &others[2]];
            let given = given.iter().enumerate();
            let inputs: Vec<_> = given.map(|(at, dims)| (*dims, wave(dims.iter().product(), at))).collect();
            run_both_ways(&graph, &inputs);
        }
    }
}

/// Rows of all lengths, along axes that are shorter and longer than a strip.
#[test]
fn rows_give_what_formulas_say() {
    for (rows, length) in [(70, 1), (300, 3), (70, 15), (40, 49), (40, 64), (20, 100), (3, 1023), (3, 1500)] {
        let graph = format!(
            "(float[{rows},{length}] x, float[{length}] w) => (float a, float b, float c, float d, float e, float f) {{
             a = Softmax(x)
             b = LogSoftmax(x)
             c = LayerNormalization(x, w)
             d = ReduceMax <keepdims = 0> (x)
             e = ArgMax <axis = 1> (x)
             f = Softmax <axis = 0> (x) }}"
        );
        let graph = graph.replace("float e", "int64 e");
        let dims = [rows, length];
        run_both_ways(&graph, &[(&dims, wave(rows * length, 3)), (&[length], wave(length, 4))]);
    }
}

/// Runs a graph by its loops, each of which is compared with its formula.
fn run_both_ways(graph: &str, inputs: &[(&[usize], Vec<f32>)]) {
    let text = format!("<ir_version: 10, opset_import: [\"\": 22]>\nwindows {graph}\n");
    let model = read_text(&text).unwrap_or_else(|why| panic!("{graph}: {why}"));
    let options = CompileOptions { check_loops: true, ..CompileOptions::default() };
    let executable = compile(&model, registry_of(&model), &options).expect("operators that are run");
    let tensor = |(dims, numbers): &(&[usize], Vec<f32>)| Tensor::of(dims, numbers).expect("small tensors");
    let inputs = inputs.iter().map(|input| Some(Value::Tensor(tensor(input)))).collect();
    if let Err(why) = executable.run(inputs, &RunOptions::default()) {
        panic!("{graph}: {why:?}");
    }
}

/// Stored operands are packed once; inputs in each run.
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

/// Sums of products of bytes: what they are given, and what they give.
const BYTES: &[(&[&str], &str, &str)] = &[
    (&["uint8[70,300] x", "uint8[300,50] w"], "int32[70,50] y", "y = MatMulInteger(x, w)"),
    (&["uint8[70,299] x", "int8[299,50] w", "uint8 a"], "int32[70,50] y", "y = MatMulInteger(x, w, a)"),
    (
        &["int8[3,70,41] x", "int8[41,37] w", "int8 a", "int8[37] b"],
        "int32[3,70,37] y",
        "y = MatMulInteger(x, w, a, b)",
    ),
    (
        &["int8[2,5,70] x", "uint8[2,70,33] w", "int8 a", "uint8 b"],
        "int32[2,5,33] y",
        "y = MatMulInteger(x, w, a, b)",
    ),
    (
        &["uint8[35,600] x", "uint8[600,20] w", "uint8[35] a", "uint8[20] b"],
        "int32[35,20] y",
        "y = MatMulInteger(x, w, a, b)",
    ),
    (
        &["int8[1,301] x", "uint8[301,9] w", "int8 a", "uint8 b"],
        "int32[1,9] y",
        "y = MatMulInteger(x, w, a, b)",
    ),
    (&["uint8[40,61] x", "int8[61,3] w", "uint8 a"], "int32[40,3] y", "y = MatMulInteger(x, w, a)"),
    (
        &["uint8[2,8,19,17] x", "uint8[30,8,3,3] w", "uint8 a", "uint8 b"],
        "int32[2,30,19,17] y",
        "y = ConvInteger <pads = [1, 1, 1, 1]> (x, w, a, b)",
    ),
    (
        &["uint8[1,6,20,21] x", "int8[9,2,3,3] w", "uint8 a"],
        "int32[1,9,10,11] y",
        "y = ConvInteger <group = 3, pads = [1, 1, 1, 1], strides = [2, 2]> (x, w, a)",
    ),
    (
        &["uint8[1,12,15,16] x", "int8[12,1,3,3] w", "uint8 a"],
        "int32[1,12,15,16] y",
        "y = ConvInteger <group = 12, pads = [1, 1, 1, 1]> (x, w, a)",
    ),
    (&["int8[1,16,9,11] x", "int8[24,16,1,1] w", "int8 a"], "int32[1,24,9,11] y", "y = ConvInteger(x, w, a)"),
    (
        &[
            "uint8[1,8,19,17] x",
            "float s",
            "uint8 a",
            "int8[30,8,3,3] w",
            "float[30] t",
            "int8[30] b",
            "float u",
            "uint8 c",
            "int32[30] d",
        ],
        "uint8[1,30,19,17] y",
        "y = QLinearConv <pads = [1, 1, 1, 1]> (x, s, a, w, t, b, u, c, d)",
    ),
    // Depthwise, with channels last: lines that are widened for several lines of results, short and long ones.
    (
        &["uint8[2,9,11,40] x", "float s", "uint8 a", "int8[40,1,3,3] w", "float[40] t", "int8[40] b", "float u", "uint8 c"],
        "uint8[2,9,11,40] y",
        "i = Transpose <perm = [0, 3, 1, 2]> (x)
         o = QLinearConv <group = 40, pads = [1, 1, 1, 1]> (i, s, a, w, t, b, u, c)
         y = Transpose <perm = [0, 2, 3, 1]> (o)",
    ),
    (
        &["int8[1,19,23,33] x", "float s", "int8 a", "int8[33,1,5,3] w", "float t", "int8 b", "float u", "int8 c"],
        "int8[1,10,11,33] y",
        "i = Transpose <perm = [0, 3, 1, 2]> (x)
         o = QLinearConv <group = 33, pads = [2, 2, 2, 1], strides = [2, 2], dilations = [1, 2]> (i, s, a, w, t, b, u, c)
         y = Transpose <perm = [0, 2, 3, 1]> (o)",
    ),
    (
        &["uint8[1,5,180,100] x", "float s", "uint8 a", "uint8[100,1,3,3] w", "float[100] t", "uint8[100] b", "float u", "uint8 c"],
        "uint8[1,5,180,100] y",
        "i = Transpose <perm = [0, 3, 1, 2]> (x)
         o = QLinearConv <group = 100, pads = [1, 1, 1, 1]> (i, s, a, w, t, b, u, c)
         y = Transpose <perm = [0, 2, 3, 1]> (o)",
    ),
    // Depthwise, with numbers of planes and of lines.
    (
        &[
            "uint8[2,6,9,11] x",
            "float s",
            "uint8 a",
            "int8[6,1,3,3] w",
            "float[6] t",
            "int8[6] b",
            "float u",
            "uint8 c",
            "int32[6] d",
        ],
        "uint8[2,6,9,11] y",
        "y = QLinearConv <group = 6, pads = [1, 1, 1, 1]> (x, s, a, w, t, b, u, c, d)",
    ),
    (
        &["int8[2,5,70] x", "float s", "int8 a", "int8[5,1,3] w", "float[5] t", "int8[5] b", "float u", "int8 c"],
        "int8[2,5,70] y",
        "y = QLinearConv <group = 5, pads = [1, 1]> (x, s, a, w, t, b, u, c)",
    ),
    // The byte as a float is the result.
    (
        &["uint8[1,9,11,16] x", "float s", "uint8 a", "int8[24,16,1,1] w", "float t", "int8 b", "float u", "uint8 c"],
        "float[1,9,11,24] y",
        "i = Transpose <perm = [0, 3, 1, 2]> (x)
         o = QLinearConv(i, s, a, w, t, b, u, c)
         p = Transpose <perm = [0, 2, 3, 1]> (o) y = Cast <to = 1> (p)",
    ),
    // A residual after a quantized convolution: a byte, and a program that reads it.
    (
        &[
            "uint8[1,9,11,16] x",
            "float s",
            "uint8 a",
            "int8[24,16,1,1] w",
            "float[24] t",
            "int8[24] b",
            "float u",
            "uint8 c",
            "int32[24] d",
            "uint8[1,9,11,24] r",
        ],
        "uint8[1,9,11,24] y",
        "i = Transpose <perm = [0, 3, 1, 2]> (x)
         o = QLinearConv(i, s, a, w, t, b, u, c, d)
         p = Transpose <perm = [0, 2, 3, 1]> (o)
         f = DequantizeLinear(p, u, c) g = DequantizeLinear(r, s, a)
         h = Add(f, g) y = QuantizeLinear(h, u, c)",
    ),
    (
        &[
            "uint8[33,70] x",
            "float s",
            "uint8 a",
            "uint8[70,40] w",
            "float t",
            "uint8 b",
            "float u",
            "uint8 c",
        ],
        "uint8[33,40] y",
        "y = QLinearMatMul(x, s, a, w, t, b, u, c)",
    ),
    (
        &["float[33,70] x", "int8[70,40] w"],
        "int32[33,40] y",
        "q, s, z = DynamicQuantizeLinear(x) y = MatMulInteger(q, w, z)",
    ),
];

/// Whole numbers are added up exactly, whatever the kernel, and whether factors are stored or given.
#[test]
fn products_of_bytes_are_what_their_formulas_say() {
    for (ports, output, nodes) in BYTES {
        let values: Vec<(Value, String)> = ports.iter().map(|port| port_value(port)).collect();
        let head = "<ir_version: 10, opset_import: [\"\": 21]>\n";
        let given = format!("{head}g ({}) => ({output}) {{ {nodes} }}", ports.join(", "));
        let list: Vec<String> =
            ports.iter().zip(&values).skip(1).map(|(port, (_, list))| format!("{port} = {list}")).collect();
        let stored = format!("{head}g ({}) => ({output}) <{}> {{ {nodes} }}", ports[0], list.join(", "));
        let run = |text: &str, count: usize, check_loops: bool, threads: usize| {
            let model = read_text(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            let options = CompileOptions { check_loops, ..CompileOptions::default() };
            let executable = compile(&model, registry_of(&model), &options).expect("known operators");
            let inputs = values[..count].iter().map(|(value, _)| Some(value.clone())).collect();
            let options = RunOptions { threads, ..RunOptions::default() };
            let results = executable.run(inputs, &options).unwrap_or_else(|why| panic!("{text}: {why:?}"));
            results[0].tensor().expect("a tensor").bytes().to_vec()
        };
        let expected = run(&given, ports.len(), true, 1);
        for threads in [1, 2, 3] {
            assert!(run(&given, ports.len(), false, threads) == expected, "{nodes} on {threads} threads");
            assert!(run(&stored, 1, false, threads) == expected, "{nodes} on {threads} threads, stored");
        }
    }
}

/// Products of what is dequantized, which are computed as products of bytes.
const DEQUANTIZED: &[(&[&str], &str, &str)] = &[
    (
        &["uint8[33,70] x", "float s", "uint8 a", "int8[70,40] w", "float[40] t", "int8[40] b"],
        "float[33,40] y",
        "p = DequantizeLinear(x, s, a) q = DequantizeLinear <axis = 1> (w, t, b) y = MatMul(p, q)",
    ),
    (
        &["uint8[1,8,19,17] x", "float s", "uint8 a", "int8[30,8,3,3] w", "float[30] t", "float[30] d"],
        "float[1,30,19,17] y",
        "p = DequantizeLinear(x, s, a) q = DequantizeLinear <axis = 0> (w, t)
         c = Conv <pads = [1, 1, 1, 1]> (p, q, d) y = Relu(c)",
    ),
    (
        &["uint8[2,33,70] x", "float s", "uint8[70] a", "uint8[2,70,40] w", "float t", "float[70] u"],
        "float[2,33,40] y",
        "p = DequantizeLinear <axis = 2> (x, u, a) q = DequantizeLinear(w, t) y = MatMul(p, q)",
    ),
];

#[test]
fn products_of_dequantized_bytes_are_near() {
    for (ports, output, nodes) in DEQUANTIZED {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 21]>\ng ({}) => ({output}) {{ {nodes} }}",
            ports.join(", ")
        );
        let model = read_text(&text).unwrap_or_else(|why| panic!("{text}: {why}"));
        let run = |node_by_node: bool| {
            let options = CompileOptions { node_by_node, ..CompileOptions::default() };
            let executable = compile(&model, registry_of(&model), &options).expect("known operators");
            let inputs = ports.iter().map(|port| Some(port_value(port).0)).collect();
            let results = executable.run(inputs, &RunOptions::default()).expect("a sound model");
            results[0].tensor().expect("a tensor").floats().expect("floats")
        };
        let (fused, plain) = (run(false), run(true));
        let most = plain.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        for (a, b) in fused.iter().zip(&plain) {
            assert!((a - b).abs() <= 1e-5 * most, "{nodes}: {a} and {b}");
        }
    }
}

/// A value for an input of a type and name, and how it is written.
fn port_value(port: &str) -> (Value, String) {
    let inner = port.split(['[', ']']).nth(1);
    let dims: Vec<usize> =
        inner.into_iter().flat_map(|dims| dims.split(',')).filter_map(|d| d.parse().ok()).collect();
    let bytes: Vec<u8> =
        (0..dims.iter().product()).map(|i: usize| (i * 157 + i / 7 * 31 + 3) as u8).collect();
    let tensor = match port.split(['[', ' ']).next() {
        Some("uint8") => Tensor::of(&dims, &bytes),
        Some("int8") => Tensor::of(&dims, &bytes.iter().map(|b| b.cast_signed()).collect::<Vec<_>>()),
        Some("int32") => {
            Tensor::of(&dims, &bytes.iter().map(|b| i32::from(*b) * 77 - 9000).collect::<Vec<_>>())
        }
        _ => Tensor::of(&dims, &bytes.iter().map(|b| f32::from(*b) / 8192.0 + 0.0625).collect::<Vec<_>>()),
    };
    let tensor = tensor.expect("small tensors");
    let list: Vec<String> = match tensor.elem() {
        onnx_ir::ElemType::FLOAT => {
            tensor.floats().expect("floats").iter().map(|x| (*x as f32).to_string()).collect()
        }
        _ => tensor.ints().expect("integers").iter().map(i64::to_string).collect(),
    };
    (Value::Tensor(tensor), format!("{{{}}}", list.join(", ")))
}

/// Numbers that differ.
fn waves(dims: &[usize], phase: usize) -> Tensor {
    Tensor::of(dims, &wave(dims.iter().product(), phase)).expect("small tensors")
}

fn wave(count: usize, phase: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7 + phase) as f32 * 0.37).sin()).collect()
}
