//! Optimizers of the domain ai.onnx.preview.training: Adagrad, Adam, Momentum.
//!
//! Inputs are the learning rate, the number of previous steps, and then for several tensors: the tensors, their gradients, and
//! each kind of state. Outputs are the tensors and states after the step. Numbers are computed in the type of the tensors, as
//! frameworks do; what depends on the learning rate and the number of steps alone is computed in double precision first.

use crate::real::Real;
use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::ElemType;
use onnx_ir::diag::counted_are;
use onnx_loops::budget;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::parallel::parallel;
use onnx_loops::pool;
use onnx_loops::tensor::{Element, Tensor};
use onnx_loops::{Body, widest};
use std::array;

pub(crate) const ROWS: &[Row] = &[
    row("ai.onnx.preview.training", "Adagrad", adagrad),
    row("ai.onnx.preview.training", "Adam", adam),
    row("ai.onnx.preview.training", "Momentum", momentum),
];

/// Parts of fewer elements are not worth a thread.
const MIN_PARALLEL_ELEMENTS: usize = 1 << 13;
/// Elements that are updated together: apart from the tensors, so that the compiler knows that nothing overlaps.
const BLOCK: usize = 64;

/// The change of an element by a step, given its gradient and `N` states.
trait Rule<const N: usize>: Copy + Send {
    /// The element and the states after the step. This and all callees must be inlined always.
    fn update<T: Real>(&self, x: T, gradient: T, states: [T; N]) -> (T, [T; N]);
}

/// Applies a step to all tensors.
fn step<const N: usize>(call: &Call<'_>, rule: impl Rule<N>) -> Result<Vec<Value>, Failure> {
    let given = call.inputs.len().saturating_sub(2);
    if given == 0 || !given.is_multiple_of(N + 2) {
        fail!("{} none of {} for each", counted_are(given, "tensor"), N + 2);
    }
    let count = given / (N + 2);
    let mut results: Vec<Vec<Value>> = vec![Vec::new(); N + 1];
    for i in 0..count {
        let x = call.tensor(2 + i)?;
        let tensor = |kind: usize| {
            let tensor = call.tensor(2 + kind * count + i)?;
            if (tensor.elem(), tensor.dims()) != (x.elem(), x.dims()) {
                fail!("a tensor of type {} has a gradient or state of {}", x.type_text(), tensor.type_text());
            }
            Ok(tensor)
        };
        let gradient = tensor(1)?;
        let mut states = [x; N];
        for (k, state) in states.iter_mut().enumerate() {
            *state = tensor(2 + k)?;
        }
        let new = match x.elem() {
            ElemType::FLOAT => updated::<f32, N>(rule, x, gradient, states)?,
            ElemType::DOUBLE => updated::<f64, N>(rule, x, gradient, states)?,
            _ => fail!("tensors of type {} are not trained: float and double are", x.type_text()),
        };
        results.iter_mut().zip(new).for_each(|(results, new)| results.push(new.into()));
    }
    Ok(results.into_iter().flatten().collect())
}

/// A tensor and its states after a step.
fn updated<T: Real + Element, const N: usize>(
    rule: impl Rule<N>,
    x: &Tensor,
    gradient: &Tensor,
    states: [&Tensor; N],
) -> Result<Vec<Tensor>, Failure> {
    let mut new = (0..=N).map(|_| overwritten(x)).collect::<Result<Vec<_>, _>>()?;
    let [first, others @ ..] = &mut new[..] else { return Ok(new) };
    let mut rest = Update {
        rule,
        x: x.words::<T>(),
        gradients: gradient.words(),
        states: states.map(Tensor::words),
        new_x: first.words_mut()?,
        new_states: array::from_fn(|_| &mut [][..]),
    };
    for (slot, tensor) in rest.new_states.iter_mut().zip(others) {
        *slot = tensor.words_mut()?;
    }
    let threads = pool::threads().min(x.len() / MIN_PARALLEL_ELEMENTS).max(1);
    let each = x.len().div_ceil(threads).next_multiple_of(BLOCK);
    let mut parts = Vec::with_capacity(threads);
    while rest.x.len() > each {
        parts.push(rest.split_off_first(each));
    }
    parts.push(rest);
    parallel(parts, |part| {
        widest(part);
        Ok(())
    })?;
    Ok(new)
}

/// A tensor like this one, whose elements have to be written.
fn overwritten(like: &Tensor) -> Result<Tensor, Failure> {
    match budget::recycler() {
        Some(recycler) => Tensor::recycled(like.elem(), like.dims(), &recycler),
        None => Tensor::zeros(like.elem(), like.dims()),
    }
}

