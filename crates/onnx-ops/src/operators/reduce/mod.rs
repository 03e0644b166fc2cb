//! Reductions and cumulative operators.

pub(super) mod gradient;
pub(super) mod infer;
pub(super) mod meaning;
mod versions;

use super::{Operator, op};
use crate::change::{Conversion::By, VersionChange, axis_down, down, step};
use crate::definition::Combine;
use crate::derivative::{
    Derivative::{Build, Zero},
    NOT_NUMBERS,
};
use crate::work::Work;

/// A reduction, whose axes have been an input since version 18.
const fn reduction(name: &'static str) -> Operator {
    op(name).reads(&[1]).converted(AXES_AS_INPUT).work(Work::PerInput(1))
}

const AXES_AS_INPUT: &[VersionChange] =
    &[down(11, axis_down), step(18, By(versions::reduce_up), By(versions::reduce_down))];

pub(super) const ROWS: &[Operator] = &[
    op("ArgMax")
        .infer(infer::arg_max)
        .define(|cx| meaning::position(cx, Combine::ArgMax))
        .converted(&[down(11, axis_down)])
        .unchanged(&[12, 13])
        .work(Work::PerInput(1))
        .derivative(Zero(NOT_NUMBERS)),
    op("ArgMin")
        .infer(infer::arg_min)
        .define(|cx| meaning::position(cx, Combine::ArgMin))
        .converted(&[down(11, axis_down)])
        .unchanged(&[12, 13])
        .work(Work::PerInput(1))
        .derivative(Zero(NOT_NUMBERS)),
    op("CumProd")
        .infer(infer::cumulative_product)
        .reads(&[1])
        .work(Work::PerInput(1))
        .derivative(Build(gradient::cumulative_product)),
    op("CumSum")
        .infer(infer::cumulative_sum)
        .reads(&[1])
        .unchanged(&[14])
        .work(Work::PerInput(1))
        .derivative(Build(gradient::cumulative_sum)),
    reduction("ReduceL1")
        .infer(infer::reduce)
        .define(meaning::l1)
        .unchanged(&[13])
        .derivative(Build(gradient::l1)),
    reduction("ReduceL2")
        .infer(infer::reduce)
        .define(meaning::l2)
        .unchanged(&[13])
        .derivative(Build(gradient::l2)),
    reduction("ReduceLogSum")
        .infer(infer::reduce)
        .define(meaning::log_of_sum)
        .unchanged(&[13, 28])
        .derivative(Build(gradient::log_sum)),
    reduction("ReduceLogSumExp")
        .infer(infer::reduce)
        .define(meaning::log_of_sum_of_powers)
        .unchanged(&[13, 28])
        .derivative(Build(gradient::log_sum_exp)),
    reduction("ReduceMax")
        .infer(infer::reduce_max)
        .define(|cx| meaning::extreme(cx, Combine::Max))
        .unchanged(&[12, 13, 20])
        .derivative(Build(gradient::extreme)),
    reduction("ReduceMean")
        .infer(infer::reduce)
        .define(meaning::mean)
        .unchanged(&[13])
        .derivative(Build(gradient::mean)),
    reduction("ReduceMin")
        .infer(infer::reduce_min)
        .define(|cx| meaning::extreme(cx, Combine::Min))
        .unchanged(&[12, 13, 20])
        .derivative(Build(gradient::extreme)),
    reduction("ReduceProd")
        .infer(infer::reduce_product)
        .define(meaning::product)
        .unchanged(&[13])
        .derivative(Build(gradient::product)),
    op("ReduceSum")
        .infer(infer::reduce_sum)
        .define(meaning::sum)
        .reads(&[1])
        .converted(&[down(11, axis_down), step(13, By(versions::reduce_up), By(versions::reduce_down))])
        .work(Work::PerInput(1))
        .derivative(Build(gradient::sum)),
    reduction("ReduceSumSquare")
        .infer(infer::reduce)
        .define(meaning::sum_of_squares)
        .unchanged(&[13])
        .derivative(Build(gradient::sum_square)),
];
