//! Quantization: for a whole tensor, for each element of an axis, or for blocks along it.

mod gradient;
mod infer;
pub(super) mod meaning;

use super::{Operator, op};
use crate::derivative::{
    Derivative::{Rewrite, Zero},
    STEPS,
};
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("DequantizeLinear")
        .infer(infer::dequantize)
        .define(meaning::dequantize)
        .unchanged(&[13, 19, 21, 23, 24, 25, 28])
        .work(Work::PerOutput(2))
        .derivative(Rewrite(gradient::dequantize)),
    op("DynamicQuantizeLinear").infer(infer::dynamic).define(meaning::dynamic).derivative(Zero(STEPS)),
    op("QuantizeLinear")
        .infer(infer::quantize)
        .define(meaning::quantize)
        .unchanged(&[13, 19, 21, 23, 24, 25, 28])
        .work(Work::PerOutput(2))
        .derivative(Zero(STEPS)),
];
