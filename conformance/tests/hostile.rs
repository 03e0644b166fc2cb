//! Models with excessive or impossible demands: a run ends with a finding at the node, in bounded time and memory.
//!
//! [`RunOptions::max_memory`] limits memory, [`RunOptions::fuel`] limits time; a test detects an unlimited run by a thread that
//! does not return.

use conformance::convert::read_text;
use onnx_exec::{CompileOptions, RunOptions, Value, compile};
use onnx_ir::diag::{Diagnostic, Entity, Place};
use onnx_ops::opset::registry_of;
use peak_alloc::PeakAlloc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The memory limit of a run.
const MAX_BYTES: usize = 64 << 20;

/// The memory limit of the process: kernels have lists besides their tensors.
const MAX_PROCESS_MB: f32 = 1024.0;

/// A thousand nodes, or what takes as long.
const FUEL: u64 = 1000;

/// Longer is for ever. Nothing takes a second on a machine that is idle, with optimisations.
const LONGEST: Duration = Duration::from_secs(60);

/// Tests measure the memory of the process, so that there is one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Outputs or findings.
type Outcome = Result<Vec<Value>, Vec<Diagnostic>>;

fn options() -> RunOptions<'static> {
    RunOptions { max_memory: MAX_BYTES, fuel: FUEL, ..RunOptions::default() }
}

fn model(values: &str, nodes: &str) -> String {
    let values = if values.is_empty() { String::new() } else { format!("<{values}>") };
    let opsets = r#"["": 21, "ai.onnx.ml": 3, "com.microsoft": 1]"#;
    let opsets = if nodes.contains("Upsample") { r#"["": 9]"# } else { opsets };
    format!("<ir_version: 10, opset_import: {opsets}> g () => (y) {values} {{ {nodes} }}")
}

/// Runs a model that has no inputs.
fn outcome(text: &str, options: &RunOptions<'_>) -> Outcome {
    let model = read_text(text).unwrap_or_else(|how| panic!("{text}: {how}"));
    // Kernels must refuse by themselves, without the checks of a model.
    let unchecked = CompileOptions { unchecked: true, ..CompileOptions::default() };
    let executable = compile(&model, registry_of(&model), &unchecked)?;
    executable.run(Vec::new(), options).map_err(|finding| vec![*finding])
}

/// The failures of models, each run in a thread of its own.
fn faults(cases: &[(&str, &str)], is_wrong: fn(&Outcome) -> Option<String>) -> Vec<String> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut faults = Vec::new();
    for (values, nodes) in cases {
        let text = model(values, nodes);
        let (send, receive) = mpsc::channel();
        MEMORY.reset_peak_usage();
        std::thread::spawn(move || _ = send.send(is_wrong(&outcome(&text, &options()))));
        match receive.recv_timeout(LONGEST) {
            Ok(None) => {}
            Ok(Some(wrong)) => faults.push(format!("{nodes} with {values}: {wrong}")),
            Err(mpsc::RecvTimeoutError::Timeout) => faults.push(format!("{nodes} with {values}: no end")),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                faults.push(format!("{nodes} with {values}: panics"))
            }
        }
        let taken = MEMORY.peak_usage_as_mb();
        if taken > MAX_PROCESS_MB {
            faults.push(format!("{nodes} with {values}: takes {taken} MB"));
        }
    }
    faults
}

/// A finding about a node, and nothing else.
fn not_refused(outcome: &Outcome) -> Option<String> {
    match outcome {
        Ok(_) => Some("it has a result".to_owned()),
        Err(found) => found.iter().find_map(not_at_a_node),
    }
}

/// Results, or a finding about a node.
fn not_sound(outcome: &Outcome) -> Option<String> {
    outcome.as_ref().err()?.iter().find_map(not_at_a_node)
}

fn not_at_a_node(found: &Diagnostic) -> Option<String> {
    let is_at_node = matches!(found.primary.place, Place::Entity(Entity::Node(..)));
    (!is_at_node).then(|| format!("it does not name a node: {}", found.message))
}