/// The step of some elements.
struct Update<'a, T, R, const N: usize> {
    rule: R,
    x: &'a [T],
    gradients: &'a [T],
    states: [&'a [T]; N],
    new_x: &'a mut [T],
    new_states: [&'a mut [T]; N],
}

impl<'a, T: Real, R: Rule<N>, const N: usize> Update<'a, T, R, N> {
    /// Takes the first elements away.
    fn split_off_first(&mut self, count: usize) -> Update<'a, T, R, N> {
        fn first<'a, T>(slice: &mut &'a [T], count: usize) -> &'a [T] {
            let (first, rest) = slice.split_at(count);
            *slice = rest;
            first
        }
        fn first_mut<'a, T>(slice: &mut &'a mut [T], count: usize) -> &'a mut [T] {
            let (first, rest) = std::mem::take(slice).split_at_mut(count);
            *slice = rest;
            first
        }
        Update {
            rule: self.rule,
            x: first(&mut self.x, count),
            gradients: first(&mut self.gradients, count),
            states: self.states.each_mut().map(|states| first(states, count)),
            new_x: first_mut(&mut self.new_x, count),
            new_states: self.new_states.each_mut().map(|states| first_mut(states, count)),
        }
    }
}

impl<T: Real, R: Rule<N>, const N: usize> Body for Update<'_, T, R, N> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Update { rule, x, gradients, states, new_x, new_states } = self;
        let mut block = [T::of(0.0); BLOCK];
        let (mut gradient, mut state) = (block, [block; N]);
        for first in (0..x.len()).step_by(BLOCK) {
            let at = first..(first + BLOCK).min(x.len());
            let len = at.len();
            block[..len].copy_from_slice(&x[at.clone()]);
            gradient[..len].copy_from_slice(&gradients[at.clone()]);
            for k in 0..N {
                state[k][..len].copy_from_slice(&states[k][at.clone()]);
            }
            for i in 0..BLOCK {
                let (x, states) = rule.update(block[i], gradient[i], array::from_fn(|k| state[k][i]));
                block[i] = x;
                for k in 0..N {
                    state[k][i] = states[k];
                }
            }
            new_x[at.clone()].copy_from_slice(&block[..len]);
            for k in 0..N {
                new_states[k][at.clone()].copy_from_slice(&state[k][..len]);
            }
        }
    }
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

#[derive(Clone, Copy)]
struct Adagrad {
    rate: f64,
    norm: f64,
    epsilon: f64,
}

impl Rule<1> for Adagrad {
    #[inline(always)]
    fn update<T: Real>(&self, x: T, gradient: T, [squares]: [T; 1]) -> (T, [T; 1]) {
        let gradient = T::of(self.norm) * x + gradient;
        let squares = squares + gradient * gradient;
        (x - T::of(self.rate) * gradient / (squares.sqrt() + T::of(self.epsilon)), [squares])
    }
}

fn adagrad(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (rate, t) = (number(call, 0)?, number(call, 1)?);
    let (norm, epsilon) = (attribute(call, "norm_coefficient")?, attribute(call, "epsilon")?);
    let rate = rate / (1.0 + t * attribute(call, "decay_factor")?);
    step(call, Adagrad { rate, norm, epsilon })
}

#[derive(Clone, Copy)]
struct Adam {
    rate: f64,
    alpha: f64,
    beta: f64,
    norm: f64,
    /// The factor of an element after the step.
    kept: f64,
    epsilon: f64,
}

impl Rule<2> for Adam {
    #[inline(always)]
    fn update<T: Real>(&self, x: T, gradient: T, [mean, squares]: [T; 2]) -> (T, [T; 2]) {
        let gradient = T::of(self.norm) * x + gradient;
        let mean = T::of(self.alpha) * mean + T::of(1.0 - self.alpha) * gradient;
        let squares = T::of(self.beta) * squares + T::of(1.0 - self.beta) * gradient * gradient;
        let x = x - T::of(self.rate) * mean / (squares.sqrt() + T::of(self.epsilon));
        (T::of(self.kept) * x, [mean, squares])
    }
}

fn adam(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (rate, t) = (number(call, 0)?, number(call, 1)?);
    let (alpha, beta) = (attribute(call, "alpha")?, attribute(call, "beta")?);
    let (norm, after) = (attribute(call, "norm_coefficient")?, attribute(call, "norm_coefficient_post")?);
    let epsilon = attribute(call, "epsilon")?;
    // Bias correction in the first steps.
    let rate = if t > 0.0 { rate * (1.0 - beta.powf(t)).sqrt() / (1.0 - alpha.powf(t)) } else { rate };
    step(call, Adam { rate, alpha, beta, norm, kept: 1.0 - after, epsilon })
}

#[derive(Clone, Copy)]
struct Momentum {
    rate: f64,
    alpha: f64,
    beta: f64,
    norm: f64,
    is_nesterov: bool,
}

impl Rule<1> for Momentum {
    #[inline(always)]
    fn update<T: Real>(&self, x: T, gradient: T, [velocity]: [T; 1]) -> (T, [T; 1]) {
        let gradient = T::of(self.norm) * x + gradient;
        let velocity = T::of(self.alpha) * velocity + T::of(self.beta) * gradient;
        let change = if self.is_nesterov { gradient + T::of(self.alpha) * velocity } else { velocity };
        (x - T::of(self.rate) * change, [velocity])
    }
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
    step(call, Momentum { rate, alpha, beta, norm, is_nesterov })
}
