//! Memory: what an operator takes is what it is charged. Each is run with large inputs; what the allocator has handed out at
//! most is compared with what the run says, and with half of that the run ends in a finding.

mod grown;

use conformance::convert::read_text;
use onnx_exec::{CompileOptions, Memory, Random, RunOptions, Tensor, Value, compile};
use onnx_ir::diag::code;
use onnx_ir::{DimValue, ElemType, Model, TypeKind};
use onnx_ops::opset::registry_of;
use peak_alloc::PeakAlloc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Held for the whole of each test: the allocator counts for the process, so that two tests side by side would be charged
/// for one another.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Constant memory of a program: plans, threads, tables.
const BESIDE: usize = 6 << 20;

/// Values with elements, inputs that are made up, and a node.
const CASES: &[(&str, &str, &str)] = &[
    ("", "float[400000] x", "y = Add(x, x)"),
    ("", "float[400000] x", "y = Cast<to = 8>(x)"),
    ("", "int64[400000] x", "y = Cast<to = 8>(x)"),
    ("", "float16[200000] x", "y = Cast<to = 8>(x)"),
    ("", "bool[400000] x", "y = Cast<to = 8>(x)"),
    ("", "float[400000] x", "a = Cast<to = 8>(x) y = Cast<to = 1>(a)"),
    ("", "float[1000000] x", "y = Cast<to = 22>(x)"),
    ("", "int4[1000000] x", "y = Cast<to = 1>(x)"),
    ("", "int4[1000000] x", "y = Cast<to = 8>(x)"),
    ("", "float[1000000] x", "y = NonZero(x)"),
    ("", "bool[1000, 1000] x", "y = NonZero(x)"),
    ("", "float[1000000] x, bool[1000000] c", "y = Compress(x, c)"),
    ("", "uint8[1000, 1000] x, bool[1000] c", "y = Compress<axis = 1>(x, c)"),
    ("", "string[200000] x, bool[200000] c", "y = Compress(x, c)"),
    ("", "float[1000000] x", "y, a, b, c = Unique(x)"),
    ("", "uint8[1000000] x", "y, a, b, c = Unique<sorted = 0>(x)"),
    ("", "float[1000, 1000] x", "y, a, b, c = Unique<axis = 0>(x)"),
    ("int64[1] k = {900000}", "float[1000000] x", "y, i = TopK(x, k)"),
    ("int64[1] k = {500}", "uint8[1000, 1000] x", "y, i = TopK(x, k)"),
    ("", "float[1000, 1000] x", "y = LpNormalization(x)"),
    ("", "float16[1000, 1000] x", "y = LpNormalization<p = 1, axis = 0>(x)"),
    ("int64 a = {0}", "float[1000000] x", "y = CumSum(x, a)"),
    ("", "float[1000000] x", "y, m = Dropout<seed = 1>(x, r, t)"),
    ("", "float[1000, 1000] x, int64[1000, 1000] i", "y = ScatterElements<reduction = \"add\">(x, i, x)"),
    ("", "float[2, 500000] x, int64[2, 1] i", "y = ScatterND(x, i, x)"),
    ("", "float[300, 50, 50] x", "y = Det(x)"),
    ("", "float[1, 2, 300, 300] x, float[1, 300, 300, 2] g", "y = GridSample(x, g)"),
    ("", "float[1, 2, 300, 300] x, float[1, 300, 300, 2] g", "y = GridSample<mode = \"nearest\">(x, g)"),
    ("float[4] s = {1, 1, 2, 2}", "float[1, 3, 200, 200] x", "y = Resize<mode = \"linear\">(x, , s)"),
    ("float[4] s = {1, 1, 2, 2}", "uint8[1, 3, 200, 200] x", "y = Resize<mode = \"nearest\">(x, , s)"),
    ("", "float[1, 8, 64, 64] x, float[8, 8, 3, 3] w", "y = ConvTranspose(x, w)"),
    ("int64[2] i = {514, 514} int64[2] b = {3, 3}", "float[1, 9, 262144] x", "y = Col2Im(x, i, b)"),
    ("", "float[4, 40000, 1] x", "y = DFT(x)"),
    ("int64 f = {64} int64 l = {256}", "float[2, 40000, 1] x", "y = STFT(x, f, , l)"),
    (
        "",
        "float[200, 16, 32] x, float[1, 256, 32] w, float[1, 256, 64] r",
        "y, h, c = LSTM<hidden_size = 64>(x, w, r)",
    ),
    (
        "",
        "float[200, 16, 32] x, float[1, 192, 32] w, float[1, 192, 64] r",
        "y, h = GRU<hidden_size = 64>(x, w, r)",
    ),
    ("", "float[16, 8] x, float[16, 8] s, float[16, 8] b", "y = Sum(x, s, b)"),
    ("", "float[1000000] x", "y = RandomNormalLike(x)"),
    ("", "float[1000000] x", "y = Bernoulli(x)"),
    ("", "float[100, 1000] x", "y = Multinomial<sample_size = 500>(x)"),
    (
        "int64 p = {10}",
        "float[1000, 1000] x",
        "s = SplitToSequence(x, p) y = ConcatFromSequence<axis = 0>(s)",
    ),
    ("", "float[100000] x", "s = SplitToSequence(x) y = ConcatFromSequence<axis = 0>(s)"),
    ("", "string[100000] x", "y = StringConcat(x, x)"),
    ("", "string[100000] x", "y, n = StringSplit<delimiter = \"s\">(x)"),
    ("", "string[100000] x", "y = StringNormalizer<case_change_action = \"UPPER\">(x)"),
    ("", "string[100000] x", "y = RegexFullMatch<pattern = \"s[0-9]+\">(x)"),
    ("", "string[100000] x", "y = Equal(x, x)"),
    ("int64[2] o = {0, 0}", "string[100000] x", "y = Concat<axis = 0>(x, x)"),
    ("", "string[1000, 100] x", "y = Transpose(x)"),
    (
        "",
        "int64[100000] x",
        "y = TfIdfVectorizer<mode = \"TF\", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0, ngram_counts = [0], ngram_indexes = [0, 1], pool_int64s = [0, 1]>(x)",
    ),
    (
        "",
        "float[1, 1000, 4] b, float[1, 100, 1000] s",
        "m = Constant<value_ints = [100]>() y = NonMaxSuppression(b, s, m)",
    ),
    ("", "float[1000, 1000] x", "y = ai.onnx.ml.Normalizer(x)"),
    ("", "float[1000, 1000] x", "y = ai.onnx.ml.Scaler<offset = [0.5], scale = [2.0]>(x)"),
    ("", "float[1000, 1000] x", "y = ai.onnx.ml.Imputer<imputed_value_floats = [0.5]>(x)"),
    ("", "float[1000, 1000] x", "y = ai.onnx.ml.Binarizer(x)"),
    ("", "float[1000, 1000] x", "y = ai.onnx.ml.FeatureVectorizer<inputdimensions = [1000]>(x)"),
    (
        "",
        "float[100000, 2] x",
        "l, y = ai.onnx.ml.LinearClassifier<coefficients = [1.0, 2.0, 3.0, 4.0], intercepts = [0.0, 0.0], classlabels_strings = [\"one\", \"two\"]>(x)",
    ),
    ("", "float[100000, 2] x", "y = ai.onnx.ml.ZipMap<classlabels_int64s = [1, 2]>(x)"),
    (
        "",
        "int64[500000] x",
        "y = ai.onnx.ml.LabelEncoder<keys_int64s = [0, 1], values_strings = [\"no\", \"yes\"]>(x)",
    ),
    ("", "int64[500000] x", "y = ai.onnx.ml.OneHotEncoder<cats_int64s = [0, 1]>(x)"),
    ("int64[3] c = {0, 2, 1}", "float[100000, 4] x", "y = ai.onnx.ml.ArrayFeatureExtractor(x, c)"),
    (
        "",
        "float[100000, 2] x",
        "y = ai.onnx.ml.SVMRegressor<coefficients = [1.0, 2.0], rho = [0.5], kernel_type = \"LINEAR\">(x)",
    ),
    (
        "",
        "string[100000] x",
        "y = com.microsoft.Tokenizer<separators = [\"\"], mark = 1, pad_value = \"\", mincharnum = 1>(x)",
    ),
    ("", "float[500, 1000] x, float[1000] g", "y, m, i, s = com.microsoft.SkipLayerNormalization(x, x, g)"),
    ("", "float[1000, 1000] x", "y = com.microsoft.FastGelu(x)"),
    ("", "float[300, 50, 50] x", "y = com.microsoft.Inverse(x)"),
    ("", "int64[1000000] x", "y = com.microsoft.MurmurHash3(x)"),
    (
        "float s = {0.5} uint8 z = {3}",
        "uint8[1000000] x",
        "y = com.microsoft.QLinearConcat<axis = 0>(s, z, x, s, z, x, s, z)",
    ),
    ("int64[4] s = {1, 3, 500, 500}", "float[1, 2, 3] x", "y = AffineGrid(x, s)"),
    ("int64 n = {1000000}", "", "y = BlackmanWindow(n)"),
    ("int64 n = {1000000}", "", "y = HammingWindow(n)"),
    ("int64 n = {1000000}", "", "y = HannWindow<output_datatype = 11>(n)"),
    ("int64[2] s = {1000, 2000}", "", "y = ConstantOfShape(s)"),
    (
        "int64 b = {80} int64 d = {16384} int64 r = {16000} float l = {0} float u = {8000}",
        "",
        "y = MelWeightMatrix(b, d, r, l, u)",
    ),
    ("", "", "y = RandomNormal<shape = [1000, 1000]>()"),
    ("", "", "y = RandomUniform<shape = [1000, 1000], dtype = 11>()"),
    ("int64 a = {0} int64 b = {2000000} int64 d = {2}", "", "y = Range(a, b, d)"),
    (
        "",
        "float[1, 1, 400, 400] x",
        "p, i = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x) y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(p, i)",
    ),
    (
        "int64 n = {500}",
        "float[1000, 500] x",
        "s = SplitToSequence<axis = 0, keepdims = 0>(x) t = SequenceErase(s, n) u = SequenceInsert(t, x) y = SequenceAt(u, n)",
    ),
    (
        "",
        "float[1000, 500] x",
        "s = SplitToSequence<axis = 0, keepdims = 0>(x) t = SequenceMap<body = b (float[500] e) => (float[500] f) { f = Add(e, e) }>(s) y = ConcatFromSequence<axis = 0>(t)",
    ),
    (
        "int64 n = {1000}",
        "float[1000] x",
        "y = Loop(n, ) <body = b (int64 i, bool c) => (bool co, float[1000] so) { co = Identity(c) so = Add(x, x) }>",
    ),
    (
        "int64 n = {100000}",
        "",
        "y = Loop(n, ) <body = b (int64 i, bool c) => (bool co, int64 so) { co = Identity(c) so = Identity(i) }>",
    ),
    (
        "",
        "float[2000, 500] x",
        "y = Scan<num_scan_inputs = 1, body = b (float[500] e) => (float[500] s) { s = Add(e, e) }>(x)",
    ),
    (
        "int64 n = {20000}",
        "float[1] x",
        "e = SequenceEmpty() y = Loop(n, , e) <body = b (int64 i, bool c, seq(float) s) => (bool co, seq(float) so) { co = Identity(c) so = SequenceInsert(s, x) }>",
    ),
];

