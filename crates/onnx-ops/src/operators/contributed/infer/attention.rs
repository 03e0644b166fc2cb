//! Attention operators that optimizers produce: with projections, packed inputs, or a cache.

use crate::dims::Dim;
use crate::engine::rule::fit::{Extent, at_least, hold};
use crate::engine::{Infer, NodeCx};

/// The positions of the operands.
struct Places {
    bias: usize,
    past: usize,
}

pub(in crate::operators::contributed) fn projecting(cx: &mut NodeCx<'_, '_>) -> Infer {
    attention(cx, &Places { bias: 2, past: 4 })
}

pub(in crate::operators::contributed) fn quantized(cx: &mut NodeCx<'_, '_>) -> Infer {
    attention(cx, &Places { bias: 2, past: 8 })
}

/// `input` of B, S, D and `weights` of D and the total width of queries, keys and values, to B, S and the width of the
/// values. Past keys and values are `2, B, heads, length, head size`.
fn attention(cx: &mut NodeCx<'_, '_>, places: &Places) -> Infer {
    let [mut batch, mut length] = ["batch size", "length"].map(Extent::unknown);
    let mut width = Extent::unknown("input width");
    hold(cx, 0, &mut [&mut batch, &mut length, &mut width])?;
    let value = projected(cx, &mut width, places.bias)?;
    cx.set_shape(0, [batch.dim, length.dim, value]);
    let heads = cx.int("num_heads").map_or(Dim::Unknown, Dim::Const);
    let size = cx.dims().div_exact(value, heads);
    let mut total = length.dim;
    if cx.has_input(places.past) {
        let mut past = Extent::unknown("past length");
        let mut heads = Extent::of_attr("number of heads", "num_heads", heads);
        let mut head = Extent::unknown("head size");
        let mut two = Extent::fixed("number of keys and values", 2);
        hold(cx, places.past, &mut [&mut two, &mut batch, &mut heads, &mut past, &mut head])?;
        total = match cx.int("past_present_share_buffer") {
            Some(1..) => past.dim,
            Some(_) | None => cx.dims().add(past.dim, length.dim),
        };
    }
    cx.set_shape(1, [Dim::Const(2), batch.dim, heads, total, size]);
    Some(())
}

/// The width of the values: from the attribute, or a third of the total.
fn projected(cx: &mut NodeCx<'_, '_>, width: &mut Extent, bias: usize) -> Option<Dim> {
    at_least(cx, "num_heads", 1)?;
    let mut all = Extent::unknown("width of query, key and value");
    hold(cx, 1, &mut [width, &mut all])?;
    hold(cx, bias, &mut [&mut all])?;
    if let Some([_, _, value]) = cx.ints("qkv_hidden_sizes").as_deref() {
        return Some(Dim::Const(*value));
    }
    if cx.has_attr("qkv_hidden_sizes") {
        return Some(Dim::Unknown);
    }
    Some(cx.dims().div_exact(all.dim, Dim::Const(3)))
}

/// Tokens of all sequences without padding: `T, D` to `T` and the width of the values.
pub(in crate::operators::contributed) fn without_padding(cx: &mut NodeCx<'_, '_>) -> Infer {
    let mut tokens = Extent::unknown("number of tokens");
    let mut width = Extent::unknown("input width");
    hold(cx, 0, &mut [&mut tokens, &mut width])?;
    let value = projected(cx, &mut width, 2)?;
    cx.set_shape(0, [tokens.dim, value]);
    Some(())
}

