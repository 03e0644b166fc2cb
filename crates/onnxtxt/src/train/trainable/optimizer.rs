//! Optimizers: how weights follow their gradients.

use super::Weight;
use super::draft::{Draft, TRAINING, scalar, tensor_type};
use onnx_ir::{ElemType, Model, Name, Tensor};
use std::str::FromStr;

/// An optimizer and its settings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Optimizer {
    /// Which one.
    pub kind: OptimizerKind,
    /// The learning rate.
    pub rate: f32,
    /// The share of the last momentum (Momentum), or of the mean of gradients (Adam).
    pub alpha: f32,
    /// The share of a gradient (Momentum), or of the mean of their squares (Adam).
    pub beta: f32,
    /// Keeps divisors away from zero (Adagrad, Adam).
    pub epsilon: f32,
    /// How much the learning rate falls with each step (Adagrad).
    pub decay: f32,
    /// The coefficient of the squares of weights in what is minimized.
    pub norm: f32,
    /// Whether Momentum looks ahead (Nesterov).
    pub nesterov: bool,
}

/// An optimizer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptimizerKind {
    /// Weights move against the gradient.
    Sgd,
    /// The operator `Momentum`.
    Momentum,
    /// The operator `Adagrad`.
    Adagrad,
    /// The operator `Adam`.
    Adam,
}

impl Optimizer {
    /// An optimizer with its usual settings.
    pub fn new(kind: OptimizerKind) -> Optimizer {
        let usual = Optimizer {
            kind,
            rate: 0.01,
            alpha: 0.9,
            beta: 1.0,
            epsilon: 1e-6,
            decay: 0.0,
            norm: 0.0,
            nesterov: false,
        };
        match kind {
            OptimizerKind::Sgd | OptimizerKind::Momentum | OptimizerKind::Adagrad => usual,
            OptimizerKind::Adam => Optimizer { rate: 0.001, beta: 0.999, epsilon: 1e-8, ..usual },
        }
    }
}

/// `adam`, `momentum,lr=0.01,alpha=0.9`
impl FromStr for Optimizer {
    type Err = String;

    fn from_str(text: &str) -> Result<Optimizer, String> {
        let mut words = text.split(',').map(str::trim);
        let kind = match words.next().unwrap_or("").to_ascii_lowercase().as_str() {
            "sgd" => OptimizerKind::Sgd,
            "momentum" => OptimizerKind::Momentum,
            "adagrad" => OptimizerKind::Adagrad,
            "adam" => OptimizerKind::Adam,
            other => {
                return Err(format!("unknown optimizer `{other}`: expected sgd, momentum, adagrad or adam"));
            }
        };
        let mut optimizer = Optimizer::new(kind);
        for word in words.filter(|word| !word.is_empty()) {
            if word == "nesterov" && kind == OptimizerKind::Momentum {
                optimizer.nesterov = true;
                continue;
            }
            let (name, value) =
                word.split_once('=').ok_or_else(|| format!("`{word}` has no value: {SETTINGS}"))?;
            let number: f32 = value.trim().parse().map_err(|_| format!("`{value}` is not a number"))?;
            if !number.is_finite() || number < 0.0 {
                return Err(format!("`{name}` must be a non-negative number, but is {value}"));
            }
            *optimizer
                .setting(name.trim())
                .ok_or_else(|| format!("unknown setting `{name}`: {SETTINGS}"))? = number;
        }
        Ok(optimizer)
    }
}

const SETTINGS: &str = "expected lr, norm, and for momentum alpha, beta, nesterov; for adagrad epsilon, decay; for adam alpha, beta, epsilon";

impl Optimizer {
    /// A setting that the optimizer has.
    fn setting(&mut self, name: &str) -> Option<&mut f32> {
        use OptimizerKind as K;
        match (name, self.kind) {
            ("lr" | "rate" | "learning_rate", _) => Some(&mut self.rate),
            ("norm" | "weight_decay", _) => Some(&mut self.norm),
            ("alpha", K::Momentum | K::Adam) => Some(&mut self.alpha),
            ("beta", K::Momentum | K::Adam) => Some(&mut self.beta),
            ("epsilon" | "eps", K::Adagrad | K::Adam) => Some(&mut self.epsilon),
            ("decay", K::Adagrad) => Some(&mut self.decay),
            _ => None,
        }
    }

