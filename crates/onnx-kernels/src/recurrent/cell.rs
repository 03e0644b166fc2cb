//! Steps of RNN, GRU and LSTM for all sequences at once, by the formulas of the operators' documentation.

use super::activation::Activation;
use super::number::Number;
use crate::contributed::through_bytes;
use onnx_loops::failure::Failure;
use onnx_loops::list::{List, filled};
use onnx_loops::{Body, PackedStore, widest};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Rnn,
    Gru,
    Lstm,
}

impl Kind {
    /// The number of gates: rows of weights per row of the state.
    pub(super) fn gates(self) -> usize {
        match self {
            Kind::Rnn => 1,
            Kind::Gru => 3,
            Kind::Lstm => 4,
        }
    }

    /// The default activation functions of a direction.
    pub(super) fn activations(self) -> &'static [&'static str] {
        match self {
            Kind::Rnn => &["Tanh"],
            Kind::Gru => &["Sigmoid", "Tanh"],
            Kind::Lstm => &["Sigmoid", "Tanh", "Tanh"],
        }
    }
}

/// The recurrence weights of a direction.
pub(super) struct Recurrence<T: Number> {
    /// For the previous state.
    first: T::Matrix,
    /// For the reset state of a GRU, if the reset gate is applied before the product.
    second: Option<T::Matrix>,
}

impl<T: Number> Recurrence<T> {
    /// From weights with a row of `hidden` for each gate and each row of the state.
    pub(super) fn of(
        r: &[T],
        hidden: usize,
        is_second_apart: bool,
        store: Option<&dyn PackedStore>,
    ) -> Result<Self, Failure> {
        if !is_second_apart {
            return Ok(Recurrence { first: T::matrix(r, hidden, store)?, second: None });
        }
        let (zr, candidate) = r.split_at(2 * hidden * hidden);
        let second = Some(T::matrix(candidate, hidden, store)?);
        Ok(Recurrence { first: T::matrix(zr, hidden, store)?, second })
    }
}

/// The parameters of a direction, equal for all steps.
pub(super) struct Cell<'a, T: Number> {
    pub(super) kind: Kind,
    pub(super) hidden: usize,
    pub(super) recurrence: &'a Recurrence<T>,
    /// Recurrence biases, one per row of the weights.
    pub(super) bias: &'a [T],
    /// Peephole weights of an LSTM for the gates i, o, f.
    pub(super) peepholes: Option<&'a [T]>,
    pub(super) activations: &'a [Activation],
    pub(super) clip: Option<T>,
    /// LSTM: couples the input and forget gates.
    pub(super) input_forget: bool,
    /// Rounds the previous states to bytes before the product.
    pub(super) is_quantized: bool,
}

/// The state between steps: a row per sequence.
pub(super) struct CellState<T> {
    pub(super) h: List<T>,
    pub(super) c: List<T>,
    /// The products of the previous states with the recurrence weights.
    recurrent: List<T>,
    /// GRU: the previous state after the reset gate.
    reset: List<T>,
    /// GRU: its product for the candidates, if it is computed separately.
    candidates: List<T>,
}

impl<T: Number> CellState<T> {
    pub(super) fn new(cell: &Cell<'_, T>, h: List<T>, c: List<T>) -> Result<Self, Failure> {
        let zeros = |count: usize| filled(count, T::of(0.0));
        let batch = h.len().checked_div(cell.hidden).unwrap_or(0);
        Ok(CellState {
            recurrent: zeros(batch * cell.biases().0.len())?,
            reset: zeros(if cell.kind == Kind::Gru { h.len() } else { 0 })?,
            candidates: zeros(batch * cell.biases().1.len())?,
            h,
            c,
        })
    }
}

/// The computation of one sequence after the products.
enum Work<'w, T> {
    Rnn {
        h: &'w mut [T],
    },
    /// The gates z and r of a GRU, and the reset state.
    Reset {
        from: &'w [T],
        reset: &'w mut [T],
    },
    /// The rest of a GRU.
    Gru {
        h: &'w mut [T],
    },
    Lstm {
        h: &'w mut [T],
        c: &'w mut [T],
    },
}

struct CellUpdate<'p, T: Number> {
    cell: &'p Cell<'p, T>,
    /// The products of the input, overwritten.
    gates: &'p mut [T],
    /// The products of the previous state for the first gates.
    recurrent: &'p [T],
    work: Work<'p, T>,
}

impl<T: Number> Body for CellUpdate<'_, T> {
    type Out = ();
    const WIDE: bool = T::IS_FASTER_WIDE;

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let CellUpdate { cell, gates, recurrent, work } = self;
        let n = cell.hidden;
        match work {
            Work::Rnn { h } => {
                add(gates, recurrent);
                cell.activate::<FUSED>(0, gates);
                h.copy_from_slice(gates);
            }
            Work::Reset { from, reset } => {
                let zr = &mut gates[..2 * n];
                add(zr, recurrent);
                cell.activate::<FUSED>(0, zr);
                for ((reset, r), from) in reset.iter_mut().zip(&zr[n..]).zip(from) {
                    *reset = *r * *from;
                }
            }
            Work::Gru { h } => {
                let (zr, candidate) = gates.split_at_mut(2 * n);
                add(candidate, recurrent);
                cell.activate::<FUSED>(1, candidate);
                for ((h, z), candidate) in h.iter_mut().zip(zr).zip(candidate) {
                    *h = (T::of(1.0) - *z) * *candidate + *z * *h;
                }
            }
            Work::Lstm { h, c } => {
                add(gates, recurrent);
                cell.lstm::<FUSED>(gates, h, c);
            }
        }
    }
}

