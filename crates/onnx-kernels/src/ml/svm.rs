//! Support vector machines: SVMClassifier and SVMRegressor. Without support vectors the coefficients are those of linear
//! functions.
//!
//! A classifier has a decision function for each pair of classes, whose sign votes for one of them. A fitted sigmoid gives the
//! probabilities of pairs, and these give the probabilities of classes (Wu, Lin, Weng: Probability estimates for multi-class
//! classification by pairwise coupling, JMLR 5, 2004, section 4.1, algorithm 2).

use super::machine::Machine;
use super::scores::{Labels, Transform, best, logistic};
use super::{Samples, dot, rounded, wide};
use crate::Call;
use crate::value::Value;
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::List;
use onnx_loops::tensor::Tensor;
use std::ops::Range;

pub(super) fn regress(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let samples = Samples::of(call.tensor(0)?)?;
    let attrs = &call.attrs;
    let coefficients = wide(attrs.floats("coefficients"));
    let &[offset, ..] = &wide(attrs.floats("rho"))[..] else { fail!("`rho` is empty") };
    let supports = usize::try_from(attrs.int("n_supports").unwrap_or(0)).unwrap_or(0);
    let machine = match supports {
        0 => None,
        count => Some(Machine::of(attrs, count, samples.features)?),
    };
    let wanted = machine.as_ref().map_or(samples.features, |machine| machine.count);
    if coefficients.len() != wanted {
        fail!("there are {}, {wanted} are needed", counted(coefficients.len(), "coefficient"));
    }
    let is_one_class = attrs.flag("one_class");
    let transform = Transform::of(attrs)?;
    spend(steps(call).saturating_mul(samples.count))?;
    let predict = |sample: usize| {
        let row = samples.row(sample);
        let sum = match &machine {
            Some(machine) => dot(&machine.kernels(row), &coefficients),
            None => dot(row, &coefficients),
        };
        let mut score = [sum + offset];
        if is_one_class {
            score = [if score[0] > 0.0 { 1.0 } else { -1.0 }];
        }
        transform.apply_to_targets(&mut score);
        score[0]
    };
    let all = (0..samples.count).map(predict);
    Ok(vec![Tensor::from_floats(ElemType::FLOAT, &[samples.count, 1], all)?.into()])
}

/// The decision functions.
enum Judge {
    /// A linear function per class.
    Linear(Vec<f64>),
    Pairs(Pairs),
}

/// A decision function for each pair of classes.
struct Pairs {
    machine: Machine,
    /// The support vectors of each class.
    vectors: Vec<Range<usize>>,
    /// One row less than classes: for the pair i < j, vectors of i use row j - 1, and those of j row i.
    coefficients: Vec<f64>,
}

impl Pairs {
    /// The value of each decision function, and the votes for each class.
    fn judge(&self, row: &[f64], offsets: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let kernels = self.machine.kernels(row);
        let count = self.vectors.len();
        let (mut scores, mut votes) = (Vec::new(), vec![0.0; count]);
        let part = |row: usize, class: usize| {
            let own = self.vectors[class].clone();
            dot(&self.coefficients[row * self.machine.count..][own.clone()], &kernels[own])
        };
        for i in 0..count {
            for j in i + 1..count {
                let score = offsets[scores.len()] + part(j - 1, i) + part(i, j);
                votes[if score > 0.0 { i } else { j }] += 1.0;
                scores.push(score);
            }
        }
        (scores, votes)
    }
}

/// The parameters of the sigmoids that convert scores to probabilities.
struct Sigmoids {
    slopes: Vec<f64>,
    offsets: Vec<f64>,
}

impl Sigmoids {
    /// The probability of each class.
    fn probabilities(&self, scores: &[f64], count: usize) -> Vec<f64> {
        let mut pairs = vec![0.0; count * count];
        let mut parameters = scores.iter().zip(self.slopes.iter().zip(&self.offsets));
        for i in 0..count {
            for j in i + 1..count {
                let Some((score, (slope, offset))) = parameters.next() else { continue };
                let p = (1.0 - logistic(score * slope + offset)).clamp(1e-7, 1.0 - 1e-7);
                pairs[i * count + j] = p;
                pairs[j * count + i] = 1.0 - p;
            }
        }
        couple(&pairs, count)
    }
}

/// The probabilities of `n` classes that best fit those of pairs: `r[i * n + j]` is the probability of `i` given `i` or `j`.
fn couple(r: &[f64], n: usize) -> Vec<f64> {
    let at = |i: usize, j: usize| i * n + j;
    let mut q = vec![0.0; n * n];
    for t in 0..n {
        for j in (0..n).filter(|&j| j != t) {
            q[at(t, t)] += r[at(j, t)] * r[at(j, t)];
            q[at(t, j)] = -r[at(j, t)] * r[at(t, j)];
        }
    }
    let mut p = vec![1.0 / n as f64; n];
    for _ in 0..n.max(100) {
        let mut qp: Vec<f64> = (0..n).map(|t| dot(&q[at(t, 0)..][..n], &p)).collect();
        let mut pqp = dot(&p, &qp);
        let error = qp.iter().map(|x| (x - pqp).abs()).fold(0.0, f64::max);
        if error < 0.005 / n as f64 {
            break;
        }
        for t in 0..n {
            let step = (pqp - qp[t]) / q[at(t, t)];
            p[t] += step;
            let scale = 1.0 + step;
            pqp = (pqp + step * (step * q[at(t, t)] + 2.0 * qp[t])) / (scale * scale);
            for j in 0..n {
                qp[j] = (qp[j] + step * q[at(t, j)]) / scale;
                p[j] /= scale;
            }
        }
    }
    p
}

