//! RNN, GRU and LSTM: forward, backward or bidirectional.
//!
//! The products of the inputs are computed for all steps at once; then the cell runs step by step (`cell`). After the end of a
//! shorter sequence the outputs are zero, and a backward cell starts at the last step of its sequence.
//!
//! DynamicQuantizeLSTM of ONNX Runtime has 8-bit weights and quantizes their operands to 8 bits.

mod activation;
mod attentive;
mod cell;
mod number;

use super::contributed::through_bytes;
use super::{Call, Row, row};
use crate::value::Value;
use activation::Activation;
use cell::{Cell, CellState, Kind, Recurrence};
use number::Number;
use onnx_ir::ElemType;
use onnx_ir::diag::{counted, counted_are};
use onnx_loops::PackedStore;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, filled};
use onnx_loops::parallel::parallel;
use onnx_loops::pool;
use onnx_loops::tensor::{Tensor, count_of};
use onnx_ops::meaning::CellParameters;
use std::ops::Range;

pub(super) const ROWS: &[Row] = &[
    row("com.microsoft", "AttnLSTM", attentive::attn_lstm),
    row("com.microsoft", "DynamicQuantizeLSTM", |call| run(call, Kind::Lstm)),
    row("", "GRU", |call| run(call, Kind::Gru)),
    row("", "LSTM", |call| run(call, Kind::Lstm)),
    row("", "RNN", |call| run(call, Kind::Rnn)),
];

/// The sizes of a node's tensors.
#[derive(Clone, Copy)]
struct Sizes {
    steps: usize,
    batch: usize,
    hidden: usize,
    directions: usize,
    /// `layout` 1: the batch axis comes first.
    is_batch_first: bool,
}

impl Sizes {
    /// The offset of a row in `Y`, for a step, direction and batch element.
    fn of_y(&self, step: usize, direction: usize, b: usize) -> usize {
        let row = if self.is_batch_first {
            (b * self.steps + step) * self.directions + direction
        } else {
            (step * self.directions + direction) * self.batch + b
        };
        row * self.hidden
    }

    /// The row of `X` for a step and a batch element.
    fn row(&self, step: usize, b: usize) -> usize {
        if self.is_batch_first { b * self.steps + step } else { step * self.batch + b }
    }

    /// The offset of a row in a state, for a direction and batch element.
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

fn has_dims(tensor: &Tensor, name: &str, dims: &[usize]) -> Result<(), Failure> {
    if tensor.dims() != dims {
        fail!("`{name}` has the shape {:?}, not {dims:?}", tensor.dims());
    }
    Ok(())
}

/// The numbers of an input of this shape.
fn numbers<T: Number>(tensor: &Tensor, name: &str, dims: &[usize]) -> Result<List<T>, Failure> {
    has_dims(tensor, name, dims)?;
    T::numbers(tensor)
}

/// [`numbers`] of an input, or zeros if it is left out.
fn or_zeros<T: Number>(
    call: &Call<'_>,
    input: usize,
    name: &str,
    dims: &[usize],
) -> Result<List<T>, Failure> {
    match call.optional_tensor(input)? {
        Some(tensor) => numbers(tensor, name, dims),
        None => filled(count_of(dims)?, T::of(0.0)),
    }
}

/// With fewer products of states, sequences are not divided among threads.
const MIN_PRODUCTS: usize = 1 << 18;
/// Rows that are transposed at a time, so that the destination stays in the first-level cache.
const TOGETHER: usize = 16;

/// Dequantizes weights stored as codes, with a column for each row of the weights; scales and zero points are per direction or
/// per column.
fn dequantized<T: Number>(
    call: &Call<'_>,
    input: usize,
    scale: usize,
    dims: [usize; 3],
) -> Result<List<T>, Failure> {
    let [directions, rows, columns] = dims;
    let codes = call.tensor(input)?.floats()?;
    let parameter = |input: usize| {
        let tensor = call.tensor(input)?;
        if tensor.len() != directions && tensor.len() != count_of(&[directions, rows])? {
            fail!(
                "input {input} of shape {:?} does not fit {}",
                tensor.dims(),
                counted(directions, "direction")
            );
        }
        tensor.floats()
    };
    let (scales, zeros) = (parameter(scale)?, parameter(scale + 1)?);
    let of = |all: &[f64], direction: usize, row: usize| {
        if all.len() == directions { all[direction] } else { all[direction * rows + row] }
    };
    let mut weights = filled(codes.len(), T::of(0.0))?;
    for direction in 0..directions {
        for first in (0..rows).step_by(TOGETHER) {
            for column in 0..columns {
                for row in first..rows.min(first + TOGETHER) {
                    let code = codes[(direction * columns + column) * rows + row];
                    let number = (code - of(&zeros, direction, row)) * of(&scales, direction, row);
                    weights[(direction * rows + row) * columns + column] = T::of(number);
                }
            }
        }
    }
    Ok(weights)
}

/// Whether each direction is backward.
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
    let floats = |name| call.attrs.floats(name).unwrap_or_default();
    let mut parameters = CellParameters::new(floats("activation_alpha"), floats("activation_beta"));
    let name = |i: usize| given.get(i).map_or(defaults[i % defaults.len()], String::as_str);
    (0..defaults.len() * directions).map(|i| Activation::named(name(i), &mut parameters)).collect()
}

