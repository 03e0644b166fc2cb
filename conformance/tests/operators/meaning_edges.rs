//! Compares the results of formulas with the reference evaluator where ONNX's own tests have no cases: casts between all types,
//! edge cases of arithmetic, old versions of operators.
#![allow(clippy::print_stderr, reason = "counts, for who wants to see them")]

use conformance::convert::read_text;
use conformance::formulas::{only_node, trial};
use conformance::oracle::Oracle;
use conformance::trial::{Trial, judge};
use onnx_ir::{ElemType, Initializer, Model, ValueDef};
use onnx_ops::meaning::{Cast, Dense, Number};
use serde_json::json;

/// A model with one input as an initializer.
fn with_input(text: &str, input: &Dense) -> Model {
    let mut model = read_text(text).expect("the text is sound");
    let main = model.main.expect("it has a graph");
    let body = &mut model.bodies[main];
    let root = body.root().expect("it has a graph");
    let port = body.graphs[root].inputs.pop().expect("it has an input");
    let value = port.value.expect("which is a value");
    let mut tensor = input.tensor().expect("it is small");
    tensor.name = port.name;
    let tensor = body.tensors.push(tensor);
    body.values[value].def = ValueDef::Initializer(root);
    body.graphs[root].initializers.push(Initializer { value, tensor });
    model
}

/// Numbers at the edges of types.
const EDGES: &[f64] = &[
    0.0,
    -0.0,
    0.1,
    0.25,
    0.3,
    0.5,
    0.75,
    1.0,
    1.25,
    1.5,
    1.75,
    2.5,
    3.5,
    5.0,
    6.0,
    6.5,
    7.0,
    7.25,
    7.75,
    8.0,
    9.0,
    15.5,
    16.0,
    28.0,
    30.0,
    100.0,
    127.0,
    128.0,
    129.0,
    200.0,
    240.0,
    247.0,
    248.0,
    255.0,
    256.0,
    257.0,
    448.0,
    463.0,
    464.0,
    465.0,
    480.0,
    2047.0,
    2049.0,
    32767.0,
    32768.0,
    49152.0,
    57344.0,
    61439.0,
    61440.0,
    65504.0,
    65519.0,
    65520.0,
    65535.0,
    65536.0,
    1e6,
    16_777_217.0,
    2_147_483_647.0,
    2_147_483_648.0,
    9.2e18,
    1e-3,
    1e-5,
    6e-8,
    3e-8,
    1e-10,
    1e-38,
    1e-40,
    1e-45,
    1.2e-38,
    3e38,
    f64::INFINITY,
    f64::NAN,
];

fn numbers() -> impl Iterator<Item = ElemType> {
    ElemType::ALL.iter().copied().filter(|e| Number::from_bits(*e, 0).is_some())
}

/// Whether the reference does the same each time. To unsigned integers of 32 bits, numpy converts what they have not in another
/// way if there are many of them; and what they have not becomes something else if it is a float of 8 bits.
fn is_settled(from: ElemType, to: ElemType, x: f64) -> bool {
    let is_float = |e| matches!(Number::from_bits(e, 0), Some(Number::Float(_)));
    let is_great = x.is_nan() || x.abs() >= 2f64.powi(31);
    let is_wild = is_great && (to == ElemType::UINT32 || from.bits() == Some(8));
    !is_float(from) || is_float(to) || !is_wild
}

/// Whether the reference has the number that the specification says: of powers of two it has too small and too great ones.
fn is_as_specified(to: ElemType, x: Number) -> bool {
    let x = match x {
        Number::Float(x) => x,
        Number::Int(n) => n as f64,
    };
    to != ElemType::FLOAT8E8M0 || (2f64.powi(-126)..=2f64.powi(127)).contains(&x)
}

