//! Optimizer steps and gradients (ai.onnx.preview.training).

mod infer;

use super::{Operator, of_training};
use crate::derivative::{Derivative::None as Nothing, OPTIMIZERS};

pub(super) const ROWS: &[Operator] = &[
    of_training("Adagrad").infer(infer::adagrad).derivative(Nothing(OPTIMIZERS)),
    of_training("Adam").infer(infer::adam).derivative(Nothing(OPTIMIZERS)),
    of_training("Gradient")
        .infer(infer::gradient)
        .derivative(Nothing("it is expanded before those that depend on it, if that is possible")),
    of_training("Momentum").infer(infer::momentum).derivative(Nothing(OPTIMIZERS)),
];
