//! GroupQueryAttention: groups of query heads share heads of keys and values, which are cached for the next call.
//!
//! Queries, keys and values are `[batch, positions, heads * size]`, or packed in the first input. The caches are `[batch, heads,
//! positions, size]`, in a buffer that may be longer than the sequences: `seqlens_k` is the length of each sequence with the new
//! positions, minus one.

use super::heads::{Attend, KeyValueBlocks};
use super::rotary::Angles;
use crate::real::Real;
use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::ElemType;
use onnx_ir::diag::{counted, counted_are};
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, filled};
use onnx_loops::parallel::parallel;
use onnx_loops::tensor::{Tensor, count_of};
use std::ops::Range;

pub(super) const ROWS: &[Row] = &[row("com.microsoft", "GroupQueryAttention", group_query_attention)];

/// Attributes that only kernels for other processors support.
const ATTRIBUTES: &[&str] = &["kv_cache_bit_width", "qk_output", "sliding_window_cache"];
/// Scales of a quantized cache, weights of normalized queries and keys.
const INPUTS: std::ops::Range<usize> = 12..16;

/// The sizes of a node.
struct Sizes {
    batch: usize,
    /// New positions.
    length: usize,
    /// Heads of queries, and of keys and values.
    heads: usize,
    shared: usize,
    size: usize,
    /// The positions of the cache buffer.
    buffer: usize,
    /// The length of the longest sequence, with the new positions.
    total: usize,
    /// The length of each sequence, with the new positions.
    lengths: Vec<usize>,
}

impl Sizes {
    fn of(call: &Call<'_>) -> Result<Sizes, Failure> {
        let query = call.tensor(0)?;
        let number = |name: &str| call.attrs.int(name).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let (heads, shared) = (number("num_heads"), number("kv_num_heads"));
        let &[batch, length, width] = query.dims() else {
            fail!("queries of shape {:?} are none of sequences", query.dims())
        };
        if shared == 0 || heads == 0 || !heads.is_multiple_of(shared) {
            fail!("{} of queries cannot share {shared} of keys", counted(heads, "head"));
        }
        let of_width = match call.optional(1).is_some() {
            true => heads,
            false => heads.saturating_add(shared.saturating_mul(2)),
        };
        let size = width / of_width;
        if size == 0 || !width.is_multiple_of(of_width) {
            fail!("queries of shape {:?} are none of {}", query.dims(), counted(of_width, "head"));
        }
        for input in [1, 2] {
            match call.optional_tensor(input)?.map(Tensor::dims) {
                None if call.optional(1).is_none() => {}
                Some(&[b, l, w]) if b == batch && l == length && w == shared * size => {}
                dims => fail!("keys or values of shape {dims:?} do not fit {:?}", query.dims()),
            }
        }
        let buffer = match [3, 4].map(|input| call.optional_tensor(input).map(|t| t.map(Tensor::dims))) {
            [Ok(None), Ok(None)] => 0,
            [Ok(Some(&[b, n, p, s])), Ok(Some(other))]
                if [b, n, s] == [batch, shared, size] && other == [b, n, p, s] =>
            {
                p
            }
            _ => {
                fail!(
                    "keys and values of the past do not fit {} of {} of {size}",
                    counted(batch, "sequence"),
                    counted(shared, "head")
                )
            }
        };
        let total = call.tensor(6)?.ints()?;
        let total = match total[..] {
            [total] => usize::try_from(total).unwrap_or(0),
            _ => fail!("there are {} for the total length", counted(total.len(), "number")),
        };
        let lasts = call.tensor(5)?.ints()?;
        if lasts.len() != batch {
            fail!("{} given for {}", counted_are(lasts.len(), "length"), counted(batch, "sequence"));
        }
        let is_first = total == length;
        let fits = |last: &i64| {
            let last = usize::try_from(*last).ok()?.checked_add(1)?;
            let past = if is_first { 0 } else { last.checked_sub(length)? };
            (last <= total && past <= buffer).then_some(last)
        };
        let lengths: Option<Vec<usize>> = lasts.iter().map(fits).collect();
        let Some(lengths) = lengths.filter(|_| total >= length) else {
            fail!("lengths of {lasts:?} do not fit {length} new positions of {total}");
        };
        Ok(Sizes { batch, length, heads, shared, size, buffer, total, lengths })
    }

    /// The number of past positions of a sequence.
    fn past(&self, batch: usize) -> usize {
        if self.total == self.length { 0 } else { self.lengths[batch] - self.length }
    }
}

