//! Activation functions.

mod bodies;
mod meaning;

use super::{Operator, elementwise, op};
use crate::convert::{self, up};
use crate::infer::rule::broadcast::one_sided;
use crate::meaning::Unary;

pub(super) const ROWS: &[Operator] = &[
    op("Celu").infer(elementwise::infer::same_shape).define(meaning::celu).unchanged(&[28]),
    op("Elu")
        .infer(elementwise::infer::same_shape)
        .define(meaning::elu)
        .converted(&[up(6, convert::values::consumed)])
        .unchanged(&[22]),
    op("Gelu").infer(elementwise::infer::same_shape).define(meaning::gelu).body(20, bodies::gelu),
    op("HardSigmoid")
        .infer(elementwise::infer::same_shape)
        .define(meaning::hard_sigmoid)
        .converted(&[up(6, convert::values::consumed)])
        .unchanged(&[22]),
    op("HardSwish").infer(elementwise::infer::same_shape).define(meaning::hard_swish).unchanged(&[22]),
    op("LeakyRelu")
        .infer(elementwise::infer::same_shape)
        .define(meaning::leaky_relu)
        .converted(&[up(6, convert::values::consumed)])
        .unchanged(&[16]),
    op("Mish").infer(elementwise::infer::same_shape).define(meaning::mish).unchanged(&[22]),
    op("PRelu")
        .infer(elementwise::infer::same_shape)
        .infer_from(7, one_sided)
        .define(meaning::prelu)
        .converted(&[up(6, convert::values::consumed), up(7, convert::broadcast::p_relu_up)])
        .unchanged(&[9, 16]),
    op("Relu")
        .infer(elementwise::infer::same_shape)
        .define(meaning::relu)
        .converted(&[up(6, convert::values::consumed)])
        .unchanged(&[13, 14]),
    op("Selu")
        .infer(elementwise::infer::same_shape)
        .define(meaning::selu)
        .converted(&[up(6, convert::values::selu_up)])
        .unchanged(&[22]),
    op("Shrink").infer(elementwise::infer::same_shape).define(meaning::shrink),
    op("Sigmoid")
        .infer(elementwise::infer::same_shape)
        .define(meaning::sigmoid)
        .converted(&[up(6, convert::values::consumed)])
        .unchanged(&[13]),
    op("Softplus").infer(elementwise::infer::same_shape).define(meaning::softplus).unchanged(&[22]),
    op("Softsign").infer(elementwise::infer::same_shape).define(meaning::softsign).unchanged(&[22]),
    op("Swish").infer(elementwise::infer::same_shape).define(meaning::swish),
    op("Tanh")
        .infer(elementwise::infer::same_shape)
        .define(|cx| elementwise::meaning::unary(cx, Unary::Tanh))
        .converted(&[up(6, convert::values::consumed)])
        .unchanged(&[13]),
    op("ThresholdedRelu")
        .infer(elementwise::infer::same_shape)
        .define(meaning::thresholded_relu)
        .unchanged(&[22]),
];
