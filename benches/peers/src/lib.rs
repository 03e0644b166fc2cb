//! What the programs have in common: the requests that they answer, and tensors in files.
//!
//! One JSON request a line, one answer a line (`ort.py` answers the same ones):
//!
//! ```text
//! {"model": PATH, "inputs": [TENSOR, …], "folder": PATH}   loads the model and runs it once; the answer is {"outputs": [TENSOR, …]},
//!                                                          whose files are in the folder
//! {"times": N}                                             runs it so often; the answer is {"wall": s, "cpu": s}
//! ```
//! A TENSOR is `{"name", "type", "dims", "file"}`: its elements are the bytes of the file, little-endian, a byte for a bool.
//! An answer with "error" says why there is none. `cpu` is the time of the whole process, so that helping threads count.

use anyhow::{Context as _, Result, anyhow, bail};
use nix::time::ClockId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A runtime with a model and its inputs.
pub trait Runtime: Sized {
    /// As the runtime has them.
    type Outputs;
    /// Prepares a model to be run on one thread.
    fn load(model: &Path, inputs: Vec<Tensor>) -> Result<Self>;
    /// What is timed.
    fn run(&mut self) -> Result<Self::Outputs>;
    fn tensors(outputs: Self::Outputs) -> Result<Vec<Tensor>>;
}

/// The elements of a tensor.
pub enum Elements {
    Float(Vec<f32>),
    Double(Vec<f64>),
    Int64(Vec<i64>),
    Int32(Vec<i32>),
    Uint8(Vec<u8>),
    Int8(Vec<i8>),
    Bool(Vec<bool>),
}

pub struct Tensor {
    /// Empty for outputs, which are told by their order.
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
    Load { model: PathBuf, inputs: Vec<Stored>, folder: PathBuf },
    Run { times: u32 },
}

impl Tensor {
    fn read(stored: Stored) -> Result<Tensor> {
        let bytes = std::fs::read(&stored.file).with_context(|| stored.file.display().to_string())?;
        let elements = match stored.ty.as_str() {
            "float" => Elements::Float(bytemuck::pod_collect_to_vec(&bytes)),
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
    let mut loaded = None;
    for line in std::io::stdin().lines() {
        let request = serde_json::from_str(&line?)?;
        let answer = unpanicked(|| answer::<R>(request, &mut loaded));
        println!("{}", answer.unwrap_or_else(|error| json!({"error": format!("{error:#}")})));
    }
    Ok(())
}

fn answer<R: Runtime>(request: Request, loaded: &mut Option<R>) -> Result<Value> {
    match request {
        Request::Load { model, inputs, folder } => {
            let inputs = inputs.into_iter().map(Tensor::read).collect::<Result<_>>()?;
            let runtime = loaded.insert(R::load(&model, inputs)?);
            let outputs = R::tensors(runtime.run()?)?;
            let stored = outputs.into_iter().enumerate();
            let stored = stored.map(|(at, tensor)| tensor.write(folder.join(format!("output_{at}"))));
            Ok(json!({"outputs": stored.collect::<Result<Vec<_>>>()?}))
        }
        Request::Run { times } => {
            let runtime = loaded.as_mut().context("there is no model")?;
            let (mut wall, mut cpu) = (Duration::ZERO, Duration::ZERO);
            for _ in 0..times {
                let (wall_before, cpu_before) = (Instant::now(), process_cpu()?);
                let outputs = runtime.run()?;
                cpu += process_cpu()?.saturating_sub(cpu_before);
                wall += wall_before.elapsed();
                drop(outputs);
            }
            Ok(json!({"wall": wall.as_secs_f64(), "cpu": cpu.as_secs_f64()}))
        }
    }
}

fn process_cpu() -> Result<Duration> {
    Ok(ClockId::CLOCK_PROCESS_CPUTIME_ID.now()?.into())
}

/// A panic as an error, so that it is told to who asked.
fn unpanicked<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied());
        Err(anyhow!("it panics: {}", text.unwrap_or("without a word")))
    })
}