fn model(values: &str, inputs: &str, nodes: &str) -> Model {
    let values = values.replace("} ", "}, ");
    let values = if nodes.contains("Dropout") { "float r = {0.5}, bool t = {1}".to_owned() } else { values };
    let values = if values.is_empty() { values } else { format!("<{values}>") };
    let opsets = r#"["": 21, "ai.onnx.ml": 3, "com.microsoft": 1]"#;
    let text = format!("<ir_version: 10, opset_import: {opsets}> g ({inputs}) => (y) {values} {{ {nodes} }}");
    read_text(&text).unwrap_or_else(|how| panic!("{text}: {how}"))
}

/// Floats between 0 and 1, integers 0 or 1, short strings.
fn input(elem: ElemType, dims: &[usize], random: &mut Random) -> Tensor {
    let count: usize = dims.iter().product();
    let tensor = match elem {
        ElemType::STRING => Tensor::from_strings(dims, (0..count).map(|i| format!("s{}", i % 100))),
        ElemType::INT4 => Tensor::zeros(elem, dims),
        ElemType::FLOAT | ElemType::FLOAT16 => {
            Tensor::from_floats(elem, dims, (0..count).map(|_| random.uniform()))
        }
        _ => Tensor::from_floats(elem, dims, (0..count).map(|_| (random.bits() % 2) as f64)),
    };
    tensor.expect("memory")
}