#[inline(always)]
fn add<T: Number>(to: &mut [T], numbers: &[T]) {
    to.iter_mut().zip(numbers).for_each(|(to, x)| *to = *to + *x);
}

#[inline(always)]
fn add_products<T: Number>(to: &mut [T], a: &[T], b: &[T]) {
    to.iter_mut().zip(a).zip(b).for_each(|((to, a), b)| *to = *to + *a * *b);
}

impl<T: Number> Cell<'_, T> {
    /// The biases for the products of the previous state, and of the reset state.
    fn biases(&self) -> (&[T], &[T]) {
        let apart = if self.recurrence.second.is_some() { self.hidden } else { 0 };
        self.bias.split_at(self.bias.len() - apart)
    }

    /// One step. `gates` has the products of the input for all sequences and is overwritten; `row` returns the row of a sequence,
    /// or `None` if it has ended.
    pub(super) fn step(
        &self,
        state: &mut CellState<T>,
        gates: &mut [T],
        row: impl Fn(usize) -> Option<usize>,
    ) -> Result<(), Failure> {
        let (n, rows) = (self.hidden, self.bias.len());
        if self.is_quantized {
            state.h.chunks_exact_mut(n).for_each(through_bytes);
        }
        let (bias, candidate_bias) = self.biases();
        state.recurrent.chunks_exact_mut(bias.len()).for_each(|row| row.copy_from_slice(bias));
        T::add_products(&self.recurrence.first, &state.h, &mut state.recurrent)?;
        let batch = state.h.len() / n;
        let mut part = |b: usize, recurrent: &[T], work: Work<'_, T>| {
            if let Some(row) = row(b) {
                widest(CellUpdate { cell: self, gates: &mut gates[row * rows..][..rows], recurrent, work });
            }
        };
        let of = |b: usize| b * n..(b + 1) * n;
        if self.kind == Kind::Gru {
            for (b, recurrent) in state.recurrent.chunks_exact(bias.len()).enumerate() {
                let (zr, candidate) = recurrent.split_at(2 * n);
                let from = if candidate.is_empty() { &state.h[of(b)] } else { candidate };
                part(b, zr, Work::Reset { from, reset: &mut state.reset[of(b)] });
            }
            if let Some(second) = &self.recurrence.second {
                state.candidates.chunks_exact_mut(n).for_each(|row| row.copy_from_slice(candidate_bias));
                T::add_products(second, &state.reset, &mut state.candidates)?;
                std::mem::swap(&mut state.reset, &mut state.candidates);
            }
        }
        for b in 0..batch {
            let h = &mut state.h[of(b)];
            match self.kind {
                Kind::Rnn => part(b, &state.recurrent[of(b)], Work::Rnn { h }),
                Kind::Gru => part(b, &state.reset[of(b)], Work::Gru { h }),
                Kind::Lstm => {
                    let recurrent = &state.recurrent[b * rows..][..rows];
                    part(b, recurrent, Work::Lstm { h, c: &mut state.c[of(b)] });
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn activate<const FUSED: bool>(&self, which: usize, numbers: &mut [T]) {
        if let Some(clip) = self.clip {
            for x in numbers.iter_mut() {
                let y = if *x < -clip { -clip } else { *x };
                *x = if y > clip { clip } else { y };
            }
        }
        self.activations[which].apply::<T, FUSED>(numbers);
    }

    /// Gates i, o, f, c.
    #[inline(always)]
    fn lstm<const FUSED: bool>(&self, gates: &mut [T], h: &mut [T], c: &mut [T]) {
        let n = self.hidden;
        let (i, rest) = gates.split_at_mut(n);
        let (o, rest) = rest.split_at_mut(n);
        let (f, candidate) = rest.split_at_mut(n);
        if let Some(peepholes) = self.peepholes {
            add_products(i, &peepholes[..n], c);
            add_products(f, &peepholes[2 * n..], c);
        }
        self.activate::<FUSED>(0, i);
        if self.input_forget {
            f.iter_mut().zip(&*i).for_each(|(f, i)| *f = T::of(1.0) - *i);
        } else {
            self.activate::<FUSED>(0, f);
        }
        self.activate::<FUSED>(1, candidate);
        for (((c, f), i), candidate) in c.iter_mut().zip(&*f).zip(&*i).zip(&*candidate) {
            *c = *f * *c + *i * *candidate;
        }
        if let Some(peepholes) = self.peepholes {
            add_products(o, &peepholes[n..2 * n], c);
        }
        self.activate::<FUSED>(0, o);
        h.copy_from_slice(c);
        self.activate::<FUSED>(2, h);
        h.iter_mut().zip(&*o).for_each(|(h, o)| *h = *o * *h);
    }
}
