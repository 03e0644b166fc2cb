//! Common parts of the programs: their requests, and tensors in files.
//!
//! One JSON request a line, one answer a line (`served.py` answers the same ones):
//!
//! ```text
//! {"model": PATH, "inputs": [TENSOR, …], "folder": PATH, "threads": N}
//!                              loads the model for so many threads and runs it once; the answer is {"outputs": [TENSOR, …], "load": s,
//!                              "first": s}, and the files of the outputs are in the folder
//! {"times": N, "warm": N}      runs it, after some runs that do not count; the answer is {"wall": [s, …], "cpu": s}
//! {"memory": true}             the answer is {"memory": bytes}: how far the resident memory has grown since before the model was
//!                              loaded, at most; null where the system does not say
//! ```
//! A TENSOR is `{"name", "type", "dims", "file"}`: its elements are the bytes of the file, little-endian, a byte for a bool.
//! An answer with "error" says why there is none. `cpu` is the time of the whole process from the first run on,
//! so that helping threads and runs that do not count are in it.

use anyhow::{Context as _, Result, anyhow, bail};
use half::f16;
use nix::time::ClockId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A runtime with a model and its inputs.
pub trait Runtime: Sized {
    /// As the runtime has them.
    type Outputs;
    /// Prepares a model to be run on so many threads.
    fn load(model: &Path, inputs: Vec<Tensor>, threads: usize) -> Result<Self>;
    /// The timed run.
    fn run(&mut self) -> Result<Self::Outputs>;
    fn tensors(outputs: Self::Outputs) -> Result<Vec<Tensor>>;
}

/// The elements of a tensor.
pub enum Elements {
    Float(Vec<f32>),
    Half(Vec<f16>),
    Double(Vec<f64>),
    Int64(Vec<i64>),
    Int32(Vec<i32>),
    Uint8(Vec<u8>),
    Int8(Vec<i8>),
    Bool(Vec<bool>),
}

pub struct Tensor {
    /// Empty for outputs, which are identified by their order.
    pub name: String,
    pub dims: Vec<usize>,
    pub elements: Elements,
}

/// A tensor in a file.
#[derive(Serialize, Deserialize)]
struct Stored {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    dims: Vec<usize>,
    file: PathBuf,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Request {
    Load { model: PathBuf, inputs: Vec<Stored>, folder: PathBuf, threads: usize },
    Run { times: u32, warm: u32 },
    Memory { memory: bool },
}

impl Tensor {
    fn read(stored: Stored) -> Result<Tensor> {
        let bytes = std::fs::read(&stored.file).with_context(|| stored.file.display().to_string())?;
        let elements = match stored.ty.as_str() {
            "float" => Elements::Float(bytemuck::pod_collect_to_vec(&bytes)),
            "float16" => Elements::Half(bytemuck::pod_collect_to_vec(&bytes)),
            "double" => Elements::Double(bytemuck::pod_collect_to_vec(&bytes)),
            "int64" => Elements::Int64(bytemuck::pod_collect_to_vec(&bytes)),
            "int32" => Elements::Int32(bytemuck::pod_collect_to_vec(&bytes)),
            "int8" => Elements::Int8(bytemuck::pod_collect_to_vec(&bytes)),
            "uint8" => Elements::Uint8(bytes),
            "bool" => Elements::Bool(bytes.iter().map(|byte| *byte != 0).collect()),
            ty => bail!("inputs of {ty} are not passed on"),
        };
        Ok(Tensor { name: stored.name, dims: stored.dims, elements })
    }

    fn write(self, file: PathBuf) -> Result<Stored> {
        let bools: Vec<u8>;
        let (ty, bytes): (_, &[u8]) = match &self.elements {
            Elements::Float(elements) => ("float", bytemuck::cast_slice(elements)),
            Elements::Half(elements) => ("float16", bytemuck::cast_slice(elements)),
            Elements::Double(elements) => ("double", bytemuck::cast_slice(elements)),
            Elements::Int64(elements) => ("int64", bytemuck::cast_slice(elements)),
            Elements::Int32(elements) => ("int32", bytemuck::cast_slice(elements)),
            Elements::Int8(elements) => ("int8", bytemuck::cast_slice(elements)),
            Elements::Uint8(elements) => ("uint8", elements),
            Elements::Bool(elements) => {
                bools = elements.iter().map(|b| u8::from(*b)).collect();
                ("bool", &bools)
            }
        };
        std::fs::write(&file, bytes).with_context(|| file.display().to_string())?;
        Ok(Stored { name: self.name, ty: ty.to_owned(), dims: self.dims, file })
    }
}

/// Answers the requests on stdin until it ends.
pub fn serve<R: Runtime>() -> Result<()> {
    let (mut loaded, mut before) = (None, None);
    for line in std::io::stdin().lines() {
        let request = serde_json::from_str(&line?)?;
        let answer = unpanicked(|| answer::<R>(request, &mut loaded, &mut before));
        println!("{}", answer.unwrap_or_else(|error| json!({"error": format!("{error:#}")})));
    }
    Ok(())
}

fn answer<R: Runtime>(request: Request, loaded: &mut Option<R>, before: &mut Option<u64>) -> Result<Value> {
    match request {
        Request::Load { model, inputs, folder, threads } => {
            let inputs = inputs.into_iter().map(Tensor::read).collect::<Result<_>>()?;
            *before = resident();
            let start = Instant::now();
            let runtime = loaded.insert(R::load(&model, inputs, threads)?);
            let load = start.elapsed().as_secs_f64();
            let start = Instant::now();
            let outputs = runtime.run()?;
            let first = start.elapsed().as_secs_f64();
            let stored = R::tensors(outputs)?.into_iter().enumerate();
            let stored = stored.map(|(at, tensor)| tensor.write(folder.join(format!("output_{at}"))));
            Ok(json!({"outputs": stored.collect::<Result<Vec<_>>>()?, "load": load, "first": first}))
        }
        Request::Run { times, warm } => {
            let runtime = loaded.as_mut().context("no model is loaded")?;
            let mut wall = Vec::new();
            let cpu = ClockId::CLOCK_PROCESS_CPUTIME_ID.now()?;
            for _ in 0..warm {
                runtime.run()?;
            }
            for _ in 0..times {
                let start = Instant::now();
                let outputs = runtime.run()?;
                wall.push(start.elapsed().as_secs_f64());
                drop(outputs);
            }
            let cpu = std::time::Duration::from(ClockId::CLOCK_PROCESS_CPUTIME_ID.now()? - cpu);
            Ok(json!({"wall": wall, "cpu": cpu.as_secs_f64()}))
        }
        Request::Memory { memory } => {
            let grown = |before: u64| Some(status("VmHWM:")?.saturating_sub(before));
            Ok(json!({"memory": before.filter(|_| memory).and_then(grown)}))
        }
    }
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

/// Converts a panic to an error, to report it to the caller.
fn unpanicked<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied());
        Err(anyhow!("it panics: {}", text.unwrap_or("without a word")))
    })
}
