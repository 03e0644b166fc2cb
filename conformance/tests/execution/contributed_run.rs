//! Operators that ONNX Runtime adds: what we compute is what it computes.
#![allow(clippy::print_stderr, reason = "counts, for who wants to see them")]

use conformance::convert::read_text;
use conformance::oracle::Oracle;
use conformance::trial::{Trial, judge};
use onnx_exec::{CompileOptions, RunOptions, Value, compile};
use onnx_ir::{Attr, AttrValue, Model, Node, OpsetImport};
use onnx_ops::opset::registry_of;
use serde_json::json;

/// Initializers without elements get some; and the node, whose domain is com.microsoft. They are held in an old operator set and a
/// newer one.
const CASES: &[(&str, &str)] = &[
    ("float[1,2,5,5] x, float[3,2,3,3] w, float[3] b", "y = FusedConv <activation = \"Relu\"> (x, w, b)"),
    (
        "float[1,2,5,5] x, float[3,2,3,3] w",
        "y = FusedConv <activation = \"Tanh\", pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)",
    ),
    (
        "float[1,4,5,5] x, float[4,2,3,3] w, float[4] b",
        "y = FusedConv <activation = \"LeakyRelu\", activation_params = [0.125], group = 2> (x, w, b)",
    ),
    (
        "float[1,2,5,5] x, float[3,2,3,3] w, float[3] b, float[1,3,3,3] z",
        "y = FusedConv <activation = \"Relu\"> (x, w, b, z)",
    ),
    (
        "float[1,2,5,5] x, float[3,2,3,3] w, float[3] b",
        "y = FusedConv <activation = \"Clip\", activation_params = [-0.5, 1.5]> (x, w, b)",
    ),
    (
        "float[1,2,5,5] x, float[3,2,3,3] w, float[3] b",
        "y = FusedConv <activation = \"HardSigmoid\", activation_params = [0.25, 0.5], dilations = [2, 2]> (x, w, b)",
    ),
    (
        "float[1,2,5] x, float[3,2,3] w, float[3] b",
        "y = FusedConv <activation = \"Sigmoid\", auto_pad = \"SAME_UPPER\"> (x, w, b)",
    ),
    ("float[2,3] a, float[3,4] b", "y = FusedGemm <activation = \"Relu\"> (a, b)"),
    (
        "float[3,2] a, float[4,3] b, float[4] c",
        "y = FusedGemm <activation = \"LeakyRelu\", activation_alpha = 0.25, transA = 1, transB = 1, alpha = 0.5, beta = 2.0> (a, b, c)",
    ),
    ("float[2,3] a, float[3,4] b, float[4] c", "y = FusedGemm <activation = \"Sigmoid\"> (a, b, c)"),
    ("uint8[1,5,5,2] x", "y = NhwcMaxPool <kernel_shape = [2, 2]> (x)"),
    ("int8[2,5,6,3] x", "y = NhwcMaxPool <kernel_shape = [3, 2], strides = [2, 1], pads = [1, 0, 1, 1]> (x)"),
    (
        "uint8[1,2,5,5] x, float s = {0.5}, uint8 z = {3}, float t = {0.25}, uint8 u = {2}",
        "y = QLinearAveragePool <kernel_shape = [2, 2]> (x, s, z, t, u)",
    ),
    (
        "int8[1,2,5,5] x, float s = {0.5}, int8 z = {3}, float t = {0.7}, int8 u = {-2}",
        "y = QLinearAveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1> (x, s, z, t, u)",
    ),
    (
        "uint8[1,5,5,2] x, float s = {0.5}, uint8 z = {3}, float t = {0.25}, uint8 u = {2}",
        "y = QLinearAveragePool <kernel_shape = [2, 2], channels_last = 1> (x, s, z, t, u)",
    ),
    (
        "uint8[2,3,4] x, float s = {0.125}, uint8 z = {7}, float t = {0.00390625}, uint8 u = {0}",
        "y = QLinearSoftmax <opset = 13, axis = -1> (x, s, z, t, u)",
    ),
    (
        "uint8[2,3,4] x, float s = {0.125}, uint8 z = {7}, float t = {0.00390625}, uint8 u = {0}",
        "y = QLinearSoftmax <opset = 11, axis = 1> (x, s, z, t, u)",
    ),
    ("float[2,3,8] q, float[2,5,8] k, float[2,5,8] v", "y = MultiHeadAttention <num_heads = 2> (q, k, v)"),
    (
        "float[2,3,8] q, float[2,5,8] k, float[2,5,8] v, float[24] b",
        "y = MultiHeadAttention <num_heads = 4, scale = 0.25> (q, k, v, b)",
    ),
    (
        "float[2,3,8] q, float[2,5,8] k, float[2,5,8] v, float[2,2,3,5] m",
        "y = MultiHeadAttention <num_heads = 2> (q, k, v, , , m)",
    ),
    (
        "float[2,3,8] q, float[2,5,8] k, float[2,5,8] v, int32[2,5] m = {1, 1, 1, 0, 0, 1, 1, 1, 1, 0}",
        "y = MultiHeadAttention <num_heads = 2> (q, k, v, , m)",
    ),
    (
        "float[2,3,8] q, float[2,5,8] k, float[2,5,8] v, int32[2] m = {3, 5}",
        "y = MultiHeadAttention <num_heads = 2> (q, k, v, , m)",
    ),
    (
        "float[2,4,8] q, float[2,4,8] k, float[2,4,8] v",
        "y = MultiHeadAttention <num_heads = 2, unidirectional = 1> (q, k, v)",
    ),
    (
        "float[2,3,8] q, float[2,3,8] k, float[2,3,8] v, float[2,2,4,4] p, float[2,2,4,4] r",
        "y, a, b = MultiHeadAttention <num_heads = 2, unidirectional = 1> (q, k, v, , , , p, r)",
    ),
    (
        "float[2,3,8] q, float[2,2,5,4] k, float[2,2,5,4] v",
        "y = MultiHeadAttention <num_heads = 2> (q, k, v)",
    ),
    (
        "uint8[1,3,4] x, uint8[4,12] w, float[12] b, float s = {0.05}, float t = {0.02}, int32[1,3] m = {1, 1, 0}, uint8 z = {9}, uint8 u = {8}",
        "y = QAttention <num_heads = 2> (x, w, b, s, t, m, z, u)",
    ),
    (
        "uint8[1,3,4] x, uint8[4,12] w, float[12] b, float[1] s = {0.05}, float[1] t = {0.02}, uint8[1] z = {9}, uint8[1] u = {8}",
        "y = QAttention <num_heads = 2, unidirectional = 1> (x, w, b, s, t, , z, u)",
    ),
    (
        "float[2,2,5,6] x, float[3,4] r = {0, 0, 1, 1, 0.25, 0.125, 0.75, 1.5, 0.5, 1, 0.25, -0.25}, int32[3] i = {0, 1, 1}, int32[2] s = {3, 4}",
        "y = CropAndResize <extrapolation_value = 0.5> (x, r, i, s)",
    ),
    (
        "float[2,2,5,6] x, float[2,4] r = {0, 0, 1, 1, 0.2, 0.1, 0.7, 1.5}, int32[2] i = {0, 1}, int32[2] s = {1, 3}",
        "y = CropAndResize <mode = \"nearest\"> (x, r, i, s)",
    ),
    (
        "float[3,2] a, float[2,4] b",
        "y = FusedGemm <activation = \"Selu\", activation_alpha = 1.5, activation_gamma = 0.5> (a, b)",
    ),
    ("int8[2,3] a, float s = {0.5}, int8 z = {3}, int8[3] b", "y = QLinearAdd (a, s, z, b, s, z, s)"),
    ("int8[2,3] a, float s = {0.5}, int8 z = {3}, int8[3] b", "y = QLinearMul (a, s, z, b, s, z, s)"),
    (
        "float[1,4,8] q, float[1,2,8] k, float[1,2,8] v",
        "y = MultiHeadAttention <num_heads = 2, unidirectional = 1> (q, k, v)",
    ),
    (
        "float[2,3,16] q, float[2,3,8] k, float[2,3,8] v, int32[2] l = {2, 2}, int32 t = {3}",
        "y, a, b = GroupQueryAttention <num_heads = 2, kv_num_heads = 1> (q, k, v, , , l, t)",
    ),
    (
        "float[1,1,64] q, float[1,1,5,16] p, float[1,1,5,16] r, int32[1] l = {3}, int32 t = {4}, float[9,8] c, float[9,8] s",
        "y, a, b = GroupQueryAttention <num_heads = 2, kv_num_heads = 1, do_rotary = 1, local_window_size = 2, softcap = 3.0> (q, , , p, r, l, t, c, s)",
    ),
    (
        "float[1,2,8] x, int64[1] p = {1}, float[4,2] c, float[4,2] s",
        "y = RotaryEmbedding <interleaved = 1, num_heads = 1, rotary_embedding_dim = 4> (x, p, c, s)",
    ),
    (
        "float[3,4] x, float[3,2] r, float[2,6,4] w, float[2,6] b, float[2,4,3] v",
        "y = MoE <k = 2, activation_type = \"swiglu\", swiglu_fusion = 1, swiglu_limit = 1.0, activation_alpha = 1.5, activation_beta = 0.5> (x, r, w, b, v)",
    ),
    (
        "float[3,4] x, float[3,2] r, uint8[2,6,2] w, float[2,6] s, uint8[2,4,3] v, float[2,4] t, uint8[2,3] z, uint8[2,2] u",
        "y = QMoE <k = 1, normalize_routing_weights = 1, activation_type = \"silu\"> (x, r, w, s, , v, t, , , , , z, u)",
    ),
    (
        "uint8[3,8] x, int64[2] i = {2, -1}, float[3,1] s",
        "y = GatherBlockQuantized <block_size = 16, gather_axis = 0, quantize_axis = 1, bits = 4> (x, i, s)",
    ),
    (
        "float[2,16] x, uint8[24] w, float[3] s",
        "y = MatMulBnb4 <K = 16, N = 3, block_size = 16, quant_type = 1> (x, w, s)",
    ),
    ("float[1,2,2] x = {2, 1, 1, 3}", "y = Inverse (x)"),
    ("float[2,3] a, float[4,3] b", "y = CDist <metric = \"euclidean\"> (a, b)"),
    ("int64[3] x", "y = MurmurHash3 <seed = 7> (x)"),
    ("int64[1,4] i = {1, 2, 0, 1}, float[1,3] s", "y = NGramRepeatBlock <ngram_size = 2> (i, s)"),
    ("float[4] x = {2, 1, 2, 0}", "y, i, c = Unique (x)"),
    ("float[2,5] x", "y = UnfoldTensor <dim = 1, size = 3, step = 2> (x)"),
    (
        "float[1,1,2,2] x, float[1,1,3,3] w, int64[4] p = {1, 0, 1, 0}",
        "y = ConvTransposeWithDynamicPads <strides = [2, 2]> (x, w, p)",
    ),
];

