//! Optional values.

mod infer;
mod versions;

use super::{Operator, op};
use crate::change::down;
use crate::derivative::{
    Derivative::{Text, Zero},
    NOT_NUMBERS,
};
use crate::work::Work;

/// The gradient of an optional value is that of the value.
const VALUE: &str = "dx0 = Identity (dy0)";

pub(super) const ROWS: &[Operator] = &[
    op("Optional").infer(infer::optional).unchanged(&[28]).work(Work::Moves).derivative(Text(VALUE)),
    op("OptionalGetElement")
        .infer(infer::get)
        .converted(&[down(18, versions::has_element_down)])
        .unchanged(&[28])
        .work(Work::Moves)
        .derivative(Text(VALUE)),
    op("OptionalHasElement")
        .infer(infer::has)
        .converted(&[down(18, versions::has_element_down)])
        .unchanged(&[28])
        .work(Work::Moves)
        .derivative(Zero(NOT_NUMBERS)),
];
