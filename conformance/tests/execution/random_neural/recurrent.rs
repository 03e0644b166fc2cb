//! LSTM, GRU and RNN.

use super::case::{Case, Draw, integers};
use onnx_ir::ElemType;

/// Activations with the numbers that they take.
const ACTIVATIONS: &[(&str, usize)] = &[
    ("Relu", 0),
    ("Tanh", 0),
    ("Sigmoid", 0),
    ("Affine", 2),
    ("LeakyRelu", 1),
    ("ThresholdedRelu", 1),
    ("ScaledTanh", 2),
    ("HardSigmoid", 2),
    ("Elu", 1),
    ("Softsign", 0),
    ("Softplus", 0),
];

pub(crate) fn draw(mut d: Draw) -> Case {
    let (op, gates, functions) = d.pick(&[("LSTM", 4, 3), ("GRU", 3, 2), ("RNN", 1, 1)]);
    let direction = d.pick(&["forward", "reverse", "bidirectional"]);
    let directions = if direction == "bidirectional" { 2 } else { 1 };
    let version = d.pick(&[7, 14, 22]);
    let elem = d.pick(&[ElemType::FLOAT, ElemType::FLOAT, ElemType::FLOAT, ElemType::DOUBLE]);
    let (steps, batch, input, hidden) = (1 + d.below(3), 1 + d.below(3), 1 + d.below(4), 1 + d.below(4));
    // ONNX Runtime knows no other layout, and the reference evaluator no lengths.
    d.is_for_runtime = true;
    d.floats(elem, &[steps, batch, input], 2.0);
    d.floats(elem, &[directions, gates * hidden, input], 1.0);
    d.floats(elem, &[directions, gates * hidden, hidden], 1.0);
    let optional = |d: &mut Draw, dims: &[usize]| {
        if d.chance(2) {
            d.floats(elem, dims, 1.0);
        } else {
            d.omit();
        }
    };
    optional(&mut d, &[directions, 2 * gates * hidden]);
    if d.chance(3) {
        // Without any step, ONNX Runtime says that the last state is 0, and not the initial one.
        let lengths: Vec<i64> = (0..batch).map(|_| d.within(1, steps as i64)).collect();
        d.tensor(integers(ElemType::INT32, &[batch], &lengths));
    } else {
        d.omit();
    }
    optional(&mut d, &[directions, batch, hidden]);
    if op == "LSTM" {
        optional(&mut d, &[directions, batch, hidden]);
        optional(&mut d, &[directions, 3 * hidden]);
        d.maybe(5, "input_forget", 1);
    }
    if op == "GRU" {
        d.maybe(2, "linear_before_reset", 1);
    }
    d.attribute("hidden_size", hidden);
    if directions == 2 || direction == "reverse" || d.chance(2) {
        d.text("direction", direction);
    }
    // ONNX Runtime does not clip the cell of an LSTM for its last activation, as the specification says of the inputs of all.
    if op != "LSTM" && d.chance(3) {
        d.float("clip", 0.6);
    }
    if d.chance(2) {
        activations(&mut d, functions * directions);
    }
    let mut present: Vec<bool> = (0..if op == "LSTM" { 3 } else { 2 }).map(|_| d.chance(2)).collect();
    if present.iter().all(|p| !p) {
        present[0] = true;
    }
    d.outputs(&present);
    d.case(op, version)
}

fn activations(d: &mut Draw, count: usize) {
    let drawn: Vec<(&str, usize)> = (0..count).map(|_| d.pick(ACTIVATIONS)).collect();
    let names: Vec<String> = drawn.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    d.list("activations", &names);
    // Others have no defaults, or are not operators: ONNX Runtime uses 0.
    let has_default = |name: &str| matches!(name, "LeakyRelu" | "HardSigmoid" | "Elu");
    let may_omit = drawn.iter().all(|(name, numbers)| *numbers == 0 || has_default(name));
    if drawn.iter().all(|(_, numbers)| *numbers == 0) || may_omit && d.chance(2) {
        return;
    }
    let alphas: Vec<f64> = drawn.iter().filter(|(_, n)| *n > 0).map(|_| d.pick(&[0.25, 0.5, 1.5])).collect();
    let betas: Vec<f64> = drawn.iter().filter(|(_, n)| *n > 1).map(|_| d.pick(&[0.25, 0.5, 1.5])).collect();
    d.float_list("activation_alpha", &alphas);
    if !betas.is_empty() {
        d.float_list("activation_beta", &betas);
    }
}