/// An input for each of the graph, where all are tensors.
fn inputs(model: &Model) -> Option<Vec<Option<Value>>> {
    let body = model.main_body().expect("a graph");
    let graph = &body.graphs[body.root().expect("a graph")];
    let mut random = Random::new(1);
    let mut all = Vec::new();
    for port in &graph.inputs {
        let TypeKind::Tensor(tensor) = &model.types[port.ty?].kind else { return None };
        let size = |dim: &onnx_ir::Dim| match dim.value {
            DimValue::Value(n) => usize::try_from(n).ok(),
            DimValue::Unknown | DimValue::Param(_) => None,
        };
        let dims = tensor.shape.as_ref()?.iter().map(size).collect::<Option<Vec<usize>>>()?;
        all.push(Some(input(tensor.elem?, &dims, &mut random).into()));
    }
    Some(all)
}

/// How a run ended, what it says that it took, and what it took.
struct Outcome {
    is_done: bool,
    why: String,
    is_limit: bool,
    charged: usize,
    taken: usize,
}

/// Runs a model with inputs that are made up, in `most` bytes and with `fuel`.
fn run(model: &Model, most: usize, fuel: u64) -> Outcome {
    // Some of the loops have no condition, which runs and breaks a rule.
    let unchecked = CompileOptions { unchecked: true, ..CompileOptions::default() };
    let executable = match compile(model, registry_of(model), &unchecked) {
        Ok(executable) => executable,
        Err(found) => {
            let why = found.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("; ");
            return Outcome { is_done: false, why, is_limit: false, charged: 0, taken: 0 };
        }
    };
    let peak = AtomicUsize::new(0);
    let options = RunOptions {
        memory: Some(Memory::new(most)),
        peak: Some(&peak),
        threads: 1,
        fuel,
        ..RunOptions::default()
    };
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    // Inputs that do not fit are another matter.
    let Some(inputs) = options.within(|| inputs(model)) else {
        let why = "an input is not a tensor of known shape".to_owned();
        return Outcome { is_done: false, why, is_limit: false, charged: 0, taken: 0 };
    };
    let done = executable.run(inputs, &options);
    Outcome {
        taken: MEMORY.peak_usage().saturating_sub(before),
        charged: peak.load(Ordering::Relaxed),
        is_limit: done.as_ref().is_err_and(|finding| finding.code.id == code::RUN_LIMIT.id),
        why: done.as_ref().err().map_or_else(String::new, |finding| finding.message.clone()),
        is_done: done.is_ok(),
    }
}

