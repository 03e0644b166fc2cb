//! Runs five models, one for each kind of loop. For each line that it reads, it prints a line with the least time of a run of each, in
//! seconds. `cargo xtask bench profiles` starts it in several builds, and asks them by turns.

use onnx_exec::{CompileOptions, Executable, RunOptions, Tensor, Value, compile};
use onnx_ops::schema::Registry;
use std::error::Error;
use std::io::{BufRead as _, Write as _};
use std::time::{Duration, Instant};

/// The text of each model, and the shape of its input.
const MODELS: [(&str, &[usize]); 5] = [
    (include_str!("../models/product.onnxtxt"), &[192, 512]),
    (include_str!("../models/softmax.onnxtxt"), &[512, 512]),
    (include_str!("../models/elementwise.onnxtxt"), &[512, 512]),
    (include_str!("../models/stencil.onnxtxt"), &[1, 32, 96, 96]),
    (include_str!("../models/quantize.onnxtxt"), &[512, 512]),
];

/// How long a model is run for each line.
const TIME: Duration = Duration::from_millis(40);

fn main() -> Result<(), Box<dyn Error>> {
    let models = MODELS.map(|(text, _)| onnx_text::read_model(text).value);
    let mut prepared = Vec::new();
    for (model, (_, dims)) in models.iter().zip(MODELS) {
        let executable = compile(model, Registry::builtin(), &CompileOptions::default())
            .map_err(|found| format!("a model cannot run: {found:?}"))?;
        prepared.push((executable, input(dims)?));
    }
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        line?;
        for (executable, input) in &prepared {
            write!(out, "{} ", least(executable, input)?)?;
        }
        writeln!(out)?;
        out.flush()?;
    }
    Ok(())
}

/// Numbers from -4 to 4.
fn input(dims: &[usize]) -> Result<Value, Box<dyn Error>> {
    let numbers: Vec<f32> = (0..dims.iter().product()).map(|i: usize| (i % 1021) as f32 / 127.6 - 4.0).collect();
    Ok(Tensor::of(dims, &numbers)?.into())
}

/// The least time of a run on one thread, in seconds.
fn least(executable: &Executable<'_>, input: &Value) -> Result<f64, Box<dyn Error>> {
    let options = RunOptions { threads: 1, ..RunOptions::default() };
    let mut least = Duration::MAX;
    let start = Instant::now();
    while start.elapsed() < TIME {
        let inputs = vec![Some(input.clone())];
        let run = Instant::now();
        std::hint::black_box(executable.run(inputs, &options)?);
        least = least.min(run.elapsed());
    }
    Ok(least.as_secs_f64())
}
