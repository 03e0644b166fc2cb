//! `RNN`, `GRU` and `LSTM` as a differentiable `Scan` over positions for each direction.

mod activation;

use crate::derivative::{Cell, Done};
use crate::operators::recurrent::activation::CellActivation;

/// The common parts of the three operators.
struct Shared {
    /// The size of a state.
    hidden: i64,
    /// The number of gates with weights.
    gates: i64,
    /// The operand `[positions, batch, size]`.
    x: String,
    /// Valid positions, `[positions, batch, 1]`.
    mask: Option<String>,
    /// `-1` reversed, `1` in order, for each direction.
    directions: Vec<i64>,
    activations: Vec<CellActivation>,
    clip: Option<f64>,
    by_batch: bool,
}

fn shared(cell: &mut Cell<'_>, gates: i64, defaults: &[&str]) -> Result<Shared, String> {
    cell.need(14)?;
    let known = cell.extents(2).and_then(|all| all.last().copied());
    let hidden = cell.site.int("hidden_size").or(known).ok_or("the size of its state is unknown")?;
    let direction = cell.site.string("direction").unwrap_or_else(|| "forward".to_owned());
    let directions = match &*direction {
        "forward" => vec![1],
        "reverse" => vec![-1],
        "bidirectional" => vec![1, -1],
        other => return Err(format!("its direction is `{other}`")),
    };
    let activations = match cell.site.strings("activations") {
        // The default of `RNN` in the schema is for two directions.
        Some(mut all) => {
            all.truncate(defaults.len() * directions.len());
            all
        }
        None => {
            defaults.iter().cycle().take(defaults.len() * directions.len()).map(|&s| s.to_owned()).collect()
        }
    };
    if activations.len() != defaults.len() * directions.len() {
        return Err(format!("it has {} activations", activations.len()));
    }
    let mut parameters = activation::parameters(cell);
    let activations = activations
        .iter()
        .map(|name| parameters.function(name).ok_or_else(|| format!("its activation is `{name}`")))
        .collect::<Result<_, _>>()?;
    let clip = cell.site.float("clip").map(f64::from);
    let by_batch = cell.site.int("layout").unwrap_or(0) != 0;
    let x = match by_batch {
        true => cell.permute("x0", &[1, 0, 2]),
        false => "x0".to_owned(),
    };
    let mask = cell.has(4).then(|| {
        let length = cell.extent_of(&x, 0);
        let scalar = cell.list(&[]);
        let end = cell.op("Reshape", &[&length, &scalar]);
        let (zero, one) =
            (cell.number_of(0.0, onnx_ir::ElemType::INT64), cell.number_of(1.0, onnx_ir::ElemType::INT64));
        let range = cell.op("Range", &[&zero, &end, &one]);
        let range = cell.op_with("Cast", "to = 6", &[&range]);
        let positions = cell.reshape(&range, &[-1, 1, 1]);
        let lengths = cell.reshape("x4", &[1, -1, 1]);
        cell.op("Less", &[&positions, &lengths])
    });
    Ok(Shared { hidden, gates, x, mask, directions, activations, clip, by_batch })
}

/// The part of an operand for a direction, without its axis.
fn part(cell: &mut Cell<'_>, operand: &str, axis: i64, at: usize, count: usize) -> String {
    if count == 1 {
        return cell.squeeze(operand, &[axis]);
    }
    let names: Vec<String> = (0..count).map(|_| cell.name("part")).collect();
    let sizes = cell.list(&vec![1; count]);
    cell.line(format_args!("{} = Split <axis = {axis}> ({operand}, {sizes})", names.join(", ")));
    cell.squeeze(&names[at], &[axis])
}

/// Equal parts of the last axis.
fn split(cell: &mut Cell<'_>, operand: &str, count: i64, size: i64) -> Vec<String> {
    if count == 1 {
        return vec![operand.to_owned()];
    }
    let names: Vec<String> = (0..count).map(|_| cell.name("gate")).collect();
    let sizes: Vec<i64> = (0..count).map(|_| size).collect();
    let sizes = cell.list(&sizes);
    cell.line(format_args!("{} = Split <axis = -1> ({operand}, {sizes})", names.join(", ")));
    names
}

/// The parts of a direction that do not depend on the state.
struct Direction {
    /// The products of the operand and the weights, with all biases but those in `recurrent_bias`.
    given: String,
    /// The weights of the state, `[hidden, gates * hidden]`.
    recurrent: String,
    /// The recurrence bias, for a `GRU` that applies it separately.
    recurrent_bias: Option<String>,
    states: Vec<String>,
}

