//! The Attention operator of com.microsoft, including its input projection.

use super::heads::{Attend, KeyValueBlocks};
use crate::real::Real;
use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::diag::counted;
use onnx_loops::Matrix;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, filled};
use onnx_loops::parallel::parallel;
use onnx_loops::tensor::{Tensor, count_of};
use std::ops::Range;

pub(super) const ROWS: &[Row] = &[row("com.microsoft", "Attention", attention)];

/// The sizes of a node.
struct Sizes {
    batch: usize,
    length: usize,
    heads: usize,
    /// Past positions.
    past: usize,
}

impl Sizes {
    fn total(&self) -> usize {
        self.past + self.length
    }
}

/// The attention mask, added to the products before the softmax.
struct Mask {
    /// One number per batch, query and key, or broadcast from fewer.
    added: List<f32>,
    per_batch: usize,
    per_row: usize,
}

impl Mask {
    fn row(&self, batch: usize, row: usize) -> &[f32] {
        &self.added[batch * self.per_batch + row * self.per_row..]
    }
}

/// The mask in any of its forms: lengths, ends and starts, or ones and zeros.
fn mask(call: &Call<'_>, sizes: &Sizes) -> Result<Option<Mask>, Failure> {
    let Some(given) = call.optional_tensor(3)? else { return Ok(None) };
    let (batch, length, total) = (sizes.batch, sizes.length, sizes.total());
    let hidden = call.attrs.float("mask_filter_value").unwrap_or(-10000.0);
    let added = |is_seen: bool| if is_seen { 0.0 } else { hidden };
    let numbers = given.ints()?;
    match *given.dims() {
        [n] if n == batch || batch.checked_mul(2) == Some(n) => {
            let mut all = filled(count_of(&[batch, total])?, 0.0)?;
            for (i, to) in all.iter_mut().enumerate() {
                let at = i64::try_from(i % total).unwrap_or(i64::MAX);
                let (end, start) = (numbers[i / total], numbers.get(batch + i / total).copied().unwrap_or(0));
                *to = added(at >= start && at < end);
            }
            Ok(Some(Mask { added: all, per_batch: total, per_row: 0 }))
        }
        [b, t] if b == batch && t == total => {
            let added = numbers.into_iter().map(|m| added(m > 0)).listed()?;
            Ok(Some(Mask { added, per_batch: total, per_row: 0 }))
        }
        [b, s, t] if b == batch && s == length && t == total => {
            let added = numbers.into_iter().map(|m| added(m > 0)).listed()?;
            Ok(Some(Mask { added, per_batch: s * t, per_row: t }))
        }
        _ => fail!("a mask of shape {:?} is none of {} of {total}", given.dims(), counted(batch, "sequence")),
    }
}

/// A bias that is added to the products of each head.
fn bias<'b>(
    given: &Tensor,
    numbers: &'b [f32],
    sizes: &Sizes,
) -> Result<impl Fn(usize, usize, usize) -> &'b [f32] + use<'b>, Failure> {
    let (length, total, heads) = (sizes.length, sizes.total(), sizes.heads);
    let &[b, n, s, t] = given.dims() else { fail!("the shape {:?} is not one of products", given.dims()) };
    if (b != 1 && b != sizes.batch) || (n != 1 && n != heads) || s != length || t != total {
        fail!("a bias of shape {:?} does not fit", given.dims());
    }
    Ok(move |batch: usize, head: usize, row: usize| {
        let plane = if b == 1 { 0 } else { batch } * n + if n == 1 { 0 } else { head };
        &numbers[(plane * s + row) * t..][..t]
    })
}

