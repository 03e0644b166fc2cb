//! Reductions and cumulative operators.

pub(super) mod infer;
pub(super) mod meaning;

use super::{Operator, op};
use crate::convert::{self, Conversion::By, down, step};
use crate::cost::Work;
use crate::gradient::{
    Derivative::{Build, Zero},
    NOT_NUMBERS, rules,
};
use crate::meaning::Combine;

pub(super) const ROWS: &[Operator] = &[
    op("ArgMax")
        .infer(infer::arg_max)
        .define(|cx| meaning::position(cx, Combine::ArgMax))
        .converted(&[down(11, convert::values::axis_down)])
        .unchanged(&[12, 13])
        .work(Work::PerInput(1))
        .derivative(Zero(NOT_NUMBERS)),
    op("ArgMin")
        .infer(infer::arg_min)
        .define(|cx| meaning::position(cx, Combine::ArgMin))
        .converted(&[down(11, convert::values::axis_down)])
        .unchanged(&[12, 13])
        .work(Work::PerInput(1))
        .derivative(Zero(NOT_NUMBERS)),
    op("CumProd")
        .infer(infer::cumulative_product)
        .reads(&[1])
        .work(Work::PerInput(1))
        .derivative(Build(rules::cumulative::product)),
    op("CumSum")
        .infer(infer::cumulative_sum)
        .reads(&[1])
        .unchanged(&[14])
        .work(Work::PerInput(1))
        .derivative(Build(rules::reduce::cumulative_sum)),
    op("ReduceL1")
        .infer(infer::reduce)
        .define(meaning::l1)
        .reads(&[1])
        .converted(&[
            down(11, convert::values::axis_down),
            step(18, By(convert::inputs::reduce_up), By(convert::inputs::reduce_down)),
        ])
        .unchanged(&[13])
        .work(Work::PerInput(1))
        .derivative(Build(rules::reduce::l1)),
    op("ReduceL2")
        .infer(infer::reduce)
        .define(meaning::l2)
        .reads(&[1])
        .converted(&[
            down(11, convert::values::axis_down),
            step(18, By(convert::inputs::reduce_up), By(convert::inputs::reduce_down)),
        ])
        .unchanged(&[13])
        .work(Work::PerInput(1))
        .derivative(Build(rules::reduce::l2)),
    op("ReduceLogSum")
        .infer(infer::reduce)
        .define(meaning::log_of_sum)
        .reads(&[1])
        .converted(&[
            down(11, convert::values::axis_down),
            step(18, By(convert::inputs::reduce_up), By(convert::inputs::reduce_down)),
        ])
        .unchanged(&[13, 28])
        .work(Work::PerInput(1))
        .derivative(Build(rules::reduce::log_sum)),
    op("ReduceLogSumExp")
        .infer(infer::reduce)
        .define(meaning::log_of_sum_of_powers)
        .reads(&[1])
        .converted(&[
            down(11, convert::values::axis_down),
            step(18, By(convert::inputs::reduce_up), By(convert::inputs::reduce_down)),
        ])
        .unchanged(&[13, 28])
        .work(Work::PerInput(1))
        .derivative(Build(rules::reduce::log_sum_exp)),
    op("ReduceMax")
        .infer(infer::reduce_max)
        .define(|cx| meaning::extreme(cx, Combine::Max))
        .reads(&[1])
        .converted(&[
            down(11, convert::values::axis_down),
            step(18, By(convert::inputs::reduce_up), By(convert::inputs::reduce_down)),
        ])
        .unchanged(&[12, 13, 20])
        .work(Work::PerInput(1))
        .derivative(Build(rules::reduce::extreme)),
    op("ReduceMean")
        .infer(infer::reduce)
        .define(meaning::mean)
        .reads(&[1])
        .converted(&[
            down(11, convert::values::axis_down),
            step(18, By(convert::inputs::reduce_up), By(convert::inputs::reduce_down)),
        ])
        .unchanged(&[13])
        .work(Work::PerInput(1))
        .derivative(Build(rules::reduce::mean)),
    op("ReduceMin")
        .infer(infer::reduce_min)
        .define(|cx| meaning::extreme(cx, Combine::Min))
        .reads(&[1])
        .converted(&[
            down(11, convert::values::axis_down),
            step(18, By(convert::inputs::reduce_up), By(convert::inputs::reduce_down)),
        ])
        .unchanged(&[12, 13, 20])
        .work(Work::PerInput(1))
        .derivative(Build(rules::reduce::extreme)),
    op("ReduceProd")
        .infer(infer::reduce_product)
        .define(meaning::product)
        .reads(&[1])
        .converted(&[
            down(11, convert::values::axis_down),
            step(18, By(convert::inputs::reduce_up), By(convert::inputs::reduce_down)),
        ])
        .unchanged(&[13])
        .work(Work::PerInput(1))
        .derivative(Build(rules::reduce::product)),
    op("ReduceSum")
        .infer(infer::reduce_sum)
        .define(meaning::sum)
        .reads(&[1])
        .converted(&[
            down(11, convert::values::axis_down),
            step(13, By(convert::inputs::reduce_up), By(convert::inputs::reduce_down)),
        ])
        .work(Work::PerInput(1))
        .derivative(Build(rules::reduce::sum)),
    op("ReduceSumSquare")
        .infer(infer::reduce)
        .define(meaning::sum_of_squares)
        .reads(&[1])
        .converted(&[
            down(11, convert::values::axis_down),
            step(18, By(convert::inputs::reduce_up), By(convert::inputs::reduce_down)),
        ])
        .unchanged(&[13])
        .work(Work::PerInput(1))
        .derivative(Build(rules::reduce::sum_square)),
];
