//! Activation functions of recurrent operators as nodes.

use crate::derivative::Cell;
use crate::operators::recurrent::activation::{CellActivation, CellParameters};

/// The parameters of a node.
pub(super) fn parameters(cell: &Cell<'_>) -> CellParameters {
    let list = |name: &str| cell.site.floats(name).unwrap_or_default();
    CellParameters::new(list("activation_alpha"), list("activation_beta"))
}

/// Applies a function.
pub(super) fn apply(function: &CellActivation, cell: &mut Cell<'_>, of: &str) -> String {
    let CellActivation { name, alpha, beta } = *function;
    match name {
        "Affine" => {
            let (alpha, beta) = (cell.number(alpha, 0), cell.number(beta, 0));
            let scaled = cell.op("Mul", &[of, &alpha]);
            cell.op("Add", &[&scaled, &beta])
        }
        "ScaledTanh" => {
            let (alpha, beta) = (cell.number(alpha, 0), cell.number(beta, 0));
            let scaled = cell.op("Mul", &[of, &beta]);
            let curve = cell.op("Tanh", &[&scaled]);
            cell.op("Mul", &[&curve, &alpha])
        }
        "HardSigmoid" => cell.op_with(name, &format!("alpha = {alpha:?}, beta = {beta:?}"), &[of]),
        "Elu" | "LeakyRelu" | "ThresholdedRelu" => cell.op_with(name, &format!("alpha = {alpha:?}"), &[of]),
        _ => cell.op(name, &[of]),
    }
}
