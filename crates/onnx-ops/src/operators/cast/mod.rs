//! Operators that change the element type.

mod bodies;
mod gradient;
pub(super) mod infer;
mod lints;
mod meaning;
mod versions;

use super::{Operator, op};
use crate::change::{Conversion::By, step};
use crate::derivative::{
    Derivative::{Build, Zero},
    INTEGERS,
};
use crate::lint::idle;
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("BitCast").infer(infer::bit_cast).define(meaning::bits).work(Work::Moves).derivative(Zero(INTEGERS)),
    op("Cast")
        .infer(infer::cast)
        .define(meaning::cast)
        .converted(&[step(6, By(versions::cast_up), By(versions::cast_down))])
        .unchanged(&[9, 13, 19, 21, 23, 24, 25, 28])
        .work(Work::Moves)
        .lints(&[idle, lints::chain, lints::double_constant])
        .derivative(Build(gradient::cast)),
    op("CastLike")
        .infer(infer::cast_like)
        .define(meaning::cast)
        .body(15, bodies::cast_like)
        .unchanged(&[19, 21, 23, 24, 25])
        .work(Work::Moves)
        .lints(&[idle])
        .derivative(Build(gradient::cast)),
];