#[test]
fn casts_between_all_types_are_as_in_the_reference() {
    let Some(oracle) = Oracle::find("casts between all types") else { return };
    let mut trials = Vec::new();
    for from in numbers() {
        for to in numbers() {
            let all = EDGES.iter().flat_map(|x| [*x, -*x]).filter(|x| is_settled(from, to, *x));
            let cast = Cast { saturates: true, ..Cast::from(from) };
            let casts = all.filter_map(|x| cast.of(Number::Float(x)));
            let numbers: Vec<Number> = casts.filter(|x| is_as_specified(to, *x)).collect();
            let input = Dense { elem: from, dims: vec![numbers.len()], numbers };
            for saturate in [1, 0] {
                let (name, n) = (format!("{from:?} to {to:?}, saturate {saturate}"), input.dims[0]);
                let (to, elem) = (to.0, from.name().unwrap_or("?"));
                let text = format!(
                    r#"<ir_version: 14, opset_import: ["": 28]>
                    g ({elem}[{n}] x) => (y) {{ y = Cast <to = {to}, saturate = {saturate}> (x) }}"#
                );
                trials.push(trial(&name, &with_input(&text, &input)).expect("casts are defined"));
            }
        }
    }
    let judged = judge(&oracle, "casts", &trials, &json!({}));
    eprintln!("casts: {judged} of {} to the bit", trials.len());
    assert!(judged > 1000, "{judged}");
}

/// A version, initializers, and a node that gives `y`.
type Case = (i64, &'static str, &'static str);

