//! Optimizers of the domain ai.onnx.preview.training: Adagrad, Adam, Momentum.
//!
//! Inputs are the learning rate, the number of previous steps, and then for several tensors: the tensors, their gradients, and
//! each kind of state. Outputs are the tensors and states after the step.

use super::{Call, Row};
use crate::failure::{Failure, fail};
use crate::list::List;
use crate::tensor::Tensor;
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    ("ai.onnx.preview.training", "Adagrad", adagrad),
    ("ai.onnx.preview.training", "Adam", adam),
    ("ai.onnx.preview.training", "Momentum", momentum),
];

/// An element with its gradient and states, updated in place.
struct Element<const N: usize> {
    x: f64,
    gradient: f64,
    states: [f64; N],
}

/// Applies a step to each element of all tensors.
fn step<const N: usize>(call: &Call<'_>, update: impl Fn(&mut Element<N>)) -> Result<Vec<Value>, Failure> {
    let given = call.inputs.len().saturating_sub(2);
    if given == 0 || !given.is_multiple_of(N + 2) {
        fail!("{given} tensors are none of {} for each", N + 2);
    }
    let count = given / (N + 2);
    let mut results: Vec<Vec<Value>> = vec![Vec::new(); N + 1];
    for i in 0..count {
        let tensor = |kind: usize| {
            let tensor = call.tensor(2 + kind * count + i)?;
            let x = call.tensor(2 + i)?;
            if tensor.dims() != x.dims() {
                fail!("a tensor of shape {:?} has a gradient or state of {:?}", x.dims(), tensor.dims());
            }
            Ok(tensor)
        };
        let mut x = tensor(0)?.floats()?;
        let gradients = tensor(1)?.floats()?;
        let mut states: Vec<List<f64>> = (0..N).map(|k| tensor(2 + k)?.floats()).collect::<Result<_, _>>()?;
        for (at, x) in x.iter_mut().enumerate() {
            let mut element =
                Element { x: *x, gradient: gradients[at], states: std::array::from_fn(|k| states[k][at]) };
            update(&mut element);
            *x = element.x;
            for (state, new) in states.iter_mut().zip(element.states) {
                state[at] = new;
            }
        }
        let first = tensor(0)?;
        results[0].push(Tensor::of_floats(first.elem(), first.dims(), &x)?.into());
        for (k, state) in states.iter().enumerate() {
            let tensor = tensor(2 + k)?;
            results[k + 1].push(Tensor::of_floats(tensor.elem(), tensor.dims(), state)?.into());
        }
    }
    Ok(results.into_iter().flatten().collect())
}

fn number(call: &Call<'_>, input: usize) -> Result<f64, Failure> {
    match call.tensor(input)?.floats()?[..] {
        [number] => Ok(number),
        _ => fail!("input {input} has to be one number"),
    }
}

fn attribute(call: &Call<'_>, name: &str) -> Result<f64, Failure> {
    match call.attrs.float(name) {
        Some(x) => Ok(f64::from(x)),
        None => fail!("attribute `{name}` is missing"),
    }
}

fn adagrad(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (rate, t) = (number(call, 0)?, number(call, 1)?);
    let (norm, epsilon) = (attribute(call, "norm_coefficient")?, attribute(call, "epsilon")?);
    let rate = rate / (1.0 + t * attribute(call, "decay_factor")?);
    step(call, |e: &mut Element<1>| {
        let gradient = norm * e.x + e.gradient;
        e.states[0] += gradient * gradient;
        e.x -= rate * gradient / (e.states[0].sqrt() + epsilon);
    })
}

fn adam(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (rate, t) = (number(call, 0)?, number(call, 1)?);
    let (alpha, beta) = (attribute(call, "alpha")?, attribute(call, "beta")?);
    let (norm, after) = (attribute(call, "norm_coefficient")?, attribute(call, "norm_coefficient_post")?);
    let epsilon = attribute(call, "epsilon")?;
    // Bias correction in the first steps.
    let rate = if t > 0.0 { rate * (1.0 - beta.powf(t)).sqrt() / (1.0 - alpha.powf(t)) } else { rate };
    step(call, |e: &mut Element<2>| {
        let gradient = norm * e.x + e.gradient;
        e.states[0] = alpha * e.states[0] + (1.0 - alpha) * gradient;
        e.states[1] = beta * e.states[1] + (1.0 - beta) * gradient * gradient;
        let x = e.x - rate * e.states[0] / (e.states[1].sqrt() + epsilon);
        e.x = (1.0 - after) * x;
    })
}

fn momentum(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (rate, t) = (number(call, 0)?, number(call, 1)?);
    let (alpha, beta) = (attribute(call, "alpha")?, attribute(call, "beta")?);
    let norm = attribute(call, "norm_coefficient")?;
    let is_nesterov = match call.attrs.string("mode").as_deref() {
        Some("standard") => false,
        Some("nesterov") => true,
        other => fail!("there is no mode `{}`", other.unwrap_or("")),
    };
    // The first gradient has full weight.
    let beta = if t > 0.0 { beta } else { 1.0 };
    step(call, |e: &mut Element<1>| {
        let gradient = norm * e.x + e.gradient;
        e.states[0] = alpha * e.states[0] + beta * gradient;
        e.x -= rate * if is_nesterov { gradient + alpha * e.states[0] } else { e.states[0] };
    })
}