/// A trillion elements, or as many steps.
const TOO_MUCH: &[(&str, &str)] = &[
    ("int64[1] s = {1099511627776}", "y = ConstantOfShape(s)"),
    ("int64[3] s = {1048576, 1048576, 1048576}", "y = ConstantOfShape(s)"),
    ("int64[2] s = {1048576, 1048576}, float[1] x = {1}", "y = Expand(x, s)"),
    ("int64[1] r = {1099511627776}, float[1] x = {1}", "y = Tile(x, r)"),
    ("int64 a = {0}, int64 b = {1099511627776}, int64 d = {1}", "y = Range(a, b, d)"),
    ("float a = {0}, float b = {1}, float d = {1e-30}", "y = Range(a, b, d)"),
    ("double a = {0}, double b = {1e300}, double d = {1e-300}", "y = Range(a, b, d)"),
    ("float[1] x = {1}, int64[2] p = {0, 1099511627776}", "y = Pad(x, p)"),
    ("float[2] x = {1, 2}, int64[2] p = {1099511627776, 0}", "y = Pad <mode = \"wrap\"> (x, p)"),
    ("float[2] x = {1, 2}, int64[2] p = {1099511627776, 0}", "y = Pad <mode = \"edge\"> (x, p)"),
    ("float[1,1,2] x = {1, 2}, int64[3] s = {1, 1, 1099511627776}", "y = Resize(x, , , s)"),
    ("float[1,1,2] x = {1, 2}, float[3] s = {1, 1, 1e12}", "y = Resize <mode = \"linear\"> (x, , s)"),
    ("float[1,1,2] x = {1, 2}, float[3] s = {1, 1, 1e12}", "y = Resize <mode = \"cubic\"> (x, , s)"),
    ("float[1,1,2] x = {1, 2}, float[3] s = {1, 1, 1e12}", "y = Upsample(x, s)"),
    ("int64[1] i = {1}, int64 d = {1099511627776}, float[2] v = {0, 1}", "y = OneHot(i, d, v)"),
    ("", "y = RandomNormal <shape = [1048576, 1048576]> ()"),
    ("", "y = RandomUniform <shape = [1099511627776]> ()"),
    ("float[1,2] x = {0.5, 0.5}", "y = Multinomial <sample_size = 1099511627776> (x)"),
    ("int64 n = {1099511627776}", "y = HannWindow(n)"),
    (
        "int64[1] s = {1048576}",
        "a = ConstantOfShape(s) c = Constant <value_ints = [1, 1048576]> () b = Reshape(a, c) d = Constant <value_ints = [1048576, 1]> () e = Reshape(a, d) y = MatMul(e, b)",
    ),
    (
        "float[4,1] x = {1, 2, 3, 4}, float[1,8] w = {1, 2, 3, 4, 5, 6, 7, 8}, int64[2] s = {4, 20000000}, int64[2] t = {20000000, 8}",
        "a = Expand(x, s) b = Expand(w, t) y = MatMul(a, b)",
    ),
    (
        "float[1,1,4,4] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, float[1,1,1,1] w = {1}, int64[4] s = {1, 1, 1, 20000000}",
        "a = Expand(w, s) y = Conv <pads = [0, 10000000, 0, 10000000]> (x, a)",
    ),
    (
        "int64[1] s = {1048576}",
        "a = ConstantOfShape(s) c = Constant <value_ints = [1, 1048576]> () b = Reshape(a, c) d = Constant <value_ints = [1048576, 1]> () e = Reshape(a, d) y = Add(e, b)",
    ),
    ("int64[1] s = {1048576}", "a = ConstantOfShape(s) y = Einsum <equation = \"i,j->ij\"> (a, a)"),
    ("int64[1] s = {1048576}", "a = ConstantOfShape(s) y = Einsum <equation = \"i,j,k->\"> (a, a, a)"),
    (
        "int64[1] s = {1048576}",
        "a = ConstantOfShape(s) c = Constant <value_int = 0> () b = Unsqueeze(a, c) d = Constant <value_ints = [1]> () e = Unsqueeze(a, d) f = Equal(e, b) y = Not(f)",
    ),
    ("float[1,1,1] x = {1}, float[1,1,1] w = {1}", "y = Conv <pads = [1099511627776, 0]> (x, w)"),
    (
        "float[1,1,1,1] x = {1}, float[1,1,1,1] w = {1}",
        "y = Conv <pads = [1048576, 1048576, 1048576, 1048576]> (x, w)",
    ),
    (
        "float[1,1,2] x = {1, 1}, float[1,1,2] w = {1, 1}",
        "y = ConvTranspose <strides = [1099511627776]> (x, w)",
    ),
    (
        "float[1,1,2] x = {1, 1}, float[1,1,2] w = {1, 1}",
        "y = ConvTranspose <dilations = [1099511627776]> (x, w)",
    ),
    (
        "float[1,1,2] x = {1, 1}, float[1,1,2] w = {1, 1}",
        "y = ConvTranspose <output_shape = [1099511627776]> (x, w)",
    ),
    (
        "float[1,1,2] x = {1, 1}",
        "y = AveragePool <kernel_shape = [1099511627776], pads = [549755813888, 549755813888]> (x)",
    ),
    (
        "float[1,1,2,2] x = {1, 1, 1, 1}",
        "y = AveragePool <kernel_shape = [1048576, 1048576], pads = [1048575, 1048575, 1048575, 1048575]> (x)",
    ),
    (
        "float[1,1,2,2] x = {1, 1, 1, 1}",
        "y = MaxPool <kernel_shape = [2147483647, 2147483647], pads = [2147483646, 2147483646, 0, 0]> (x)",
    ),
    (
        "float[1,1,2,2] x = {1, 1, 1, 1}",
        "y = LpPool <kernel_shape = [2147483647, 2147483647], pads = [2147483646, 2147483646, 0, 0]> (x)",
    ),
    ("float[1,1,4] x = {1, 1, 1, 1}", "y = MaxRoiPool <pooled_shape = [1048576, 1048576]> (x, x)"),
    (
        "float[1,1,2,2] x = {1, 1, 1, 1}, float[1,4] r = {0, 0, 1, 1}, int64[1] b = {0}",
        "y = RoiAlign <output_height = 1048576, output_width = 1048576> (x, r, b)",
    ),
    (
        "float[1,1,2,2] x = {1, 1, 1, 1}, float[1,4] r = {0, 0, 1, 1}, int64[1] b = {0}",
        "y = RoiAlign <sampling_ratio = 2147483647> (x, r, b)",
    ),
    (
        "float[1,1,2,2] x = {1, 1, 1, 1}, float[1,4] r = {0, 0, 1e30, 1e30}, int64[1] b = {0}",
        "y = RoiAlign(x, r, b)",
    ),
    ("float[1,2,3] t = {1, 0, 0, 0, 1, 0}, int64[4] s = {1, 1, 1048576, 1048576}", "y = AffineGrid(t, s)"),
    (
        "float[1,4,1] x = {1, 1, 1, 1}, int64[2] i = {1048576, 1048576}, int64[2] b = {2, 2}",
        "y = Col2Im(x, i, b)",
    ),
    ("float[1,1,1] x = {1}, int64[1] i = {0}, int64 n = {1099511627776}", "y = DFT(x, n)"),
    (
        "float[1,2,2] x = {1, 1, 1, 1}, int64[1,1,1,1] i = {0}",
        "y = MaxUnpool <kernel_shape = [1099511627776]> (x, i)",
    ),
    (
        "int64 a = {1048576}, int64 b = {1048576}, int64 r = {16000}, float f = {0}, float g = {8000}",
        "y = MelWeightMatrix(a, b, r, f, g)",
    ),
    ("float[1,4] x = {1, 2, 3, 4}", "y = EyeLike(x) z = DepthToSpace <blocksize = 2> (x)"),
    ("string[2] x = {\"a\", \"b\"}, int64[1] r = {1099511627776}", "y = Tile(x, r)"),
    ("string[1] x = {\"a\"}, int64[2] s = {1048576, 1048576}", "y = Expand(x, s)"),
    (
        "string[1] x = {\"a\"}, int64[1] s = {1048576}",
        "a = Expand(x, s) c = Constant <value_ints = [1048576, 1]> () b = Reshape(a, c) y = StringConcat(a, b)",
    ),
    // A hundred strings of a megabyte, each with each.
    (
        "string[1] x = {\"aaaaaaaaaaaaaaaa\"}, int64 n = {12}, int64[2] s = {100, 1}, int64[1] t = {100}",
        "z = Loop (n, , x) <body = b (int64 i, bool c, string[1] a) => (bool c, string[1] d) { d = StringConcat(a, a) }> e = Expand(z, s) f = Expand(z, t) g = StringConcat(e, f) y = StringConcat(g, g)",
    ),
    (
        "string[1] x = {\"aaaaaaaaaaaaaaaa\"}, int64 n = {100}",
        "y = Loop (n, , x) <body = b (int64 i, bool c, string[1] a) => (bool c, string[1] d) { d = StringConcat(a, a) }>",
    ),
    (
        "float[1] x = {1}, int64 n = {100}",
        "y = Loop (n, , x) <body = b (int64 i, bool c, float[N] a) => (bool c, float[M] d) { d = Concat <axis = 0> (a, a) }>",
    ),
    // For ever.
    (
        "float[1] x = {1}",
        "y = Loop ( , , x) <body = b (int64 i, bool c, float[1] a) => (bool c, float[1] a) { }>",
    ),
    (
        "float[1] x = {1}",
        "y = Loop ( , , x) <body = b (int64 i, bool c, float[1] a) => (bool c, float[1] d) { d = Neg(a) }>",
    ),
    (
        "float[1] x = {1}",
        "y = Loop ( , , x) <body = b (int64 i, bool c, float[1] a) => (bool c, float[1] d) { d = Loop ( , , a) <body = e (int64 i1, bool c1, float[1] a1) => (bool c1, float[1] a1) { }> }>",
    ),
    (
        "int64[1] s = {1048576}",
        "a = ConstantOfShape(s) y = Scan <num_scan_inputs = 1, body = b (float q) => (float r) { r = Neg(q) }> (a)",
    ),
    (
        "int64[1] s = {1048576}",
        "a = ConstantOfShape(s) q = SplitToSequence(a) y = SequenceMap <body = b (float[1] q1) => (float[1] r) { r = Neg(q1) }> (q)",
    ),
    (
        "float[1] x = {1}, int64 n = {100000}",
        "e = SequenceEmpty() y = Loop (n, , e) <body = b (int64 i, bool c, seq(float[1]) a) => (bool c, seq(float[1]) d) { d = SequenceInsert(a, x) }>",
    ),
    // More than the memory has, of small parts.
    ("int64[1] s = {4194304}", "a = ConstantOfShape(s) y = SplitToSequence(a)"),
    // Recurrences of a million steps with a million numbers.
    (
        "int64[3] s = {4096, 1, 1}, int64[3] w = {1, 4096, 1}, int64[3] r = {1, 4096, 4096}",
        "x = ConstantOfShape(s) a = ConstantOfShape(w) b = ConstantOfShape(r) y = RNN <hidden_size = 4096> (x, a, b)",
    ),
    (
        "int64[3] s = {65536, 1, 1}, int64[3] w = {1, 1024, 1}, int64[3] r = {1, 1024, 256}",
        "x = ConstantOfShape(s) a = ConstantOfShape(w) b = ConstantOfShape(r) y, h, c = LSTM <hidden_size = 256> (x, a, b)",
    ),
    (
        "int64[3] s = {65536, 1, 1}, int64[3] w = {1, 768, 1}, int64[3] r = {1, 768, 256}",
        "x = ConstantOfShape(s) a = ConstantOfShape(w) b = ConstantOfShape(r) y, h = GRU <hidden_size = 256> (x, a, b)",
    ),
    ("", "a = RandomNormal <shape = [2048, 2048]> () y = Det(a)"),
    (
        "int64[3] s = {1, 65536, 4}, int64[3] t = {1, 1, 65536}",
        "a = ConstantOfShape(s) c = ConstantOfShape(t) n = Constant <value_int = 65536> () y = NonMaxSuppression(a, c, n)",
    ),
];

