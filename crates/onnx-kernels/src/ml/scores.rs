//! Scores of classes: transforms, the best class, and its label.

use crate::Attributes;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{Listed as _, Strings};
use onnx_loops::tensor::Tensor;

/// The transform of the scores of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Transform {
    None,
    Softmax,
    Logistic,
    SoftmaxZero,
    Probit,
}

impl Transform {
    pub(super) fn of(attrs: &Attributes<'_>) -> Result<Transform, Failure> {
        Ok(match &attrs.string("post_transform").unwrap_or_default()[..] {
            "NONE" | "" => Transform::None,
            "SOFTMAX" => Transform::Softmax,
            "LOGISTIC" => Transform::Logistic,
            "SOFTMAX_ZERO" => Transform::SoftmaxZero,
            "PROBIT" => Transform::Probit,
            other => fail!("there is no `post_transform` `{other}`"),
        })
    }

    /// The transform with a number, as in `TreeEnsemble`.
    pub(super) fn numbered(number: i64) -> Result<Transform, Failure> {
        Ok(match number {
            0 => Transform::None,
            1 => Transform::Softmax,
            2 => Transform::Logistic,
            3 => Transform::SoftmaxZero,
            4 => Transform::Probit,
            other => fail!("there is no `post_transform` {other}"),
        })
    }

    /// The scores of two classes from one score: probabilities that sum to 1, without a further transform, as in ONNX Runtime.
    pub(super) fn two(self, score: f64) -> Vec<f64> {
        match self {
            Transform::Logistic => vec![logistic(-score), logistic(score)],
            Transform::Probit => vec![probit(-score), probit(score)],
            Transform::None | Transform::Softmax | Transform::SoftmaxZero => vec![1.0 - score, score],
        }
    }

    /// Transforms the scores of one sample for targets. A single score is not transformed except by probit, as in ONNX Runtime.
    pub(super) fn apply_to_targets(self, scores: &mut [f64]) {
        if scores.len() > 1 || self == Transform::Probit {
            self.apply(scores);
        }
    }

    /// Transforms the scores of one sample for classes.
    pub(super) fn apply(self, scores: &mut [f64]) {
        match self {
            Transform::None => {}
            Transform::Softmax => softmax(scores),
            Transform::Logistic => scores.iter_mut().for_each(|x| *x = logistic(*x)),
            Transform::SoftmaxZero => softmax_zero(scores),
            Transform::Probit => scores.iter_mut().for_each(|x| *x = probit(*x)),
        }
    }
}

pub(super) fn logistic(x: f64) -> f64 {
    let power = (-x.abs()).exp();
    if x < 0.0 { power / (1.0 + power) } else { 1.0 / (1.0 + power) }
}

fn greatest(scores: &[f64]) -> f64 {
    scores.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn softmax(scores: &mut [f64]) {
    let most = greatest(scores);
    scores.iter_mut().for_each(|x| *x = (*x - most).exp());
    let sum: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|x| *x /= sum);
}

/// Softmax that keeps zeros.
fn softmax_zero(scores: &mut [f64]) {
    let most = greatest(scores);
    scores.iter_mut().for_each(|x| *x = if x.abs() > 1e-7 { (*x - most).exp() } else { *x * (-most).exp() });
    let sum: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|x| *x = if sum == 0.0 { 0.5 } else { *x / sum });
}

/// The quantile function of the normal distribution, by the approximation of the inverse error function with a = 0.147 (Winitzki
/// 2008).
fn probit(x: f64) -> f64 {
    const A: f64 = 0.147;
    #[allow(clippy::approx_constant, reason = "these are the digits that others have")]
    const PI: f64 = 3.14159;
    let y = 2.0 * x - 1.0;
    let rest = (1.0 - y) * (1.0 + y);
    if rest == 0.0 {
        return y * f64::INFINITY;
    }
    let log = rest.ln();
    let half = 2.0 / (PI * A) + 0.5 * log;
    let inverse = ((half * half - log / A).sqrt() - half).sqrt();
    std::f64::consts::SQRT_2 * if y < 0.0 { -inverse } else { inverse }
}

