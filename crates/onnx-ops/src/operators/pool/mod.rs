//! Pooling over windows, over all spatial axes, and over regions.

mod gradient;
pub(super) mod infer;
pub(super) mod meaning;
mod versions;

use super::{Operator, op};
use crate::change::{Conversion::By, down, step};
use crate::definition::window::open_shape;
use crate::derivative::Derivative::{Build, Rewrite};
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("AveragePool")
        .infer(infer::pool)
        .define(meaning::average)
        .open_shape(open_shape)
        .converted(&[down(19, versions::dilations_down)])
        .unchanged(&[7, 10, 11, 22])
        .work(Work::Windows)
        .derivative(Build(gradient::average_pool)),
    op("GlobalAveragePool")
        .infer(infer::global)
        .define(meaning::global_average)
        .unchanged(&[22])
        .work(Work::PerInput(1))
        .derivative(Build(gradient::global_mean)),
    op("GlobalLpPool")
        .infer(infer::global)
        .define(meaning::global_lp)
        .converted(&[step(2, By(versions::p_up), By(versions::p_down))])
        .unchanged(&[22])
        .derivative(Build(gradient::global_lp_pool)),
    op("GlobalMaxPool")
        .infer(infer::global)
        .define(meaning::global_max)
        .unchanged(&[22])
        .work(Work::PerInput(1))
        .derivative(Build(gradient::global_max)),
    op("LpPool")
        .infer(infer::pool)
        .define(meaning::lp)
        .open_shape(open_shape)
        .converted(&[step(2, By(versions::p_up), By(versions::p_down)), down(18, versions::dilations_down)])
        .unchanged(&[11, 22])
        .work(Work::Windows)
        .derivative(Build(gradient::lp_pool)),
    op("MaxPool")
        .infer(infer::max_pool)
        .define(meaning::max)
        .open_shape(open_shape)
        .converted(&[down(10, versions::dilations_down)])
        .unchanged(&[8, 11, 12, 22])
        .work(Work::Windows)
        .derivative(Build(gradient::max_pool)),
    op("MaxRoiPool")
        .infer(infer::max_roi_pool)
        .unchanged(&[22])
        .derivative(Rewrite(gradient::regions::max_roi_pool)),
    op("RoiAlign")
        .infer(infer::roi_align)
        .converted(&[step(16, By(versions::roi_up), By(versions::roi_down))])
        .unchanged(&[22])
        .derivative(Rewrite(gradient::regions::roi_align)),
];