/// Arithmetic where results are infinite, no numbers, out of range or divided by 0. Elements of `float16` are their bits.
const ARITHMETIC: &[Case] = &[
    (14, "int8[4] a = {127, -128, 100, 1}, int8[4] b = {1, -1, 2, 0}", "y = Add(a, b)"),
    (14, "int8[4] a = {127, -128, 100, 1}, int8[4] b = {1, -1, 2, 0}", "y = Mul(a, b)"),
    (14, "int8[5] a = {127, -128, 100, 1, -7}, int8[5] b = {2, -1, 0, 3, 2}", "y = Div(a, b)"),
    (14, "uint8[3] a = {1, 0, 255}, uint8[3] b = {2, 1, 0}", "y = Sub(a, b)"),
    (14, "uint8[3] a = {1, 0, 255}, uint8[3] b = {2, 1, 0}", "y = Div(a, b)"),
    (14, "int32[2] a = {-2147483648, 5}, int32[2] b = {-1, 0}", "y = Div(a, b)"),
    (14, "int64[2] a = {-9223372036854775808, 5}, int64[2] b = {-1, 0}", "y = Div(a, b)"),
    (
        13,
        "int32[7] a = {7, -7, 7, -7, 6, 5, -2147483648}, int32[7] b = {3, 3, -3, -3, -3, 0, -1}",
        "y = Mod(a, b)",
    ),
    (
        13,
        "int32[6] a = {7, -7, 7, -7, 6, 5}, int32[6] b = {3, 3, -3, -3, -3, 0}",
        "y = Mod <fmod = 1> (a, b)",
    ),
    (
        13,
        "float[8] a = {7, -7, 7, -7, 6, -0.0, inf, 1}, float[8] b = {3, 3, -3, -3, -3, -3, 2, inf}",
        "y = Mod <fmod = 1> (a, b)",
    ),
    (14, "float[6] a = {1, -1, 0, inf, nan, -0.0}, float[6] b = {0, 0, 0, inf, 1, 5}", "y = Div(a, b)"),
    (13, "float[5] a = {nan, 1, -0.0, 0.0, inf}, float[5] b = {1, nan, 0.0, -0.0, nan}", "y = Max(a, b)"),
    (13, "float[5] a = {nan, 1, -0.0, 0.0, inf}, float[5] b = {1, nan, 0.0, -0.0, nan}", "y = Min(a, b)"),
    (13, "float16[3] a = {31571, 15361, 1}, float16[3] b = {31571, 15361, 14336}", "y = Add(a, b)"),
    (13, "float16[3] a = {31571, 15361, 1}, float16[3] b = {31571, 15361, 14336}", "y = Mul(a, b)"),
    (13, "float[5] x = {nan, -0.0, 0.0, -inf, 3}", "y = Sign(x)"),
    (14, "float[5] x = {nan, -1, 0.0, -inf, 3}", "y = Relu(x)"),
    (13, "int8[3] x = {-128, 5, -5}", "y = Abs(x)"),
    (13, "int8[3] x = {-128, 5, -5}", "y = Neg(x)"),
    (13, "float[7] x = {0.5, 1.5, 2.5, -0.5, -1.5, nan, inf}", "y = Round(x)"),
    (13, "float[4] x = {-1, 0, inf, nan}", "y = Sqrt(x)"),
    (13, "float[4] x = {-1, 0, inf, nan}", "y = Log(x)"),
    (13, "float[5] x = {-1000, 1000, 0, nan, -90}", "y = Sigmoid(x)"),
    (1, "float[4] x = {-1000, 1000, 0, nan}", "y = Softplus(x)"),
    (13, "float[4] x = {-1000, 1000, -inf, nan}", "y = Exp(x)"),
    (13, "float[2,3] x = {1000, 1001, 999, -inf, 0, -inf}", "y = Softmax(x)"),
    (13, "float[2,3] x = {1000, 1001, 999, 3, 0, nan}", "y = LogSoftmax(x)"),
    (15, "int32[3] a = {2, -3, 7}, int32[3] b = {31, 3, 0}", "y = Pow(a, b)"),
    (15, "int64[3] a = {2, -3, 7}, int32[3] b = {63, 3, 0}", "y = Pow(a, b)"),
    (15, "float[4] a = {2, -8, 0, nan}, int64[4] b = {-2, 3, -1, 0}", "y = Pow(a, b)"),
    (15, "int32[3] a = {2, -8, 9}, float[3] b = {2.5, 3, 0.5}", "y = Pow(a, b)"),
    (15, "float[3] a = {2, -8, 9}, double[3] b = {2.5, 3, 0.5}", "y = Pow(a, b)"),
    (
        28,
        "int8[4] a = {-128, 127, -1, 5}, int8[4] b = {1, 9, 100, 7}",
        "y = BitShift <direction = \"RIGHT\"> (a, b)",
    ),
    (
        28,
        "int8[4] a = {-128, 127, -1, 5}, int8[4] b = {1, 9, 100, 7}",
        "y = BitShift <direction = \"LEFT\"> (a, b)",
    ),
    (13, "float[4] x = {nan, -5, 5, inf}, float low = {-1}, float high = {1}", "y = Clip(x, low, high)"),
    (13, "float[4] x = {nan, -5, 5, inf}, float low = {2}, float high = {1}", "y = Clip(x, low, high)"),
    (20, "float[5] x = {nan, -inf, inf, 0, 1}", "y = IsInf <detect_negative = 0> (x)"),
    (13, "float[5] x = {3, nan, 9, nan, 1}", "y = ArgMax(x)"),
    (13, "float[5] x = {3, 1, 9, 1, 9}", "y = ArgMin <select_last_index = 1> (x)"),
    (13, "float[5] x = {3, 1, 9, 1, 9}", "y = ArgMax <select_last_index = 1> (x)"),
    (20, "float[2,2] x = {nan, 1, -inf, 0}", "y = ReduceMax(x)"),
    (20, "int8[3] x = {100, 100, 100}", "y = ReduceMax(x)"),
    (18, "int32[3] x = {2147483647, 1, 5}", "y = ReduceSum(x)"),
    (18, "int32[3] x = {65536, 65536, 5}", "y = ReduceProd(x)"),
    (18, "int32[3] x = {-7, 1, 2}", "y = ReduceMean(x)"),
    (18, "int32[3] x = {-3, 4, 1}", "y = ReduceL2(x)"),
    (18, "int32[2] x = {-46341, 46341}", "y = ReduceL2(x)"),
    (18, "float[2,0] x, int64[1] axes = {1}", "y = ReduceSum(x, axes)"),
    (18, "float[2,0] x, int64[1] axes = {1}", "y = ReduceProd(x, axes)"),
    (20, "float[2,0] x, int64[1] axes = {1}", "y = ReduceMax(x, axes)"),
    (20, "int32[2,0] x, int64[1] axes = {1}", "y = ReduceMin(x, axes)"),
    (18, "float[2,0] x, int64[1] axes = {1}", "y = ReduceLogSumExp(x, axes)"),
    (18, "float[2,0] x, int64[1] axes = {1}", "y = ReduceLogSum(x, axes)"),
    (18, "float[4] x = {inf, 1, 2, 3}", "y = ReduceLogSumExp(x)"),
    (18, "float[4] x = {-inf, 1, 2, 3}", "y = ReduceLogSumExp(x)"),
    (18, "float[2] x = {3, -4}, int64[0] axes", "y = ReduceL1 <noop_with_empty_axes = 1> (x, axes)"),
    (13, "float start = {1}, float limit = {2}, float delta = {0.3}", "y = Range(start, limit, delta)"),
    (13, "int64 start = {5}, int64 limit = {-5}, int64 delta = {-3}", "y = Range(start, limit, delta)"),
    (
        19,
        "float[6] x = {-1e9, -0.5, 0.5, 1.5, 2.5, 300}, float s = {1}, uint8 z = {10}",
        "y = QuantizeLinear(x, s, z)",
    ),
    (
        19,
        "float16[4] x = {54848, 47104, 14336, 23728}, float16 s = {11878}, int8 z = {3}",
        "y = QuantizeLinear(x, s, z)",
    ),
    (
        21,
        "float[2,5] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, float[2,3] s = {1, 2, 4, 0.5, 0.25, 3}, int8[2,3] z = {1, 2, 3, 4, 5, 6}",
        "y = QuantizeLinear <axis = 1, block_size = 2> (x, s, z)",
    ),
    (21, "int32[3] x = {-2147483648, 16777217, 5}, float s = {0.5}", "y = DequantizeLinear(x, s)"),
];

