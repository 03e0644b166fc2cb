//! Random numbers: the values are unknown, but their shape and type are inferred.

mod bodies;
mod infer;

use super::{Operator, op};
use crate::derivative::{Derivative::Zero, GENERATED, STEPS};

pub(super) const ROWS: &[Operator] = &[
    op("Bernoulli")
        .infer(infer::like_input)
        .body(15, bodies::bernoulli)
        .unchanged(&[22])
        .derivative(Zero(STEPS)),
    op("Multinomial").infer(infer::multinomial).unchanged(&[22]).derivative(Zero(STEPS)),
    op("RandomNormal").infer(infer::of_shape).unchanged(&[22]).derivative(Zero(GENERATED)),
    op("RandomNormalLike").infer(infer::like_input).unchanged(&[22]).derivative(Zero(GENERATED)),
    op("RandomUniform").infer(infer::of_shape).unchanged(&[22]).derivative(Zero(GENERATED)),
    op("RandomUniformLike").infer(infer::like_input).unchanged(&[22]).derivative(Zero(GENERATED)),
];
