//! RNN, GRU, LSTM: a cell that goes along a sequence, forward, backward or both ways.
//!
//! What the inputs give for the gates is computed for all steps at once; then the cell goes step by step (`cell`). A
//! sequence that is shorter than the others ends where it ends: behind it the outputs are zero, and a backward cell begins
//! at its last step.
//!
//! DynamicQuantizeLSTM of ONNX Runtime has weights of 8 bits, and rounds what it multiplies with them to as many.

mod activation;
mod cell;

use super::contributed::through_bytes;
use super::{Call, Row};
use crate::budget::{filled, spend};
use crate::failure::{Failure, fail};
use crate::tensor::{Tensor, count_of};
use crate::value::Value;
use activation::{Activation, Parameters};
pub(super) use cell::dot;
use cell::{Cell, Kind, State};

pub(super) const ROWS: &[Row] = &[
    ("com.microsoft", "DynamicQuantizeLSTM", |call| run(call, Kind::Lstm)),
    ("", "GRU", |call| run(call, Kind::Gru)),
    ("", "LSTM", |call| run(call, Kind::Lstm)),
    ("", "RNN", |call| run(call, Kind::Rnn)),
];

/// The extents of a node's tensors.
#[derive(Clone, Copy)]
struct Sizes {
    steps: usize,
    batch: usize,
    hidden: usize,
    directions: usize,
    /// `layout` 1: the batch is the first axis of everything that has one.
    is_batch_first: bool,
}

impl Sizes {
    /// Where the row of a step, a direction and an element of the batch begins in `Y`.
    fn of_y(&self, step: usize, direction: usize, b: usize) -> usize {
        let row = if self.is_batch_first {
            (b * self.steps + step) * self.directions + direction
        } else {
            (step * self.directions + direction) * self.batch + b
        };
        row * self.hidden
    }

    /// Where the row of a direction and an element of the batch begins in a state.
    fn of_state(&self, direction: usize, b: usize) -> usize {
        let row =
            if self.is_batch_first { b * self.directions + direction } else { direction * self.batch + b };
        row * self.hidden
    }

    fn state_dims(&self) -> [usize; 3] {
        match self.is_batch_first {
            true => [self.batch, self.directions, self.hidden],
            false => [self.directions, self.batch, self.hidden],
        }
    }

    fn y_dims(&self) -> [usize; 4] {
        match self.is_batch_first {
            true => [self.batch, self.steps, self.directions, self.hidden],
            false => [self.steps, self.directions, self.batch, self.hidden],
        }
    }
}

/// The numbers of an input of this shape.
fn numbers(tensor: &Tensor, name: &str, dims: &[usize]) -> Result<Vec<f64>, Failure> {
    if tensor.dims() != dims {
        fail!("`{name}` has the shape {:?}, not {dims:?}", tensor.dims());
    }
    tensor.floats()
}

/// See [`numbers`]; zeros for one that is left out.
fn or_zeros(call: &Call<'_>, input: usize, name: &str, dims: &[usize]) -> Result<Vec<f64>, Failure> {
    match call.optional_tensor(input)? {
        Some(tensor) => numbers(tensor, name, dims),
        None => filled(count_of(dims)?, 0.0),
    }
}

/// Rows that are turned at a time, so that what is written of them stays in the first cache.
const TOGETHER: usize = 16;

/// Weights that are stored as codes, with a column for each row that these have; their scales and zero points are those of a
/// direction or of a column.
fn dequantized(call: &Call<'_>, input: usize, scale: usize, dims: [usize; 3]) -> Result<Vec<f64>, Failure> {
    let [directions, rows, columns] = dims;
    let codes = numbers(call.tensor(input)?, "weights", &[directions, columns, rows])?;
    let parameter = |input: usize| {
        let tensor = call.tensor(input)?;
        if tensor.len() != directions && tensor.len() != count_of(&[directions, rows])? {
            fail!("input {input} of shape {:?} does not fit {directions} directions", tensor.dims());
        }
        tensor.floats()
    };
    let (scales, zeros) = (parameter(scale)?, parameter(scale + 1)?);
    let of = |all: &[f64], direction: usize, row: usize| {
        if all.len() == directions { all[direction] } else { all[direction * rows + row] }
    };
    let mut weights = filled(codes.len(), 0.0)?;
    for direction in 0..directions {
        for first in (0..rows).step_by(TOGETHER) {
            for column in 0..columns {
                for row in first..rows.min(first + TOGETHER) {
                    let code = codes[(direction * columns + column) * rows + row];
                    let number = (code - of(&zeros, direction, row)) * of(&scales, direction, row);
                    weights[(direction * rows + row) * columns + column] = number;
                }
            }
        }
    }
    Ok(weights)
}