/// Versions of operators that nothing tests any more.
const OLD: &[Case] = &[
    (
        6,
        "float[2,3,4] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24}, float[3,4] b = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}",
        "y = Add <broadcast = 1> (x, b)",
    ),
    (1, "float[2,3] x = {1, 2, 3, 4, 5, 6}", "y = Reshape <shape = [3, -1]> (x)"),
    (1, "float[4,2] x = {1, 2, 3, 4, 5, 6, 7, 8}", "y = Slice <starts = [1], ends = [-1], axes = [0]> (x)"),
    (2, "float[2,2] x = {1, 2, 3, 4}", "y = Pad <pads = [0, 1, 1, 0], value = 7.5> (x)"),
    (2, "float[2,3] x = {1, 2, 3, 4, 5, 6}", "y = Pad <pads = [0, 2, 1, 1], mode = \"reflect\"> (x)"),
    (2, "float[2,3] x = {1, 2, 3, 4, 5, 6}", "y = Pad <pads = [0, 2, 1, 1], mode = \"edge\"> (x)"),
    (6, "float[3] x = {-1, 0.5, 9}", "y = Clip <min = 0.0, max = 2.0> (x)"),
    (6, "float[3] x = {-inf, 0.5, inf}", "y = Clip(x)"),
    (11, "float[2,2,3] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}", "y = Flatten <axis = 2> (x)"),
    (7, "float[3] x = {-1, 0.5, 9}", "y = Dropout(x)"),
    (11, "float[2,3] x = {1, 2, 3, 4, 5, 6}", "y = ReduceSum <axes = [-1], keepdims = 0> (x)"),
    (11, "float[2,3] x = {1, 2, 3, 4, 5, 6}", "y = ReduceMean <axes = [0]> (x)"),
    (11, "float[2,1,3] x = {1, 2, 3, 4, 5, 6}", "y = Squeeze <axes = [1]> (x)"),
    (11, "float[2,3] x = {1, 2, 3, 4, 5, 6}", "y = Unsqueeze <axes = [0, -1]> (x)"),
    (9, "float[1,1,2,2] x = {1, 2, 3, 4}, float[4] s = {1, 1, 2, 3}", "y = Upsample(x, s)"),
    (
        9,
        "float[2,3] a = {1, 2, 3, 4, 5, 6}, float[3,2] b = {1, 2, 3, 4, 5, 6}, float[2] c = {1, 2}",
        "y = Gemm <alpha = 0.5, beta = 2.0> (a, b, c)",
    ),
    (
        6,
        "float[2,3] a = {1, 2, 3, 4, 5, 6}, float[2,3] b = {1, 2, 3, 4, 5, 6}, float[2] c = {1, 2}",
        "y = Gemm <transB = 1, broadcast = 1> (a, b, c)",
    ),
    (
        15,
        "float[1,2,2] x = {1, 2, 3, 4}, float[2] s = {1, 2}, float[2] b = {3, 4}, float[2] m = {1, 2}, float[2] v = {4, 9}",
        "y = BatchNormalization(x, s, b, m, v)",
    ),
    (
        14,
        "float[2,2,2] x = {1, 2, 3, 4, 5, 6, 7, 9}, float[2] s = {1, 2}, float[2] b = {3, 4}, float[2] m = {1, 2}, float[2] v = {4, 9}",
        "y, p, q = BatchNormalization <training_mode = 1> (x, s, b, m, v)",
    ),
    (7, "float[2] x = {1, 2}, float[2] s = {-1, 2}", "y = PRelu(x, s)"),
    (10, "float[1,1,4] x = {1, 3, 2, 4}", "y, i = MaxPool <kernel_shape = [2], dilations = [2]> (x)"),
    (13, "float[4,3] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, int64[2] p = {1, 3}", "y, z = Split(x, p)"),
    (18, "float[5,2] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}", "y, z = Split <num_outputs = 2> (x)"),
    (
        13,
        "float[3,3] x = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64[1] s = {9}, int64[1] e = {-10}, int64[1] a = {1}, int64[1] d = {-2}",
        "y = Slice(x, s, e, a, d)",
    ),
    (18, "float[3] x = {1, 2, 3}, int64[2] p = {5, 4}", "y = Pad <mode = \"reflect\"> (x, p)"),
    (19, "float[3] x = {1, 2, 3}, int64[2] p = {5, 4}", "y = Pad <mode = \"wrap\"> (x, p)"),
    (
        12,
        "float[2,3] a = {1, 2, 3, 4, 5, 6}, float[3] b = {1, 2, 3}",
        "y = Einsum <equation = \"ij, j\"> (a, b)",
    ),
    (12, "float[2,2,2] a = {1, 2, 3, 4, 5, 6, 7, 8}", "y = Einsum <equation = \"...ii->...\"> (a)"),
    (
        12,
        "float[2,2,2] a = {1, 2, 3, 4, 5, 6, 7, 8}, float[2,2] b = {1, 2, 3, 4}",
        "y = Einsum <equation = \"...ij,jk->ik...\"> (a, b)",
    ),
    (
        13,
        "float[2,3] x = {1, 2, 3, 4, 5, 6}, int64[2,2] i = {-1, 0, 1, -3}",
        "y = GatherElements <axis = 1> (x, i)",
    ),
    (13, "float[2,3] a = {1, 2, 3, 4, 5, 6}, float[3] b = {1, 2, 3}", "y = MatMul(a, b)"),
    (13, "float[2] a = {1, 2}, float[3,2,2] b = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}", "y = MatMul(a, b)"),
    (13, "float[2,2] x = {1, nan, 3, 4}, int64[2] t = {3, 2}", "y = Tile(x, t)"),
    (15, "float[2,3,4] x", "y = Shape <start = -2, end = 5> (x)"),
    (11, "float[3] x = {-1, 0, 2}, int64 d = {4}, float[2] v = {5, 6}", "y = OneHot(x, d, v)"),
    (
        11,
        "float[1,2,4,4] x, float[4,1,3,3] w, float[4] b = {1, 2, 3, 4}",
        "y = Conv <group = 2, pads = [1, 0, 2, 1], strides = [2, 1]> (x, w, b)",
    ),
    (
        11,
        "float[1,2,5] x, float[2,2,3] w",
        "y = Conv <auto_pad = \"SAME_LOWER\", strides = [2], dilations = [2]> (x, w)",
    ),
    (
        11,
        "float[1,2,3,3] x, float[2,1,2,2] w",
        "y = ConvTranspose <strides = [2, 3], pads = [1, 0, 0, 1]> (x, w)",
    ),
    (
        19,
        "float[1,1,6] x = {1, 2, 3, 4, 5, 6}",
        "y = AveragePool <kernel_shape = [3], strides = [2], pads = [1, 1], ceil_mode = 1, count_include_pad = 1> (x)",
    ),
    (
        19,
        "float[1,1,6] x = {1, 2, 3, 4, 5, 6}",
        "y = AveragePool <kernel_shape = [3], strides = [2], pads = [1, 1], ceil_mode = 1> (x)",
    ),
    (18, "float[1,1,4] x = {1, -2, 3, 4}", "y = LpPool <kernel_shape = [2], p = 3> (x)"),
];

