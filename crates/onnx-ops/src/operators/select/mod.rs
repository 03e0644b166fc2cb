//! Operators that select elements by value. The number of results often depends on the data.

mod gradient;
mod infer;
mod versions;

use super::{Operator, op};
use crate::change::{Conversion::By, axis_down, down, step};
use crate::derivative::{
    Derivative::{Build, Zero},
    NOT_NUMBERS,
};
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("Compress")
        .infer(infer::compress)
        .converted(&[down(11, axis_down)])
        .unchanged(&[28])
        .work(Work::Moves)
        .derivative(Build(gradient::compress)),
    op("NonMaxSuppression").infer(infer::non_max_suppression).unchanged(&[11]).derivative(Zero(NOT_NUMBERS)),
    op("NonZero").infer(infer::non_zero).unchanged(&[13]).work(Work::Moves).derivative(Zero(NOT_NUMBERS)),
    op("TopK")
        .infer(infer::top_k)
        .reads(&[1])
        .converted(&[step(10, By(versions::top_k_up), By(versions::top_k_down))])
        .unchanged(&[11, 24])
        .work(Work::PerInput(1))
        .derivative(Build(gradient::top_k)),
    op("Unique").infer(infer::unique).unchanged(&[28]).derivative(Build(gradient::unique)),
];