fn direction(cell: &mut Cell<'_>, all: &Shared, d: usize, states: &[usize], is_apart: bool) -> Direction {
    let count = all.directions.len();
    let weights = part(cell, "x1", 0, d, count);
    let across = cell.permute(&weights, &[1, 0]);
    let mut given = cell.op("MatMul", &[&all.x, &across]);
    let recurrent = part(cell, "x2", 0, d, count);
    let recurrent = cell.permute(&recurrent, &[1, 0]);
    let mut recurrent_bias = None;
    if cell.has(3) {
        let bias = part(cell, "x3", 0, d, count);
        let halves = split(cell, &bias, 2, all.gates * all.hidden);
        given = cell.op("Add", &[&given, &halves[0]]);
        if is_apart {
            recurrent_bias = Some(halves[1].clone());
        } else {
            given = cell.op("Add", &[&given, &halves[1]]);
        }
    }
    let states = states.iter().map(|&i| match (cell.has(i), all.by_batch) {
        (true, false) => part(cell, &format!("x{i}"), 0, d, count),
        (true, true) => part(cell, &format!("x{i}"), 1, d, count),
        (false, _) => {
            let (batch, hidden) = (cell.extent_of(&all.x, 1), cell.list(&[all.hidden]));
            let shape = cell.op_with("Concat", "axis = 0", &[&batch, &hidden]);
            let elem = cell.elem(0).unwrap_or(onnx_ir::ElemType::FLOAT);
            cell.filled(&shape, 0, elem)
        }
    });
    let states = states.collect();
    Direction { given, recurrent, recurrent_bias, states }
}

impl Shared {
    fn activate(&self, cell: &mut Cell<'_>, at: usize, of: &str) -> String {
        let clipped = match self.clip {
            None => of.to_owned(),
            Some(clip) => {
                let (least, most) = (cell.number(-clip, 0), cell.number(clip, 0));
                cell.op("Clip", &[of, &least, &most])
            }
        };
        activation::apply(&self.activations[at], cell, &clipped)
    }

    /// Opens the `Scan` of a direction: following nodes are part of its graph. Returns the names of its results: the last states,
    /// and all hidden states.
    fn open(&self, cell: &mut Cell<'_>, states: &[&str]) -> (Vec<String>, String) {
        let last: Vec<String> = states.iter().map(|state| cell.name(&format!("last_{state}"))).collect();
        let all = cell.name("all");
        let (results, formal) = (last.join(", "), states.join(", "));
        let (mask, count) = if self.mask.is_some() { (", mask_t", 2) } else { ("", 1) };
        let next: Vec<String> = states.iter().map(|state| format!("next_{state}")).collect();
        cell.line(format_args!(
            "{results}, {all} = Scan <num_scan_inputs = {count}, body = step ({formal}, given_t{mask}) => ({}, shown) {{",
            next.join(", ")
        ));
        (last, all)
    }

    /// Closes it: valid positions update the states, others keep them.
    fn close(&self, cell: &mut Cell<'_>, d: usize, pairs: &[(&str, String)], given: &Direction) {
        for (i, (state, new)) in pairs.iter().enumerate() {
            match &self.mask {
                None => cell.line(format_args!("next_{state} = Identity ({new})")),
                Some(_) => cell.line(format_args!("next_{state} = Where (mask_t, {new}, {state})")),
            }
            if i == 0 {
                match &self.mask {
                    None => cell.line(format_args!("shown = Identity ({new})")),
                    Some(_) => {
                        let zero = cell.number(0.0, 0);
                        cell.line(format_args!("shown = Where (mask_t, {new}, {zero})"));
                    }
                }
            }
        }
        let count = if self.mask.is_some() { 2 } else { 1 };
        let mut attrs = String::new();
        if self.directions[d] < 0 {
            let ones = vec!["1"; count].join(", ");
            attrs = format!(", scan_input_directions = [{ones}], scan_output_directions = [1]");
        }
        let mask = self.mask.as_ref().map(|mask| format!(", {mask}")).unwrap_or_default();
        cell.line(format_args!("}}{attrs}> ({}, {}{mask})", given.states.join(", "), given.given));
    }

    /// The results of all directions.
    fn finish(&self, cell: &mut Cell<'_>, all: &[String], last: &[Vec<String>]) {
        let has = |cell: &Cell<'_>, j: usize| cell.outputs.get(j).is_some_and(Option::is_some);
        if has(cell, 0) {
            let rows: Vec<String> = all.iter().map(|all| cell.unsqueeze(all, &[1])).collect();
            let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
            let whole = cell.op_with("Concat", "axis = 1", &rows);
            let whole = if self.by_batch { cell.permute(&whole, &[2, 0, 1, 3]) } else { whole };
            cell.line(format_args!("y0 = Identity ({whole})"));
        }
        let axis = i64::from(self.by_batch);
        for j in 1..=last.first().map_or(0, Vec::len) {
            if !has(cell, j) {
                continue;
            }
            let rows: Vec<String> = last.iter().map(|last| cell.unsqueeze(&last[j - 1], &[axis])).collect();
            let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
            let whole = cell.op_with("Concat", &format!("axis = {axis}"), &rows);
            cell.line(format_args!("y{j} = Identity ({whole})"));
        }
    }
}