/// Features.
const FEATURES: &[Case] = &[
    (13, "float[2,3] x", "y = ai.onnx.ml.Scaler <offset = [1.0, 0.5, -1.0], scale = [2.0, 0.5, 3.0]> (x)"),
    (13, "float[2,3] x", "y = ai.onnx.ml.Scaler <offset = [1.0], scale = [2.0]> (x)"),
    (13, "int64[2,3] x", "y = ai.onnx.ml.Binarizer <threshold = 3.5> (x)"),
    (
        13,
        "float[2,2] x = {nan, 1, 2, nan}",
        "y = ai.onnx.ml.Imputer <imputed_value_floats = [5.0, 6.0], replaced_value_float = nan> (x)",
    ),
    (
        13,
        "int64[2,2] x = {7, 1, 2, 7}",
        "y = ai.onnx.ml.Imputer <imputed_value_int64s = [5], replaced_value_int64 = 7> (x)",
    ),
    (13, "float[2,3] x", "y = ai.onnx.ml.Normalizer <norm = \"MAX\"> (x)"),
    (13, "float[2,3] x", "y = ai.onnx.ml.Normalizer <norm = \"L1\"> (x)"),
    (13, "float[2,3] x = {0, 0, 0, 3, 4, 0}", "y = ai.onnx.ml.Normalizer <norm = \"L2\"> (x)"),
    (13, "float[2,4] x, int64[1,3] i = {3, 0, 0}", "y = ai.onnx.ml.ArrayFeatureExtractor(x, i)"),
    (13, "float[4] x, int64[2] i = {3, 1}", "y = ai.onnx.ml.ArrayFeatureExtractor(x, i)"),
];

