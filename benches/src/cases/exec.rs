//! Models of one pattern each, run on one thread, beside ONNX Runtime. The weights are inputs: neither prepares them.

use super::{bytes_of, model_of};
use crate::clock::{Sample, time};
use crate::pair::{Bench, Measured, Row, alternate};
use anyhow::{Result, ensure};
use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ops::opset::registry_of;

pub(super) fn matmul(bench: &mut Bench) -> Result<Row> {
    let graph = "(float[1024,1024] a, float[1024,1024] b) => (float[1024,1024] y) { y = MatMul(a, b) }";
    run(bench, "matmul", graph)
}

pub(super) fn gemv(bench: &mut Bench) -> Result<Row> {
    run(bench, "gemv", "(float[1,4096] a, float[4096,4096] b) => (float[1,4096] y) { y = MatMul(a, b) }")
}

pub(super) fn conv3x3(bench: &mut Bench) -> Result<Row> {
    let graph = "(float[1,64,56,56] x, float[64,64,3,3] w, float[64] b) => (float[1,64,56,56] y)
        { y = Conv <pads = [1, 1, 1, 1]> (x, w, b) }";
    run(bench, "conv3x3", graph)
}

pub(super) fn conv1x1(bench: &mut Bench) -> Result<Row> {
    let graph = "(float[1,256,56,56] x, float[64,256,1,1] w, float[64] b) => (float[1,64,56,56] y)
        { y = Conv(x, w, b) }";
    run(bench, "conv1x1", graph)
}

pub(super) fn depthwise(bench: &mut Bench) -> Result<Row> {
    let graph = "(float[1,128,56,56] x, float[128,1,3,3] w, float[128] b) => (float[1,128,56,56] y)
        { y = Conv <group = 128, pads = [1, 1, 1, 1]> (x, w, b) }";
    run(bench, "depthwise", graph)
}

pub(super) fn softmax(bench: &mut Bench) -> Result<Row> {
    run(bench, "softmax", "(float[4096,1024] x) => (float[4096,1024] y) { y = Softmax(x) }")
}

pub(super) fn functions(bench: &mut Bench) -> Result<Row> {
    let graph = "(float[1024,1024] x) => (float[1024,1024] y)
        { a = Erf(x)\n b = Exp(a)\n c = Tanh(b)\n y = Sigmoid(c) }";
    run(bench, "functions", graph)
}

pub(super) fn transpose(bench: &mut Bench) -> Result<Row> {
    let graph = "(float[64,64,64,16] x) => (float[64,64,16,64] y)
        { y = Transpose <perm = [0, 2, 3, 1]> (x) }";
    run(bench, "transpose", graph)
}

pub(super) fn pool(bench: &mut Bench) -> Result<Row> {
    let graph = "(float[1,64,112,112] x) => (float[1,64,56,56] y)
        { y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x) }";
    run(bench, "pool", graph)
}

pub(super) fn sum(bench: &mut Bench) -> Result<Row> {
    let graph = "(float[2048,2048] x, int64[1] axes) => (float[1,2048] y) { y = ReduceSum(x, axes) }";
    run(bench, "sum", graph)
}

/// A thousand checks of inputs: milliseconds are microseconds of one check.
pub(super) fn inputs(bench: &mut Bench) -> Result<Row> {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>
        inputs (float[N,3,H,W] x, float[N,3,H,W] mean, int64[N] ids, float[3] w) => (float[N,3,H,W] y) { y = Sub(x, mean) }";
    let model = model_of(text)?;
    let executable = compile(&model, registry_of(&model), &CompileOptions::default());
    let Ok(executable) = executable else { anyhow::bail!("a model of the bench cannot be run") };
    let image = waves(&[1, 3, 8, 8])?;
    let inputs = [image.clone(), image, Tensor::of(&[1], &[0i64])?, waves(&[3])?];
    let inputs = inputs.map(|tensor| Some(Value::Tensor(tensor)));
    let checks = || (0..1000).all(|_| executable.ensure_inputs(std::hint::black_box(&inputs)).is_ok());
    ensure!(checks(), "inputs of the bench do not fit");
    let (ours, peers) = alternate(bench.runs, || Ok(time(checks).0), None::<fn() -> Result<Sample>>)?;
    let alone = Some("a check of ours".to_owned());
    // A microsecond each: the smallest runs take several.
    let bound = Some(1e-3);
    Ok(Row::Measured(Measured { subject: "inputs".to_owned(), bytes: None, ours, peers, alone, bound }))
}

fn run(bench: &mut Bench, name: &str, graph: &str) -> Result<Row> {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21]>\n{name} {graph}\n");
    let model = model_of(&text)?;
    let (path, _) = bench.file(&format!("exec_{name}.onnx"), bytes_of(&text)?)?;
    let executable = compile(&model, registry_of(&model), &CompileOptions::default());
    let Ok(executable) = executable else { anyhow::bail!("a model of the bench cannot be run") };
    let mut inputs = Vec::new();
    for extents in extents_of(graph) {
        inputs.push(Some(Value::Tensor(match extents {
            Some(extents) => waves(&extents)?,
            None => Tensor::of(&[1], &[0i64])?,
        })));
    }
    let options = RunOptions { threads: 1, ..RunOptions::default() };
    ensure!(executable.run(inputs.clone(), &options).is_ok(), "a model of the bench fails");
    let row = bench.pairs("run", &[path], None, || {
        let inputs = inputs.clone();
        time(|| executable.run(inputs, &options)).0
    })?;
    Ok(row.on(name.to_owned()))
}

/// The extents of the inputs that are floats, as the text has them.
fn extents_of(graph: &str) -> Vec<Option<Vec<usize>>> {
    let inputs = graph.split("=>").next().unwrap_or_default();
    let numbers = |list: &str| list.split(',').filter_map(|d| d.trim().parse().ok()).collect();
    let input = |(ty, list): (&str, &str)| ty.ends_with("float").then(|| numbers(list));
    let parts = inputs.split(']').filter_map(|part| part.split_once('['));
    parts.map(input).collect()
}

/// Numbers about 0.
fn waves(dims: &[usize]) -> Result<Tensor> {
    let count: usize = dims.iter().product();
    let numbers: Vec<f32> = (0..count).map(|i| (i as f32 * 0.37).sin()).collect();
    Ok(Tensor::of(dims, &numbers)?)
}
