//! Attention and MultiHeadAttention for long sequences.
//!
//! These operators have function bodies; for short sequences the formulas are fused with their neighbours. For long ones,
//! materializing all products of queries and keys costs more than fusion gains, so nodes run here as a whole, block by block of
//! keys. Variants that are not supported here (windows, lengths, updated caches) use the body, which is also the reference in
//! tests.

use crate::contributed::{Attend, KeyValueBlocks};
use crate::real::Real;
use crate::value::Value;
use crate::{Attributes, Call, Given, Nodes, Row, row};
use onnx_ir::ElemType;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, filled};
use onnx_loops::parallel::parallel;
use onnx_loops::tensor::{Tensor, count_of};
use std::ops::Range;

/// The least products of queries and keys per head: below, the formulas were measured to be faster.
const MIN_PRODUCTS: usize = 1 << 14;

pub(crate) const ROWS: &[Row] = &[
    row("", "Attention", |call| attend(call, standard))
        .only(Nodes::Long)
        .if_supported(|attrs, inputs| has_many_products(standard(attrs, inputs))),
    row("com.microsoft", "MultiHeadAttention", |call| attend(call, multi_head))
        .only(Nodes::Long)
        .if_supported(|attrs, inputs| has_many_products(multi_head(attrs, inputs))),
];

/// Whether a node is supported and has many products.
fn has_many_products(operands: Option<Operands>) -> bool {
    operands.is_some_and(|operands| operands.length.saturating_mul(operands.total()) >= MIN_PRODUCTS)
}

/// The sizes and operands of a node.
#[derive(Clone, Debug)]
struct Operands {
    batch: usize,
    /// Heads of queries, and of keys and values.
    heads: usize,
    shared: usize,
    length: usize,
    /// Past and new keys.
    past: usize,
    new: usize,
    /// Elements of a key, and of a value.
    size: usize,
    of_value: usize,
    /// Whether heads are in the last axis, after the positions.
    is_packed: bool,
    scale: f32,
    cap: f32,
    is_causal: bool,
    /// The inputs that are added to products, with their shapes as four axes.
    added: Vec<(usize, [usize; 4])>,
    /// The addend for masked keys.
    filler: f32,
}

impl Operands {
    fn total(&self) -> usize {
        self.past + self.new
    }

    /// The shape of an addend as four axes, if it broadcasts to the products.
    fn broadcast(&self, dims: &[usize]) -> Option<[usize; 4]> {
        let mut all = [1; 4];
        let first = all.len().checked_sub(dims.len())?;
        all[first..].copy_from_slice(dims);
        let of_products = [self.batch, self.heads, self.length, self.total()];
        all.iter().zip(of_products).all(|(d, of)| *d == 1 || *d == of).then_some(all)
    }
}

/// A positive number of heads.
fn number(attrs: &Attributes<'_>, name: &str) -> Option<usize> {
    attrs.int(name).and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0)
}

/// The shape of an input of single floats.
fn singles<'g>(inputs: &[Given<'g>], input: usize) -> Option<&'g [usize]> {
    inputs.get(input).copied().flatten().filter(|(elem, _)| *elem == ElemType::FLOAT).map(|(_, dims)| dims)
}

fn is_given(inputs: &[Given<'_>], input: usize) -> bool {
    inputs.get(input).is_some_and(Option::is_some)
}

fn standard(attrs: &Attributes<'_>, inputs: &[Given<'_>]) -> Option<Operands> {
    let [q, k, v] = [0, 1, 2].map(|input| singles(inputs, input));
    let ((batch, heads, length, size), (shared, new), of_value, is_packed) = match (q?, k?, v?) {
        (&[b, h, l, d], &[kb, kh, s, kd], &[vb, vh, vs, vd])
            if [b, b, d] == [kb, vb, kd] && [kh, s] == [vh, vs] =>
        {
            ((b, h, l, d), (kh, s), vd, false)
        }
        (&[b, l, w], &[kb, s, kw], &[vb, vs, vw]) if [b, b, s] == [kb, vb, vs] => {
            let (h, kh) = (number(attrs, "q_num_heads")?, number(attrs, "kv_num_heads")?);
            let is_whole = w % h == 0 && kw % kh == 0 && vw % kh == 0 && w / h == kw / kh;
            is_whole.then_some(((b, h, l, w / h), (kh, s), vw / kh, true))?
        }
        _ => return None,
    };
    let past = match (singles(inputs, 4), singles(inputs, 5)) {
        (None, None) if !is_given(inputs, 4) && !is_given(inputs, 5) => 0,
        (Some(&[b, h, p, d]), Some(&[vb, vh, vp, vd]))
            if [b, h, d] == [batch, shared, size] && [vb, vh, vp, vd] == [batch, shared, p, of_value] =>
        {
            p
        }
        _ => return None,
    };
    let is_plain =
        ["left_window_size", "right_window_size"].iter().all(|name| attrs.int(name).is_none_or(|n| n < 0))
            && attrs.int("softmax_precision").is_none_or(|elem| elem == 1)
            && !is_given(inputs, 6)
            && attrs.node.outputs.len() <= 3;
    let is_sound = shared > 0 && heads.is_multiple_of(shared) && size > 0 && of_value > 0;
    let scale = attrs.float("scale").unwrap_or(1.0 / (size as f32).sqrt());
    let mut operands = Operands {
        batch,
        heads,
        shared,
        length,
        past,
        new,
        size,
        of_value,
        is_packed,
        scale,
        cap: attrs.float("softcap").unwrap_or(0.0),
        is_causal: attrs.flag("is_causal"),
        added: Vec::new(),
        filler: f32::NEG_INFINITY,
    };
    if let Some((elem, dims)) = inputs.get(3).copied().flatten() {
        let dims = operands.broadcast(dims).filter(|_| matches!(elem, ElemType::BOOL | ElemType::FLOAT))?;
        operands.added.push((3, dims));
    }
    (is_plain && is_sound && scale >= 0.0).then_some(operands)
}

