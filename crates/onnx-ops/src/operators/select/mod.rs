//! Operators that select elements by value. The number of results often depends on the data.

mod gradient;
mod infer;

use super::{Operator, op};
use crate::convert::{self, Conversion::By, down, step};
use crate::cost::Work;
use crate::gradient::{
    Derivative::{Build, Zero},
    NOT_NUMBERS, rules,
};

pub(super) const ROWS: &[Operator] = &[
    op("Compress")
        .infer(infer::compress)
        .converted(&[down(11, convert::values::axis_down)])
        .unchanged(&[28])
        .work(Work::Moves)
        .derivative(Build(rules::movement::compress)),
    op("NonMaxSuppression").infer(infer::non_max_suppression).unchanged(&[11]).derivative(Zero(NOT_NUMBERS)),
    op("NonZero").infer(infer::non_zero).unchanged(&[13]).work(Work::Moves).derivative(Zero(NOT_NUMBERS)),
    op("TopK")
        .infer(infer::top_k)
        .reads(&[1])
        .converted(&[step(10, By(convert::inputs::top_k_up), By(convert::inputs::top_k_down))])
        .unchanged(&[11, 24])
        .work(Work::PerInput(1))
        .derivative(Build(rules::movement::top_k)),
    op("Unique").infer(infer::unique).unchanged(&[28]).derivative(Build(gradient::unique)),
];