/// The length of each sequence.
fn lengths(call: &Call<'_>, sizes: &Sizes) -> Result<List<usize>, Failure> {
    let Some(given) = call.optional_ints(4)? else { return filled(sizes.batch, sizes.steps) };
    if given.len() != sizes.batch {
        fail!("{} given for {}", counted_are(given.len(), "length"), counted(sizes.batch, "sequence"));
    }
    let length = |&n: &i64| match usize::try_from(n) {
        Ok(n) if n <= sizes.steps => Ok(n),
        Ok(_) | Err(_) => fail!("a sequence of {} is none of at most {}", counted(n, "step"), sizes.steps),
    };
    given.iter().map(length).try_listed()
}

/// The weights of a direction, packed for products.
struct Weights<T: Number> {
    input: T::Matrix,
    recurrence: Recurrence<T>,
}

/// The weights of all directions, after checking their shapes.
fn weights<T: Number>(
    call: &Call<'_>,
    kind: Kind,
    sizes: &Sizes,
    input: usize,
    store: Option<&dyn PackedStore>,
) -> Result<Vec<Weights<T>>, Failure> {
    let Sizes { directions, hidden, .. } = *sizes;
    let rows = count_of(&[kind.gates(), hidden])?;
    let (w, r): (List<T>, List<T>) = if is_quantized(call) {
        (
            dequantized(call, 1, 8, [directions, rows, input])?,
            dequantized(call, 2, 10, [directions, rows, hidden])?,
        )
    } else {
        (T::numbers(call.tensor(1)?)?, T::numbers(call.tensor(2)?)?)
    };
    // The reset gate is applied before the product, unless the node says otherwise.
    let is_second_apart = kind == Kind::Gru && !call.attrs.flag("linear_before_reset");
    let of = |direction: usize| {
        Ok(Weights {
            input: T::matrix(&w[direction * rows * input..][..rows * input], input, store)?,
            recurrence: Recurrence::of(
                &r[direction * rows * hidden..][..rows * hidden],
                hidden,
                is_second_apart,
                store,
            )?,
        })
    };
    (0..directions).map(of).collect()
}

fn is_quantized(call: &Call<'_>) -> bool {
    call.op() == "DynamicQuantizeLSTM"
}

fn run(call: &mut Call<'_>, kind: Kind) -> Result<Vec<Value>, Failure> {
    match call.tensor(0)?.elem() {
        ElemType::DOUBLE => run_of::<f64>(call, kind),
        _ => run_of::<f32>(call, kind),
    }
}

/// One direction over some sequences.
struct DirectionRun<'w, T: Number> {
    cell: Cell<'w, T>,
    weights: &'w Weights<T>,
    /// Input biases.
    bias: &'w [T],
    is_backward: bool,
    h: List<T>,
    c: List<T>,
    /// The sequences that it processes.
    sequences: Range<usize>,
}

