//! Operators that select elements by indices.

mod gradient;
pub(super) mod infer;
pub(super) mod meaning;

use super::{Operator, op};
use crate::change::{axis_down, down};
use crate::derivative::Derivative::Build;
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("Gather")
        .infer(infer::gather)
        .define(meaning::gather)
        .converted(&[down(11, axis_down)])
        .unchanged(&[13])
        .work(Work::Moves)
        .derivative(Build(gradient::gather)),
    op("GatherElements")
        .infer(infer::gather_elements)
        .define(meaning::gather_elements)
        .unchanged(&[13])
        .work(Work::Moves)
        .derivative(Build(gradient::gather_elements)),
    op("GatherND")
        .infer(infer::gather_nd)
        .define(meaning::gather_nd)
        .unchanged(&[12, 13])
        .work(Work::Moves)
        .derivative(Build(gradient::gather_nd)),
];
