//! The activation functions of recurrent operators, with the defaults of their parameters.

use std::vec::IntoIter;

/// The functions by name, with the defaults of `alpha` and `beta` for those that have them.
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

/// An activation function of a recurrent operator, with its parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CellActivation {
    /// The name as the specification spells it.
    pub name: &'static str,
    /// The parameter `alpha`, if the function has one.
    pub alpha: f64,
    /// The parameter `beta`, if the function has one.
    pub beta: f64,
}

/// The parameters that a node states; functions that have some consume them in order.
pub struct CellParameters {
    alphas: IntoIter<f32>,
    betas: IntoIter<f32>,
}

impl CellParameters {
    /// Of the attributes `activation_alpha` and `activation_beta`.
    pub fn new(alphas: Vec<f32>, betas: Vec<f32>) -> Self {
        CellParameters { alphas: alphas.into_iter(), betas: betas.into_iter() }
    }

    /// The next function, by its name, whose case does not matter; `None` if there is no such function.
    pub fn function(&mut self, name: &str) -> Option<CellActivation> {
        let (name, alpha, beta) = ALL.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))?;
        let alpha = alpha.map(|default| self.alphas.next().map_or(default, f64::from));
        let beta = beta.map(|default| self.betas.next().map_or(default, f64::from));
        Some(CellActivation { name, alpha: alpha.unwrap_or(1.0), beta: beta.unwrap_or(0.0) })
    }
}

/// The names of all functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, ..)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_go_to_the_functions_that_have_any() {
        let mut stated = CellParameters::new(vec![0.5, 2.0], vec![3.0]);
        let mut function = |name| {
            let CellActivation { name, alpha, beta } = stated.function(name).expect("known");
            (name, alpha, beta)
        };
        assert_eq!(function("Sigmoid"), ("Sigmoid", 1.0, 0.0));
        assert_eq!(function("LeakyRelu"), ("LeakyRelu", 0.5, 0.0));
        assert_eq!(function("affine"), ("Affine", 2.0, 3.0));
        assert_eq!(function("HardSigmoid"), ("HardSigmoid", 0.2, 0.5));
        assert_eq!(stated.function("Softmax"), None);
    }
}
