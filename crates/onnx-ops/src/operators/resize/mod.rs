//! Image operators: resize, sample, decode.

mod gradient;
mod infer;
mod lints;
mod meaning;
mod versions;

use super::{Operator, op};
use crate::change::{Conversion::By, down, step, up};
use crate::derivative::{
    Derivative::{Build, Rewrite, Zero},
    INTEGERS,
};

pub(super) const ROWS: &[Operator] = &[
    op("AffineGrid").infer(infer::affine_grid).reads(&[1]),
    op("GridSample")
        .infer(infer::grid_sample)
        .converted(&[step(20, By(versions::grid_up), By(versions::grid_down))])
        .unchanged(&[22])
        .derivative(Rewrite(gradient::grid_sample)),
    op("ImageDecoder").infer(infer::image_decoder).derivative(Zero(INTEGERS)),
    op("Resize")
        .infer(infer::resize_10)
        .infer_from(11, infer::resize)
        .define(meaning::resize)
        .reads(&[1, 2, 3])
        .converted(&[
            down(10, versions::to_upsample),
            step(11, By(versions::up), By(versions::down)),
            down(13, versions::fill_down),
            down(19, versions::symmetric_down),
        ])
        .unchanged(&[18])
        .lints(&[lints::resize])
        .derivative(Build(gradient::resize)),
    op("Upsample")
        .infer(infer::upsample_1)
        .infer_from(7, infer::upsample_7)
        .infer_from(9, infer::upsample_9)
        .define(meaning::upsample)
        .reads(&[1])
        .converted(&[
            step(7, By(versions::scales_up), By(versions::scales_down)),
            step(9, By(versions::upsample_up), By(versions::upsample_down)),
            up(10, versions::from_upsample),
        ]),
];
