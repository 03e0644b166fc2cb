//! Runs ONNX models on the CPU.
//!
//! [`compile()`] prepares a model: functions are inlined, every node finds what runs it. [`Executable::run`] computes the
//! outputs for some inputs. Nothing here reads files or prints; inputs and outputs are [`Value`]s.
//!
//! ```text
//! Model ──compile──▶ Executable ──run(inputs)──▶ outputs
//!                       │
//!                       ├ stretches of nodes that are formulas: plans of few kernels (`plan`), run by `loops`
//!                       └ each other node: a graph of its own (control flow), a kernel, or a function body
//! ```
//!
//! Outside of plans, a node is run by the first of these that there is: control flow (`control`), a kernel (`kernels`), the
//! formula that [`onnx_ops::meaning`] has for it, its function body. The types of its outputs follow from those of its inputs
//! by inference, of what is known now: every extent is a number.

mod budget;
mod compile;
mod control;
mod data;
mod facts;
mod failure;
mod formula;
mod kernels;
mod list;
mod liveness;
mod loops;
mod machine;
mod plan;
mod pool;
mod prepare;
mod profile;
mod random;
mod recycle;
mod run;
mod tensor;
mod value;

pub use budget::Memory;
pub use compile::{CompileOptions, Executable, compile};
pub use failure::Failure;
pub use list::List;
pub use machine::{Bandwidth, Limit, Machine};
pub use plan::{Schedule, Stage, Stats};
pub use profile::{KernelProfile, Profile, Work};
pub use random::Random;
pub use run::{Observe, RunOptions, Step, Time};
pub use tensor::{Element, Tensor};
pub use value::{Map, Value};
