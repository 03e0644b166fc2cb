//! The kernel function of support vector machines, with its attributes.

use super::{dot, wide};
use crate::Attributes;
use onnx_ir::diag::counted;
use onnx_loops::failure::{Failure, fail};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Linear,
    Poly,
    Rbf,
    Sigmoid,
}

/// Support vectors with a kernel function.
pub(super) struct Machine {
    form: Form,
    gamma: f64,
    offset: f64,
    degree: f64,
    /// Contiguous.
    vectors: Vec<f64>,
    pub(super) count: usize,
    features: usize,
}

impl Machine {
    /// A machine with `count` support vectors.
    pub(super) fn of(attrs: &Attributes<'_>, count: usize, features: usize) -> Result<Machine, Failure> {
        let form = match &attrs.string("kernel_type").unwrap_or_default()[..] {
            "LINEAR" => Form::Linear,
            "POLY" => Form::Poly,
            "RBF" => Form::Rbf,
            "SIGMOID" => Form::Sigmoid,
            other => fail!("there is no `kernel_type` `{other}`"),
        };
        let (gamma, offset, degree) = match wide(attrs.floats("kernel_params"))[..] {
            [] => (0.0, 0.0, 0.0),
            [gamma, offset, degree] => (gamma, offset, degree.trunc()),
            _ => fail!("`kernel_params` are three numbers: gamma, coef0, degree"),
        };
        let vectors = wide(attrs.floats("support_vectors"));
        if count.checked_mul(features) != Some(vectors.len()) {
            fail!(
                "{count} support vectors of {} cannot have {}",
                counted(features, "feature"),
                counted(vectors.len(), "number")
            );
        }
        Ok(Machine { form, gamma, offset, degree, vectors, count, features })
    }

    /// The kernel function of a sample and each vector.
    pub(super) fn kernels(&self, sample: &[f64]) -> Vec<f64> {
        (0..self.count)
            .map(|i| self.kernel(sample, &self.vectors[i * self.features..][..self.features]))
            .collect()
    }

    fn kernel(&self, a: &[f64], b: &[f64]) -> f64 {
        match self.form {
            Form::Linear => dot(a, b),
            Form::Poly => (dot(a, b) * self.gamma + self.offset).powf(self.degree),
            Form::Sigmoid => (dot(a, b) * self.gamma + self.offset).tanh(),
            Form::Rbf => (-self.gamma * squares(a, b)).exp(),
        }
    }
}

/// The sum of squared differences, in eight partial sums for vectorization.
fn squares(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b.as_chunks::<8>();
    for (a, b) in a8.iter().zip(b8) {
        (0..8).for_each(|i| sums[i] += (a[i] - b[i]) * (a[i] - b[i]));
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| (a - b) * (a - b)).sum();
    sums.iter().sum::<f64>() + rest
}
