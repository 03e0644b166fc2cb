//! Activation functions of recurrent operators, by name, with their parameters.

use super::number::Number;
use onnx_loops::failure::{Failure, fail};
use onnx_ops::meaning::{CellActivation, CellParameters};

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

impl Activation {
    /// The function of a name with its parameters.
    pub(super) fn named(name: &str, parameters: &mut CellParameters) -> Result<Activation, Failure> {
        let Some(CellActivation { name, alpha, beta }) = parameters.function(name) else {
            fail!("there is no activation function `{name}`");
        };
        Ok(match name {
            "Affine" => Activation::Affine { alpha, beta },
            "Elu" => Activation::Elu { alpha },
            "HardSigmoid" => Activation::HardSigmoid { alpha, beta },
            "LeakyRelu" => Activation::LeakyRelu { alpha },
            "Relu" => Activation::Relu,
            "ScaledTanh" => Activation::ScaledTanh { alpha, beta },
            "Sigmoid" => Activation::Sigmoid,
            "Softplus" => Activation::Softplus,
            "Softsign" => Activation::Softsign,
            "Tanh" => Activation::Tanh,
            "ThresholdedRelu" => Activation::ThresholdedRelu { alpha },
            _ => fail!("the activation function `{name}` is not supported"),
        })
    }

    /// Applies it to all numbers.
    #[inline(always)]
    pub(super) fn apply<T: Number, const FUSED: bool>(self, numbers: &mut [T]) {
        let (zero, one) = (T::of(0.0), T::of(1.0));
        let least = |x: T, least: T| if x < least { least } else { x };
        let abs = |x: T| if x < zero { -x } else { x };
        match self {
            Activation::Affine { alpha, beta } => {
                let (alpha, beta) = (T::of(alpha), T::of(beta));
                each(numbers, |x| alpha * x + beta);
            }
            Activation::Elu { alpha } => {
                let alpha = T::of(alpha);
                each(numbers, |x| if x < zero { alpha * x.exp_m1::<FUSED>() } else { x });
            }
            Activation::HardSigmoid { alpha, beta } => {
                let (alpha, beta) = (T::of(alpha), T::of(beta));
                each(numbers, |x| {
                    let y = least(alpha * x + beta, zero);
                    if y > one { one } else { y }
                });
            }
            Activation::LeakyRelu { alpha } => {
                let alpha = T::of(alpha);
                each(numbers, |x| if x < zero { alpha * x } else { x });
            }
            Activation::Relu => each(numbers, |x| least(x, zero)),
            Activation::ScaledTanh { alpha, beta } => {
                let (alpha, beta) = (T::of(alpha), T::of(beta));
                each(numbers, |x| alpha * (beta * x).tanh::<FUSED>());
            }
            Activation::Sigmoid => each(numbers, |x| one / (one + (-x).exp::<FUSED>())),
            // This form avoids overflow.
            Activation::Softplus => {
                each(numbers, |x| least(x, zero) + (-abs(x)).exp::<FUSED>().ln_1p::<FUSED>());
            }
            Activation::Softsign => each(numbers, |x| x / (one + abs(x))),
            Activation::Tanh => each(numbers, T::tanh::<FUSED>),
            Activation::ThresholdedRelu { alpha } => {
                let alpha = T::of(alpha);
                each(numbers, |x| if x < alpha { zero } else { x });
            }
        }
    }
}

#[inline(always)]
fn each<T: Copy>(numbers: &mut [T], f: impl Fn(T) -> T) {
    for x in numbers {
        *x = f(*x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_go_to_the_functions_that_have_any() {
        let mut given = CellParameters::new(vec![0.5, 2.0], vec![3.0]);
        let mut named = |name| Activation::named(name, &mut given).expect("known");
        assert_eq!(named("Sigmoid"), Activation::Sigmoid);
        assert_eq!(named("LeakyRelu"), Activation::LeakyRelu { alpha: 0.5 });
        assert_eq!(named("affine"), Activation::Affine { alpha: 2.0, beta: 3.0 });
        assert_eq!(named("HardSigmoid"), Activation::HardSigmoid { alpha: 0.2, beta: 0.5 });
    }

    #[test]
    fn large_arguments_do_not_overflow() {
        fn of<T: Number>(activation: Activation, x: f64) -> T {
            let mut numbers = [T::of(x)];
            activation.apply::<T, false>(&mut numbers);
            numbers[0]
        }
        assert_eq!(of::<f32>(Activation::Softplus, 1000.0), 1000.0);
        assert_eq!(of::<f64>(Activation::Softplus, 1000.0), 1000.0);
        assert_eq!(of::<f32>(Activation::Sigmoid, -1000.0), 0.0);
        assert_eq!(of::<f64>(Activation::Sigmoid, -1000.0), 0.0);
    }
}
