//! One step of RNN, GRU and LSTM for one element of the batch. The formulas are those of the operators' documentation.

use super::activation::Activation;
use crate::kernels::contributed::through_bytes;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Rnn,
    Gru,
    Lstm,
}

impl Kind {
    /// Rows of the weights for each row of the state.
    pub(super) fn gates(self) -> usize {
        match self {
            Kind::Rnn => 1,
            Kind::Gru => 3,
            Kind::Lstm => 4,
        }
    }

    /// The activation functions of a direction that names none.
    pub(super) fn activations(self) -> &'static [&'static str] {
        match self {
            Kind::Rnn => &["Tanh"],
            Kind::Gru => &["Sigmoid", "Tanh"],
            Kind::Lstm => &["Sigmoid", "Tanh", "Tanh"],
        }
    }
}

/// What is the same at every step of a direction.
pub(super) struct Cell<'a> {
    pub(super) kind: Kind,
    pub(super) hidden: usize,
    /// Recurrence weights: a row of `hidden` for each gate and each row of the state.
    pub(super) r: &'a [f64],
    /// Recurrence biases, one a row.
    pub(super) bias: &'a [f64],
    /// Weights of an LSTM's gates i, o, f for the cell.
    pub(super) peepholes: Option<&'a [f64]>,
    pub(super) activations: &'a [Activation],
    pub(super) clip: Option<f64>,
    /// GRU: the reset gate is applied behind the product instead of before it.
    pub(super) linear_before_reset: bool,
    /// LSTM: what is not taken in is forgotten.
    pub(super) input_forget: bool,
    /// The last state is rounded to bytes of its own range before it is multiplied.
    pub(super) is_quantized: bool,
}

/// What goes from step to step.
pub(super) struct State {
    pub(super) h: Vec<f64>,
    pub(super) c: Vec<f64>,
    pub(super) scratch: Vec<f64>,
}

impl Cell<'_> {
    /// `gates` holds what the input gives for each gate, and is written over.
    pub(super) fn step(&self, gates: &mut [f64], state: &mut State) {
        if self.is_quantized {
            through_bytes(&mut state.h);
        }
        match self.kind {
            Kind::Rnn => self.rnn(gates, state),
            Kind::Gru => self.gru(gates, state),
            Kind::Lstm => self.lstm(gates, state),
        }
    }

    /// What the last state gives for a row of the weights.
    fn recurrence(&self, row: usize, h: &[f64]) -> f64 {
        dot(&self.r[row * self.hidden..][..self.hidden], h) + self.bias[row]
    }

    fn activate(&self, which: usize, x: f64) -> f64 {
        let x = self.clip.map_or(x, |clip| x.max(-clip).min(clip));
        self.activations[which].of(x)
    }

    fn rnn(&self, gates: &mut [f64], state: &mut State) {
        for (row, gate) in gates.iter_mut().enumerate() {
            *gate = self.activate(0, *gate + self.recurrence(row, &state.h));
        }
        state.h.copy_from_slice(gates);
    }

    /// Gates z, r, h.
    fn gru(&self, gates: &mut [f64], state: &mut State) {
        let n = self.hidden;
        let (zr, candidate) = gates.split_at_mut(2 * n);
        for (row, gate) in zr.iter_mut().enumerate() {
            *gate = self.activate(0, *gate + self.recurrence(row, &state.h));
        }
        let (z, r) = zr.split_at(n);
        for ((reset, r), h) in state.scratch.iter_mut().zip(r).zip(&state.h) {
            *reset = r * h;
        }
        for (i, candidate) in candidate.iter_mut().enumerate() {
            let recurrence = if self.linear_before_reset {
                r[i] * self.recurrence(2 * n + i, &state.h)
            } else {
                self.recurrence(2 * n + i, &state.scratch)
            };
            *candidate = self.activate(1, *candidate + recurrence);
        }
        for (i, h) in state.h.iter_mut().enumerate() {
            *h = (1.0 - z[i]) * candidate[i] + z[i] * *h;
        }
    }

    /// Gates i, o, f, c.
    fn lstm(&self, gates: &mut [f64], state: &mut State) {
        let n = self.hidden;
        for (row, gate) in gates.iter_mut().enumerate() {
            *gate += self.recurrence(row, &state.h);
        }
        for k in 0..n {
            let peephole = |gate: usize, c: f64| self.peepholes.map_or(0.0, |p| p[gate * n + k] * c);
            let last = state.c[k];
            let i = self.activate(0, gates[k] + peephole(0, last));
            let f = if self.input_forget {
                1.0 - i
            } else {
                self.activate(0, gates[2 * n + k] + peephole(2, last))
            };
            let c = f * last + i * self.activate(1, gates[3 * n + k]);
            let o = self.activate(0, gates[n + k] + peephole(1, c));
            state.c[k] = c;
            state.h[k] = o * self.activate(2, c);
        }
    }
}

/// The product of two rows, in eight sums that a processor can form at once.
pub(in crate::kernels) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b.as_chunks::<8>();
    for (a, b) in a8.iter().zip(b8) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}
