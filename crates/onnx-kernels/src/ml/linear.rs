//! LinearClassifier and LinearRegressor.

use super::scores::{Labels, Transform, best};
use super::{Samples, dot, rounded, wide};
use crate::Call;
use crate::value::Value;
use onnx_ir::ElemType;
use onnx_ir::diag::{counted, counted_are};
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, filled};
use onnx_loops::tensor::Tensor;

/// Linear functions of the features, one per row of coefficients.
struct Functions {
    coefficients: Vec<f64>,
    intercepts: Vec<f64>,
    count: usize,
    features: usize,
}

impl Functions {
    /// As many functions as targets, otherwise as the coefficients determine.
    fn of(call: &Call<'_>, features: usize, targets: Option<usize>) -> Result<Functions, Failure> {
        let coefficients = wide(call.attrs.floats("coefficients"));
        let intercepts = wide(call.attrs.floats("intercepts"));
        let count = match targets {
            Some(targets) => targets,
            None => coefficients.len().checked_div(features).unwrap_or(0),
        };
        if count == 0 || count.checked_mul(features) != Some(coefficients.len()) {
            fail!(
                "{} not functions of {}",
                counted_are(coefficients.len(), "coefficient"),
                counted(features, "feature")
            );
        }
        if !intercepts.is_empty() && intercepts.len() != count && intercepts.len() != 1 {
            fail!("{} cannot go with {}", counted(intercepts.len(), "intercept"), counted(count, "function"));
        }
        Ok(Functions { coefficients, intercepts, count, features })
    }

    fn at(&self, row: &[f64], elem: ElemType) -> Vec<f64> {
        let one = |i: usize| {
            let intercept = self.intercepts.get(i).or(self.intercepts.first()).copied().unwrap_or(0.0);
            rounded(elem, dot(row, &self.coefficients[i * self.features..][..self.features]) + intercept)
        };
        (0..self.count).map(one).collect()
    }
}

pub(super) fn classify(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let samples = Samples::of(call.tensor(0)?)?;
    let functions = Functions::of(call, samples.features, None)?;
    let labels = Labels::of(&call.attrs, "classlabels_ints");
    let transform = Transform::of(&call.attrs)?;
    // One function separates two classes.
    let is_binary = functions.count == 1 && labels.count() == 2;
    let width = if is_binary { 2 } else { functions.count };
    let mut all = List::new();
    let mut classes = List::with_room(samples.count)?;
    for sample in 0..samples.count {
        let mut scores = functions.at(samples.row(sample), samples.elem);
        if is_binary {
            let score = scores[0];
            classes.push(usize::from(score > 0.0))?;
            scores = transform.two(score);
        } else {
            // The transform may round large scores to equal ones.
            classes.push(best(&scores))?;
            transform.apply(&mut scores);
        }
        scores.iter_mut().for_each(|x| *x = rounded(samples.elem, *x));
        all.extend(scores)?;
    }
    let label = if width == 1 {
        let threshold = if transform == Transform::None { 0.0 } else { 0.5 };
        labels.yes_or_no(&all.iter().map(|&score| score >= threshold).listed()?)?
    } else {
        labels.tensor(&classes)?
    };
    let scores = Tensor::of_floats(ElemType::FLOAT, &[samples.count, width], &all)?;
    Ok(vec![label.into(), scores.into()])
}

pub(super) fn regress(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let samples = Samples::of(call.tensor(0)?)?;
    let targets = call.attrs.int("targets").and_then(|n| usize::try_from(n).ok());
    let functions = Functions::of(call, samples.features, targets)?;
    let transform = Transform::of(&call.attrs)?;
    let dims = [samples.count, functions.count];
    let mut all = filled(call.has_room(ElemType::FLOAT, &dims)?, 0.0)?;
    for (sample, to) in all.chunks_exact_mut(functions.count).enumerate() {
        let mut scores = functions.at(samples.row(sample), samples.elem);
        transform.apply_to_targets(&mut scores);
        to.copy_from_slice(&scores);
    }
    Ok(vec![Tensor::of_floats(ElemType::FLOAT, &dims, &all)?.into()])
}