/// Cases for ONNX Runtime: the reference evaluator lacks the version, or contradicts the documentation.
const RUNTIME: &[Case] = &[
    (11, "float[2,2,3] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}", "y = Softmax(x)"),
    (11, "float[2,2,3] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}", "y = Softmax <axis = 0> (x)"),
    (11, "float[2,2,3] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}", "y = LogSoftmax <axis = 2> (x)"),
    (11, "float[2,2,3] x = {1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1}", "y = Hardmax(x)"),
    (
        9,
        "float[1,2,2] x = {1, 2, 3, 4}, float[2] s = {1, 2}, float[2] b = {3, 4}, float[2] m = {1, 2}, float[2] v = {4, 9}",
        "y = BatchNormalization(x, s, b, m, v)",
    ),
    (7, "float[2,3,2] x, float[3,1] s = {-1, 2, 0.5}", "y = PRelu(x, s)"),
    (13, "float[2,5,3,3] x", "y = LRN <size = 3, alpha = 0.5, beta = 0.6, bias = 1.5> (x)"),
    (13, "float[1,7,2,1] x", "y = LRN <size = 5, alpha = 0.5> (x)"),
    (
        11,
        "float[1,4,3,3] x, float[4,3,2,2] w, float[6] b = {1, 2, 3, 4, 5, 6}",
        "y = ConvTranspose <group = 2, strides = [2, 1]> (x, w, b)",
    ),
    (
        11,
        "float[1,4,3,3] x, float[4,1,2,2] w",
        "y = ConvTranspose <group = 4, dilations = [2, 1], pads = [1, 0, 0, 1]> (x, w)",
    ),
    (
        11,
        "float[1,1,3,3] x, float[1,1,3,3] w",
        "y = ConvTranspose <strides = [2, 2], auto_pad = \"SAME_UPPER\"> (x, w)",
    ),
    (
        11,
        "float[1,1,3,3] x, float[1,1,3,3] w",
        "y = ConvTranspose <strides = [2, 3], auto_pad = \"SAME_LOWER\"> (x, w)",
    ),
    (
        11,
        "float[1,1,3,3] x, float[1,1,3,3] w",
        "y = ConvTranspose <strides = [2, 2], output_shape = [6, 6], auto_pad = \"SAME_UPPER\"> (x, w)",
    ),
    (
        11,
        "float[1,1,3,3] x, float[1,1,3,3] w",
        "y = ConvTranspose <strides = [2, 2], output_padding = [1, 0], pads = [1, 1, 1, 1]> (x, w)",
    ),
    (
        11,
        "float[1,6,5] x, float[6,2,3] w",
        "y = Conv <group = 3, auto_pad = \"SAME_UPPER\", strides = [2]> (x, w)",
    ),
    (11, "float[1,6,5] x, float[6,1,3] w", "y = Conv <group = 6, pads = [2, 0]> (x, w)"),
    (11, "float[1,2,3,3,3] x, float[2,2,2,2,2] w", "y = Conv <pads = [0, 1, 0, 1, 0, 0]> (x, w)"),
    (
        22,
        "float[1,2,5,4] x",
        "y, i = MaxPool <kernel_shape = [3, 2], strides = [2, 2], pads = [1, 0, 1, 1], ceil_mode = 1> (x)",
    ),
    (
        12,
        "float[1,2,5,4] x",
        "y, i = MaxPool <kernel_shape = [2, 2], strides = [2, 1], storage_order = 1, dilations = [2, 1]> (x)",
    ),
    (
        12,
        "float[1,2,5,4] x",
        "y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], auto_pad = \"SAME_LOWER\"> (x)",
    ),
    (12, "int8[1,1,4] x = {-128, 5, -3, 127}", "y = MaxPool <kernel_shape = [3], pads = [1, 1]> (x)"),
    (
        22,
        "float[1,2,5,4] x",
        "y = AveragePool <kernel_shape = [3, 2], strides = [2, 2], pads = [1, 0, 1, 1], ceil_mode = 1> (x)",
    ),
    (
        11,
        "float[1,2,5,4] x",
        "y = AveragePool <kernel_shape = [3, 3], auto_pad = \"SAME_UPPER\", count_include_pad = 1> (x)",
    ),
    (11, "float[1,2,5,4] x", "y = LpPool <kernel_shape = [3, 2], pads = [1, 0, 1, 1], p = 1> (x)"),
    (
        12,
        "float[1,2,5,4] x",
        "y, i = MaxPool <kernel_shape = [3, 2], strides = [2, 3], pads = [1, 0, 1, 1], ceil_mode = 1> (x)",
    ),
    (
        11,
        "float[1,2,5,4] x",
        "y = AveragePool <kernel_shape = [1, 2], strides = [2, 3], pads = [0, 0, 0, 1], ceil_mode = 1> (x)",
    ),
    (2, "float[1,2,5,4] x", "y = GlobalLpPool <p = 3> (x)"),
    (1, "float[2,3] x", "y = LpNormalization <p = 1, axis = 0> (x)"),
    (13, "float[4,3] x, int64[4] p = {-1, 1, -1, 0}", "y = Pad(x, p)"),
    (18, "float[4,3] x, int64[2] p = {2, 1}, float c = {9}, int64[1] a = {-1}", "y = Pad(x, p, c, a)"),
    (
        10,
        "uint8[2,3] a = {1, 2, 3, 4, 5, 6}, int8[3,2] b = {1, -2, 3, -4, 5, 6}, uint8 p = {3}, int8[2] q = {1, -2}",
        "y = MatMulInteger(a, b, p, q)",
    ),
    (
        10,
        "uint8[1,1,3,3] x = {1, 2, 3, 4, 5, 6, 7, 8, 9}, uint8[2,1,2,2] w = {1, 2, 3, 4, 5, 6, 7, 8}, uint8 p = {3}",
        "y = ConvInteger <pads = [1, 0, 0, 1]> (x, w, p)",
    ),
    (
        10,
        "uint8[1,1,3,3] x = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float s = {0.5}, uint8 p = {3}, int8[2,1,2,2] w = {1, 2, -3, 4, 5, -6, 7, 8}, float[2] t = {0.25, 0.5}, int8[2] q = {0, 0}, float u = {0.31}, uint8 r = {9}, int32[2] b = {5, -7}",
        "y = QLinearConv(x, s, p, w, t, q, u, r, b)",
    ),
    (
        10,
        "uint8[2,2] a = {1, 2, 3, 4}, float s = {0.5}, uint8 p = {3}, uint8[2,2] b = {5, 6, 7, 8}, float t = {0.25}, uint8 q = {1}, float u = {0.3}, uint8 r = {9}",
        "y = QLinearMatMul(a, s, p, b, t, q, u, r)",
    ),
    (13, "float[2,3] x = {1, 2, 3, 4, 5, 6}, int64[1,2] i = {-1, 0}", "y = GatherElements <axis = 1> (x, i)"),
    (12, "float[2,3,2] x, int64[2,1,1] i = {-1, 0}", "y = GatherND <batch_dims = 1> (x, i)"),
    (13, "float[3] x = {0.5, -0.5, 1e30}, float s = {0.001}, int8 z = {-5}", "y = QuantizeLinear(x, s, z)"),
    (13, "float[2,3] x, float[3] s = {0.1, 0.2, 0.4}, uint8[3] z = {1, 2, 3}", "y = QuantizeLinear(x, s, z)"),
    (
        13,
        "int8[2,3] x = {1, -2, 3, 4, 5, 6}, float[2] s = {0.1, 0.2}, int8[2] z = {1, 2}",
        "y = DequantizeLinear <axis = -2> (x, s, z)",
    ),
    (17, "float[2,3,2] x, float[3,2] s, float[3,2] b", "y, m, d = LayerNormalization <axis = 1> (x, s, b)"),
    (21, "float[2,6,2] x, float[6] s, float[6] b", "y = GroupNormalization <num_groups = 3> (x, s, b)"),
    (18, "float[2,6,2] x, float[3] s, float[3] b", "y = GroupNormalization <num_groups = 3> (x, s, b)"),
    (10, "float[3,2,2] x, int64[2] l = {3, 1}", "y = ReverseSequence <batch_axis = 1, time_axis = 0> (x, l)"),
    (11, "float[1,8,1,2] x", "y = DepthToSpace <blocksize = 2, mode = \"CRD\"> (x)"),
    (13, "float[1,2,2,4] x", "y = SpaceToDepth <blocksize = 2> (x)"),
    (9, "float[3,4] x", "y = EyeLike <k = -1> (x)"),
    (12, "float[2,3] a, float[3,2] b, float[2] c", "y = Einsum <equation = \"ij,jk,k->i\"> (a, b, c)"),
];