/// Which way each direction goes.
fn backwards(call: &Call<'_>) -> Result<&'static [bool], Failure> {
    Ok(match call.attrs.string("direction").as_deref() {
        // The default of GRU 1 is misspelt.
        None | Some("forward" | "foward") => &[false],
        Some("reverse") => &[true],
        Some("bidirectional") => &[false, true],
        Some(other) => fail!("there is no direction `{other}`"),
    })
}

/// The functions of all directions.
fn activations(call: &Call<'_>, kind: Kind, directions: usize) -> Result<Vec<Activation>, Failure> {
    let defaults = kind.activations();
    let given = call.attrs.strings("activations").unwrap_or_default();
    if !given.is_empty() && given.len() < defaults.len() * directions {
        fail!("{} activation functions are given of {}", given.len(), defaults.len() * directions);
    }
    let floats = |name| call.attrs.floats(name).unwrap_or_default().into_iter();
    let mut parameters = Parameters { alphas: floats("activation_alpha"), betas: floats("activation_beta") };
    let name = |i: usize| given.get(i).map_or(defaults[i % defaults.len()], String::as_str);
    (0..defaults.len() * directions).map(|i| Activation::named(name(i), &mut parameters)).collect()
}

/// How many steps each sequence has.
fn lengths(call: &Call<'_>, sizes: &Sizes) -> Result<Vec<usize>, Failure> {
    let Some(given) = call.optional_ints(4)? else { return filled(sizes.batch, sizes.steps) };
    if given.len() != sizes.batch {
        fail!("{} lengths are given for {} sequences", given.len(), sizes.batch);
    }
    let length = |&n: &i64| match usize::try_from(n) {
        Ok(n) if n <= sizes.steps => Ok(n),
        Ok(_) | Err(_) => fail!("a sequence of {n} steps is none of at most {}", sizes.steps),
    };
    given.iter().map(length).collect()
}

fn run(call: &mut Call<'_>, kind: Kind) -> Result<Vec<Value>, Failure> {
    let (x, w, r) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let is_batch_first = call.attrs.int("layout").unwrap_or(0) == 1;
    let (&[first, second, input], &[directions, a, b]) = (x.dims(), r.dims()) else {
        fail!("an input of shape {:?} and weights of shape {:?} do not fit", x.dims(), r.dims())
    };
    let is_quantized = call.op() == "DynamicQuantizeLSTM";
    let hidden = if is_quantized { a } else { b };
    let (steps, batch) = if is_batch_first { (second, first) } else { (first, second) };
    let sizes = Sizes { steps, batch, hidden, directions, is_batch_first };
    let backwards = backwards(call)?;
    if backwards.len() != directions {
        fail!("the weights are for {directions} directions, there are {}", backwards.len());
    }
    let rows = count_of(&[kind.gates(), hidden])?;
    let (w, r) = if is_quantized {
        (
            dequantized(call, 1, 8, [directions, rows, input])?,
            dequantized(call, 2, 10, [directions, rows, hidden])?,
        )
    } else {
        (numbers(w, "W", &[directions, rows, input])?, numbers(r, "R", &[directions, rows, hidden])?)
    };
    let bias = or_zeros(call, 3, "B", &[directions, count_of(&[2, rows])?])?;
    let lengths = lengths(call, &sizes)?;
    let mut h = or_zeros(call, 5, "initial_h", &sizes.state_dims())?;
    let mut c = match kind {
        Kind::Lstm => or_zeros(call, 6, "initial_c", &sizes.state_dims())?,
        Kind::Rnn | Kind::Gru => filled(h.len(), 0.0)?,
    };
    let peepholes = match (kind, call.optional_tensor(7)?) {
        (Kind::Lstm, Some(p)) => Some(numbers(p, "P", &[directions, count_of(&[3, hidden])?])?),
        (Kind::Lstm, None) | (Kind::Rnn | Kind::Gru, _) => None,
    };
    let activations = activations(call, kind, directions)?;
    let mut xs = x.floats()?;
    if is_quantized {
        through_bytes(&mut xs);
    }
    let mut y = filled(count_of(&sizes.y_dims())?, 0.0)?;

    for (direction, &is_backward) in backwards.iter().enumerate() {
        let (input_bias, bias) = bias[direction * 2 * rows..][..2 * rows].split_at(rows);
        let per_direction = kind.activations().len();
        let cell = Cell {
            kind,
            hidden,
            r: &r[direction * rows * hidden..][..rows * hidden],
            bias,
            peepholes: peepholes.as_ref().map(|p| &p[direction * 3 * hidden..][..3 * hidden]),
            activations: &activations[direction * per_direction..][..per_direction],
            clip: call.attrs.float("clip").map(f64::from).filter(|clip| *clip > 0.0),
            linear_before_reset: call.attrs.flag("linear_before_reset"),
            input_forget: call.attrs.flag("input_forget"),
            is_quantized,
        };
        let w = &w[direction * rows * input..][..rows * input];
        let mut gates = filled(count_of(&[steps, rows])?, 0.0)?;
        for b in 0..batch {
            let at = |step: usize| if is_batch_first { b * steps + step } else { step * batch + b };
            for step in 0..lengths[b] {
                spend(0)?;
                let x = &xs[at(step) * input..][..input];
                for (row, gate) in gates[step * rows..][..rows].iter_mut().enumerate() {
                    *gate = dot(&w[row * input..][..input], x) + input_bias[row];
                }
            }
            let place = sizes.of_state(direction, b);
            let mut state = State {
                h: h[place..][..hidden].to_vec(),
                c: c[place..][..hidden].to_vec(),
                scratch: filled(hidden, 0.0)?,
            };
            for i in 0..lengths[b] {
                spend(rows.saturating_mul(input + hidden))?;
                let step = if is_backward { lengths[b] - 1 - i } else { i };
                cell.step(&mut gates[step * rows..][..rows], &mut state);
                y[sizes.of_y(step, direction, b)..][..hidden].copy_from_slice(&state.h);
            }
            h[place..][..hidden].copy_from_slice(&state.h);
            c[place..][..hidden].copy_from_slice(&state.c);
        }
    }
    let result = |dims: &[usize], all: &[f64]| Tensor::of_floats(x.elem(), dims, all).map(Value::from);
    Ok(vec![result(&sizes.y_dims(), &y)?, result(&sizes.state_dims(), &h)?, result(&sizes.state_dims(), &c)?])
}
