//! A run that is cancelled ends soon, whatever node it is in: kernels look at the flag in the middle of their work.

use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ir::{DimValue, ElemType, Model, Port, TypeKind};
use onnx_ops::opset::registry_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// When a run is cancelled after its begin.
const BEFORE: Duration = Duration::from_millis(30);
/// How long it may take then: 0.2 s are promised. Without optimization, everything takes some twenty times as long, and other tests
/// may run beside this one.
const AFTER: Duration = Duration::from_millis(if cfg!(debug_assertions) { 12_000 } else { 1_000 });

/// Graphs of one node that takes seconds, or half a minute without optimization.
const LONG: &[&str] = &[
    "g (float[4096,4096] a, float[4096,4096] b) => (float[4096,4096] y) { y = MatMul(a, b) }",
    "g (float[1,3000000] a, float[3000000,64] b) => (float[1,64] y) { y = MatMul(a, b) }",
    "g (double[2048,2048] a, double[2048,2048] b) => (double[2048,2048] y) { y = MatMul(a, b) }",
    "g (float16[4096,4096] a, float16[4096,4096] b) => (float16[4096,4096] y) { y = MatMul(a, b) }",
    "g (uint8[4096,4096] a, uint8[4096,4096] b) => (int32[4096,4096] y) { y = MatMulInteger(a, b) }",
    "g (float[4096,4096] a, float[4096,4096] b) => (float[4096,4096] y) { c = MatMul(a, b) y = Relu(c) }",
    "g (float[2,256,256,256] x, float[256,256,3,3] w) => (float[2,256,256,256] y) { y = Conv <pads = [1,1,1,1]> (x, w) }",
    "g (float[1,128,256,256] x, float[128,128,5,5] w) => (float[1,128,252,252] y) { y = Conv(x, w) }",
    "g (float[4,512,256,256] x, float[512,1,7,7] w) => (float[4,512,250,250] y) { y = Conv <group = 512> (x, w) }",
    "g (float[1,128,128,128] x, float[128,128,5,5] w) => (float[1,128,132,132] y) { y = ConvTranspose(x, w) }",
    "g (float[4,256,256,256] x) => (float[4,256,242,242] y) { y = AveragePool <kernel_shape = [15,15]> (x) }",
    "g (float[4,256,256,256] x) => (float[4,256,242,242] y) { y = MaxPool <kernel_shape = [15,15]> (x) }",
    "g (float[50000000] x) => (float[50000000] y) { a = Erf(x) b = Sin(a) c = Exp(b) d = Tan(c) y = Pow(d, a) }",
    "g (double[50000000] x) => (double[50000000] y) { y = Erf(x) }",
    "g (int64[50000000] x) => (int64[50000000] y) { a = Mul(x, x) b = Add(a, x) y = Mul(b, b) }",
    "g (float[20000,4000] x) => (float[20000,4000] y) { y = Softmax(x) }",
    "g (float[20000,4000] x) => (float[20000,1] y) { y = ReduceLogSumExp <keepdims = 1> (x, axes) axes = Constant <value_ints = [1]> () }",
    "g (float[20000,4000] x, float[4000] s) => (float[20000,4000] y) { y = LayerNormalization(x, s) }",
    "g (float[10000,10000] x) => (float[10000,10000] y) { y = Transpose(x) }",
    "g (float[2000000,60] x, int64[2000000] i) => (float[2000000,60] y) { y = Gather(x, i) }",
    "g (float[10000,10000] x) => (float[10000,10000] y) { y = CumSum(x, axis) axis = Constant <value_int = 1> () }",
    "g (float[2000,50000] x) => (float[2000,1000] y, int64[2000,1000] i) { k = Constant <value_ints = [1000]> () y, i = TopK(x, k) }",
    "g (float[100000000] x) => (int64[1,N] y) { y = NonZero(x) }",
    "g (int64[30000000] x) => (int64[N] y) { y = Unique(x) }",
    "g (float[512,16,1024] x, float[1,2048,1024] w, float[1,2048,512] r) => (float[512,1,16,512] y) { y = LSTM <hidden_size = 512> (x, w, r) }",
    "g (float[64,262147,1] x) => (float[64,262147,2] y) { axis = Constant <value_int = 1> () n = Constant <value_int = 262147> () y = DFT(x, n, axis) }",
    "g (float[4,64,512,512] x) => (float[4,64,1024,1024] y) { s = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () y = Resize <mode = \"cubic\"> (x, , s) }",
    "g (float[4,64,512,512] x, float[4,512,512,2] p) => (float[4,64,512,512] y) { y = GridSample <mode = \"cubic\"> (x, p) }",
    "g (float[2048,64,64] x) => (float[2048] y) { y = Det(x) }",
    "g (float[1,16,4096,64] q, float[1,16,4096,64] k, float[1,16,4096,64] v) => (float[1,16,4096,64] y) { y = Attention(q, k, v) }",
    "g () => (float[50000000] y) { y = RandomNormal <shape = [50000000], seed = 1.0> () }",
    "g (float[3000000] x) => (string[3000000] y) { y = Cast <to = 8> (x) }",
    "g (float[1] x) => (float[200000000] y) { n = Constant <value_ints = [200000000]> () e = Expand(x, n) y = Relu(e) }",
    "g (float[10000,10000] x) => (float[10000,10000] y) { y = Trilu(x) }",
    "g (float[20000,4000] x) => (uint8[20000,4000] y) { s = Constant <value_float = 0.5> () z = Constant <value = uint8 {3}> () y = QuantizeLinear(x, s, z) }",
    "g (float[5000,10000] x, int64[5000,10000] i) => (float[5000,10000] y) { y = ScatterElements(x, i, x) }",
    // Lists in no order, along one axis.
    "g () => (float[30000000] y, int64[30000000] i) { r = RandomUniform <shape = [30000000], seed = 1.0> () k = Constant <value_ints = [30000000]> () y, i = TopK(r, k) }",
    "g () => (float[N] y) { r = RandomUniform <shape = [30000000], seed = 1.0> () y = Unique(r) }",
    "g () => (float[1000,N] y) { r = RandomUniform <shape = [1000, 100000], seed = 1.0> () y = Unique <axis = 1> (r) }",
    "g () => (float[30000000] y) { r = RandomUniform <shape = [30000000], seed = 1.0> () i = Constant <value_int = 0> () y = CumSum(r, i) }",
    "g (float[100000000] x) => (float y) { a = Sin(x) y = ReduceLogSumExp <keepdims = 0> (a) }",
    "g (float[1,100000000] x) => (float[1,100000000] y) { a = Sin(x) y = Softmax(a) }",
    "g (float[100000000] x) => (int64[1] y) { y = ArgMax <axis = 0> (x) }",
    "g (float[1,50000000] x, float[50000000] s) => (float[1,50000000] y) { y = LayerNormalization(x, s) }",
    "g (float[1,4194304,1] x) => (float[1,4194304,2] y) { axis = Constant <value_int = 1> () y = DFT(x, , axis) }",
    "g (float[1,100000000] x) => (float[1,100000000] y) { y = Hardmax(x) }",
    "g (float[1,600000,4] b, float[1,1,600000] s) => (int64[N,3] y) { n = Constant <value_int = 600000> () t = Constant <value_float = 0.5> () y = NonMaxSuppression(b, s, n, t) }",
    "g (float[20,400,400] a, float[20,400,400] b) => (float[400,400,400] y) { y = Einsum <equation = \"bij,bik->ijk\"> (a, b) }",
];

