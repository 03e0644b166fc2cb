//! Loss functions.

mod bodies;
mod infer;

use super::{Operator, op};

pub(super) const ROWS: &[Operator] = &[
    op("NegativeLogLikelihoodLoss")
        .infer(infer::loss)
        .body(12, bodies::negative_log_likelihood)
        .unchanged(&[13, 22]),
    op("SoftmaxCrossEntropyLoss")
        .infer(infer::cross_entropy)
        .body(12, bodies::softmax_cross_entropy)
        .unchanged(&[13]),
];
