//! Recurrent layers: `RNN`, `GRU`, `LSTM`.

use super::activation;
use crate::dims::Dim;
use crate::engine::rule::axes::int_or;
use crate::engine::rule::fit::{Extent, at_least, choice, flag, hold};
use crate::engine::{Infer, NodeCx};
use onnx_ir::diag::did_you_mean;

pub(crate) fn rnn(cx: &mut NodeCx<'_, '_>) -> Infer {
    layer(cx, 1)
}

pub(crate) fn gru(cx: &mut NodeCx<'_, '_>) -> Infer {
    layer(cx, 3)
}

pub(crate) fn lstm(cx: &mut NodeCx<'_, '_>) -> Infer {
    layer(cx, 4)
}

/// [`lstm`] with transposed weights.
pub(crate) fn lstm_transposed(cx: &mut NodeCx<'_, '_>) -> Infer {
    choice(cx, "direction", &["forward", "reverse", "bidirectional"])?;
    activations(cx)?;
    let directions = if cx.string("direction")? == "bidirectional" { 2 } else { 1 };
    let mut directions = Extent::of_attr("number of directions", "direction", Dim::Const(directions));
    let hidden = cx.int("hidden_size").map_or(Dim::Unknown, Dim::Const);
    let mut hidden = Extent::of_attr("hidden size", "hidden_size", hidden);
    let [mut length, mut batch, mut input] =
        ["sequence length", "batch size", "input size"].map(Extent::unknown);
    hold(cx, 0, &mut [&mut length, &mut batch, &mut input])?;
    let mut columns = Extent::unknown("number of gate columns");
    hold(cx, 1, &mut [&mut directions, &mut input, &mut columns])?;
    hold(cx, 2, &mut [&mut directions, &mut hidden, &mut columns])?;
    let last = [directions.dim, batch.dim, hidden.dim];
    cx.set_shape(0, [length.dim, directions.dim, batch.dim, hidden.dim]);
    cx.set_shape(1, last);
    cx.set_shape(2, last);
    Some(())
}

/// `X, W, R, B, sequence_lens, initial_h`, and for the LSTM `initial_c, P`, to all hidden states, the last one, and the
/// last cell state. W and R have rows for each gate.
fn layer(cx: &mut NodeCx<'_, '_>, gates: i64) -> Infer {
    choice(cx, "direction", &["forward", "reverse", "bidirectional"])?;
    flag(cx, "layout")?;
    at_least(cx, "hidden_size", 1)?;
    let size = cx.int("hidden_size").unwrap_or(0);
    if size.checked_mul(size).and_then(|n| n.checked_mul(gates)).is_none() {
        let message = format!("with `hidden_size` {size}, `R` has more elements than 64 bits can count");
        return cx.fail_at_attr("hidden_size", message);
    }
    activations(cx)?;
    let directions = match cx.string("direction").as_deref() {
        Some("bidirectional") => Dim::Const(2),
        Some(_) => Dim::Const(1),
        None if cx.has_attr("direction") => Dim::Unknown,
        None => Dim::Const(1),
    };
    let hidden = cx.int("hidden_size").map_or(Dim::Unknown, Dim::Const);
    let mut directions = Extent::of_attr("number of directions", "direction", directions);
    let mut hidden = Extent::of_attr("hidden size", "hidden_size", hidden);
    let mut length = Extent::unknown("sequence length");
    let mut batch = Extent::unknown("batch size");
    let mut input = Extent::unknown("input size");
    // Before version 14, the batch is always the second axis.
    let is_batch_first = int_or(cx, "layout", 0).map(|layout| layout == 1);
    match is_batch_first {
        Some(true) => hold(cx, 0, &mut [&mut batch, &mut length, &mut input])?,
        Some(false) => hold(cx, 0, &mut [&mut length, &mut batch, &mut input])?,
        None => hold(cx, 0, &mut [&mut Extent::unknown(""), &mut Extent::unknown(""), &mut input])?,
    }
    // The recurrence weight determines the hidden size if the attribute is missing.
    if let Some(shape) = cx.shape(2)
        && let [_, _, size] = shape[..]
    {
        hidden.agree(cx, 2, size)?;
    }
    let mut rows =
        |cx: &mut NodeCx<'_, '_>, input: usize, what: &'static str, times: i64, more: &mut [&mut Extent]| {
            let dim = cx.dims().mul(hidden.dim, Dim::Const(times));
            let mut rows = hidden.derive(what, dim);
            let mut extents = vec![&mut directions, &mut rows];
            extents.extend(more.iter_mut().map(|e| &mut **e));
            hold(cx, input, &mut extents)
        };
    rows(cx, 1, "number of gate rows", gates, &mut [&mut input])?;
    let mut again = hidden;
    rows(cx, 2, "number of gate rows", gates, &mut [&mut again])?;
    rows(cx, 3, "number of gate biases", gates * 2, &mut [])?;
    rows(cx, 7, "number of peepholes", 3, &mut [])?;
    hold(cx, 4, &mut [&mut batch])?;
    for state in [5, 6] {
        match is_batch_first {
            Some(true) => hold(cx, state, &mut [&mut batch, &mut directions, &mut hidden])?,
            Some(false) => hold(cx, state, &mut [&mut directions, &mut batch, &mut hidden])?,
            None => {}
        }
    }
    let (length, batch, directions, hidden) = (length.dim, batch.dim, directions.dim, hidden.dim);
    let (all, last) = match is_batch_first {
        Some(true) => ([batch, length, directions, hidden], [batch, directions, hidden]),
        Some(false) => ([length, directions, batch, hidden], [directions, batch, hidden]),
        None => ([Dim::Unknown, Dim::Unknown, Dim::Unknown, hidden], [Dim::Unknown, Dim::Unknown, hidden]),
    };
    cx.set_shape(0, all);
    cx.set_shape(1, last);
    cx.set_shape(2, last);
    Some(())
}

fn activations(cx: &mut NodeCx<'_, '_>) -> Infer {
    let list = if cx.has_attr("activations") { cx.strings("activations") } else { None };
    let is_known = |name: &String| activation::names().any(|known| known.eq_ignore_ascii_case(name));
    let Some(name) = list.iter().flatten().find(|name| !is_known(name)) else { return Some(()) };
    let near = did_you_mean(name, activation::names());
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    cx.fail_at_attr("activations", format!("unknown activation function `{name}` of `{}`{near}", cx.op()))
}