/// The index of the greatest score, the first of equal ones; NaN counts as greatest.
pub(super) fn best(scores: &[f64]) -> usize {
    let mut best = 0;
    for (i, &x) in scores.iter().enumerate() {
        if x.is_nan() {
            return i;
        }
        if x > scores[best] {
            best = i;
        }
    }
    best
}

/// The labels of classes: integers or strings.
pub(super) enum Labels {
    Ints(Vec<i64>),
    Strings(Vec<String>),
}

impl Labels {
    /// The labels in one of these attributes; by default the class numbers.
    pub(super) fn of(attrs: &Attributes<'_>, ints: &str) -> Labels {
        match attrs.strings("classlabels_strings").filter(|all| !all.is_empty()) {
            Some(strings) => Labels::Strings(strings),
            None => Labels::Ints(attrs.ints(ints).unwrap_or_default()),
        }
    }

    pub(super) fn count(&self) -> usize {
        match self {
            Labels::Ints(all) => all.len(),
            Labels::Strings(all) => all.len(),
        }
    }

    /// The labels for class numbers.
    pub(super) fn tensor(&self, classes: &[usize]) -> Result<Tensor, Failure> {
        let dims = [classes.len()];
        let missing = |class: &usize| Failure::new(format!("class {class} has no label"));
        match self {
            Labels::Ints(all) if all.is_empty() => {
                let numbers = classes.iter().map(|&c| i64::try_from(c).unwrap_or(i64::MAX)).listed()?;
                Tensor::of(&dims, &numbers)
            }
            Labels::Ints(all) => {
                let label = |class: &usize| all.get(*class).copied().ok_or_else(|| missing(class));
                Tensor::of(&dims, &classes.iter().map(label).try_listed()?)
            }
            Labels::Strings(all) => {
                let mut labels = Strings::with_room(classes.len())?;
                for class in classes {
                    labels.push_copy(all.get(*class).ok_or_else(|| missing(class))?)?;
                }
                Tensor::of_texts(&dims, labels)
            }
        }
    }

    /// The labels for a single class: its label for members, otherwise 0 or the empty string.
    pub(super) fn yes_or_no(&self, is_class: &[bool]) -> Result<Tensor, Failure> {
        match self {
            Labels::Ints(all) => {
                let yes = all.first().copied().unwrap_or(1);
                let labels = is_class.iter().map(|&is| if is { yes } else { 0 }).listed()?;
                Tensor::of(&[labels.len()], &labels)
            }
            Labels::Strings(all) => {
                let yes = all.first().map_or("", |label| label);
                let labels = Strings::all(is_class.iter().map(|&is| if is { yes } else { "" }))?;
                Tensor::of_texts(&[is_class.len()], labels)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_of_known_scores() {
        let of = |transform: Transform, scores: &[f64]| {
            let mut scores = scores.to_vec();
            transform.apply(&mut scores);
            scores.into_iter().map(|x| (x * 1000.0).round() / 1000.0).collect::<Vec<_>>()
        };
        assert_eq!(of(Transform::Softmax, &[0.0, 3f64.ln()]), [0.25, 0.75]);
        assert_eq!(of(Transform::SoftmaxZero, &[0.0, 3f64.ln()]), [0.0, 1.0]);
        assert_eq!(of(Transform::SoftmaxZero, &[0.0, 0.0]), [0.5, 0.5]);
        assert_eq!(of(Transform::Logistic, &[0.0, -3f64.ln()]), [0.5, 0.25]);
        assert_eq!(of(Transform::Probit, &[0.5, 0.975]), [0.0, 1.959]);
        assert_eq!([0.0, 1.0].map(probit), [f64::NEG_INFINITY, f64::INFINITY]);
        assert_eq!(Transform::Softmax.two(0.25), [0.75, 0.25]);
        let mut alone = [0.25];
        Transform::Softmax.apply_to_targets(&mut alone);
        assert_eq!(alone, [0.25]);
        assert_eq!(best(&[1.0, 2.0, 2.0]), 1);
        assert_eq!(best(&[1.0, f64::NAN, 2.0]), 1);
    }
}