    /// The operator, and what it keeps for each weight.
    fn operator(&self) -> Option<(&'static str, &'static [&'static str])> {
        match self.kind {
            OptimizerKind::Sgd => None,
            OptimizerKind::Momentum => Some(("Momentum", &["momentum"])),
            OptimizerKind::Adagrad => Some(("Adagrad", &["squares"])),
            OptimizerKind::Adam => Some(("Adam", &["mean", "squares"])),
        }
    }
}

/// A variable of the training, and its value after a step.
pub(super) struct Updated {
    pub(super) variable: Name,
    pub(super) new: Name,
    pub(super) elem: ElemType,
    pub(super) dims: Vec<i64>,
    /// Whether it is kept by the optimizer, and no weight.
    pub(super) is_kept: bool,
}

/// Adds the nodes of an optimizer, what it keeps, and the new values as outputs.
pub(super) fn add(
    draft: &mut Draft,
    model: &mut Model,
    weights: &[Weight],
    gradients: &[Name],
    optimizer: &Optimizer,
) -> Vec<Updated> {
    let rate = model.names.fresh("learning_rate");
    draft.initializers.push(Tensor { name: Some(rate), ..Tensor::scalar(optimizer.rate) });
    let mut all = Vec::new();
    let Some((op, kinds)) = optimizer.operator() else {
        let norm = (optimizer.norm > 0.0)
            .then(|| draft.constant(model, "norm", scalar(ElemType::FLOAT, optimizer.norm)));
        for (weight, &gradient) in weights.iter().zip(gradients) {
            all.push(descend(draft, model, weight, gradient, (rate, norm)));
        }
        return all;
    };
    let step = model.names.fresh("step");
    draft.initializers.push(Tensor { name: Some(step), ..Tensor::scalar(0i64) });
    let one = draft.constant(model, "one", Tensor::scalar(1i64));
    let next = draft.compute(model, "Add", "step_new", &[step, one]);
    // Adam's correction of the first means counts the step that is being made.
    let count = if optimizer.kind == OptimizerKind::Adam { next } else { step };
    for (weight, &gradient) in weights.iter().zip(gradients) {
        let text = model.names[weight.name].to_owned();
        let new = model.names.fresh(&format!("{text}_new"));
        let updated = |variable, new, is_kept| Updated {
            variable,
            new,
            elem: weight.elem,
            dims: weight.dims.clone(),
            is_kept,
        };
        let (mut inputs, mut outputs) = (vec![rate, count, weight.name, gradient], vec![new]);
        all.push(updated(weight.name, new, false));
        for kind in kinds {
            let kept = model.names.fresh(&format!("{text}_{kind}"));
            let new = model.names.fresh(&format!("{text}_{kind}_new"));
            draft.zeros(kept, weight.elem, &weight.dims);
            inputs.push(kept);
            outputs.push(new);
            all.push(updated(kept, new, true));
        }
        let line = draft.node((TRAINING, op), &inputs, &outputs);
        match optimizer.kind {
            OptimizerKind::Sgd => {}
            OptimizerKind::Momentum => {
                let mode = if optimizer.nesterov { "nesterov" } else { "standard" };
                line.attr("alpha", optimizer.alpha).attr("beta", optimizer.beta).attr("mode", mode);
                line.attr("norm_coefficient", optimizer.norm);
            }
            OptimizerKind::Adagrad => {
                line.attr("decay_factor", optimizer.decay).attr("epsilon", optimizer.epsilon);
                line.attr("norm_coefficient", optimizer.norm);
            }
            OptimizerKind::Adam => {
                line.attr("alpha", optimizer.alpha).attr("beta", optimizer.beta);
                line.attr("epsilon", optimizer.epsilon).attr("norm_coefficient", optimizer.norm);
            }
        }
    }
    all.push(Updated { variable: step, new: next, elem: ElemType::INT64, dims: Vec::new(), is_kept: true });
    outputs(draft, model, &all);
    all
}

/// A step against the gradient.
fn descend(
    draft: &mut Draft,
    model: &mut Model,
    weight: &Weight,
    gradient: Name,
    (rate, norm): (Name, Option<Name>),
) -> Updated {
    let text = model.names[weight.name].to_owned();
    let as_weight = |draft: &mut Draft, model: &mut Model, number: Name| {
        if weight.elem == ElemType::FLOAT {
            return number;
        }
        draft.compute_with(model, "Cast", "number", &[number], |line| {
            line.attr("to", weight.elem);
        })
    };
    let mut gradient = gradient;
    if let Some(norm) = norm {
        let norm = as_weight(draft, model, norm);
        let pull = draft.compute(model, "Mul", &format!("{text}_pull"), &[norm, weight.name]);
        gradient = draft.compute(model, "Add", &format!("{text}_gradient"), &[gradient, pull]);
    }
    let rate = as_weight(draft, model, rate);
    let change = draft.compute(model, "Mul", &format!("{text}_change"), &[rate, gradient]);
    let new = draft.compute(model, "Sub", &format!("{text}_new"), &[weight.name, change]);
    let updated =
        Updated { variable: weight.name, new, elem: weight.elem, dims: weight.dims.clone(), is_kept: false };
    outputs(draft, model, std::slice::from_ref(&updated));
    updated
}

fn outputs(draft: &mut Draft, model: &mut Model, all: &[Updated]) {
    for updated in all {
        let ty = tensor_type(model, updated.elem, &updated.dims);
        draft.outputs.push((updated.new, ty));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_those_of_the_optimizer() {
        let adam: Optimizer = "adam,lr=0.1,beta=0.99".parse().unwrap();
        assert_eq!((adam.kind, adam.rate, adam.beta), (OptimizerKind::Adam, 0.1, 0.99));
        assert!("momentum,nesterov".parse::<Optimizer>().unwrap().nesterov);
        for text in
            ["", "adamw", "sgd,beta=1", "sgd,lr", "sgd,lr=x", "sgd,lr=-1", "adam,nesterov", "sgd,lr=nan"]
        {
            assert!(text.parse::<Optimizer>().is_err(), "{text}");
        }
    }
}