#[test]
fn what_operators_take_is_what_they_are_charged() {
    let _alone = alone();
    let mut faults = Vec::new();
    for (values, given, nodes) in CASES {
        let model = model(values, given, nodes);
        let all = run(&model, usize::MAX, u64::MAX);
        let case = format!("{nodes} of {given}");
        if !all.is_done {
            faults.push(format!("{case}: {}", all.why));
            continue;
        }
        if all.taken > all.charged / 2 * 3 + BESIDE {
            faults.push(format!("{case}: takes {} and is charged {}", all.taken, all.charged));
        }
        let of_inputs = bytes_of_inputs(&model);
        let most = of_inputs + all.charged.saturating_sub(of_inputs) / 2;
        if all.charged.saturating_sub(of_inputs) < BESIDE / 4 {
            continue;
        }
        let half = run(&model, most, u64::MAX);
        if half.is_done || !half.is_limit || !half.why.contains("not enough memory") {
            faults.push(format!("{case}: with {most} of {}: {}", all.charged, half.why));
        }
        if half.taken > most / 2 * 3 + BESIDE {
            faults.push(format!("{case}: takes {} of {most}", half.taken));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The charge of the inputs alone.
fn bytes_of_inputs(model: &Model) -> usize {
    let bytes = |tensor: &Tensor| match tensor.string_slice() {
        // A short string takes the least that an allocator hands out.
        Ok(strings) => strings.len() * (size_of::<String>() + 32),
        Err(_) => tensor.bytes().len(),
    };
    inputs(model).iter().flatten().flatten().map(|value| 256 + bytes(value.tensor().expect("a tensor"))).sum()
}
