//! Initial values: random weights, biases and optimizer state of zeros, scales of ones.

use super::draft::{Draft, tensor_type};
use super::optimizer::Updated;
use super::{Role, Weight, entry};
use onnx_ir::{ElemType, Entry, Model, Name, Tensor};

/// How weights are drawn: uniformly, within bounds that depend on how many numbers are summed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Initial {
    /// Within `sqrt(6 / inputs)`, for networks with Relu (He et al. 2015)
    Kaiming,
    /// Within `sqrt(6 / (inputs + outputs))`, for networks with Tanh or Sigmoid (Glorot and Bengio 2010)
    Xavier,
}

/// Adds the nodes that compute initial values, and returns the bindings.
pub(super) fn add(
    draft: &mut Draft,
    model: &mut Model,
    weights: &[Weight],
    states: &[Updated],
    initial: Initial,
) -> Vec<Entry> {
    let mut bindings = Vec::new();
    for weight in weights {
        let stem = format!("{}_initial", &model.names[weight.name]);
        let value = match (weight.role, weight.dims.len()) {
            (Role::Scale, _) => filled(draft, model, &stem, (weight.elem, &weight.dims), 1),
            (_, 0 | 1) => filled(draft, model, &stem, (weight.elem, &weight.dims), 0),
            (role, _) => {
                let bound = bound(role, &weight.dims, initial);
                draft.compute_with(model, "RandomUniform", &stem, &[], |line| {
                    line.attr("dtype", weight.elem).attr("low", -bound).attr("high", bound);
                    line.attr("shape", weight.dims.clone());
                })
            }
        };
        bind(draft, model, &mut bindings, (weight.name, value), (weight.elem, &weight.dims));
    }
    for state in states.iter().filter(|state| state.is_kept) {
        let stem = format!("{}_initial", &model.names[state.variable]);
        let value = filled(draft, model, &stem, (state.elem, &state.dims), 0);
        bind(draft, model, &mut bindings, (state.variable, value), (state.elem, &state.dims));
    }
    bindings
}

fn bind(
    draft: &mut Draft,
    model: &mut Model,
    bindings: &mut Vec<Entry>,
    (variable, value): (Name, Name),
    (elem, dims): (ElemType, &[i64]),
) {
    let ty = tensor_type(model, elem, dims);
    draft.outputs.push((value, ty));
    bindings.push(entry(variable, value));
}

/// A tensor of zeros or ones.
fn filled(
    draft: &mut Draft,
    model: &mut Model,
    stem: &str,
    (elem, dims): (ElemType, &[i64]),
    number: u8,
) -> Name {
    let one = |dims: Vec<i64>| match elem {
        ElemType::DOUBLE => Tensor::new(dims, vec![f64::from(number)]),
        ElemType::INT64 => Tensor::new(dims, vec![i64::from(number)]),
        _ => Tensor::new(dims, vec![f32::from(number)]),
    };
    if dims.is_empty() {
        return draft.constant(model, stem, one(Vec::new()));
    }
    let shape = draft.constant(model, "shape", Tensor::list(dims.to_vec()));
    draft.compute_with(model, "ConstantOfShape", stem, &[shape], |line| {
        line.tensor("value", one(vec![1]));
    })
}

/// The largest number that may be drawn. How many numbers are summed follows from how the weight is used.
fn bound(role: Role, dims: &[i64], initial: Initial) -> f32 {
    #[allow(clippy::cast_precision_loss, reason = "a bound need not be exact")]
    let count = |dims: &[i64]| dims.iter().map(|&d| d.max(1) as f32).product::<f32>();
    let (first, rest) = (count(&dims[..1]), count(&dims[1..]));
    let last = count(&dims[dims.len() - 1..]);
    let (inputs, outputs) = match role {
        Role::Filter => (rest, first * rest / count(&dims[1..2])),
        Role::Transposed => (rest, first),
        Role::Matrix | Role::Scale | Role::Other | Role::Constant => (count(dims) / last, last),
    };
    let summed = match initial {
        Initial::Kaiming => inputs,
        Initial::Xavier => inputs + outputs,
    };
    (6.0 / summed).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_depend_on_what_is_summed() {
        let bound = |role, dims: &[i64]| bound(role, dims, Initial::Kaiming);
        assert!((bound(Role::Matrix, &[6, 100]) - 1.0).abs() < 1e-6);
        assert!((bound(Role::Transposed, &[100, 6]) - 1.0).abs() < 1e-6);
        assert!((bound(Role::Filter, &[8, 2, 3, 1]) - 1.0).abs() < 1e-6);
        let xavier = super::bound(Role::Matrix, &[4, 2], Initial::Xavier);
        assert!((xavier - 1.0).abs() < 1e-6);
    }
}
