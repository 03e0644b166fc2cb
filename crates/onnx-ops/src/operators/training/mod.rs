//! Optimizer steps and gradients (ai.onnx.preview.training).

mod infer;

use super::{Operator, of_training};

pub(super) const ROWS: &[Operator] = &[
    of_training("Adagrad").infer(infer::adagrad),
    of_training("Adam").infer(infer::adam),
    of_training("Gradient").infer(infer::gradient),
    of_training("Momentum").infer(infer::momentum),
];
