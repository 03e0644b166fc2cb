//! Normalizations with a preceding sum: SkipLayerNormalization, SkipSimplifiedLayerNormalization, EmbedLayerNormalization; also
//! FastGelu.

use crate::value::Value;
use crate::{Call, Row, row};
use onnx_formula::{Elements, Number};
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, filled};
use onnx_loops::tensor::{Tensor, count_of};

pub(super) const ROWS: &[Row] = &[
    row("com.microsoft", "EmbedLayerNormalization", embed_layer_normalization),
    row("com.microsoft", "FastGelu", fast_gelu),
    row("com.microsoft", "SkipLayerNormalization", |call| skip(call, true)),
    row("com.microsoft", "SkipSimplifiedLayerNormalization", |call| skip(call, false)),
];

/// An optional input with one number per element of a row.
fn per_row(call: &Call<'_>, input: usize, width: usize) -> Result<Option<List<f64>>, Failure> {
    match call.optional_tensor(input)? {
        Some(tensor) if tensor.len() == width => tensor.floats().map(Some),
        Some(tensor) => fail!("input {input} of shape {:?} does not fit rows of {width}", tensor.dims()),
        None => Ok(None),
    }
}

/// The parameters of a normalization.
struct Norm {
    gamma: Option<List<f64>>,
    beta: Option<List<f64>>,
    epsilon: f64,
    /// Whether the mean is subtracted.
    is_centered: bool,
}

impl Norm {
    /// Normalizes a row and returns its mean and the reciprocal of its deviation.
    fn apply(&self, row: &mut [f64]) -> (f64, f64) {
        let n = row.len().max(1) as f64;
        let mean = if self.is_centered { row.iter().sum::<f64>() / n } else { 0.0 };
        let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        let inverse = 1.0 / (variance + self.epsilon).sqrt();
        for (i, x) in row.iter_mut().enumerate() {
            let gamma = self.gamma.as_ref().map_or(1.0, |gamma| gamma[i]);
            let beta = self.beta.as_ref().map_or(0.0, |beta| beta[i]);
            *x = (*x - mean) * inverse * gamma + beta;
        }
        (mean, inverse)
    }
}

/// Adds the skip connection and normalizes the rows.
fn skip(call: &mut Call<'_>, is_centered: bool) -> Result<Vec<Value>, Failure> {
    let (x, skip) = (call.tensor(0)?, call.tensor(1)?);
    let Some((&width, outer)) = x.dims().split_last() else { fail!("the input is a scalar") };
    // The skip connection may lack the batch axis or have size 1 there.
    let fits = x.is_empty() == skip.is_empty()
        && (skip.is_empty() || x.len().is_multiple_of(skip.len()))
        && x.dims().ends_with(skip.dims().strip_prefix(&[1]).unwrap_or(skip.dims()));
    if !fits {
        fail!("{:?} elements are added to {:?}", skip.dims(), x.dims());
    }
    let (beta, bias) = if is_centered { (Some(3), 4) } else { (None, 3) };
    let norm = Norm {
        gamma: per_row(call, 2, width)?,
        beta: beta.map_or(Ok(None), |input| per_row(call, input, width))?,
        epsilon: f64::from(call.attrs.float("epsilon").unwrap_or(1e-12)),
        is_centered,
    };
    let bias = per_row(call, bias, width)?;
    let mut sums = x.floats()?;
    let skip = skip.floats()?;
    for (i, sum) in sums.iter_mut().enumerate() {
        *sum += skip[i % skip.len()] + bias.as_ref().map_or(0.0, |bias| bias[i % width]);
    }
    let sum = Tensor::of_floats(x.elem(), x.dims(), &sums)?;
    let (mut means, mut inverses) = (List::new(), List::new());
    for row in sums.chunks_exact_mut(width.max(1)) {
        let (mean, inverse) = norm.apply(row);
        means.push(mean)?;
        inverses.push(inverse)?;
    }
    let mut stats = outer.to_vec();
    stats.push(1);
    means.resize(count_of(&stats)?, 0.0)?;
    inverses.resize(count_of(&stats)?, 0.0)?;
    Ok(vec![
        Tensor::of_floats(x.elem(), x.dims(), &sums)?.into(),
        Tensor::of_floats(ElemType::FLOAT, &stats, &means)?.into(),
        Tensor::of_floats(ElemType::FLOAT, &stats, &inverses)?.into(),
        sum.into(),
    ])
}

/// A table of embeddings.
struct Embeddings<'t> {
    table: &'t Tensor,
    count: usize,
}

