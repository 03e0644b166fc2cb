//! Runs ONNX models on the CPU.
//!
//! [`compile()`] prepares a model: it inlines functions and selects how to run each node. [`Executable::run`] computes the
//! outputs for given inputs. The crate does no I/O; inputs and outputs are [`Value`]s.
//!
//! ```text
//! Model ──compile──▶ Executable ──run(inputs)──▶ outputs
//!                       │
//!                       ├ subgraphs of nodes with formulas: plans of few kernels (`plan`), run by `loops`
//!                       └ other nodes: control flow with its subgraphs, a kernel, or a function body
//! ```
//!
//! The modules lie one above the other, and each uses only those below it (`cargo xtask tidy`):
//!
//! ```text
//! executable   Executable = Program + Caches; compile, run, schedule, profile, prepare
//! run          one run of a program, node by node or plan by plan, and the caches that all its runs share
//! define       nodes to formulas, as far as a run, or a test, knows types and values
//! plan         formulas to kernels in stages, which know neither the model nor a run
//! program      the result of compiling, which never changes
//! …            the machine, options
//!
//! onnx-kernels operators without formulas, values
//! onnx-loops   formulas to loops over numbers; tensors, memory, threads
//! ```
//!
//! ```
//! use onnx_exec::{CompileOptions, RunOptions, Tensor, compile};
//! use onnx_ops::schema::Registry;
//!
//! let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { t = Abs(x) y = Sqrt(t) }"#;
//! let model = onnx_text::read_model(text).value;
//! let executable = compile(&model, Registry::builtin(), &CompileOptions::default()).expect("the model can be run");
//! let x = Tensor::of(&[2], &[4.0f32, -9.0])?;
//! let results = executable.run(vec![Some(x.into())], &RunOptions::default())?;
//! assert_eq!(results[0].tensor()?.slice::<f32>()?, [2.0, 3.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Outside plans, a node is run by the first of these that exists: control flow (`run::control`), a kernel ([`onnx_kernels`]), the formula
//! that [`onnx_ops::meaning`] has for it, its function body. Inference on the actual inputs determines the types of the outputs,
//! so every size is a number.
//!
//! The feature `images`, on by default, decodes images for the operator `ImageDecoder`: most of what is compiled beside the crates of the
//! project.

pub mod arrays;
mod custom;
mod define;
mod executable;
mod facts;
mod machine;
mod options;
mod plan;
mod profile;
mod program;
mod run;

pub use custom::{CustomKernel, CustomNode, CustomOperator, CustomOperators, CustomType};
pub use executable::{Executable, Schedule, Stats, compile};
pub use machine::{Bandwidth, Limit, Machine};
pub use onnx_kernels::{Map, Value};
pub use onnx_loops::pack_cache;
use onnx_loops::{
    self as loops, budget, failure, list, parallel, pool, random, recycle, scratch, sync, tensor,
};
pub use onnx_loops::{Element, Failure, Interrupt, List, Memory, OutputMemory, PackedStore, Random, Tensor};
pub use options::{CompileOptions, Observe, RunOptions, Time, TimedStep, Warn};
pub use plan::Stage;
pub use profile::{KernelProfile, Profile, Work};
pub use program::{is_run, misfit};