/// The most classes, because the number of decision functions is quadratic.
const MAX_CLASSES: usize = 10_000;

fn judge(call: &Call<'_>, classes: usize, features: usize) -> Result<Judge, Failure> {
    let attrs = &call.attrs;
    let coefficients = wide(attrs.floats("coefficients"));
    let mut vectors = Vec::new();
    let mut total = 0usize;
    for n in attrs.ints("vectors_per_class").unwrap_or_default() {
        let Ok(n) = usize::try_from(n) else { fail!("a class has {n} support vectors") };
        let end = total.saturating_add(n);
        vectors.push(total..end);
        total = end;
    }
    if total == 0 {
        if classes.checked_mul(features) != Some(coefficients.len()) {
            fail!(
                "{} of {} cannot have {}",
                counted(classes, "function"),
                counted(features, "feature"),
                counted(coefficients.len(), "coefficient"),
            );
        }
        return Ok(Judge::Linear(coefficients));
    }
    if vectors.len() != classes || classes > MAX_CLASSES {
        fail!(
            "`vectors_per_class` has {} for {}",
            counted(vectors.len(), "number"),
            counted(classes, "class")
        );
    }
    let machine = Machine::of(attrs, total, features)?;
    if (classes.max(2) - 1).checked_mul(total) != Some(coefficients.len()) {
        fail!(
            "there are {} for {} of {}",
            counted(coefficients.len(), "coefficient"),
            counted(total, "vector"),
            counted(classes, "class")
        );
    }
    Ok(Judge::Pairs(Pairs { machine, vectors, coefficients }))
}

pub(super) fn classify(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let samples = Samples::of(call.tensor(0)?)?;
    let labels = Labels::of(&call.attrs, "classlabels_ints");
    let classes = labels.count().max(1);
    let judge = judge(call, classes, samples.features)?;
    let offsets = wide(call.attrs.floats("rho"));
    let functions = match &judge {
        Judge::Linear(_) => 1,
        Judge::Pairs(_) => classes * (classes - 1) / 2,
    };
    if offsets.len() < functions {
        fail!("`rho` has {} for {}", counted(offsets.len(), "number"), counted(functions, "function"));
    }
    let sigmoids =
        Sigmoids { slopes: wide(call.attrs.floats("prob_a")), offsets: wide(call.attrs.floats("prob_b")) };
    let has_probabilities = !sigmoids.slopes.is_empty() && matches!(judge, Judge::Pairs(_));
    if has_probabilities && sigmoids.slopes.len().min(sigmoids.offsets.len()) < functions {
        fail!("`prob_a` and `prob_b` do not have a number for each of {}", counted(functions, "function"));
    }
    let is_positive = call.attrs.floats("coefficients").unwrap_or_default().iter().all(|&c| c >= 0.0);
    let transform = Transform::of(&call.attrs)?;
    let (mut all, mut best_ones, mut of_class) = (List::new(), List::new(), List::new());
    let steps = steps(call);
    for sample in 0..samples.count {
        spend(steps)?;
        let row = samples.row(sample);
        let (mut scores, votes) = match &judge {
            Judge::Linear(coefficients) => {
                let functions = coefficients.chunks_exact(samples.features.max(1)).take(classes);
                (functions.map(|f| dot(row, f) + offsets[0]).collect(), None)
            }
            Judge::Pairs(pairs) => {
                let (scores, votes) = pairs.judge(row, &offsets);
                (scores, Some(votes))
            }
        };
        if has_probabilities {
            scores = sigmoids.probabilities(&scores, classes);
        }
        scores.iter_mut().for_each(|x| *x = rounded(samples.elem, *x));
        let decides = votes.as_ref().unwrap_or(&scores);
        if decides.is_empty() {
            fail!("there is nothing that tells classes apart");
        }
        let mut class = best(decides);
        let most = decides[class];
        let is_binary = offsets.len() == 1 && classes == 2;
        if is_binary && !has_probabilities && is_positive && most >= 0.5 {
            class = 1;
        }
        best_ones.push(class)?;
        of_class.push(most > 0.0)?;
        all.extend(finish(scores, transform, is_binary))?;
    }
    let label = if classes == 1 { labels.yes_or_no(&of_class)? } else { labels.tensor(&best_ones)? };
    let width = all.len().checked_div(samples.count).unwrap_or(classes);
    let scores = Tensor::of_floats(ElemType::FLOAT, &[samples.count, width], &all)?;
    Ok(vec![label.into(), scores.into()])
}

/// Transforms the scores of a sample; a score that separates two classes becomes two.
fn finish(mut scores: Vec<f64>, transform: Transform, is_binary: bool) -> Vec<f64> {
    if let &[score] = &scores[..] {
        if is_binary && transform != Transform::Probit {
            scores = vec![-score, score];
        } else if transform != Transform::Probit {
            return scores;
        }
    }
    transform.apply(&mut scores);
    scores
}

/// The steps per sample: features times support vectors.
fn steps(call: &Call<'_>) -> usize {
    call.attrs.floats("support_vectors").map_or(0, |all| all.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_of_classes_go_with_those_of_pairs() {
        // Class probabilities 0.5, 0.3 and 0.2: then P(i | i or j) = p_i / (p_i + p_j).
        let p = [0.5, 0.3, 0.2];
        let r: Vec<f64> =
            (0..9).map(|k| if k / 3 == k % 3 { 0.0 } else { p[k / 3] / (p[k / 3] + p[k % 3]) }).collect();
        for (found, expected) in couple(&r, 3).into_iter().zip(p) {
            assert!((found - expected).abs() < 2e-2, "{found} {expected}");
        }
    }
}
