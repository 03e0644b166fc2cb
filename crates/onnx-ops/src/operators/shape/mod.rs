//! Shapes and sizes as values, constants, and tensors created from them.

mod bodies;
pub(super) mod gradient;
pub(super) mod infer;
pub(super) mod meaning;
mod versions;

use super::{Operator, gather, op, view};
use crate::change::down;
use crate::derivative::{
    Derivative::{Build, Zero},
    GENERATED, NOT_NUMBERS,
};
use crate::lint::idle;
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("Constant")
        .infer(infer::constant)
        .converted(&[down(9, versions::constant_floats_down), down(12, versions::constant_down)])
        .unchanged(&[11, 13, 19, 21, 23, 24, 25])
        .work(Work::Moves)
        .derivative(Zero(GENERATED)),
    op("ConstantOfShape")
        .infer(infer::constant_of_shape)
        .define(meaning::constant_of_shape)
        .reads(&[0])
        .unchanged(&[20, 21, 23, 24, 25])
        .work(Work::Moves)
        .derivative(Zero(GENERATED)),
    op("EyeLike")
        .infer(infer::eye_like)
        .define(meaning::eye_like)
        .unchanged(&[22])
        .work(Work::Moves)
        .derivative(Zero(GENERATED)),
    op("Identity")
        .infer(infer::identity)
        .define(view::meaning::same_order)
        .unchanged(&[13, 14, 16, 19, 21, 23, 24, 25])
        .work(Work::Moves)
        .lints(&[idle])
        .derivative(Build(gradient::identity)),
    op("OneHot")
        .infer(infer::one_hot)
        .define(gather::meaning::one_hot)
        .reads(&[1])
        .converted(&[down(11, versions::one_hot_down)])
        .unchanged(&[28])
        .work(Work::Moves)
        .derivative(Build(gradient::one_hot)),
    op("Range")
        .infer(infer::range)
        .define(meaning::range)
        .reads(&[0, 1, 2])
        .body(11, bodies::range)
        .unchanged(&[27])
        .work(Work::Moves)
        .derivative(Zero(GENERATED)),
    op("Shape")
        .infer(infer::shape)
        .define(meaning::shape)
        .converted(&[down(15, versions::shape_down)])
        .unchanged(&[13, 19, 21, 23, 24, 25])
        .work(Work::Moves)
        .derivative(Zero(NOT_NUMBERS)),
    op("Size")
        .infer(infer::size)
        .define(meaning::size)
        .unchanged(&[13, 19, 21, 23, 24, 25])
        .work(Work::Moves)
        .derivative(Zero(NOT_NUMBERS)),
];
