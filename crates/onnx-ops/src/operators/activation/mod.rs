//! Activation functions.

mod bodies;
mod gradient;
mod meaning;
mod versions;

use super::elementwise::infer::same_shape;
use super::{Operator, elementwise, op};
use crate::change::{Conversion::By, consumed, step, up};
use crate::definition::Unary;
use crate::derivative::Derivative::Build;
use crate::engine::rule::broadcast::one_sided;

pub(super) const ROWS: &[Operator] = &[
    op("Celu").define(meaning::celu).unchanged(&[28]).derivative(Build(gradient::celu)),
    op("Elu")
        .infer(same_shape)
        .define(meaning::elu)
        .converted(&[up(6, consumed)])
        .unchanged(&[22])
        .derivative(Build(gradient::elu)),
    op("Gelu").infer(same_shape).define(meaning::gelu).body(20, bodies::gelu),
    op("HardSigmoid")
        .infer(same_shape)
        .define(meaning::hard_sigmoid)
        .converted(&[up(6, consumed)])
        .unchanged(&[22])
        .derivative(Build(gradient::hard_sigmoid)),
    op("HardSwish").define(meaning::hard_swish).unchanged(&[22]),
    op("LeakyRelu")
        .infer(same_shape)
        .define(meaning::leaky_relu)
        .converted(&[up(6, consumed)])
        .unchanged(&[16])
        .derivative(Build(gradient::leaky_relu)),
    op("Mish").define(meaning::mish).unchanged(&[22]),
    op("PRelu")
        .infer(same_shape)
        .infer_from(7, one_sided)
        .define(meaning::prelu)
        .converted(&[up(6, consumed), step(7, By(versions::p_relu_up), By(versions::p_relu_down))])
        .unchanged(&[9, 16])
        .derivative(gradient::PRELU),
    op("Relu")
        .infer(same_shape)
        .define(meaning::relu)
        .converted(&[up(6, consumed)])
        .unchanged(&[13, 14])
        .derivative(gradient::RELU),
    op("Selu")
        .infer(same_shape)
        .define(meaning::selu)
        .converted(&[step(6, By(versions::selu_up), By(versions::selu_down))])
        .unchanged(&[22])
        .derivative(Build(gradient::selu)),
    op("Shrink").infer(same_shape).define(meaning::shrink).derivative(Build(gradient::shrink)),
    op("Sigmoid")
        .infer(same_shape)
        .define(meaning::sigmoid)
        .converted(&[up(6, consumed)])
        .unchanged(&[13])
        .derivative(gradient::SIGMOID),
    op("Softplus")
        .infer(same_shape)
        .define(meaning::softplus)
        .unchanged(&[22])
        .derivative(gradient::SOFTPLUS),
    op("Softsign")
        .infer(same_shape)
        .define(meaning::softsign)
        .unchanged(&[22])
        .derivative(gradient::SOFTSIGN),
    op("Swish").define(meaning::swish),
    op("Tanh")
        .infer(same_shape)
        .define(|cx| elementwise::meaning::unary(cx, Unary::Tanh))
        .converted(&[up(6, consumed)])
        .unchanged(&[13])
        .derivative(gradient::TANH),
    op("ThresholdedRelu")
        .infer(same_shape)
        .define(meaning::thresholded_relu)
        .unchanged(&[22])
        .derivative(Build(gradient::thresholded_relu)),
];