fn multi_head(attrs: &Attributes<'_>, inputs: &[Given<'_>]) -> Option<Operands> {
    let heads = number(attrs, "num_heads")?;
    let [q, k, v] = [0, 1, 2].map(|input| singles(inputs, input));
    let (&[batch, length, width], &[kb, new, kw], &[vb, vs, vw]) = (q?, k?, v?) else { return None };
    let is_sound = [kb, vb, vs, kw] == [batch, batch, new, width]
        && width > 0
        && vw > 0
        && width.is_multiple_of(heads)
        && vw.is_multiple_of(heads);
    // The bias, and past keys and values.
    let is_plain =
        [3, 6, 7, 8, 9].iter().all(|input| !is_given(inputs, *input)) && attrs.node.outputs.len() <= 1;
    let size = width / heads;
    let mut operands = Operands {
        batch,
        heads,
        shared: heads,
        length,
        past: 0,
        new,
        size,
        of_value: vw / heads,
        is_packed: true,
        scale: attrs.float("scale").filter(|scale| *scale != 0.0).unwrap_or(1.0 / (size as f32).sqrt()),
        cap: 0.0,
        is_causal: attrs.flag("unidirectional"),
        added: Vec::new(),
        filler: attrs.float("mask_filter_value").unwrap_or(-10000.0),
    };
    if let Some((elem, dims)) = inputs.get(4).copied().flatten() {
        let &[b, s] = dims else { return None };
        let dims = operands.broadcast(&[b, 1, 1, s]).filter(|_| elem == ElemType::INT32)?;
        operands.added.push((4, dims));
    }
    if is_given(inputs, 5) {
        let dims = operands.broadcast(singles(inputs, 5)?)?;
        operands.added.push((5, dims));
    }
    (is_sound && is_plain).then_some(operands)
}

/// An addend of the products.
struct Added {
    numbers: List<f32>,
    /// The stride of each axis.
    apart: [usize; 4],
}

impl Added {
    fn of(tensor: &Tensor, dims: [usize; 4], filler: f32) -> Result<Added, Failure> {
        let numbers = match tensor.elem() {
            ElemType::FLOAT => f32::numbers(tensor)?,
            _ => tensor.floats()?.changed(|seen| if seen == 0.0 { 1.0 } else { 0.0 }).into_iter().try_fold(
                List::with_room(tensor.len())?,
                |mut all, hidden| {
                    all.push(if hidden == 1.0 { filler } else { 0.0 })?;
                    Ok::<_, Failure>(all)
                },
            )?,
        };
        let mut apart = [0; 4];
        let mut step = 1;
        for axis in (0..4).rev() {
            apart[axis] = if dims[axis] == 1 { 0 } else { step };
            step *= dims[axis];
        }
        Ok(Added { numbers, apart })
    }

    fn add(&self, [b, head, i]: [usize; 3], keys: Range<usize>, products: &mut [f32]) {
        let [of_batch, of_head, of_row, of_key] = self.apart;
        let first = b * of_batch + head * of_head + i * of_row;
        if of_key == 0 {
            products.iter_mut().for_each(|x| *x += self.numbers[first]);
        } else {
            let row = &self.numbers[first + keys.start..first + keys.end];
            products.iter_mut().zip(row).for_each(|(x, added)| *x += added);
        }
    }
}

