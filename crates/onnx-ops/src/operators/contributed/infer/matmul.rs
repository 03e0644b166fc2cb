//! Matrix products with fused operations or packed weights.

use crate::dims::Dim;
use crate::engine::rule::fit::{Extent, at_least};
use crate::engine::{Infer, NodeCx};
use crate::operators::matmul::infer::{gemm_with, product};

pub(in crate::operators::contributed) fn gemm(cx: &mut NodeCx<'_, '_>) -> Infer {
    gemm_with(cx, (0, 1, 2), true)
}

/// `A, a_scale, a_zero_point, B, b_scale, b_zero_point, C, …`: the output is quantized if it has a zero point.
pub(in crate::operators::contributed) fn quantized_gemm(cx: &mut NodeCx<'_, '_>) -> Infer {
    if cx.has_input(8) {
        if let Some(elem) = cx.elem(8) {
            cx.set_elem(0, elem);
        }
    } else {
        cx.set_elem(0, onnx_ir::ElemType::FLOAT);
    }
    gemm_with(cx, (0, 3, 6), true)
}

/// A product of matrices that are not transposed; of others, only the rank is inferred.
pub(in crate::operators::contributed) fn fused(cx: &mut NodeCx<'_, '_>) -> Infer {
    let is_plain =
        ["transA", "transB", "transBatchA", "transBatchB"].iter().all(|name| cx.int(name) == Some(0));
    if is_plain {
        let (output, _, _) = product(cx, 0, 1)?;
        cx.set_shape(0, output);
        return Some(());
    }
    let rank = cx.rank(0)?.max(cx.rank(1)?);
    cx.set_rank(0, rank);
    Some(())
}

/// A sparse matrix with a dense one; if either is transposed, only the rank is inferred.
pub(in crate::operators::contributed) fn sparse(cx: &mut NodeCx<'_, '_>) -> Infer {
    if ["transA", "transB"].iter().all(|name| cx.int(name) == Some(0)) {
        let (output, _, _) = product(cx, 0, 1)?;
        cx.set_shape(0, output);
    } else {
        let rank = cx.rank(1)?;
        cx.set_rank(0, rank);
    }
    Some(())
}

/// `A` of K columns with a weight of N columns that is stored in blocks.
pub(in crate::operators::contributed) fn packed(cx: &mut NodeCx<'_, '_>) -> Infer {
    at_least(cx, "K", 1)?;
    at_least(cx, "N", 1)?;
    let shape = cx.shape_of_ranks(0, 1, None)?;
    let (&last, rest) = shape.split_last()?;
    let [k, n] = ["K", "N"].map(|name| cx.int(name).map_or(Dim::Unknown, Dim::Const));
    // Bnb4 may have an untransposed weight.
    let (inner, columns) = if cx.int("transB") == Some(0) { (n, k) } else { (k, n) };
    let name = if cx.int("transB") == Some(0) { "N" } else { "K" };
    Extent::of_attr("inner dimension", name, inner).agree(cx, 0, last)?;
    cx.set_shape(0, rest.iter().copied().chain([columns]));
    Some(())
}
