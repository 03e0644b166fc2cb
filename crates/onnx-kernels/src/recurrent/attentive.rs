//! AttnLSTM of ONNX Runtime: an LSTM whose input at each step is extended by what its state attends to in a memory.

use super::cell::{Cell, CellState, Kind};
use super::number::Number;
use super::{Sizes, activations, backwards, has_dims, lengths, or_zeros, weights};
use crate::Call;
use crate::value::Value;
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, filled};
use onnx_loops::tensor::count_of;

pub(super) fn attn_lstm(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    match call.tensor(0)?.elem() {
        ElemType::DOUBLE => run_of::<f64>(call),
        _ => run_of::<f32>(call),
    }
}

/// The inputs of the attention: weights of queries and of the memory, a vector, the memory, its lengths, and the layer after it.
const QUERY: usize = 8;
const MEMORY_WEIGHTS: usize = 9;
const VECTOR: usize = 10;
const MEMORY: usize = 11;
const MEMORY_LENGTHS: usize = 12;
const LAYER: usize = 13;

/// The attention of all directions.
struct Attention {
    memory: List<f64>,
    /// Places of the memory, and numbers at each.
    places: usize,
    depth: usize,
    /// The places that each sequence has.
    lengths: Vec<usize>,
    /// Numbers of a key.
    width: usize,
    hidden: usize,
    /// For each direction: keys of all places, weights of queries, the vector.
    keys: List<f64>,
    query: List<f64>,
    vector: List<f64>,
    /// For each direction, the layer that makes the result from state and context.
    layer: Option<List<f64>>,
    /// Numbers of the result.
    size: usize,
}

impl Attention {
    fn of(call: &Call<'_>, sizes: &Sizes) -> Result<Attention, Failure> {
        let Sizes { batch, hidden, directions, .. } = *sizes;
        let memory = call.tensor(MEMORY)?;
        let &[rows, places, depth] = memory.dims() else {
            fail!("a memory of shape {:?} is none of sequences", memory.dims())
        };
        let &[_, _, width] = call.tensor(QUERY)?.dims() else {
            fail!("weights of queries are none of matrices")
        };
        if rows != batch {
            fail!("a memory for {} does not fit {batch}", counted(rows, "sequence"));
        }
        has_dims(call.tensor(QUERY)?, "QW", &[directions, hidden, width])?;
        has_dims(call.tensor(MEMORY_WEIGHTS)?, "MW", &[directions, depth, width])?;
        has_dims(call.tensor(VECTOR)?, "V", &[directions, width])?;
        let lengths = match call.optional_ints(MEMORY_LENGTHS)? {
            None => vec![places; batch],
            Some(given) => {
                let length = |n: &i64| usize::try_from(*n).ok().filter(|n| (1..=places).contains(n));
                match given.iter().map(length).collect::<Option<Vec<_>>>() {
                    Some(lengths) if lengths.len() == batch => lengths,
                    _ => fail!("lengths {given:?} do not fit {batch} memories of {places}"),
                }
            }
        };
        let (layer, size) = match call.optional_tensor(LAYER)? {
            None => (None, depth),
            Some(layer) => {
                let size = layer.dims().last().copied().unwrap_or(0);
                has_dims(layer, "AW", &[directions, hidden + depth, size])?;
                (Some(layer.floats()?), size)
            }
        };
        let (numbers, of_memory) = (memory.floats()?, call.tensor(MEMORY_WEIGHTS)?.floats()?);
        let mut keys = filled(count_of(&[directions, batch, places, width])?, 0.0)?;
        spend(keys.len().saturating_mul(depth))?;
        if width > 0 {
            for (at, key) in keys.chunks_exact_mut(width).enumerate() {
                let (direction, place) = (at / (batch * places), at % (batch * places));
                let weights = &of_memory[direction * depth * width..][..depth * width];
                add_products(&numbers[place * depth..][..depth], weights, key);
            }
        }
        Ok(Attention {
            memory: numbers,
            places,
            depth,
            lengths,
            width,
            hidden,
            keys,
            query: call.tensor(QUERY)?.floats()?,
            vector: call.tensor(VECTOR)?.floats()?,
            layer,
            size,
        })
    }

    /// The mean of the memory, weighted by its match with the state of a sequence.
    fn attend(&self, direction: usize, b: usize, state: &[f64], result: &mut [f64]) -> Result<(), Failure> {
        let &Attention { places, depth, width, hidden, size, .. } = self;
        spend((places + hidden) * width + places * depth + size * (hidden + depth))?;
        let mut query = filled(width, 0.0)?;
        add_products(state, &self.query[direction * hidden * width..][..hidden * width], &mut query);
        let vector = &self.vector[direction * width..][..width];
        let batch = self.lengths.len();
        let keys = &self.keys[(direction * batch + b) * places * width..][..places * width];
        let score = |place: usize| {
            let key = &keys[place * width..][..width];
            vector.iter().zip(key).zip(&query[..]).map(|((v, k), q)| v * (k + q).tanh()).sum::<f64>()
        };
        let mut parts: List<f64> = (0..self.lengths[b]).map(score).listed()?;
        let most = parts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        parts.iter_mut().for_each(|part| *part = (*part - most).exp());
        let sum: f64 = parts.iter().sum();
        parts.iter_mut().for_each(|part| *part /= sum);
        let mut context = filled(depth, 0.0)?;
        let memory = &self.memory[b * places * depth..][..places * depth];
        add_products(&parts, &memory[..parts.len() * depth], &mut context);
        match &self.layer {
            None => result.copy_from_slice(&context),
            Some(layer) => {
                let layer = &layer[direction * (hidden + depth) * size..][..(hidden + depth) * size];
                result.fill(0.0);
                add_products(state, &layer[..hidden * size], result);
                add_products(&context, &layer[hidden * size..], result);
            }
        }
        Ok(())
    }
}

