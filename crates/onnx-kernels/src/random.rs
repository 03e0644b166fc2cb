//! Random number kernels: RandomNormal, RandomUniform and their Like forms, Bernoulli, Multinomial.
//!
//! ONNX does not specify the numbers for a seed. A node with a seed yields the same numbers each time, others use the seed of the
//! run.

use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::ElemType;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _};
use onnx_loops::random::Random;
use onnx_loops::tensor::Tensor;

pub(crate) const ROWS: &[Row] = &[
    row("", "Bernoulli", bernoulli),
    row("", "Multinomial", multinomial),
    row("", "RandomNormal", |call| of_shape(call, normal)),
    row("", "RandomNormalLike", |call| like(call, normal)),
    row("", "RandomUniform", |call| of_shape(call, uniform)),
    row("", "RandomUniformLike", |call| like(call, uniform)),
];

/// Draws a number from a distribution with the parameters of the node.
type Draw = fn(&Call<'_>, &mut Random) -> f64;

fn normal(call: &Call<'_>, random: &mut Random) -> f64 {
    let (mean, scale) = (call.attrs.float("mean").unwrap_or(0.0), call.attrs.float("scale").unwrap_or(1.0));
    f64::from(mean) + f64::from(scale) * random.normal()
}

fn uniform(call: &Call<'_>, random: &mut Random) -> f64 {
    let (low, high) = (call.attrs.float("low").unwrap_or(0.0), call.attrs.float("high").unwrap_or(1.0));
    f64::from(low) + (f64::from(high) - f64::from(low)) * random.uniform()
}

/// The generator of this node.
fn stream(call: &Call<'_>) -> Random {
    call.attrs.float("seed").map_or_else(|| call.random.clone(), Random::of_seed)
}

fn drawn(call: &Call<'_>, elem: ElemType, dims: &[usize], draw: Draw) -> Result<Vec<Value>, Failure> {
    let count = call.has_room(elem, dims)?;
    let mut random = stream(call);
    Ok(vec![Tensor::from_floats(elem, dims, (0..count).map(|_| draw(call, &mut random)))?.into()])
}

fn of_shape(call: &mut Call<'_>, draw: Draw) -> Result<Vec<Value>, Failure> {
    let shape = call.attrs.ints("shape").unwrap_or_default();
    let dims: Option<Vec<usize>> = shape.iter().map(|&d| usize::try_from(d).ok()).collect();
    let Some(dims) = dims else { fail!("an extent of {shape:?} is negative") };
    drawn(call, call.attrs.elem("dtype").unwrap_or(ElemType::FLOAT), &dims, draw)
}

fn like(call: &mut Call<'_>, draw: Draw) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let elem = call.attrs.elem("dtype").unwrap_or(x.elem());
    drawn(call, elem, x.dims(), draw)
}

/// 1 with the probability given by the input.
fn bernoulli(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let mut random = stream(call);
    let drawn = x.floats()?.into_iter().map(|p| f64::from(u8::from(random.uniform() < p)));
    let elem = call.attrs.elem("dtype").unwrap_or(x.elem());
    Ok(vec![Tensor::from_floats(elem, x.dims(), drawn)?.into()])
}

/// Draws classes by unnormalized log probabilities.
fn multinomial(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let &[rows, classes] = x.dims() else { fail!("the shape {:?} is not one of rows and classes", x.dims()) };
    let samples = usize::try_from(call.attrs.int("sample_size").unwrap_or(1)).unwrap_or(0);
    let elem = call.attrs.elem("dtype").unwrap_or(ElemType::INT32);
    call.has_room(elem, &[rows, samples])?;
    let (logs, mut random) = (x.floats()?, stream(call));
    let mut drawn = List::with_room(rows * samples)?;
    for row in logs.chunks_exact(classes.max(1)) {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights = row.iter().map(|x| (x - top).exp()).listed()?;
        spend(samples.saturating_mul(classes))?;
        let total: f64 = weights.iter().sum();
        for _ in 0..samples {
            let mut left = random.uniform() * total;
            let class = weights.iter().position(|w| {
                left -= w;
                left < 0.0
            });
            drawn.push(class.unwrap_or(classes.saturating_sub(1)) as f64)?;
        }
    }
    Ok(vec![Tensor::of_floats(elem, &[rows, samples], &drawn)?.into()])
}