/// The operators of the cases, with their domain.
pub(crate) fn operators() -> impl Iterator<Item = String> {
    let op = |(_, node): &(&str, &str)| {
        let call = node.split(" = ").nth(1).and_then(|call| call.split(' ').next());
        format!("com.microsoft {}", call.expect("a node has an operator"))
    };
    CASES.iter().map(op)
}

/// A model of one node, whose outputs are those of the graph.
fn model(version: i64, values: &str, node: &str) -> Model {
    let (outputs, rest) = node.split_once(" = ").expect("a node has outputs");
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": {version}, \"com.microsoft\": 1]> g () => ({outputs}) <{}> {{ {outputs} = com.microsoft.{rest} }}",
        conformance::formulas::filled(values)
    );
    read_text(&text).unwrap_or_else(|how| panic!("{text}: {how}"))
}

/// The model with what we compute in place of its node.
fn with_results(model: &Model) -> Result<Model, String> {
    let executable = compile(model, registry_of(model), &CompileOptions::default())
        .map_err(|found| found.first().map(|d| d.message.clone()).unwrap_or_default())?;
    let results =
        executable.run(Vec::new(), &RunOptions::default()).map_err(|finding| finding.message.clone())?;
    let mut model = model.clone();
    let (op, attr) = (model.names.intern("Constant"), model.names.intern("value"));
    let body = &mut model.bodies[model.main.ok_or("no graph")?];
    let root = body.root().ok_or("no graph")?;
    body.graphs[root].nodes.clear();
    for (i, result) in results.iter().enumerate() {
        let Value::Tensor(tensor) = result else { return Err("no tensor".to_owned()) };
        let output = body.graphs[root].outputs[i].value;
        let tensor = body.tensors.push(tensor.to_stored().expect("there is room"));
        let constant = body.nodes.push(Node {
            op: Some(op),
            outputs: [output].into_iter().collect(),
            attrs: vec![Attr::new(attr, AttrValue::Tensor(tensor))],
            ..Node::default()
        });
        body.graphs[root].nodes.push(constant);
    }
    model.header.opset_imports = vec![OpsetImport { domain: None, version: Some(17) }];
    Ok(model)
}

#[test]
fn added_operators_are_as_in_onnx_runtime() {
    let Some(oracle) = Oracle::find("contributed operators") else { return };
    let (mut trials, mut failures) = (Vec::new(), Vec::new());
    let each = |(values, node)| [11, 17].map(|version| (version, values, node));
    let cases: Vec<_> = CASES.iter().copied().flat_map(each).collect();
    for &(version, values, node) in &cases {
        let model = model(version, values, node);
        match with_results(&model) {
            Ok(ours) => {
                let mut trial = Trial::new(node, &model, None);
                trial.add("as we compute it", &ours);
                trials.push(trial);
            }
            Err(why) => failures.push(format!("{node}: {why}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let judged =
        judge(&oracle, "contributed_run", &trials, &json!({ "rtol": 1e-4, "engine": "onnxruntime" }));
    eprintln!("added operators: {judged} of {} nodes as in ONNX Runtime", cases.len());
    assert_eq!(judged, cases.len());
}
