//! Matrix products and determinants.

pub(super) mod cost;
pub(super) mod infer;
mod meaning;

use super::{Operator, op};
use crate::convert::{self, down, up};
use crate::cost::Work;

pub(super) const ROWS: &[Operator] = &[
    op("Det").infer(infer::det).unchanged(&[22]),
    op("Gemm")
        .infer(infer::gemm)
        .define(meaning::gemm)
        .converted(&[up(7, convert::broadcast::gemm_up), down(11, convert::values::gemm_down)])
        .unchanged(&[6, 9, 13])
        .work(Work::Products(cost::gemm, Some(2))),
    op("MatMul")
        .infer(infer::matmul)
        .define(meaning::matmul)
        .unchanged(&[9, 13])
        .work(Work::Products(|cx, n| cost::product(cx, n, 0), None)),
    op("MatMulInteger")
        .infer(infer::integer)
        .define(meaning::matmul_integer)
        .work(Work::Products(|cx, n| cost::product(cx, n, 0), None)),
    op("QLinearMatMul")
        .infer(infer::quantized)
        .define(meaning::qlinear_matmul)
        .unchanged(&[21])
        .work(Work::Products(|cx, n| cost::product(cx, n, 0), None)),
];