pub(super) fn rnn(cell: &mut Cell<'_>) -> Done {
    let shared = shared(cell, 1, &["Tanh"])?;
    let (mut all, mut last) = (Vec::new(), Vec::new());
    for d in 0..shared.directions.len() {
        let given = direction(cell, &shared, d, &[5], false);
        let (ends, shown) = shared.open(cell, &["h"]);
        let product = cell.op("MatMul", &["h", &given.recurrent]);
        let sum = cell.op("Add", &["given_t", &product]);
        let new = shared.activate(cell, d, &sum);
        shared.close(cell, d, &[("h", new)], &given);
        all.push(shown);
        last.push(ends);
    }
    shared.finish(cell, &all, &last);
    Ok(())
}

pub(super) fn gru(cell: &mut Cell<'_>) -> Done {
    let shared = shared(cell, 3, &["Sigmoid", "Tanh"])?;
    let is_linear_first = cell.site.int("linear_before_reset").unwrap_or(0) != 0;
    let size = shared.hidden;
    let (mut all, mut last) = (Vec::new(), Vec::new());
    for d in 0..shared.directions.len() {
        let given = direction(cell, &shared, d, &[5], true);
        let weights = split(cell, &given.recurrent, 3, size);
        let bias = given.recurrent_bias.clone().map(|bias| split(cell, &bias, 3, size));
        let (ends, shown) = shared.open(cell, &["h"]);
        let parts = split(cell, "given_t", 3, size);
        let gate = |cell: &mut Cell<'_>, k: usize, state: &str| {
            let product = cell.op("MatMul", &[state, &weights[k]]);
            match &bias {
                Some(bias) => cell.op("Add", &[&product, &bias[k]]),
                None => product,
            }
        };
        let sum = gate(cell, 0, "h");
        let sum = cell.op("Add", &[&parts[0], &sum]);
        let update = shared.activate(cell, 2 * d, &sum);
        let sum = gate(cell, 1, "h");
        let sum = cell.op("Add", &[&parts[1], &sum]);
        let reset = shared.activate(cell, 2 * d, &sum);
        let hidden = match is_linear_first {
            true => {
                let sum = gate(cell, 2, "h");
                cell.op("Mul", &[&reset, &sum])
            }
            false => {
                let left = cell.op("Mul", &[&reset, "h"]);
                gate(cell, 2, &left)
            }
        };
        let sum = cell.op("Add", &[&parts[2], &hidden]);
        let hidden = shared.activate(cell, 2 * d + 1, &sum);
        // (1 - z) n + z h = n + z (h - n)
        let apart = cell.op("Sub", &["h", &hidden]);
        let share = cell.op("Mul", &[&update, &apart]);
        let new = cell.op("Add", &[&hidden, &share]);
        shared.close(cell, d, &[("h", new)], &given);
        all.push(shown);
        last.push(ends);
    }
    shared.finish(cell, &all, &last);
    Ok(())
}

pub(super) fn lstm(cell: &mut Cell<'_>) -> Done {
    let shared = shared(cell, 4, &["Sigmoid", "Tanh", "Tanh"])?;
    let couples = cell.site.int("input_forget").unwrap_or(0) != 0;
    let size = shared.hidden;
    let (mut all, mut last) = (Vec::new(), Vec::new());
    for d in 0..shared.directions.len() {
        let given = direction(cell, &shared, d, &[5, 6], false);
        let peepholes = cell.has(7).then(|| {
            let part = part(cell, "x7", 0, d, shared.directions.len());
            split(cell, &part, 3, size)
        });
        let one = cell.number(1.0, 0);
        let (ends, shown) = shared.open(cell, &["h", "c"]);
        let product = cell.op("MatMul", &["h", &given.recurrent]);
        let sum = cell.op("Add", &["given_t", &product]);
        let gates = split(cell, &sum, 4, size);
        let peep = |cell: &mut Cell<'_>, gate: &str, k: usize, state: &str| match &peepholes {
            Some(peepholes) => {
                let seen = cell.op("Mul", &[&peepholes[k], state]);
                cell.op("Add", &[gate, &seen])
            }
            None => gate.to_owned(),
        };
        let [input, output, forget, candidate] = [0, 1, 2, 3].map(|k: usize| gates[k].clone());
        let input = peep(cell, &input, 0, "c");
        let input = shared.activate(cell, 3 * d, &input);
        let forget = match couples {
            true => cell.op("Sub", &[&one, &input]),
            false => {
                let forget = peep(cell, &forget, 2, "c");
                shared.activate(cell, 3 * d, &forget)
            }
        };
        let candidate = shared.activate(cell, 3 * d + 1, &candidate);
        let old = cell.op("Mul", &[&forget, "c"]);
        let new = cell.op("Mul", &[&input, &candidate]);
        let state = cell.op("Add", &[&old, &new]);
        let output = peep(cell, &output, 1, &state);
        let output = shared.activate(cell, 3 * d, &output);
        let shape = activation::apply(&shared.activations[3 * d + 2], cell, &state);
        let hidden = cell.op("Mul", &[&output, &shape]);
        shared.close(cell, d, &[("h", hidden), ("c", state)], &given);
        all.push(shown);
        last.push(ends);
    }
    shared.finish(cell, &all, &last);
    Ok(())
}