/// The result of a direction.
struct Gone<T> {
    /// A row for each step of each sequence, step by step.
    y: List<T>,
    h: List<T>,
    c: List<T>,
}

impl<T: Number> DirectionRun<'_, T> {
    fn run(self, all: &Sizes, lengths: &[usize], xs: &[T]) -> Result<Gone<T>, Failure> {
        let (hidden, rows) = (self.cell.hidden, self.bias.len());
        let sizes = Sizes { batch: self.sequences.len(), is_batch_first: false, ..*all };
        let lengths = &lengths[self.sequences.clone()];
        let width = xs.len().checked_div(count_of(&[all.steps, all.batch])?).unwrap_or(0);
        // The inputs of its sequences, step by step.
        let mut own = List::new();
        let xs = if all.batch == 1 || sizes.batch == all.batch && !all.is_batch_first {
            xs
        } else {
            own.reserve(count_of(&[sizes.steps, sizes.batch, width])?)?;
            for step in 0..sizes.steps {
                for b in self.sequences.clone() {
                    own.extend(xs[all.row(step, b) * width..][..width].iter().copied())?;
                }
            }
            &own
        };
        let count = count_of(&[sizes.steps, sizes.batch])?;
        let mut y = filled(count_of(&[count, hidden])?, T::of(0.0))?;
        spend(xs.len().saturating_mul(rows))?;
        let mut gates = filled(count_of(&[count, rows])?, T::of(0.0))?;
        if rows > 0 {
            gates.chunks_exact_mut(rows).for_each(|row| row.copy_from_slice(self.bias));
            T::add_products(&self.weights.input, xs, &mut gates)?;
        }
        let mut state = CellState::new(&self.cell, self.h, self.c)?;
        let last = if hidden > 0 { lengths.iter().copied().max().unwrap_or(0) } else { 0 };
        for i in 0..last {
            spend(count_of(&[sizes.batch, rows])?.saturating_mul(hidden))?;
            let row = |b: usize| {
                let length = lengths[b];
                let step = if self.is_backward { length.checked_sub(i + 1)? } else { i };
                (i < length).then(|| sizes.row(step, b))
            };
            self.cell.step(&mut state, &mut gates, row)?;
            for (b, h) in state.h.chunks_exact(hidden).enumerate() {
                if let Some(row) = row(b) {
                    y[row * hidden..][..hidden].copy_from_slice(h);
                }
            }
        }
        Ok(Gone { y, h: state.h, c: state.c })
    }
}

