//! Matrix products and determinants.

pub(super) mod cost;
mod gradient;
pub(super) mod infer;
mod meaning;
mod versions;

use super::{Operator, op};
use crate::change::{Conversion::By, down, step};
use crate::derivative::{
    Derivative::{Build, Zero},
    INTEGERS,
};
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("Det").infer(infer::det).unchanged(&[22]).derivative(Build(gradient::determinant)),
    op("Gemm")
        .infer(infer::gemm)
        .define(meaning::gemm)
        .converted(&[
            step(7, By(versions::gemm_up), By(versions::gemm_broadcast_down)),
            down(11, versions::gemm_down),
        ])
        .unchanged(&[6, 9, 13])
        .work(Work::Products(cost::gemm, Some(2)))
        .derivative(Build(gradient::gemm)),
    op("MatMul")
        .infer(infer::matmul)
        .define(meaning::matmul)
        .unchanged(&[9, 13])
        .work(Work::Products(|cx, n| cost::product(cx, n, 0), None))
        .derivative(Build(gradient::matmul)),
    op("MatMulInteger")
        .infer(infer::integer)
        .define(meaning::matmul_integer)
        .work(Work::Products(|cx, n| cost::product(cx, n, 0), None))
        .derivative(Zero(INTEGERS)),
    op("QLinearMatMul")
        .infer(infer::quantized)
        .define(meaning::qlinear_matmul)
        .unchanged(&[21])
        .work(Work::Products(|cx, n| cost::product(cx, n, 0), None))
        .derivative(Zero(INTEGERS)),
];