impl<'t> Embeddings<'t> {
    fn of(table: &'t Tensor, width: usize) -> Result<Embeddings<'t>, Failure> {
        match table.dims() {
            &[count, w] if w == width => Ok(Embeddings { table, count }),
            dims => fail!("embeddings of shape {dims:?} are none of {}", counted(width, "number")),
        }
    }

    fn add(&self, id: i64, to: &mut [f64]) -> Result<(), Failure> {
        let Some(id) = usize::try_from(id).ok().filter(|&id| id < self.count) else {
            fail!("embedding {id} is wanted of {}", self.count)
        };
        let first = id * to.len();
        if self.table.elem() == ElemType::FLOAT {
            let row = &self.table.words::<f32>()[first..][..to.len()];
            to.iter_mut().zip(row).for_each(|(to, x)| *to += f64::from(*x));
            return Ok(());
        }
        for (i, to) in to.iter_mut().enumerate() {
            match Elements::number(self.table, first + i) {
                Some(Number::Float(x)) => *to += x,
                Some(Number::Int(_)) | None => fail!("embeddings are not floats"),
            }
        }
        Ok(())
    }
}

/// Sums the embeddings of words, positions and segments and normalizes them; also computes the length of each sequence.
fn embed_layer_normalization(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let ids = call.tensor(0)?;
    let &[batch, length] = ids.dims() else { fail!("the shape {:?} is not one of sequences", ids.dims()) };
    let words = call.tensor(2)?;
    let &[_, width] = words.dims() else { fail!("the shape {:?} is not one of embeddings", words.dims()) };
    let same = |input: usize| match call.optional_tensor(input)? {
        Some(tensor) if tensor.dims() == [batch, length] => tensor.ints().map(Some),
        Some(tensor) => fail!("input {input} of shape {:?} does not fit {:?}", tensor.dims(), ids.dims()),
        None => Ok(None),
    };
    let (segments, mask) = (same(1)?, same(7)?);
    let positions = match call.optional_tensor(8)? {
        Some(tensor) if tensor.len() == length || tensor.dims() == ids.dims() => Some(tensor.ints()?),
        Some(tensor) => fail!("positions of shape {:?} do not fit {:?}", tensor.dims(), ids.dims()),
        None => None,
    };
    let segment_table = match call.optional_tensor(4)? {
        Some(table) => Some(Embeddings::of(table, width)?),
        None => None,
    };
    let elem = words.elem();
    let (words, places) = (Embeddings::of(words, width)?, Embeddings::of(call.tensor(3)?, width)?);
    let norm = Norm {
        gamma: per_row(call, 5, width)?,
        beta: per_row(call, 6, width)?,
        epsilon: f64::from(call.attrs.float("epsilon").unwrap_or(1e-12)),
        is_centered: true,
    };
    let dims = [batch, length, width];
    call.has_room(elem, &dims)?;
    let mut sums = filled(count_of(&dims)?, 0.0)?;
    for ((i, row), id) in sums.chunks_exact_mut(width.max(1)).enumerate().zip(ids.ints()?) {
        words.add(id, row)?;
        let place = match &positions {
            Some(positions) => positions[i % positions.len()],
            None => i64::try_from(i % length).unwrap_or(i64::MAX),
        };
        places.add(place, row)?;
        if let (Some(segments), Some(table)) = (&segments, &segment_table) {
            table.add(segments[i], row)?;
        }
    }
    let sum = Tensor::of_floats(elem, &dims, &sums)?;
    for row in sums.chunks_exact_mut(width.max(1)) {
        norm.apply(row);
    }
    let mut lengths = filled(batch, 0i32)?;
    if let Some(mask) = mask {
        for (n, row) in lengths.iter_mut().zip(mask.chunks_exact(length.max(1))) {
            *n = i32::try_from(row.iter().filter(|&&m| m == 1).count()).unwrap_or(i32::MAX);
        }
    }
    Ok(vec![
        Tensor::of_floats(elem, &dims, &sums)?.into(),
        Tensor::of(&[batch], &lengths)?.into(),
        sum.into(),
    ])
}

/// The tanh approximation of Gelu, for a sum.
fn fast_gelu(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let width = x.dims().last().copied().unwrap_or(1);
    let bias = per_row(call, 1, width)?;
    let mut all = x.floats()?;
    for (i, x) in all.iter_mut().enumerate() {
        *x += bias.as_ref().map_or(0.0, |bias| bias[i % width]);
        let inner = 0.797_884_560_802_865_4 * (*x + 0.044_715 * x.powi(3));
        *x *= 0.5 * (1.0 + inner.tanh());
    }
    Ok(vec![Tensor::of_floats(x.elem(), x.dims(), &all)?.into()])
}