#[test]
fn what_asks_for_too_much_is_refused() {
    let faults = faults(TOO_MUCH, not_refused);
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), TOO_MUCH.len(), faults.join("\n"));
}

/// Invalid models.
const SENSELESS: &[(&str, &str)] = &[
    ("int64[1] s = {-1}", "y = ConstantOfShape(s)"),
    ("int64[1] s = {-9223372036854775808}, float[1] x = {1}", "y = Expand(x, s)"),
    ("int64[1] r = {-1}, float[1] x = {1}", "y = Tile(x, r)"),
    ("int64 a = {0}, int64 b = {1}, int64 d = {0}", "y = Range(a, b, d)"),
    ("float[2] x = {1, 2}, int64 i = {2}", "y = Gather(x, i)"),
    ("float[2] x = {1, 2}, int64 i = {-9223372036854775808}", "y = Gather(x, i)"),
    ("float[2] x = {1, 2}, int64[1] i = {9223372036854775807}", "y = GatherElements(x, i)"),
    ("float[2] x = {1, 2}, int64[1,1] i = {-3}", "y = GatherND(x, i)"),
    ("float[2] x = {1, 2}, int64[1,2] i = {0, 0}", "y = GatherND(x, i)"),
    ("float[2] x = {1, 2}, int64[1] i = {2}, float[1] u = {1}", "y = ScatterElements(x, i, u)"),
    ("float[2] x = {1, 2}, int64[1,1] i = {-3}, float[1] u = {1}", "y = ScatterND(x, i, u)"),
    ("float[2] x = {1, 2}, int64[1,1] i = {0}, float[2] u = {1, 1}", "y = ScatterND(x, i, u)"),
    (
        "float[2] x = {1, 2}, int64[1] s = {0}, int64[1] e = {2}, int64[1] a = {0}, int64[1] d = {0}",
        "y = Slice(x, s, e, a, d)",
    ),
    ("float[2] x = {1, 2}, int64[1] s = {0}, int64[1] e = {2}, int64[1] a = {1}", "y = Slice(x, s, e, a)"),
    ("float[2] x = {1, 2}, int64[1] s = {3}", "y = Reshape(x, s)"),
    ("float[2] x = {1, 2}, int64[2] s = {-1, -1}", "y = Reshape(x, s)"),
    ("float[2] x = {1, 2}, int64[2] s = {-1, 3}", "y = Reshape(x, s)"),
    ("float[2] x = {1, 2}, int64[2] s = {-2, -1}", "y = Reshape(x, s)"),
    ("float[2] x = {1, 2}, int64[3] s = {4294967296, 4294967296, 2}", "y = Reshape(x, s)"),
    ("float[2] x = {1, 2}, int64[2] s = {2, 0}", "y = Reshape(x, s)"),
    ("float[2] x = {1, 2}", "y = Transpose <perm = [1, 0]> (x)"),
    ("float[2,2] x = {1, 2, 3, 4}", "y = Transpose <perm = [0, 0]> (x)"),
    ("float[2] x = {1, 2}, int64[2] n = {1, 2}", "y = Split(x, n)"),
    ("float[2] x = {1, 2}, int64[2] n = {-1, 3}", "y, z = Split(x, n)"),
    ("float[2] x = {1, 2}, int64 n = {0}", "y = SplitToSequence(x, n)"),
    ("float[2] x = {1, 2}, int64[1] n = {0}", "y = SplitToSequence(x, n)"),
    ("float[2] x = {1, 2}, int64[2] n = {-1, 3}", "y = SplitToSequence(x, n)"),
    ("float[2] x = {1, 2}, int64[1] n = {3}", "y, i = TopK(x, n)"),
    ("float[2] x = {1, 2}, int64[1] n = {-1}", "y, i = TopK(x, n)"),
    ("float[1,1,2] x = {1, 2}", "y = MaxPool <kernel_shape = [2], strides = [0]> (x)"),
    ("float[1,1,2] x = {1, 2}", "y = MaxPool <kernel_shape = [0]> (x)"),
    ("float[1,1,2] x = {1, 2}", "y = MaxPool <kernel_shape = [-1]> (x)"),
    ("float[1,1,2] x = {1, 2}", "y = MaxPool <kernel_shape = [2], dilations = [0]> (x)"),
    ("float[1,1,2] x = {1, 2}", "y = AveragePool <kernel_shape = [2], strides = [-1]> (x)"),
    ("float[1,1,2] x = {1, 2}, float[1,1,2] w = {1, 2}", "y = Conv <strides = [0]> (x, w)"),
    ("float[1,1,2] x = {1, 2}, float[1,1,2] w = {1, 2}", "y = Conv <dilations = [1099511627776]> (x, w)"),
    ("float[1,1,2] x = {1, 2}, float[1,1,2] w = {1, 2}", "y = Conv <group = 0> (x, w)"),
    ("float[1,1,2] x = {1, 2}, float[1,1,2] w = {1, 2}", "y = Conv <group = 3> (x, w)"),
    ("float[1,1,2] x = {1, 2}, float[1,2,2] w = {1, 2, 3, 4}", "y = Conv(x, w)"),
    ("float[1,1,2] x = {1, 2}, float[1,1,2] w = {1, 2}", "y = ConvTranspose <strides = [0]> (x, w)"),
    (
        "float[1,1,2] x = {1, 2}, float[1,1,2] w = {1, 2}",
        "y = ConvTranspose <pads = [9223372036854775807, 9223372036854775807]> (x, w)",
    ),
    ("float[1,1,2] x = {1, 2}, float[3] s = {1, 1, -1}", "y = Resize(x, , s)"),
    ("float[1,1,2] x = {1, 2}, float[3] s = {1, 1, 0}", "y = Resize(x, , s)"),
    ("float[2,3] x = {1, 2, 3, 4, 5, 6}, float[2,3] z = {1, 2, 3, 4, 5, 6}", "y = MatMul(x, z)"),
    ("float[2] x = {1, 2}, float[3] z = {1, 2, 3}", "y = Add(x, z)"),
    ("float[2] x = {1, 2}", "y = Softmax <axis = 1> (x)"),
    (
        "float[2] x = {1, 2}",
        "y = ReduceMax <keepdims = 0, noop_with_empty_axes = 0> (x, a) a = Constant <value_ints = [1]> ()",
    ),
    ("float[0] x", "y = ReduceMax(x)"),
    ("float[0] x", "y = ArgMax(x)"),
    ("float[1,1,0] x", "y = MaxPool <kernel_shape = [1]> (x)"),
    ("float[2] x = {1, 2}", "y = Einsum <equation = \"ij->i\"> (x)"),
    ("float[2] x = {1, 2}", "y = Einsum <equation = \"i->j\"> (x)"),
    ("string[1] x = {\"a\"}", "y = RegexFullMatch <pattern = \"(\"> (x)"),
    ("string[1] x = {\"a\"}", "y = RegexFullMatch <pattern = \"((a{1000}){1000}){1000}\"> (x)"),
    ("string[1] x = {\"one\"}", "y = Cast <to = 7> (x)"),
    ("float[1,2] x = {1, 2}", "e = SequenceEmpty() y = ConcatFromSequence <axis = 0> (e)"),
    ("int64 i = {0}", "e = SequenceEmpty() y = SequenceAt(e, i)"),
    ("", "e = SequenceEmpty() y = SequenceErase(e)"),
    ("", "o = Optional <type = float[1]> () y = OptionalGetElement(o)"),
    (
        "bool[2] c = {1, 0}",
        "y = If (c) <then_branch = t () => (z) { z = Constant <value_int = 1> () }, else_branch = e () => (w) { w = Constant <value_int = 1> () }>",
    ),
];

