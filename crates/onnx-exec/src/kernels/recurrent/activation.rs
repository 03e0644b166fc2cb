//! The functions that recurrent operators apply, by name, with their parameters.

use crate::failure::{Failure, fail};
use std::vec::IntoIter;

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Activation {
    Affine { alpha: f64, beta: f64 },
    Elu { alpha: f64 },
    HardSigmoid { alpha: f64, beta: f64 },
    LeakyRelu { alpha: f64 },
    Relu,
    ScaledTanh { alpha: f64, beta: f64 },
    Sigmoid,
    Softplus,
    Softsign,
    Tanh,
    ThresholdedRelu { alpha: f64 },
}

/// Parameters that are still to be given out, to those functions that have any.
pub(super) struct Parameters {
    pub(super) alphas: IntoIter<f32>,
    pub(super) betas: IntoIter<f32>,
}

impl Activation {
    pub(super) fn named(name: &str, parameters: &mut Parameters) -> Result<Activation, Failure> {
        let Parameters { alphas, betas } = parameters;
        let mut alpha = |default| alphas.next().map_or(default, f64::from);
        let mut beta = |default| betas.next().map_or(default, f64::from);
        Ok(match name.to_ascii_lowercase().as_str() {
            "affine" => Activation::Affine { alpha: alpha(1.0), beta: beta(0.0) },
            "elu" => Activation::Elu { alpha: alpha(1.0) },
            "hardsigmoid" => Activation::HardSigmoid { alpha: alpha(0.2), beta: beta(0.5) },
            "leakyrelu" => Activation::LeakyRelu { alpha: alpha(0.01) },
            "relu" => Activation::Relu,
            "scaledtanh" => Activation::ScaledTanh { alpha: alpha(1.0), beta: beta(1.0) },
            "sigmoid" => Activation::Sigmoid,
            "softplus" => Activation::Softplus,
            "softsign" => Activation::Softsign,
            "tanh" => Activation::Tanh,
            "thresholdedrelu" => Activation::ThresholdedRelu { alpha: alpha(1.0) },
            _ => fail!("there is no activation function `{name}`"),
        })
    }

    pub(super) fn of(self, x: f64) -> f64 {
        match self {
            Activation::Affine { alpha, beta } => alpha * x + beta,
            Activation::Elu { alpha } => {
                if x >= 0.0 {
                    x
                } else {
                    alpha * x.exp_m1()
                }
            }
            Activation::HardSigmoid { alpha, beta } => (alpha * x + beta).clamp(0.0, 1.0),
            Activation::LeakyRelu { alpha } => {
                if x >= 0.0 {
                    x
                } else {
                    alpha * x
                }
            }
            Activation::Relu => x.max(0.0),
            Activation::ScaledTanh { alpha, beta } => alpha * (beta * x).tanh(),
            Activation::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            // The larger part outside, so that nothing overflows.
            Activation::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
            Activation::Softsign => x / (1.0 + x.abs()),
            Activation::Tanh => x.tanh(),
            Activation::ThresholdedRelu { alpha } => {
                if x >= alpha {
                    x
                } else {
                    0.0
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_go_to_the_functions_that_have_any() {
        let mut given = Parameters { alphas: vec![0.5, 2.0].into_iter(), betas: vec![3.0].into_iter() };
        let mut named = |name| Activation::named(name, &mut given).expect("known");
        assert_eq!(named("Sigmoid"), Activation::Sigmoid);
        assert_eq!(named("LeakyRelu"), Activation::LeakyRelu { alpha: 0.5 });
        assert_eq!(named("affine"), Activation::Affine { alpha: 2.0, beta: 3.0 });
        assert_eq!(named("HardSigmoid"), Activation::HardSigmoid { alpha: 0.2, beta: 0.5 });
    }

    #[test]
    fn large_arguments_do_not_overflow() {
        assert_eq!(Activation::Softplus.of(1000.0), 1000.0);
        assert_eq!(Activation::Sigmoid.of(-1000.0), 0.0);
    }
}
