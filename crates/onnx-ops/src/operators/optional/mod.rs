//! Optional values.

mod infer;

use super::{Operator, op};
use crate::convert::{self, down};
use crate::cost::Work;

pub(super) const ROWS: &[Operator] = &[
    op("Optional").infer(infer::optional).unchanged(&[28]).work(Work::Moves),
    op("OptionalGetElement")
        .infer(infer::get)
        .converted(&[down(18, convert::values::has_element_down)])
        .unchanged(&[28])
        .work(Work::Moves),
    op("OptionalHasElement")
        .infer(infer::has)
        .converted(&[down(18, convert::values::has_element_down)])
        .unchanged(&[28])
        .work(Work::Moves),
];