/// Zeros of the declared type.
fn zeros(model: &Model, port: &Port) -> Value {
    let TypeKind::Tensor(ty) = &model.types[port.ty.unwrap()].kind else { panic!("not a tensor") };
    let size = |dim: &onnx_ir::Dim| match dim.value {
        DimValue::Value(n) => usize::try_from(n).unwrap(),
        DimValue::Param(_) | DimValue::Unknown => 2,
    };
    let dims: Vec<usize> = ty.shape.iter().flatten().map(size).collect();
    Tensor::zeros(ty.elem.unwrap_or(ElemType::FLOAT), &dims).unwrap().into()
}

/// How long a run takes that is cancelled after [`BEFORE`], or why it did not end by that.
fn cancelled(text: &str, options: &CompileOptions) -> Result<Duration, String> {
    let text = format!("<ir_version: 10, opset_import: [\"\": 23]>\n{text}");
    let parsed = onnx_text::read_model(&text);
    assert!(parsed.diagnostics.iter().all(|found| !found.is_error()), "{text}: {:?}", parsed.diagnostics);
    let model = parsed.value;
    let executable = compile(&model, registry_of(&model), options).map_err(|found| found[0].to_string())?;
    let inputs = executable.inputs().iter().map(|port| Some(zeros(executable.model(), port))).collect();
    let cancel = Arc::new(AtomicBool::new(false));
    let options = RunOptions { cancel: Some(Arc::clone(&cancel)), ..RunOptions::default() };
    let timer = thread::spawn(move || {
        thread::sleep(BEFORE);
        cancel.store(true, Ordering::Relaxed);
        Instant::now()
    });
    let done = executable.run(inputs, &options);
    let took = timer.join().unwrap().elapsed();
    match done {
        Err(finding) if finding.message.contains("cancelled") => Ok(took),
        Err(finding) => Err(finding.to_string()),
        Ok(_) => Err(format!("it is done, {took:?} after it was cancelled")),
    }
}

#[test]
fn a_cancelled_run_ends_soon_in_every_kind_of_kernel() {
    let mut late = Vec::new();
    for graph in LONG {
        let name = graph.split_once("=>").map_or("", |(_, rest)| rest);
        match cancelled(graph, &CompileOptions::default()) {
            Ok(took) if took <= AFTER => {}
            Ok(took) => late.push(format!("{took:?}: {name}")),
            Err(why) => late.push(format!("{why}: {name}")),
        }
    }
    assert!(late.is_empty(), "{}:\n{}", late.len(), late.join("\n"));
}
