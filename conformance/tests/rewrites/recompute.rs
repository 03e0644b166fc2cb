//! Gradients that compute intermediate results again: the same bits, and less memory.
#![allow(clippy::print_stderr, reason = "figures, for who wants to see them")]

use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ir::Model;
use onnx_ir::pass::join_training;
use onnx_ops::gradient::Results;
use onnx_ops::schema::Registry;
use onnxtxt::train::{TrainOptions, Trainer};
use std::fmt::Write as _;

const WIDTH: usize = 32;
const ROWS: usize = 256;
const STEPS: usize = 2;

/// How weights follow their gradients.
#[derive(Clone, Copy)]
enum Update {
    /// A node of its own, which is run right after the product that computes the gradient.
    Momentum,
    /// Elementwise nodes, which are fused with that product.
    Descent,
}

/// The text of a network of so many blocks, with a training.
fn network(blocks: usize, block: impl Fn(usize) -> String, rows: &str, update: Update) -> Model {
    let (mut nodes, mut weights, mut results, mut bindings) =
        (String::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut descent, mut outputs) = (String::new(), vec!["float loss".to_owned()]);
    for i in 0..blocks {
        let _ = writeln!(nodes, "{}", block(i));
        let numbers: Vec<String> = (0..WIDTH * WIDTH)
            .map(|at| format!("{:.3}", ((at * 7 + i * 13) % 41) as f64 / 100.0 - 0.2))
            .collect();
        weights.push(format!("float[{WIDTH},{WIDTH}] w{i} = {{{}}}", numbers.join(", ")));
        outputs.push(format!("float[{WIDTH},{WIDTH}] n{i}"));
        results.push(format!("d{i}"));
        bindings.push(format!("\"w{i}\": \"n{i}\""));
        let _ = match update {
            Update::Momentum => writeln!(
                descent,
                "n{i}, v{i} = ai.onnx.preview.training.Momentum <alpha = 0.0, beta = 1.0, mode = \"standard\", \
                 norm_coefficient = 0.0> (rate, count, w{i}, d{i}, w{i})"
            ),
            Update::Descent => writeln!(descent, "s{i} = Mul(rate, d{i})\nn{i} = Sub(w{i}, s{i})"),
        };
    }
    let names: Vec<String> = (0..blocks).map(|i| format!("w{i}")).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21, \"ai.onnx.preview.training\": 1], training_info: {{
            algorithm: step (float[{rows},{WIDTH}] target) => ({}) {{
                e = Sub(y, target)\nq = Mul(e, e)\nloss = ReduceMean <keepdims = 0> (q)
                {} = ai.onnx.preview.training.Gradient <xs = [\"{}\"], y = \"loss\"> ({})
                rate = Constant <value_float = 0.05> ()\ncount = Constant <value_int = 0> ()\n{descent}
            }},
            update_binding: [{}]
        }}>
        g (float[{rows},{WIDTH}] h0) => (float[{rows},{WIDTH}] y) <{}> {{
            {nodes}
            y = Identity(h{blocks})
        }}",
        outputs.join(", "),
        results.join(", "),
        names.join("\", \""),
        names.join(", "),
        bindings.join(", "),
        weights.join(", ")
    );
    let read = onnx_text::read_model(&text);
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    read.value
}

fn tensor(shift: usize) -> Tensor {
    let numbers: Vec<f32> = (0..ROWS * WIDTH).map(|i| ((i * 31 + shift) % 97) as f32 / 97.0 - 0.5).collect();
    Tensor::of(&[ROWS, WIDTH], &numbers).expect("as many numbers")
}

fn first(found: Vec<onnx_ir::diag::Diagnostic>) -> String {
    found.first().map(|found| found.message.clone()).unwrap_or_default()
}

