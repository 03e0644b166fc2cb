//! Our side of a model as a process of its own, which answers the requests that `peers/src/lib.rs` describes, and one more:
//!
//! ```text
//! {"kernels": true}      the answer is {"kernels": [KERNEL, …], "constants": bytes}: what each kernel does and how long it takes
//! ```

use super::tensor::Stored;
use crate::clock::process_cpu;
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use onnx_exec::{CompileOptions, Executable, RunOptions, Tensor, Value, compile};
use onnx_ir::Model;
use onnx_ops::opset::registry_of;
use onnx_proto::external::{Folder, Which, internalize};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

/// First word of a command line that only answers requests.
pub(crate) const SERVE: &str = "serve-model";

/// How long kernels are timed, and in how many runs at most.
const ENOUGH: Duration = Duration::from_millis(500);
const MAX_RUNS: usize = 200;

/// Answers the requests on stdin until it ends.
pub(crate) fn serve() -> Result<()> {
    let mut lines = std::io::stdin().lines();
    let Some(line) = lines.next() else { return Ok(()) };
    let request: serde_json::Value = serde_json::from_str(&line?)?;
    let done = session(&request, &mut lines);
    if let Err(error) = done {
        println!("{}", json!({"error": format!("{error:#}")}));
    }
    Ok(())
}

/// The model of the first request, and all others.
fn session(
    request: &serde_json::Value,
    lines: &mut dyn Iterator<Item = std::io::Result<String>>,
) -> Result<()> {
    let path = Path::new(request["model"].as_str().context("the first request names a model")?);
    let folder = Path::new(request["folder"].as_str().context("a folder for outputs")?);
    let threads = usize::try_from(request["threads"].as_u64().context("a number of threads")?)?;
    let stored = Stored::all(&request["inputs"])?;
    let given: Vec<(&str, Tensor)> =
        stored.iter().map(|s| Ok((s.name.as_str(), s.read()?))).collect::<Result<_>>()?;
    let before = resident();
    let start = Instant::now();
    let model = read(path)?;
    // As the program and the library do: pages of weights that are packed are given back.
    let options = CompileOptions { release: Some(onnx_proto::file::release), ..CompileOptions::default() };
    let executable = compile(&model, registry_of(&model), &options);
    let executable = executable.map_err(|found| failure(&found))?;
    let inputs = inputs(&executable, given)?;
    let options = RunOptions { threads, ..RunOptions::default() };
    let types: Vec<_> = inputs.iter().map(|input| type_of(input.as_ref())).collect();
    executable.prepare(&types, &options).map_err(|error| failure(&[*error]))?;
    let load = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let outputs = outputs(&executable, &inputs, &options)?;
    let first = start.elapsed().as_secs_f64();
    let mut said = Vec::new();
    for (at, output) in outputs.iter().enumerate() {
        said.push(Stored::write(output, folder.join(format!("output_{at}")))?.json());
    }
    drop(outputs);
    println!("{}", json!({"outputs": said, "load": load, "first": first}));
    for line in lines {
        let request: serde_json::Value = serde_json::from_str(&line?)?;
        let answer = answer(&request, &executable, &inputs, &options, before);
        println!("{}", answer.unwrap_or_else(|error| json!({"error": format!("{error:#}")})));
    }
    Ok(())
}

fn answer(
    request: &serde_json::Value,
    executable: &Executable<'_>,
    inputs: &[Option<Value>],
    options: &RunOptions<'_>,
    before: Option<u64>,
) -> Result<serde_json::Value> {
    let run = || executable.run(inputs.to_vec(), options).map_err(|error| failure(&[*error]));
    if let (Some(times), Some(warm)) = (request["times"].as_u64(), request["warm"].as_u64()) {
        let cpu = process_cpu();
        for _ in 0..warm {
            run()?;
        }
        let mut wall = Vec::new();
        for _ in 0..times {
            let start = Instant::now();
            let outputs = run()?;
            wall.push(start.elapsed().as_secs_f64());
            drop(outputs);
        }
        return Ok(json!({"wall": wall, "cpu": process_cpu().saturating_sub(cpu).as_secs_f64()}));
    }
    if request["memory"].as_bool().is_some() {
        let grown = |before: u64| Some(status("VmHWM:")?.saturating_sub(before));
        return Ok(json!({"memory": before.and_then(grown)}));
    }
    if request["kernels"].as_bool().is_some() {
        let begin = Instant::now();
        let mut is_enough = |runs: usize| begin.elapsed() >= ENOUGH || runs >= MAX_RUNS;
        let profile = executable.profile(inputs, options, &mut is_enough);
        let profile = profile.map_err(|error| failure(&[*error]))?;
        let kernels = profile.kernels.iter().map(|kernel| {
            let work = kernel.work;
            json!({
                "op": kernel.op, "node": kernel.name, "seconds": kernel.median().as_secs_f64(),
                "singles": work.singles, "doubles": work.doubles, "byte_products": work.byte_products,
                "read": work.read, "constants": work.constants, "written": work.written,
            })
        });
        return Ok(json!({"kernels": kernels.collect::<Vec<_>>(), "constants": profile.constants()}));
    }
    bail!("no such request: {request}")
}

/// The values of a model's inputs, in order.
pub(crate) fn inputs(executable: &Executable<'_>, given: Vec<(&str, Tensor)>) -> Result<Vec<Option<Value>>> {
    let given = given.into_iter().map(|(name, tensor)| (name, Value::Tensor(tensor)));
    executable.inputs_by_name(given).map_err(|error| failure(&[*error]))
}

/// The outputs of a run.
pub(crate) fn outputs(
    executable: &Executable<'_>,
    inputs: &[Option<Value>],
    options: &RunOptions<'_>,
) -> Result<Vec<Tensor>> {
    let outputs = executable.run(inputs.to_vec(), options).map_err(|error| failure(&[*error]))?;
    outputs.iter().map(|value| value.tensor().cloned().map_err(|why| anyhow!("{why}"))).collect()
}

fn type_of(input: Option<&Value>) -> Option<(onnx_ir::ElemType, &[usize])> {
    match input {
        Some(Value::Tensor(tensor)) => Some((tensor.elem(), tensor.dims())),
        Some(_) | None => None,
    }
}

/// A model with the weights that lie beside it.
pub(crate) fn read(path: &Path) -> Result<Model> {
    let (mut model, found) = onnx_proto::read(onnx_proto::file::open(path)?).into_parts();
    ensure!(found.is_empty(), failure(&found));
    let mut folder = Folder::of(path);
    let found = internalize(&mut model, Which::All, &mut |model, tensor, entity| {
        folder.load(model, tensor, entity, false)
    });
    ensure!(found.is_empty(), failure(&found));
    Ok(model)
}

/// The first of what is wrong.
pub(crate) fn failure(found: &[onnx_ir::diag::Diagnostic]) -> anyhow::Error {
    anyhow!("{}", found.first().map_or("", |first| &first.message))
}

/// The bytes that are resident, from where on the most is counted anew.
fn resident() -> Option<u64> {
    // Where the kernel does not do this, what was resident before may count.
    _ = std::fs::write("/proc/self/clear_refs", "5");
    status("VmRSS:")
}

/// A number of bytes that Linux tells of this process.
fn status(key: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