/// Queries, keys and values, each `[batch, positions, heads, size]`.
fn operands(call: &Call<'_>, sizes: &Sizes) -> Result<[List<f32>; 3], Failure> {
    let all = f32::numbers(call.tensor(0)?)?;
    if call.optional(1).is_some() {
        return Ok([all, f32::numbers(call.tensor(1)?)?, f32::numbers(call.tensor(2)?)?]);
    }
    let (of_query, of_key) = (sizes.heads * sizes.size, sizes.shared * sizes.size);
    let part = |first: usize, width: usize| {
        let mut part = filled(count_of(&[sizes.batch, sizes.length, width])?, 0.0)?;
        for (to, row) in part.chunks_exact_mut(width).zip(all.chunks_exact(of_query + 2 * of_key)) {
            to.copy_from_slice(&row[first..][..width]);
        }
        Ok(part)
    };
    Ok([part(0, of_query)?, part(of_query, of_key)?, part(of_query + of_key, of_key)?])
}

/// Applies rotary embeddings to queries and keys.
fn rotate(call: &Call<'_>, sizes: &Sizes, queries: &mut [f32], keys: &mut [f32]) -> Result<(), Failure> {
    let angles = Angles::of(call.tensor(7)?, call.tensor(8)?, call.attrs.flag("rotary_interleaved"))?;
    if angles.width() > sizes.size {
        fail!("angles for {} do not fit heads of {}", counted(angles.width(), "element"), sizes.size);
    }
    let given = call.optional_ints(9)?;
    if given.as_ref().is_some_and(|given| given.len() != sizes.batch * sizes.length) {
        fail!("positions do not fit {} of {}", counted(sizes.batch, "sequence"), sizes.length);
    }
    for (all, heads) in [(queries, sizes.heads), (keys, sizes.shared)] {
        for (i, row) in all.chunks_exact_mut(heads * sizes.size).enumerate() {
            let (b, at) = (i / sizes.length, sizes.past(i / sizes.length) + i % sizes.length);
            let position = match &given {
                Some(given) => given[i],
                None => i64::try_from(at).unwrap_or(i64::MAX),
            };
            // Padding after a shorter sequence is not rotated.
            if given.is_some() || at < sizes.lengths[b] {
                row.chunks_exact_mut(sizes.size).try_for_each(|head| angles.turn(head, position))?;
            }
        }
    }
    Ok(())
}

/// Past and new keys or values, `[batch, heads, positions, size]`, with room for the longest sequence, in single floats.
fn present(sizes: &Sizes, past: Option<&Tensor>, new: &[f32]) -> Result<Tensor, Failure> {
    let (size, room) = (sizes.size, sizes.buffer.max(sizes.total));
    let narrow = past.filter(|past| past.elem() != ElemType::FLOAT).map(f32::numbers).transpose()?;
    let past = narrow.as_deref().or_else(|| past.map(Tensor::words::<f32>));
    let mut all = Tensor::zeros(ElemType::FLOAT, &[sizes.batch, sizes.shared, room, size])?;
    for (plane, to) in all.words_mut::<f32>()?.chunks_exact_mut((room * size).max(1)).enumerate() {
        let (b, head) = (plane / sizes.shared, plane % sizes.shared);
        let before = sizes.past(b) * size;
        if let Some(past) = past {
            to[..before].copy_from_slice(&past[plane * sizes.buffer * size..][..before]);
        }
        for (i, to) in to[before..].chunks_exact_mut(size).take(sizes.length).enumerate() {
            let row = (b * sizes.length + i) * sizes.shared + head;
            to.copy_from_slice(&new[row * size..][..size]);
        }
    }
    Ok(all)
}

/// Parameters of the softmax over products.
struct Weights<'w> {
    scale: f32,
    /// The soft cap of products; 0 for none.
    cap: f32,
    /// The size of the local window, including the position of the query.
    window: Option<usize>,
    is_causal: bool,
    /// The addend of the products, with its shape.
    added: Option<(List<f32>, &'w [usize])>,
    /// For each query head, a sink: an extra product without a value.
    sinks: Option<List<f32>>,
}