/// `query, key, value`; the query may hold all three (`B, S, heads, 3, size`), or the key both others
/// (`B, L, heads, 2, size`); cached keys and values are `B, heads, L, size`.
pub(in crate::operators::contributed) fn multi_head(cx: &mut NodeCx<'_, '_>) -> Infer {
    at_least(cx, "num_heads", 1)?;
    let query = cx.shape_of_ranks(0, 3, Some(5))?;
    let (batch, length) = (query[0], query[1]);
    let heads = cx.int("num_heads").map_or(Dim::Unknown, Dim::Const);
    let key = cx.shape(1);
    let value = cx.shape(2);
    let (kv_length, width) = match (query.len(), key.as_deref(), value.as_deref()) {
        (5, ..) => (length, cx.dims().mul(query[2], query[4])),
        (_, _, Some(&[_, kv, width])) => (kv, width),
        (_, _, Some(&[_, n, kv, size])) => (kv, cx.dims().mul(n, size)),
        (_, Some(&[_, kv, n, _, size]), None) => (kv, cx.dims().mul(n, size)),
        _ => (Dim::Unknown, Dim::Unknown),
    };
    cx.set_shape(0, [batch, length, width]);
    let position = |name: &str| cx.schema().inputs.iter().position(|p| p.name == name);
    let past = position("past_key").filter(|&i| cx.has_input(i));
    // A buffer that is shared with the past has its allocated length.
    let is_shared = position("past_sequence_length").is_some_and(|i| cx.has_input(i));
    let total = match past {
        None if !is_shared => kv_length,
        Some(past) if !is_shared => {
            let past = cx.shape(past).and_then(|s| s.get(2).copied()).unwrap_or(Dim::Unknown);
            cx.dims().add(past, kv_length)
        }
        None | Some(_) => Dim::Unknown,
    };
    let size = cx.dims().div_exact(width, heads);
    let key_size = match (query.len(), key.as_deref()) {
        (5, _) => size,
        (_, Some(&[_, _, width])) => cx.dims().div_exact(width, heads),
        (_, Some(&[.., size])) => size,
        _ => Dim::Unknown,
    };
    cx.set_shape(1, [batch, heads, total, key_size]);
    cx.set_shape(2, [batch, heads, total, size]);
    cx.set_shape(3, [batch, heads, length, total]);
    Some(())
}

/// The output for a query of B, S, D that may be packed with keys and values for each token.
fn grouped_output(cx: &mut NodeCx<'_, '_>) -> Option<(Dim, Dim, Dim)> {
    at_least(cx, "num_heads", 1)?;
    at_least(cx, "kv_num_heads", 1)?;
    let query = cx.shape_of_rank(0, 3)?;
    let [q, kv] = ["num_heads", "kv_num_heads"].map(|name| cx.int(name));
    let width = if cx.has_input(1) {
        query[2]
    } else {
        // The heads of keys and values are not part of the output.
        let [q, kv] = [q, kv].map(|n| n.map_or(Dim::Unknown, Dim::Const));
        let both = cx.dims().mul(kv, Dim::Const(2));
        let all = cx.dims().add(q, both);
        let size = cx.dims().div_exact(query[2], all);
        cx.dims().mul(size, q)
    };
    let size = cx.dims().div_exact(width, q.map_or(Dim::Unknown, Dim::Const));
    cx.set_shape(0, [query[0], query[1], width]);
    Some((query[0], query[1], size))
}

/// The cache has its new length, or its allocated length.
pub(in crate::operators::contributed) fn grouped(cx: &mut NodeCx<'_, '_>) -> Infer {
    let (batch, length, size) = grouped_output(cx)?;
    let [q, kv] = ["num_heads", "kv_num_heads"].map(|name| cx.int(name).map_or(Dim::Unknown, Dim::Const));
    let total = cx.fresh(1);
    // A quantized cache may have several elements per byte.
    let is_quantized = cx.has_attr("k_quant_type") || cx.has_attr("kv_cache_bit_width");
    let size = if is_quantized { Dim::Unknown } else { size };
    for output in [1, 2] {
        if let (Some(elem), false) = (cx.elem(0), is_quantized || cx.has_input(3)) {
            cx.set_elem(output, elem);
        }
        cx.set_shape(output, [batch, kv, total, size]);
    }
    let products = cx.fresh(3);
    cx.set_shape(3, [batch, q, length, products]);
    Some(())
}

/// The cache keeps its length.
pub(in crate::operators::contributed) fn sparse(cx: &mut NodeCx<'_, '_>) -> Infer {
    grouped_output(cx)?;
    cx.copy_shape(3, 1)?;
    cx.copy_shape(4, 2)
}
