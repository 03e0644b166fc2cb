//! BatchNormalization for training.

use crate::value::Value;
use crate::{Call, Nodes, Row, row};
use onnx_ir::diag::counted;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::filled;
use onnx_loops::tensor::{Tensor, count_of};

pub(crate) const ROWS: &[Row] = &[row("", "BatchNormalization", batch_normalization).only(Nodes::Training)];

/// Normalizes by the mean and variance of the batch, and updates the running ones.
fn batch_normalization(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let [n, c, spatial @ ..] = x.dims() else { fail!("the shape {:?} has no axis of channels", x.dims()) };
    // The first versions can have a mean per element instead of per channel.
    let is_spatial = call.attrs.int("spatial").unwrap_or(1) != 0;
    let plane = count_of(spatial)?;
    let (groups, inner) = match is_spatial {
        true => (*c, plane),
        false => (count_of(&[*c, plane])?, 1),
    };
    let parameter = |input: usize| {
        let tensor = call.tensor(input)?;
        if tensor.len() != groups {
            fail!("input {input} has {} for {groups}", counted(tensor.len(), "number"));
        }
        tensor.floats()
    };
    let (scale, bias, mean, variance) = (parameter(1)?, parameter(2)?, parameter(3)?, parameter(4)?);
    let epsilon = f64::from(call.attrs.float("epsilon").unwrap_or(1e-5));
    let momentum = f64::from(call.attrs.float("momentum").unwrap_or(0.9));
    let mut all = x.floats()?;
    let (mut means, mut variances) = (filled(groups, 0.0)?, filled(groups, 0.0)?);
    if !all.is_empty() {
        let count = (*n * inner) as f64;
        for (i, x) in all.chunks_exact(inner).enumerate() {
            means[i % groups] += x.iter().sum::<f64>() / count;
        }
        for (i, x) in all.chunks_exact(inner).enumerate() {
            let mean = means[i % groups];
            variances[i % groups] += x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
        }
        for (i, x) in all.chunks_exact_mut(inner).enumerate() {
            let group = i % groups;
            let factor = scale[group] / (variances[group] + epsilon).sqrt();
            x.iter_mut().for_each(|x| *x = (*x - means[group]) * factor + bias[group]);
        }
    }
    let running = |input: usize, kept: &[f64], new: &[f64]| {
        let mixed = kept.iter().zip(new).map(|(kept, new)| kept * momentum + new * (1.0 - momentum));
        let tensor = call.tensor(input)?;
        Tensor::from_floats(tensor.elem(), tensor.dims(), mixed).map(Value::from)
    };
    let saved = |input: usize, all: &[f64]| {
        let tensor = call.tensor(input)?;
        Tensor::of_floats(tensor.elem(), tensor.dims(), all).map(Value::from)
    };
    let mut outputs = vec![Tensor::of_floats(x.elem(), x.dims(), &all)?.into()];
    outputs.extend([running(3, &mean, &means)?, running(4, &variance, &variances)?]);
    if call.output_count() > 3 {
        outputs.extend([saved(3, &means)?, saved(4, &variances)?]);
    }
    Ok(outputs)
}
