//! Softmax and similar operators.

mod bodies;
mod gradient;
pub(super) mod infer;
mod lints;
mod meaning;
mod versions;

use super::elementwise::infer::same_shape;
use super::{Operator, op};
use crate::change::{Conversion::By, axis_down, down, step};
use crate::derivative::{
    Derivative::{Build, Zero},
    STEPS,
};
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("Hardmax")
        .infer(same_shape)
        .infer_from(11, infer::along_axis)
        .define(meaning::hardmax)
        .converted(&[down(11, axis_down), step(13, By(versions::up), By(versions::down))])
        .work(Work::PerInput(1))
        .lints(&[lints::softmax])
        .derivative(Zero(STEPS)),
    op("LogSoftmax")
        .infer(same_shape)
        .infer_from(11, infer::along_axis)
        .define(meaning::log_softmax)
        .body(13, bodies::log_softmax)
        .converted(&[down(11, axis_down), step(13, By(versions::up), By(versions::down))])
        .work(Work::PerInput(5))
        .lints(&[lints::softmax])
        .derivative(Build(gradient::log_softmax)),
    op("Softmax")
        .infer(same_shape)
        .infer_from(11, infer::along_axis)
        .define(meaning::softmax)
        .body(13, bodies::softmax)
        .converted(&[down(11, axis_down), step(13, By(versions::up), By(versions::down))])
        .work(Work::PerInput(5))
        .lints(&[lints::softmax])
        .derivative(Build(gradient::softmax)),
];
