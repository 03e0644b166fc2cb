//! Operators of ONNX Runtime that are not defined by a function body in `opsets`.
//!
//! Shapes follow its documentation of contributed operators. If an attribute selects another layout or packing than the default,
//! only what holds for all of them is inferred.

pub(super) mod attention;
pub(super) mod matmul;
pub(super) mod quantized;

use crate::dims::Dim;
use crate::engine::rule::fit::{Extent, hold};
use crate::engine::{Infer, NodeCx};
use crate::operators::elementwise::infer::same_shape;
use onnx_ir::ElemType;

/// The result and its mask.
pub(in crate::operators::contributed) fn dropout(cx: &mut NodeCx<'_, '_>) -> Infer {
    two_of_same_shape(cx)
}

pub(in crate::operators::contributed) fn two_of_same_shape(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.copy_shape(0, 1)?;
    cx.copy_shape(0, 0)
}

pub(in crate::operators::contributed) fn like_second(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.copy_shape(1, 0)
}

/// An attribute selects signed or unsigned hashes.
pub(in crate::operators::contributed) fn hashes(cx: &mut NodeCx<'_, '_>) -> Infer {
    let is_positive = cx.int("positive")? != 0;
    cx.set_elem(0, if is_positive { ElemType::UINT32 } else { ElemType::INT32 });
    same_shape(cx)
}

pub(in crate::operators::contributed) fn scalar(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.set_shape(0, []);
    Some(())
}

pub(in crate::operators::contributed) fn range(cx: &mut NodeCx<'_, '_>) -> Infer {
    let length = cx.fresh(0);
    cx.set_shape(0, [length]);
    Some(())
}

/// The distance of each row of the first input to each row of the second.
pub(in crate::operators::contributed) fn distances(cx: &mut NodeCx<'_, '_>) -> Infer {
    let mut width = Extent::unknown("number of columns");
    let mut rows = [(); 2].map(|()| Extent::unknown("number of rows"));
    hold(cx, 0, &mut [&mut rows[0], &mut width])?;
    hold(cx, 1, &mut [&mut rows[1], &mut width])?;
    cx.set_shape(0, rows.map(|r| r.dim));
    Some(())
}

/// `input_ids, segment_ids, word_embedding, …, gamma, beta, mask` to the embeddings, a list for the masks, and the sums.
/// The quantized variant has its weights at the same positions.
pub(in crate::operators::contributed) fn embed(cx: &mut NodeCx<'_, '_>) -> Infer {
    let [mut batch, mut length] = ["batch size", "length"].map(Extent::unknown);
    let mut hidden = Extent::unknown("hidden size");
    hold(cx, 0, &mut [&mut batch, &mut length])?;
    hold(cx, 1, &mut [&mut batch, &mut length])?;
    for table in [2, 3, 4] {
        hold(cx, table, &mut [&mut Extent::unknown("number of embeddings"), &mut hidden])?;
    }
    for scale in [5, 6] {
        hold(cx, scale, &mut [&mut hidden])?;
    }
    let shape = [batch.dim, length.dim, hidden.dim];
    cx.set_shape(0, shape);
    cx.set_shape(1, [batch.dim]);
    cx.set_shape(2, shape);
    Some(())
}

/// `input, skip, gamma, …` to the result, mean and inverse deviation of each row, and the sum before normalization.
pub(in crate::operators::contributed) fn skip_norm(cx: &mut NodeCx<'_, '_>) -> Infer {
    let shape = cx.shape_of_ranks(0, 2, Some(3))?;
    let width = shape.len() - 1;
    let mut hidden = Extent::of_input("hidden size", 0, shape[width]);
    hold(cx, 2, &mut [&mut hidden])?;
    let row = shape[..width].iter().copied().chain([Dim::Const(1)]);
    let rows: Vec<Dim> = row.collect();
    cx.set_shape(1, rows.iter().copied());
    cx.set_shape(2, rows);
    cx.set_shape(3, shape.iter().copied());
    cx.set_shape(0, shape);
    Some(())
}

/// `bias_table, query_length, key_length` to a bias for each head.
pub(in crate::operators::contributed) fn relative_positions(cx: &mut NodeCx<'_, '_>) -> Infer {
    let mut heads = Extent::unknown("number of heads");
    hold(cx, 0, &mut [&mut Extent::unknown("number of buckets"), &mut heads])?;
    let lengths = [1, 2].map(|i| cx.extents_of(i).and_then(|l| l.first().copied()).unwrap_or(Dim::Unknown));
    cx.set_shape(0, [Dim::Const(1), heads.dim, lengths[0], lengths[1]]);
    Some(())
}

/// Each text becomes a list of tokens, padded to the longest.
pub(in crate::operators::contributed) fn tokens(cx: &mut NodeCx<'_, '_>) -> Infer {
    let shape = cx.shape_of_ranks(0, 1, Some(2))?;
    let longest = cx.fresh(0);
    cx.set_shape(0, shape.into_iter().chain([longest]));
    Some(())
}

/// Unique elements of a list, inverse indices, and counts.
pub(in crate::operators::contributed) fn unique(cx: &mut NodeCx<'_, '_>) -> Infer {
    let count = cx.fresh(0);
    cx.set_shape(0, [count]);
    cx.set_shape(2, [count]);
    let length = cx.shape_of_rank(0, 1)?;
    cx.set_shape(1, length);
    Some(())
}

/// Sequences of `steps, batch, width`, and recurrence weights of `directions, 4 * hidden, hidden`, to all hidden states and the last
/// ones.
pub(in crate::operators::contributed) fn attentive_lstm(cx: &mut NodeCx<'_, '_>) -> Infer {
    let (x, r) = (cx.shape_of_rank(0, 3)?, cx.shape_of_rank(2, 3)?);
    let (directions, hidden) = (r[0], r[2]);
    cx.set_shape(0, [x[0], directions, x[1], hidden]);
    cx.set_shape(1, [directions, x[1], hidden]);
    cx.set_shape(2, [directions, x[1], hidden]);
    Some(())
}