impl<'w> Weights<'w> {
    fn of(call: &'w Call<'_>, sizes: &Sizes) -> Result<Weights<'w>, Failure> {
        let scale = call.attrs.float("scale").filter(|scale| *scale != 0.0);
        let added = call.optional_tensor(10)?.map(|t| Ok((f32::numbers(t)?, t.dims()))).transpose()?;
        match added {
            None => {}
            Some((_, &[b, n, s, t]))
                if (b == 1 || b == sizes.batch)
                    && (n == 1 || n == sizes.heads)
                    && s == sizes.length
                    && t >= sizes.total => {}
            Some((_, dims)) => fail!("a bias of shape {dims:?} does not fit"),
        }
        let sinks = match call.optional_tensor(11)? {
            Some(sinks) if sinks.len() == sizes.heads => Some(f32::numbers(sinks)?),
            Some(sinks) => {
                fail!("sinks of shape {:?} do not fit {}", sinks.dims(), counted(sizes.heads, "head"))
            }
            None if call.attrs.int("smooth_softmax").is_some_and(|smooth| smooth > 0) => {
                Some(filled(sizes.heads, 0.0)?)
            }
            None => None,
        };
        Ok(Weights {
            scale: scale.unwrap_or_else(|| 1.0 / (sizes.size as f32).sqrt()),
            cap: call.attrs.float("softcap").unwrap_or(0.0),
            window: call.attrs.int("local_window_size").and_then(|window| usize::try_from(window).ok()),
            is_causal: call.attrs.int("causal") != Some(0),
            added,
            sinks,
        })
    }

    /// The keys that a query at this position of its sequence attends to, of `count`.
    fn range(&self, position: usize, count: usize) -> Range<usize> {
        let end = if self.is_causal { (position + 1).min(count) } else { count };
        self.window.map_or(0, |window| (position + 1).saturating_sub(window)).min(end)..end
    }

    /// Caps and masks the products of the `i`th new query with some keys.
    fn adjust(&self, (b, head, i): (usize, usize, usize), keys: Range<usize>, products: &mut [f32]) {
        if self.cap > 0.0 {
            products.iter_mut().for_each(|x| *x = (*x / self.cap).tanh() * self.cap);
        }
        if let Some((numbers, &[batches, heads, length, total])) = self.added.as_ref().map(|(n, d)| (n, *d)) {
            let plane = if batches == 1 { 0 } else { b } * heads + if heads == 1 { 0 } else { head };
            let row = &numbers[(plane * length + i) * total..][keys];
            products.iter_mut().zip(row).for_each(|(x, added)| *x += added);
        }
    }
}

fn group_query_attention(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    if let Some(name) = ATTRIBUTES.iter().find(|name| call.attrs.int(name).is_some_and(|n| n != 0)) {
        fail!("the attribute `{name}` cannot be run");
    }
    if let Some(input) = INPUTS.into_iter().find(|&input| call.optional(input).is_some()) {
        fail!("input {input} cannot be run");
    }
    if call.wants(3) {
        fail!("products of queries and keys are not given");
    }
    let sizes = Sizes::of(call)?;
    let Sizes { batch, length, heads, shared, size, .. } = sizes;
    let elem = call.tensor(0)?.elem();
    let [mut queries, mut keys, values] = operands(call, &sizes)?;
    if call.attrs.flag("do_rotary") {
        rotate(call, &sizes, &mut queries, &mut keys)?;
    }
    let kept = [(3, &keys), (4, &values)];
    let [keys, values] = kept.map(|(input, new)| present(&sizes, call.optional_tensor(input)?, new));
    let (kept_keys, kept_values) = (keys?, values?);
    let (keys, values) = (kept_keys.words::<f32>(), kept_values.words::<f32>());
    let weights = Weights::of(call, &sizes)?;
    let room = sizes.buffer.max(sizes.total);
    let (each, of_plane) = (heads / shared, length * size);
    // The query heads that share keys and values are consecutive.
    let group = |plane: usize, out: &mut [f32]| {
        let (b, first) = (plane / shared, plane % shared * each);
        let kept = plane * room * size..plane * room * size + sizes.lengths[b] * size;
        // The key layout is chosen for the queries of all heads that share it.
        let blocks = KeyValueBlocks::of(&keys[kept.clone()], &values[kept], [size, size], each * length)?;
        for (head, out) in (first..).zip(out.chunks_exact_mut(of_plane)) {
            let query = |i: usize| &queries[((b * length + i) * heads + head) * size..][..size];
            let attend = Attend {
                scale: weights.scale,
                range: |i: usize| weights.range(sizes.past(b) + i, sizes.lengths[b]),
                adjust: |i: usize, keys: Range<usize>, products: &mut [f32]| {
                    weights.adjust((b, head, i), keys, products);
                },
                sink: weights.sinks.as_ref().map(|sinks| sinks[head]),
                all_masked: f32::NAN,
            };
            blocks.attend(length, query, &attend, out)?;
        }
        Ok(())
    };
    let mut results = filled(count_of(&[batch, heads, length, size])?, 0.0)?;
    let parts = results.chunks_exact_mut((each * of_plane).max(1)).enumerate().collect();
    parallel(parts, |(at, out)| group(at, out))?;
    let mut y = filled(results.len(), 0.0)?;
    for (at, result) in results.chunks_exact(size).enumerate() {
        let (plane, i) = (at / length, at % length);
        let place = ((plane / heads * length + i) * heads + plane % heads) * size;
        y[place..][..size].copy_from_slice(result);
    }
    let in_type = |all: Tensor| match elem {
        ElemType::FLOAT => Ok(all),
        _ => f32::tensor(elem, all.dims(), all.words()),
    };
    Ok(vec![
        f32::tensor(elem, &[batch, length, heads * size], &y)?.into(),
        in_type(kept_keys)?.into(),
        in_type(kept_values)?.into(),
    ])
}