/// The cases that the reference evaluator can run have to be as many.
fn judged(name: &str, cases: &[Case], options: &serde_json::Value, unfit: usize) {
    let Some(oracle) = Oracle::find(name) else { return };
    let trials: Vec<Trial> = cases
        .iter()
        .map(|c| trial(&format!("{c:?}"), &only_node(c.0, c.1, c.2)).unwrap_or_else(|how| panic!("{how}")))
        .collect();
    let judged = judge(&oracle, name, &trials, options);
    eprintln!("{name}: {judged} of {}", trials.len());
    assert!(judged + unfit >= trials.len(), "{judged} of {}", trials.len());
}

#[test]
fn edges_of_arithmetic_are_as_in_the_reference() {
    judged("arithmetic", ARITHMETIC, &json!({ "rtol": 1e-5 }), 0);
}

#[test]
fn old_versions_are_as_in_the_reference() {
    // The reference has no first version of `Reshape`.
    judged("old_versions", OLD, &json!({ "rtol": 1e-5 }), 1);
}

#[test]
fn features_are_as_in_the_reference() {
    judged("features", FEATURES, &json!({ "rtol": 1e-5 }), 0);
}

#[test]
fn what_the_reference_has_not_is_as_in_onnxruntime() {
    judged("runtime", RUNTIME, &json!({ "rtol": 1e-5, "engine": "onnxruntime" }), 0);
}