/// Adds to a row its product with a matrix, which has a row for each number.
fn add_products(numbers: &[f64], matrix: &[f64], to: &mut [f64]) {
    for (x, row) in numbers.iter().zip(matrix.chunks_exact(to.len().max(1))) {
        to.iter_mut().zip(row).for_each(|(to, w)| *to += x * w);
    }
}

fn run_of<T: Number>(call: &Call<'_>) -> Result<Vec<Value>, Failure> {
    let kind = Kind::Lstm;
    let (x, r) = (call.tensor(0)?, call.tensor(2)?);
    let (&[steps, batch, input], &[directions, _, hidden]) = (x.dims(), r.dims()) else {
        fail!("an input of shape {:?} and weights of shape {:?} do not fit", x.dims(), r.dims())
    };
    let sizes = Sizes { steps, batch, hidden, directions, is_batch_first: false };
    let backwards = backwards(call)?;
    if backwards.len() != directions || hidden == 0 {
        fail!(
            "the weights are for {} of {}, there are {}",
            counted(directions, "direction"),
            counted(hidden, "state"),
            backwards.len(),
        );
    }
    let rows = count_of(&[kind.gates(), hidden])?;
    let attention = Attention::of(call, &sizes)?;
    let width = input + attention.size;
    has_dims(call.tensor(1)?, "W", &[directions, rows, width])?;
    has_dims(r, "R", &[directions, rows, hidden])?;
    let weights = call.kept(&[1, 2], |store| weights::<T>(call, kind, &sizes, width, store))?;
    let bias: List<T> = or_zeros(call, 3, "B", &[directions, count_of(&[2, rows])?])?;
    let lengths = lengths(call, &sizes)?;
    let mut h: List<T> = or_zeros(call, 5, "initial_h", &sizes.state_dims())?;
    let mut c: List<T> = or_zeros(call, 6, "initial_c", &sizes.state_dims())?;
    let peepholes: List<T> = or_zeros(call, 7, "P", &[directions, count_of(&[3, hidden])?])?;
    let activations = activations(call, kind, directions)?;
    let xs = T::numbers(x)?;
    let mut y = filled(count_of(&sizes.y_dims())?, T::of(0.0))?;
    let per_direction = kind.activations().len();
    for direction in 0..directions {
        let (input_bias, bias) = bias[direction * 2 * rows..][..2 * rows].split_at(rows);
        let cell = Cell {
            kind,
            hidden,
            recurrence: &weights[direction].recurrence,
            bias,
            peepholes: Some(&peepholes[direction * 3 * hidden..][..3 * hidden]),
            activations: &activations[direction * per_direction..][..per_direction],
            clip: call.attrs.float("clip").map(f64::from).filter(|clip| *clip > 0.0).map(T::of),
            input_forget: call.attrs.flag("input_forget"),
            is_quantized: false,
        };
        let own = direction * batch * hidden..(direction + 1) * batch * hidden;
        let mut state =
            CellState::new(&cell, List::copied(&h[own.clone()])?, List::copied(&c[own.clone()])?)?;
        let mut seen = filled(count_of(&[batch, attention.size])?, 0.0)?;
        let mut extended = filled(count_of(&[batch, width])?, T::of(0.0))?;
        let mut gates = filled(count_of(&[batch, rows])?, T::of(0.0))?;
        for i in 0..lengths.iter().copied().max().unwrap_or(0) {
            spend(count_of(&[batch, rows])?.saturating_mul(hidden + width))?;
            let step = |b: usize| {
                let length = lengths[b];
                let step = if backwards[direction] { length.checked_sub(i + 1)? } else { i };
                (i < length).then_some(step)
            };
            for (b, row) in extended.chunks_exact_mut(width.max(1)).enumerate() {
                let (of_input, of_seen) = row.split_at_mut(input);
                if let Some(step) = step(b) {
                    of_input.copy_from_slice(&xs[sizes.row(step, b) * input..][..input]);
                }
                let seen = &seen[b * attention.size..][..attention.size];
                of_seen.iter_mut().zip(seen).for_each(|(to, x)| *to = T::of(*x));
            }
            gates.chunks_exact_mut(rows).for_each(|row| row.copy_from_slice(input_bias));
            T::add_products(&weights[direction].input, &extended, &mut gates)?;
            cell.step(&mut state, &mut gates, |b| step(b).map(|_| b))?;
            for (b, h) in state.h.chunks_exact(hidden).enumerate() {
                let Some(step) = step(b) else { continue };
                y[sizes.of_y(step, direction, b)..][..hidden].copy_from_slice(h);
                let h: List<f64> = h.iter().map(|x| (*x).into()).listed()?;
                attention.attend(direction, b, &h, &mut seen[b * attention.size..][..attention.size])?;
            }
        }
        h[own.clone()].copy_from_slice(&state.h);
        c[own].copy_from_slice(&state.c);
    }
    let result = |dims: &[usize], all: &[T]| T::tensor(x.elem(), dims, all).map(Value::from);
    Ok(vec![result(&sizes.y_dims(), &y)?, result(&sizes.state_dims(), &h)?, result(&sizes.state_dims(), &c)?])
}