/// The bytes of intermediate results of a step.
fn memory(model: &Model, options: &CompileOptions) -> Result<usize, String> {
    let joined = join_training(model, 0).ok_or("the model has no training")?;
    let executable = compile(&joined.model, Registry::builtin(), options).map_err(first)?;
    let names = executable.model();
    let given = |name: &str| matches!(name, "h0" | "target").then(|| tensor(0).into());
    let inputs = executable.inputs().iter().map(|port| given(names.text(port.name))).collect();
    let schedule = executable.schedule(inputs, &RunOptions::default());
    Ok(schedule.map_err(|found| found.message.clone())?.stats.arena)
}

/// The losses and weights of some steps.
fn trained(model: &Model, blocks: usize, compile: &CompileOptions) -> Result<Vec<Vec<u8>>, String> {
    let run = RunOptions { threads: 1, ..RunOptions::default() };
    let options = TrainOptions { compile: compile.clone(), run, ..TrainOptions::default() };
    let mut trainer = Trainer::new(model, Registry::builtin(), &options).map_err(first)?;
    let inputs: [(&str, Value); 2] = [("h0", tensor(0).into()), ("target", tensor(5).into())];
    let mut bits = Vec::new();
    for _ in 0..STEPS {
        for (_, value) in trainer.step(&inputs).map_err(|found| found.message.clone())? {
            bits.push(value.tensor().map_err(|why| why.to_string())?.bytes().to_vec());
        }
    }
    for i in 0..blocks {
        bits.extend(trainer.variable(&format!("w{i}")).map(|weight| weight.bytes().to_vec()));
    }
    Ok(bits)
}

/// Compares both ways; returns how many times less memory is needed.
fn compared(what: &str, model: &Model, blocks: usize) -> Result<f64, String> {
    let options = |gradient_results| CompileOptions { gradient_results, ..CompileOptions::default() };
    let (kept, again) = (options(Results::Kept), options(Results::Recomputed));
    let (bits, same) = (trained(model, blocks, &kept)?, trained(model, blocks, &again)?);
    assert!(bits.len() > blocks && bits == same, "{what}: the results differ");
    let (most, less) = (memory(model, &kept)?, memory(model, &again)?);
    #[allow(clippy::cast_precision_loss, reason = "a ratio")]
    let ratio = most as f64 / less as f64;
    eprintln!("{what}: {} KB kept, {} KB recomputed, {ratio:.2} times less", most >> 10, less >> 10);
    Ok(ratio)
}

#[test]
fn deep_networks_need_less_memory_and_compute_the_same() {
    let chain = |i: usize| format!("p{i} = MatMul(h{i}, w{i})\nh{} = Tanh(p{i})", i + 1);
    let blocks = 25;
    let rows = ROWS.to_string();
    let fixed = compared("a chain", &network(blocks, chain, &rows, Update::Momentum), blocks).unwrap();
    let open = compared("a chain with any batch", &network(blocks, chain, "N", Update::Momentum), blocks);
    let open = open.unwrap();
    let residual = |i: usize| {
        format!(
            "p{i} = MatMul(h{i}, w{i})\na{i} = Sigmoid(p{i})\nb{i} = Mul(a{i}, p{i})\nh{} = Add(h{i}, b{i})",
            i + 1
        )
    };
    let sums = compared("a residual network", &network(blocks, residual, "N", Update::Momentum), blocks);
    let sums = sums.unwrap();
    let descent = network(blocks, residual, "N", Update::Descent);
    let descent = compared("a residual network with plain descent", &descent, blocks).unwrap();
    assert!(fixed > 2.0 && open > 2.0 && sums > 2.0 && descent > 2.0, "{fixed} {open} {sums} {descent}");
}

#[test]
fn updates_that_are_fused_with_gradients_need_no_more_memory_than_others() {
    let chain = |i: usize| format!("p{i} = MatMul(h{i}, w{i})\nh{} = Tanh(p{i})", i + 1);
    let blocks = 25;
    let options = CompileOptions::default();
    let [apart, fused] = [Update::Momentum, Update::Descent]
        .map(|update| memory(&network(blocks, chain, "N", update), &options).unwrap());
    eprintln!("updates apart: {} KB, fused: {} KB", apart >> 10, fused >> 10);
    assert!(fused <= apart, "{fused} bytes, and {apart} with updates apart");
}
