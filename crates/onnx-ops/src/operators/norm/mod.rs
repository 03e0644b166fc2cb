//! Normalizations.

pub(super) mod bodies;
mod gradient;
mod infer;
mod lints;
mod meaning;
pub(super) mod versions;

use super::elementwise::infer::same_shape;
use super::{Operator, op};
use crate::change::{
    Conversion::{By, No},
    consumed, step, up,
};
use crate::derivative::Derivative::Rewrite;
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("BatchNormalization")
        .infer(infer::batch_1)
        .infer_from(9, infer::batch)
        .define(meaning::batch)
        .converted(&[
            step(6, By(consumed), By(versions::consumed_down)),
            step(7, By(versions::is_test_up), By(versions::is_test_down)),
            up(9, versions::spatial_up),
            step(14, By(versions::batch_up), By(versions::batch_down)),
        ])
        .unchanged(&[15])
        .work(Work::PerOutput(2))
        .lints(&[lints::batch_normalization])
        .derivative(Rewrite(gradient::batch)),
    op("GroupNormalization")
        .infer(infer::group)
        .define(meaning::group)
        .body(18, bodies::group_normalization)
        .converted(&[step(
            21,
            By(versions::group_up),
            No("`scale` and `bias` are per group before version 21, and per channel from then on"),
        )])
        .work(Work::PerInput(7)),
    op("InstanceNormalization")
        .infer(infer::instance)
        .define(meaning::instance)
        .converted(&[up(6, consumed)])
        .unchanged(&[22])
        .work(Work::PerInput(7))
        .derivative(Rewrite(gradient::instance)),
    op("LRN")
        .infer(infer::local_response)
        .define(meaning::local_response)
        .unchanged(&[13])
        .derivative(Rewrite(gradient::local_response)),
    op("LayerNormalization")
        .infer(infer::layer)
        .define(meaning::layer)
        .body(17, bodies::layer_normalization)
        .work(Work::PerInput(7)),
    op("LpNormalization")
        .infer(infer::lp_normalization)
        .define(meaning::lp)
        .unchanged(&[22])
        .work(Work::PerInput(3))
        .derivative(Rewrite(gradient::lp)),
    op("MeanVarianceNormalization")
        .infer(same_shape)
        .infer_from(9, infer::mean_variance)
        .body(9, bodies::mean_variance_normalization)
        .converted(&[step(
            9,
            By(versions::mean_variance_up),
            No("ONNX Runtime's own operator has no axes before"),
        )])
        .unchanged(&[13])
        .work(Work::PerInput(5)),
    op("RMSNormalization")
        .infer(infer::root_mean_square)
        .define(meaning::root_mean_square)
        .body(23, bodies::rms_normalization)
        .work(Work::PerInput(4)),
];