fn attention(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    if call.attrs.flag("do_rotary") || call.attrs.flag("past_present_share_buffer") {
        fail!("rotary embeddings and shared buffers cannot be run");
    }
    let (x, w) = (call.tensor(0)?, call.tensor(1)?);
    let (&[batch, length, input], &[rows, columns]) = (x.dims(), w.dims()) else {
        fail!("sequences of shape {:?} and weights of shape {:?} do not fit", x.dims(), w.dims())
    };
    let heads = usize::try_from(call.attrs.int("num_heads").unwrap_or(0)).unwrap_or(0);
    let third = i64::try_from(columns / 3).unwrap_or(i64::MAX);
    let hidden: Vec<i64> = call.attrs.ints("qkv_hidden_sizes").unwrap_or_else(|| vec![third; 3]);
    let hidden: Option<Vec<usize>> = hidden.iter().map(|&h| usize::try_from(h).ok()).collect();
    let fits = |h: &[usize]| {
        let sum = h.iter().try_fold(0usize, |sum, &h| sum.checked_add(h));
        h[0] == h[1] && sum == Some(columns) && h.iter().all(|h| h.is_multiple_of(heads))
    };
    let hidden = match hidden.filter(|h| h.len() == 3 && heads > 0 && rows == input && fits(h)) {
        Some(hidden) => [hidden[0], hidden[1], hidden[2]],
        None => {
            fail!("weights of shape {:?} do not fit {} and {:?}", w.dims(), counted(heads, "head"), x.dims())
        }
    };
    let (d, v_d) = (hidden[0] / heads, hidden[2] / heads);
    let past = call.optional_tensor(4)?;
    let past_length = match past.map(Tensor::dims) {
        None => 0,
        Some(&[2, b, n, p, h]) if b == batch && n == heads && h == d && d == v_d => p,
        Some(dims) => fail!("past keys and values of shape {dims:?} do not fit"),
    };
    let sizes = Sizes { batch, length, heads, past: past_length };
    let total = sizes.total();
    let mask = mask(call, &sizes)?;
    let added = call.optional_tensor(5)?.map(|t| Ok((t, f32::numbers(t)?))).transpose()?;
    let added = added.as_ref().map(|(t, numbers)| bias(t, numbers, &sizes)).transpose()?;
    let projected = project(call, x, w)?;
    let past = past.map(f32::numbers).transpose()?;

    // Keys and values of each head, past ones first.
    let width = [d, v_d];
    let mut kept = [
        filled(count_of(&[batch, heads, total, d])?, 0.0)?,
        filled(count_of(&[batch, heads, total, v_d])?, 0.0)?,
    ];
    for (which, kept) in kept.iter_mut().enumerate() {
        let d = width[which];
        let from: usize = hidden[..=which].iter().sum();
        for (plane, to) in kept.chunks_exact_mut((total * d).max(1)).enumerate() {
            let (b, head) = (plane / heads, plane % heads);
            if let Some(past) = &past {
                let size = past_length * d;
                to[..size].copy_from_slice(&past[(which * batch * heads + plane) * size..][..size]);
            }
            for (i, to) in to[past_length * d..].chunks_exact_mut(d).enumerate() {
                to.copy_from_slice(&projected[(b * length + i) * columns + from + head * d..][..d]);
            }
        }
    }
    let scale = call.attrs.float("scale").filter(|scale| *scale != 0.0);
    let scale = scale.unwrap_or_else(|| 1.0 / (d as f32).sqrt());
    let is_causal = call.attrs.flag("unidirectional");
    let dims = [batch, length, hidden[2]];
    let mut y = filled(count_of(&dims)?, 0.0)?;
    let planes = if y.is_empty() { 0 } else { batch * heads };
    // One head of a sequence: softmax of the products, times the values.
    let plane = |plane: usize, out: &mut [f32]| {
        let (b, head) = (plane / heads, plane % heads);
        let keys = &kept[0][plane * total * d..][..total * d];
        let values = &kept[1][plane * total * v_d..][..total * v_d];
        let range = |i: usize| 0..if is_causal { (past_length + i + 1).min(total) } else { total };
        let adjust = |i: usize, seen: Range<usize>, products: &mut [f32]| {
            let masked = mask.as_ref().map(|mask| mask.row(b, i));
            let added = added.as_ref().map(|added| added(b, head, i));
            for other in [masked, added].into_iter().flatten() {
                products.iter_mut().zip(&other[seen.clone()]).for_each(|(product, other)| *product += other);
            }
        };
        let attend = Attend { scale, range, adjust, sink: None, all_masked: f32::NAN };
        let query = |i: usize| &projected[(b * length + i) * columns + head * d..][..d];
        KeyValueBlocks::of(keys, values, [d, v_d], length)?.attend(length, query, &attend, out)
    };
    let mut results = filled(planes * length * v_d, 0.0)?;
    let parts = results.chunks_exact_mut((length * v_d).max(1)).enumerate().collect();
    parallel(parts, |(at, out)| plane(at, out))?;
    for (at, result) in results.chunks_exact(v_d.max(1)).enumerate() {
        let (plane, i) = (at / length, at % length);
        let place = ((plane / heads * length + i) * heads + plane % heads) * v_d;
        y[place..][..v_d].copy_from_slice(result);
    }
    let mut outputs = vec![f32::tensor(x.elem(), &dims, &y)?.into()];
    if call.wants(1) {
        if d != v_d {
            fail!("keys and values of different sizes are not given together");
        }
        let present = [2, batch, heads, total, d];
        outputs.push(f32::tensor(x.elem(), &present, &kept.into_iter().flatten().listed()?)?.into());
    }
    Ok(outputs)
}

/// Queries, keys and values of each position, contiguous.
fn project(call: &Call<'_>, x: &Tensor, w: &Tensor) -> Result<List<f32>, Failure> {
    let (&[batch, length, input], &[_, columns]) = (x.dims(), w.dims()) else {
        fail!("sequences of shape {:?} and weights of shape {:?} do not fit", x.dims(), w.dims())
    };
    let count = count_of(&[batch, length, columns])?;
    spend(count.saturating_mul(input))?;
    let mut projected = filled(count, 0.0)?;
    match call.optional_tensor(2)? {
        Some(bias) if bias.dims() == [columns] => {
            let bias = f32::numbers(bias)?;
            projected.chunks_exact_mut(columns.max(1)).for_each(|row| row.copy_from_slice(&bias));
        }
        Some(bias) => fail!("a bias of shape {:?} does not fit {columns}", bias.dims()),
        None => {}
    }
    let weights = call.kept(&[1], |store| Matrix::of_rows(&f32::numbers(w)?, columns, store))?;
    weights.add_products(&f32::numbers(x)?, &mut projected)?;
    Ok(projected)
}
