//! Activation functions of recurrent operators, with their parameters.

use crate::derivative::Cell;
use std::vec::IntoIter;

/// A function of one number, as nodes.
pub(super) struct Activation {
    op: &'static str,
    alpha: f64,
    beta: f64,
}

/// Parameters that are not yet assigned to the functions that have some, which consume them in order.
pub(super) struct Parameters {
    alphas: IntoIter<f32>,
    betas: IntoIter<f32>,
}

/// The functions, with the defaults of their parameters.
const ALL: &[(&str, Option<f64>, Option<f64>)] = &[
    ("Affine", Some(1.0), Some(0.0)),
    ("Elu", Some(1.0), None),
    ("HardSigmoid", Some(0.2), Some(0.5)),
    ("LeakyRelu", Some(0.01), None),
    ("Relu", None, None),
    ("ScaledTanh", Some(1.0), Some(1.0)),
    ("Sigmoid", None, None),
    ("Softplus", None, None),
    ("Softsign", None, None),
    ("Tanh", None, None),
    ("ThresholdedRelu", Some(1.0), None),
];

impl Parameters {
    /// The parameters of a node.
    pub(super) fn of(cell: &Cell<'_>) -> Parameters {
        let list = |name: &str| cell.site.floats(name).unwrap_or_default().into_iter();
        Parameters { alphas: list("activation_alpha"), betas: list("activation_beta") }
    }

    /// The function of a name, which is not case-sensitive.
    pub(super) fn named(&mut self, name: &str) -> Result<Activation, String> {
        let found = ALL.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
        let (op, alpha, beta) = found.ok_or_else(|| format!("its activation is `{name}`"))?;
        let alpha = alpha.map(|default| self.alphas.next().map_or(default, f64::from));
        let beta = beta.map(|default| self.betas.next().map_or(default, f64::from));
        Ok(Activation { op, alpha: alpha.unwrap_or(1.0), beta: beta.unwrap_or(0.0) })
    }
}

impl Activation {
    /// Applies it.
    pub(super) fn apply(&self, cell: &mut Cell<'_>, of: &str) -> String {
        let (alpha, beta) = (self.alpha, self.beta);
        match self.op {
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
            "HardSigmoid" => cell.op_with(self.op, &format!("alpha = {alpha:?}, beta = {beta:?}"), &[of]),
            "Elu" | "LeakyRelu" | "ThresholdedRelu" => {
                cell.op_with(self.op, &format!("alpha = {alpha:?}"), &[of])
            }
            _ => cell.op(self.op, &[of]),
        }
    }
}
