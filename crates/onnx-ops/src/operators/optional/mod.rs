//! Optional values.

mod infer;
mod versions;

use super::{Operator, op};
use crate::convert::down;
use crate::cost::Work;
use crate::gradient::{Derivative::None as Nothing, SEQUENCES};

pub(super) const ROWS: &[Operator] = &[
    op("Optional").infer(infer::optional).unchanged(&[28]).work(Work::Moves).derivative(Nothing(SEQUENCES)),
    op("OptionalGetElement")
        .infer(infer::get)
        .converted(&[down(18, versions::has_element_down)])
        .unchanged(&[28])
        .work(Work::Moves)
        .derivative(Nothing(SEQUENCES)),
    op("OptionalHasElement")
        .infer(infer::has)
        .converted(&[down(18, versions::has_element_down)])
        .unchanged(&[28])
        .work(Work::Moves)
        .derivative(Nothing(SEQUENCES)),
];
