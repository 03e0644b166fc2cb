//! Pooling over windows, over all spatial axes, and over regions.

mod gradient;
pub(super) mod infer;
pub(super) mod meaning;

use super::{Operator, op};
use crate::convert::{self, Conversion::By, down, step, up};
use crate::cost::Work;
use crate::gradient::{
    Derivative::{Build, Rewrite},
    rules,
};
use crate::meaning::window::open_shape;

pub(super) const ROWS: &[Operator] = &[
    op("AveragePool")
        .infer(infer::pool)
        .define(meaning::average)
        .open_shape(open_shape)
        .converted(&[down(19, convert::values::dilations_down)])
        .unchanged(&[7, 10, 11, 22])
        .work(Work::Windows)
        .derivative(Build(rules::window::average_pool)),
    op("GlobalAveragePool")
        .infer(infer::global)
        .define(meaning::global_average)
        .unchanged(&[22])
        .work(Work::PerInput(1))
        .derivative(Build(rules::reduce::global_mean)),
    op("GlobalLpPool")
        .infer(infer::global)
        .define(meaning::global_lp)
        .converted(&[up(2, convert::values::p_up)])
        .unchanged(&[22])
        .derivative(Build(rules::window::global_lp_pool)),
    op("GlobalMaxPool")
        .infer(infer::global)
        .define(meaning::global_max)
        .unchanged(&[22])
        .work(Work::PerInput(1))
        .derivative(Build(rules::reduce::global_max)),
    op("LpPool")
        .infer(infer::pool)
        .define(meaning::lp)
        .open_shape(open_shape)
        .converted(&[up(2, convert::values::p_up), down(18, convert::values::dilations_down)])
        .unchanged(&[11, 22])
        .work(Work::Windows)
        .derivative(Build(rules::window::lp_pool)),
    op("MaxPool")
        .infer(infer::max_pool)
        .define(meaning::max)
        .open_shape(open_shape)
        .converted(&[down(10, convert::values::dilations_down)])
        .unchanged(&[8, 11, 12, 22])
        .work(Work::Windows)
        .derivative(Build(rules::window::max_pool)),
    op("MaxRoiPool").infer(infer::max_roi_pool).unchanged(&[22]).derivative(Rewrite(gradient::max_roi_pool)),
    op("RoiAlign")
        .infer(infer::roi_align)
        .converted(&[step(16, By(convert::values::roi_up), By(convert::values::roi_down))])
        .unchanged(&[22])
        .derivative(Rewrite(rules::sample::roi_align)),
];