fn run_of<T: Number>(call: &Call<'_>, kind: Kind) -> Result<Vec<Value>, Failure> {
    let (x, r) = (call.tensor(0)?, call.tensor(2)?);
    let is_batch_first = call.attrs.int("layout").unwrap_or(0) == 1;
    let (&[first, second, input], &[directions, a, b]) = (x.dims(), r.dims()) else {
        fail!("an input of shape {:?} and weights of shape {:?} do not fit", x.dims(), r.dims())
    };
    let is_quantized = is_quantized(call);
    let hidden = if is_quantized { a } else { b };
    let (steps, batch) = if is_batch_first { (second, first) } else { (first, second) };
    let sizes = Sizes { steps, batch, hidden, directions, is_batch_first };
    let backwards = backwards(call)?;
    if backwards.len() != directions {
        fail!("the weights are for {}, there are {}", counted(directions, "direction"), backwards.len());
    }
    let rows = count_of(&[kind.gates(), hidden])?;
    let turned = |[directions, rows, columns]: [usize; 3]| match is_quantized {
        true => [directions, columns, rows],
        false => [directions, rows, columns],
    };
    has_dims(call.tensor(1)?, "W", &turned([directions, rows, input]))?;
    has_dims(r, "R", &turned([directions, rows, hidden]))?;
    let constants: &[usize] = if is_quantized { &[1, 2, 8, 9, 10, 11] } else { &[1, 2] };
    let weights = call.kept(constants, |store| weights::<T>(call, kind, &sizes, input, store))?;
    let bias: List<T> = or_zeros(call, 3, "B", &[directions, count_of(&[2, rows])?])?;
    let lengths = lengths(call, &sizes)?;
    let mut h: List<T> = or_zeros(call, 5, "initial_h", &sizes.state_dims())?;
    let mut c: List<T> = match kind {
        Kind::Lstm => or_zeros(call, 6, "initial_c", &sizes.state_dims())?,
        Kind::Rnn | Kind::Gru => filled(h.len(), T::of(0.0))?,
    };
    let peepholes: Option<List<T>> = match (kind, call.optional_tensor(7)?) {
        (Kind::Lstm, Some(p)) => Some(numbers(p, "P", &[directions, count_of(&[3, hidden])?])?),
        (Kind::Lstm, None) | (Kind::Rnn | Kind::Gru, _) => None,
    };
    let activations = activations(call, kind, directions)?;
    let mut xs = T::numbers(x)?;
    if is_quantized {
        through_bytes(&mut xs);
    }
    // Sequences are independent: each thread processes some of them in one direction.
    let products = [steps, batch, rows, hidden].into_iter().fold(1, usize::saturating_mul);
    let threads = if products < MIN_PRODUCTS { 1 } else { pool::threads() };
    let shares = threads.div_ceil(directions.max(1)).min(batch).max(1);
    let share = |at: usize| batch * at / shares..batch * (at + 1) / shares;
    let direction_run = |direction: usize, sequences: Range<usize>| {
        let (input_bias, bias) = bias[direction * 2 * rows..][..2 * rows].split_at(rows);
        let per_direction = kind.activations().len();
        let cell = Cell {
            kind,
            hidden,
            recurrence: &weights[direction].recurrence,
            bias,
            peepholes: peepholes.as_ref().map(|p| &p[direction * 3 * hidden..][..3 * hidden]),
            activations: &activations[direction * per_direction..][..per_direction],
            clip: call.attrs.float("clip").map(f64::from).filter(|clip| *clip > 0.0).map(T::of),
            input_forget: call.attrs.flag("input_forget"),
            is_quantized,
        };
        let of = |states: &[T]| -> Result<List<T>, Failure> {
            let states = sequences.clone().flat_map(|b| &states[sizes.of_state(direction, b)..][..hidden]);
            states.copied().listed()
        };
        let is_backward = backwards[direction];
        let (h, c) = (of(&h)?, of(&c)?);
        Ok(DirectionRun {
            cell,
            weights: &weights[direction],
            bias: input_bias,
            is_backward,
            h,
            c,
            sequences,
        })
    };
    let pairs: Vec<(usize, Range<usize>)> =
        (0..directions).flat_map(|direction| (0..shares).map(move |at| (direction, share(at)))).collect();
    let runs = pairs.iter().cloned().map(|(direction, sequences)| direction_run(direction, sequences));
    let runs = runs.collect::<Result<Vec<_>, Failure>>()?;
    let mut gone: Vec<Gone<T>> =
        pairs.iter().map(|_| Gone { y: List::new(), h: List::new(), c: List::new() }).collect();
    let parts = runs.into_iter().zip(&mut gone).collect();
    parallel(parts, |(run, gone)| {
        *gone = run.run(&sizes, &lengths, &xs)?;
        Ok(())
    })?;

    let mut y = filled(count_of(&sizes.y_dims())?, T::of(0.0))?;
    for ((direction, sequences), gone) in pairs.into_iter().zip(&gone) {
        let first = sequences.start;
        let own = Sizes { batch: sequences.len(), is_batch_first: false, ..sizes };
        for b in sequences {
            let place = sizes.of_state(direction, b);
            h[place..][..hidden].copy_from_slice(&gone.h[(b - first) * hidden..][..hidden]);
            c[place..][..hidden].copy_from_slice(&gone.c[(b - first) * hidden..][..hidden]);
            for step in 0..steps {
                let from = &gone.y[own.row(step, b - first) * hidden..][..hidden];
                y[sizes.of_y(step, direction, b)..][..hidden].copy_from_slice(from);
            }
        }
    }
    let result = |dims: &[usize], all: &[T]| T::tensor(x.elem(), dims, all).map(Value::from);
    Ok(vec![result(&sizes.y_dims(), &y)?, result(&sizes.state_dims(), &h)?, result(&sizes.state_dims(), &c)?])
}
