//! Convolutions, and the inverse operators of windows.

mod bodies;
pub(super) mod cost;
mod gradient;
pub(super) mod infer;
mod meaning;
mod spread;
mod transposed;

use super::{Operator, op};
use crate::derivative::{
    Derivative::{Build, Rewrite, Zero},
    INTEGERS,
};
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("CausalConvWithState").infer(infer::causal).body(27, bodies::causal_convolution),
    op("Col2Im").infer(spread::col2im).reads(&[1, 2]).derivative(Build(gradient::columns_to_image)),
    op("Conv")
        .infer(infer::conv)
        .define(meaning::conv)
        .unchanged(&[11, 22])
        .work(Work::Products(|cx, n| cost::convolution(cx, n, 1), Some(2)))
        .derivative(Build(gradient::conv)),
    op("ConvInteger")
        .infer(infer::integer)
        .define(meaning::conv_integer)
        .work(Work::Products(|cx, n| cost::convolution(cx, n, 1), None))
        .derivative(Zero(INTEGERS)),
    op("ConvTranspose")
        .infer(spread::conv_transpose)
        .define(transposed::conv_transpose)
        .unchanged(&[11, 22])
        .work(Work::Products(cost::transposed, Some(2)))
        .derivative(Build(gradient::conv_transpose)),
    op("DeformConv")
        .infer(infer::deformable)
        .unchanged(&[22])
        .work(Work::Products(|cx, n| cost::convolution(cx, n, 1), None))
        .derivative(Rewrite(gradient::deform_conv)),
    op("MaxUnpool")
        .infer(spread::max_unpool)
        .reads(&[2])
        .unchanged(&[11, 22])
        .derivative(Build(gradient::unpool)),
    op("QLinearConv")
        .infer(infer::quantized)
        .define(meaning::qlinear_conv)
        .work(Work::Products(|cx, n| cost::convolution(cx, n, 3), Some(8)))
        .derivative(Zero(INTEGERS)),
];
