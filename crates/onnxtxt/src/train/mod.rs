//! Trains models: runs the initialization and the algorithms that `training_info` has, and keeps the state between steps.
//!
//! The state of a training are the initializers that bindings name: weights of the main graph, and what an optimizer keeps in the
//! graph of its algorithm. They are inputs of the graph that is run, so that one plan serves all steps, and each step replaces them by
//! the outputs that `update_binding` names, all at once.
//!
//! ```
//! use onnx_exec::Tensor;
//! use onnxtxt::train::{TrainOptions, Trainer};
//!
//! let loaded = onnxtxt::parse(
//!     r#"<ir_version: 10, opset_import: ["": 21, "ai.onnx.preview.training": 1], training_info: {
//!        algorithm: step (float[N] target) => (float loss, float[1] w1) {
//!           d = Sub(y, target)  s = Mul(d, d)  loss = ReduceMean <keepdims = 0> (s)
//!           by_w = ai.onnx.preview.training.Gradient <xs = ["w"], y = "loss"> (w)
//!           rate = Constant <value_float = 0.1> ()  change = Mul(rate, by_w)  w1 = Sub(w, change)
//!        },
//!        update_binding: ["w": "w1"]
//!     }>
//!     g (float[N] x) => (float[N] y) <float[1] w = {0}> { y = Mul(x, w) }"#,
//! );
//! let trainer = Trainer::new(&loaded.model, loaded.registry(), &TrainOptions::default());
//! let mut trainer = trainer.map_err(onnxtxt::Error::Model)?;
//! let x = Tensor::of(&[2], &[1.0f32, 2.0])?;
//! let target = Tensor::of(&[2], &[3.0f32, 6.0])?;
//! for _ in 0..50 {
//!     trainer.step(&[("x", x.clone().into()), ("target", target.clone().into())])?;
//! }
//! let w = trainer.variable("w").and_then(|w| w.slice::<f32>().ok()).map(|w| w[0]);
//! assert!(w.is_some_and(|w| (w - 3.0).abs() < 1e-3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source: onnx.proto, TrainingInfoProto; IR.md, Training Related Information.

mod batches;
mod curves;
mod program;
mod state;
#[cfg(test)]
mod tests;
mod trainable;
mod trainer;

pub use batches::{Batch, Batches, Position};
pub use curves::{Curve, curves};
pub use state::State;
pub use trainable::{Initial, Loss, Optimizer, OptimizerKind, Trainable, trainable};
pub use trainer::{TrainOptions, Trainer};

use onnx_exec::Random;

/// A seed for one purpose, made of the seed of the whole: equal for equal numbers, and unrelated otherwise.
pub(crate) fn derived_seed(seed: u64, numbers: &[u64]) -> u64 {
    numbers.iter().fold(Random::new(seed).bits(), |seed, &number| {
        let mixed = Random::new(number).bits();
        Random::new(seed.rotate_left(17) ^ mixed).bits()
    })
}