#[test]
fn what_makes_no_sense_is_refused() {
    let faults = faults(SENSELESS, not_refused);
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), SENSELESS.len(), faults.join("\n"));
}

/// A run must never end the program: integer limits, empty tensors, NaN.
#[test]
fn edges_have_results_or_findings() {
    let mut cases: Vec<(String, String)> = Vec::new();
    for (elem, least) in [
        ("int8", "-128"),
        ("int16", "-32768"),
        ("int32", "-2147483648"),
        ("int64", "-9223372036854775808"),
        ("uint8", "0"),
        ("uint16", "0"),
        ("uint32", "0"),
        ("uint64", "18446744073709551615"),
    ] {
        let minus = if elem.starts_with('u') { "255" } else { "-1" };
        let values = format!("{elem}[4] a = {{{least}, 1, 0, {least}}}, {elem}[4] b = {{{minus}, 0, 0, 64}}");
        for op in [
            "Div",
            "Mod",
            "Mod <fmod = 1>",
            "Pow",
            "Mul",
            "Sub",
            "BitShift <direction = \"LEFT\">",
            "BitShift <direction = \"RIGHT\">",
            "Max",
        ] {
            let (name, attributes) = op.split_once(' ').unwrap_or((op, ""));
            cases.push((values.clone(), format!("y = {name} {attributes} (a, b)")));
        }
        for op in ["Abs", "Neg", "Sign", "ReduceProd", "ReduceSum", "ReduceSumSquare", "ReduceL2", "CumSum"] {
            let inputs = if op == "CumSum" { "a, z" } else { "a" };
            cases.push((format!("{values}, int64 z = {{0}}"), format!("y = {op} ({inputs})")));
        }
    }
    for op in [
        "ReduceSum",
        "ReduceMean",
        "ReduceMax",
        "ReduceMin",
        "ReduceProd",
        "ReduceL1",
        "ReduceL2",
        "ReduceLogSum",
        "ReduceLogSumExp",
        "ReduceSumSquare",
        "ArgMax",
        "ArgMin",
        "Softmax",
        "LogSoftmax",
        "Hardmax",
        "MaxPool",
        "AveragePool",
        "LpPool",
        "GlobalMaxPool",
        "GlobalAveragePool",
        "GlobalLpPool",
        "TopK",
        "CumSum",
        "Unique",
        "NonZero",
        "Sum",
        "Mean",
        "LayerNormalization",
        "InstanceNormalization",
        "Relu",
        "Transpose",
        "Flatten",
        "Det",
        "DepthToSpace",
        "LRN",
        "MeanVarianceNormalization",
        "LpNormalization",
        "Shrink",
        "Trilu",
        "IsNaN",
        "Compress",
        "Identity",
        "Shape",
        "Size",
    ] {
        for dims in ["0", "2,0", "0,2", "1,0,2", "1,2,0", "0,1,2", "1,1,0,2", "0,0,0,0"] {
            let (attributes, inputs) = match op {
                "MaxPool" | "AveragePool" | "LpPool" => {
                    let axes = dims.split(',').count().saturating_sub(2).max(1);
                    (format!("<kernel_shape = [{}]>", vec!["1"; axes].join(", ")), "x")
                }
                "DepthToSpace" => ("<blocksize = 1>".to_owned(), "x"),
                "LRN" => ("<size = 3>".to_owned(), "x"),
                "TopK" => (String::new(), "x, k"),
                "CumSum" => (String::new(), "x, z"),
                "Compress" => (String::new(), "x, c"),
                "LayerNormalization" => (String::new(), "x, f"),
                "InstanceNormalization" => (String::new(), "x, f, f"),
                _ => (String::new(), "x"),
            };
            let values = format!(
                "float[{dims}] x, int64[1] k = {{0}}, int64 z = {{0}}, bool[1] c = {{1}}, float[1] f = {{1}}"
            );
            cases.push((values, format!("y = {op} {attributes} ({inputs})")));
        }
    }
    let nan = "float[4] x = {nan, 1, -inf, nan}, int64[1] k = {3}";
    cases.push((nan.to_owned(), "y, i = TopK(x, k)".to_owned()));
    cases.push((nan.to_owned(), "y, i = TopK <largest = 0, sorted = 0> (x, k)".to_owned()));
    cases.push((nan.to_owned(), "y = Unique(x)".to_owned()));
    cases.push((nan.to_owned(), "y = ArgMax(x)".to_owned()));
    cases.push((
        "float[1,2,4] b = {nan, 0, 1, inf, 0, -inf, nan, 1}, float[1,1,2] s = {nan, inf}, int64[1] n = {9223372036854775807}".to_owned(),
        "y = NonMaxSuppression(b, s, n)".to_owned(),
    ));
    cases.push((
        "float[1,1,2,2] x = {1, 2, 3, 4}, float[1,1,2,2] g = {nan, inf, -inf, 1e30}".to_owned(),
        "y = GridSample(x, g)".to_owned(),
    ));
    cases.push((
        "float[1,1,2,2] x = {1, 2, 3, 4}, float[1,4] r = {nan, nan, inf, 1}, int64[1] b = {0}".to_owned(),
        "y = RoiAlign(x, r, b)".to_owned(),
    ));
    cases.push((
        "float[2] x = {1, 2}, int64[1] s = {-9223372036854775808}, int64[1] e = {9223372036854775807}, int64[1] a = {0}, int64[1] d = {9223372036854775807}".to_owned(),
        "y = Slice(x, s, e, a, d)".to_owned(),
    ));
    cases.push((
        "float[2] x = {1, 2}, int64[1] s = {9223372036854775807}, int64[1] e = {-9223372036854775808}, int64[1] a = {0}, int64[1] d = {-9223372036854775808}".to_owned(),
        "y = Slice(x, s, e, a, d)".to_owned(),
    ));
    let cases: Vec<(&str, &str)> = cases.iter().map(|(values, nodes)| (&values[..], &nodes[..])).collect();
    let faults = faults(&cases, not_sound);
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

/// Cancelling does not wait for a node that takes hours.
#[test]
fn a_long_node_can_be_cancelled() {
    for nodes in [
        "x = ConstantOfShape(s) a = ConstantOfShape(w) b = ConstantOfShape(r) y, h, c = LSTM <hidden_size = 256> (x, a, b)",
        "y = Loop (n, , n) <body = b (int64 i, bool c, int64 a) => (bool c, int64 a) { }>",
    ] {
        let values = "int64[3] s = {65536, 1, 1}, int64[3] w = {1, 1024, 1}, int64[3] r = {1, 1024, 256}, int64 n = {9223372036854775807}";
        let text = model(values, nodes);
        let cancel = Arc::new(AtomicBool::new(false));
        let (send, receive) = mpsc::channel();
        let end = Arc::clone(&cancel);
        std::thread::spawn(move || {
            let options = RunOptions { cancel: Some(end), fuel: u64::MAX, ..RunOptions::default() };
            send.send(not_refused(&outcome(&text, &options)))
        });
        std::thread::sleep(Duration::from_millis(300));
        cancel.store(true, Ordering::Relaxed);
        let ended = receive.recv_timeout(LONGEST).expect("it ends");
        assert_eq!(ended, None, "{nodes}");
    }
}