/// Rows of all heads as `[batch, heads, positions, size]`, after the past ones.
fn by_heads(new: &Tensor, past: Option<&Tensor>, o: &Operands, size: usize) -> Result<List<f32>, Failure> {
    let (numbers, past_numbers) = (f32::numbers(new)?, past.map(f32::numbers).transpose()?);
    if !o.is_packed && o.past == 0 {
        return Ok(numbers);
    }
    let mut all = filled(count_of(&[o.batch, o.shared, o.total(), size])?, 0.0)?;
    let before = o.past * size;
    for (plane, to) in all.chunks_exact_mut((o.total() * size).max(1)).enumerate() {
        let (b, head) = (plane / o.shared, plane % o.shared);
        if let Some(past) = &past_numbers {
            to[..before].copy_from_slice(&past[plane * before..][..before]);
        }
        for (i, to) in to[before..].chunks_exact_mut(size).enumerate() {
            let row = match o.is_packed {
                true => (b * o.new + i) * o.shared + head,
                false => plane * o.new + i,
            };
            to.copy_from_slice(&numbers[row * size..][..size]);
        }
    }
    Ok(all)
}

fn attend(
    call: &mut Call<'_>,
    operands: fn(&Attributes<'_>, &[Given<'_>]) -> Option<Operands>,
) -> Result<Vec<Value>, Failure> {
    let mut given = Vec::with_capacity(call.inputs.len());
    for i in 0..call.inputs.len() {
        given.push(call.optional_tensor(i)?.map(|tensor| (tensor.elem(), tensor.dims())));
    }
    let Some(o) = operands(&call.attrs, &given) else { fail!("operands do not fit one another") };
    let (size, of_value, total) = (o.size, o.of_value, o.total());
    let queries = f32::numbers(call.tensor(0)?)?;
    let past = |input: usize| if o.past > 0 { call.optional_tensor(input) } else { Ok(None) };
    let keys = by_heads(call.tensor(1)?, past(4)?, &o, size)?;
    let values = by_heads(call.tensor(2)?, past(5)?, &o, of_value)?;
    let mut added = Vec::with_capacity(o.added.len());
    for (input, dims) in &o.added {
        added.push(Added::of(call.tensor(*input)?, *dims, o.filler)?);
    }
    let each = o.heads / o.shared;
    let of_plane = o.length * of_value;
    // The query heads that share keys and values are consecutive.
    let group = |plane: usize, out: &mut [f32]| {
        let (b, first) = (plane / o.shared, plane % o.shared * each);
        let keys = &keys[plane * total * size..][..total * size];
        let values = &values[plane * total * of_value..][..total * of_value];
        let blocks = KeyValueBlocks::of(keys, values, [size, of_value], each * o.length)?;
        for (head, out) in (first..).zip(out.chunks_exact_mut(of_plane)) {
            let query = |i: usize| {
                let row = match o.is_packed {
                    true => (b * o.length + i) * o.heads + head,
                    false => (b * o.heads + head) * o.length + i,
                };
                &queries[row * size..][..size]
            };
            let attend = Attend {
                scale: o.scale,
                range: |i: usize| 0..if o.is_causal { (o.past + i + 1).min(total) } else { total },
                adjust: |i: usize, keys: Range<usize>, products: &mut [f32]| {
                    if o.cap > 0.0 {
                        products.iter_mut().for_each(|x| *x = (*x / o.cap).tanh() * o.cap);
                    }
                    added.iter().for_each(|added| added.add([b, head, i], keys.clone(), products));
                },
                sink: None,
                all_masked: if o.filler == f32::NEG_INFINITY { 0.0 } else { f32::NAN },
            };
            blocks.attend(o.length, query, &attend, out)?;
        }
        Ok(())
    };
    let mut results = filled(count_of(&[o.batch, o.heads, o.length, of_value])?, 0.0)?;
    let parts = results.chunks_exact_mut((each * of_plane).max(1)).enumerate().collect();
    parallel(parts, |(at, out)| group(at, out))?;
    let mut outputs = Vec::with_capacity(3);
    if o.is_packed {
        let mut y = filled(results.len(), 0.0)?;
        for (at, result) in results.chunks_exact(of_value).enumerate() {
            let (plane, i) = (at / o.length, at % o.length);
            let place = ((plane / o.heads * o.length + i) * o.heads + plane % o.heads) * of_value;
            y[place..][..of_value].copy_from_slice(result);
        }
        outputs.push(Tensor::of(&[o.batch, o.length, o.heads * of_value], &y)?.into());
    } else {
        outputs.push(Tensor::of(&[o.batch, o.heads, o.length, of_value], &results)?.into());
    }
    for (output, all, size) in [(1, &keys, size), (2, &values, of_value)] {
        if call.output_count() > output {
            outputs.push(Tensor::of(&[o.batch, o.shared, total, size], all)?.into());
        }
    }
    Ok(outputs)
}
