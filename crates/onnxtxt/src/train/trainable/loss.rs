//! Losses: what an output of the model is compared with, and how far off it is.

use super::draft::{Draft, scalar, tensor_type};
use super::{Trainable, computed_by, int_attr, refused};
use crate::edit::main_graph;
use onnx_ir::diag::{Diagnostic, did_you_mean};
use onnx_ir::{BodyId, Dim, ElemType, Model, Name, Port, TensorType, Type, TypeId, TypeKind, ValueId};

/// The loss to minimize: the mean over all elements of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Loss {
    /// Cross entropy of classes, from scores or from the operand of a Softmax; labels are numbers of classes.
    #[cfg_attr(feature = "clap", value(name = "SoftmaxCrossEntropyLoss"))]
    SoftmaxCrossEntropy,
    /// Cross entropy of logarithms of probabilities.
    #[cfg_attr(feature = "clap", value(name = "NegativeLogLikelihoodLoss"))]
    NegativeLogLikelihood,
    /// Mean of the squares of differences.
    #[cfg_attr(feature = "clap", value(name = "MeanSquaredError"))]
    MeanSquaredError,
    /// Mean of the sizes of differences.
    #[cfg_attr(feature = "clap", value(name = "MeanAbsoluteError"))]
    MeanAbsoluteError,
    /// Cross entropy of two classes, from probabilities or from the operand of a Sigmoid; labels are 0, 1 or between.
    #[cfg_attr(feature = "clap", value(name = "BinaryCrossEntropy"))]
    BinaryCrossEntropy,
}

/// The value that the loss is computed from.
pub(super) struct Prediction {
    value: Name,
    elem: ElemType,
    shape: Vec<Dim>,
    /// Whether it is the operand of the Sigmoid that computes the output.
    is_logit: bool,
}

impl Loss {
    /// Whether labels are numbers of classes.
    fn has_classes(self) -> bool {
        matches!(self, Loss::SoftmaxCrossEntropy | Loss::NegativeLogLikelihood)
    }
}

/// The output that a loss is about.
pub(super) fn prediction(model: &Model, options: &Trainable<'_>) -> Result<Prediction, Vec<Diagnostic>> {
    let (body, root) = main_graph(model).ok_or_else(|| vec![refused("the model has no graph")])?;
    let outputs = &model.bodies[body].graphs[root].outputs;
    let port = match &options.output {
        Some(name) => outputs.iter().find(|port| model.text(port.name) == name).ok_or_else(|| {
            let mut diagnostic = refused(format!("the model has no output `{name}`"));
            let known = outputs.iter().map(|port| model.text(port.name));
            diagnostic.help = did_you_mean(name, known).map(|like| format!("did you mean `{like}`?"));
            vec![diagnostic]
        })?,
        None => outputs.iter().find(|port| floats(model, port).is_some()).ok_or_else(|| {
            vec![refused("the model has no output of type float or double with a declared shape")]
        })?,
    };
    let name = model.text(port.name);
    let Some((elem, shape)) = floats(model, port) else {
        return Err(vec![refused(format!(
            "output `{name}` is not declared as float or double with a shape"
        ))]);
    };
    if options.loss.has_classes() && shape.len() < 2 {
        let message = format!(
            "output `{name}` has rank {}, but the loss expects scores of classes in axis 1",
            shape.len()
        );
        return Err(vec![refused(message)]);
    }
    let output = port.value.ok_or_else(|| vec![refused(format!("nothing computes the output `{name}`"))])?;
    let operand = operand(model, body, output, options.loss, shape.len());
    let value = model.bodies[body].values[operand.unwrap_or(output)].name;
    Ok(Prediction { value, elem, shape, is_logit: operand.is_some() })
}

/// The type of an output of floats whose shape is declared.
fn floats(model: &Model, port: &Port) -> Option<(ElemType, Vec<Dim>)> {
    match &model.types[port.ty?].kind {
        TypeKind::Tensor(TensorType {
            elem: Some(elem @ (ElemType::FLOAT | ElemType::DOUBLE)),
            shape: Some(shape),
        }) => Some((*elem, shape.to_vec())),
        _ => None,
    }
}

/// The part that the loss contains already, and that need not be computed twice: the operand of a Softmax over the classes, or of a Sigmoid.
fn operand(model: &Model, body: BodyId, output: ValueId, loss: Loss, rank: usize) -> Option<ValueId> {
    let node = computed_by(model, body, output)?;
    let n = model.node(body, node);
    let (op, default) = match loss {
        Loss::SoftmaxCrossEntropy => ("Softmax", -1),
        Loss::NegativeLogLikelihood | Loss::MeanSquaredError | Loss::MeanAbsoluteError => return None,
        Loss::BinaryCrossEntropy => ("Sigmoid", 0),
    };
    if !n.is_op(op) {
        return None;
    }
    if loss == Loss::SoftmaxCrossEntropy {
        let axis = int_attr(model, body, node, "axis").unwrap_or(default);
        let rank = i64::try_from(rank).ok()?;
        if axis.rem_euclid(rank) != 1 {
            return None;
        }
    }
    n.input(0)
}

/// Adds the nodes of a loss, its label and its outputs. Returns the name of the loss.
pub(super) fn add(
    draft: &mut Draft,
    model: &mut Model,
    prediction: &Prediction,
    options: &Trainable<'_>,
) -> Name {
    let label = model.names.fresh(&options.label);
    let (elem, dims) = match options.loss.has_classes() {
        true => {
            let others = prediction.shape.iter().enumerate().filter(|(axis, _)| *axis != 1);
            (ElemType::INT64, others.map(|(_, dim)| *dim).collect())
        }
        false => (prediction.elem, prediction.shape.clone()),
    };
    let ty = shaped(model, elem, dims);
    draft.inputs.push((label, ty));
    let value = prediction.value;
    let loss = match options.loss {
        Loss::SoftmaxCrossEntropy => draft.compute(model, "SoftmaxCrossEntropyLoss", "loss", &[value, label]),
        Loss::NegativeLogLikelihood => {
            draft.compute(model, "NegativeLogLikelihoodLoss", "loss", &[value, label])
        }
        Loss::MeanSquaredError => {
            let error = draft.compute(model, "Sub", "error", &[value, label]);
            let square = draft.compute(model, "Mul", "squared_error", &[error, error]);
            mean(draft, model, square)
        }
        Loss::MeanAbsoluteError => {
            let error = draft.compute(model, "Sub", "error", &[value, label]);
            let size = draft.compute(model, "Abs", "absolute_error", &[error]);
            mean(draft, model, size)
        }
        Loss::BinaryCrossEntropy => {
            let entropy = if prediction.is_logit {
                entropy_of_logits(draft, model, value, label)
            } else {
                entropy_of_probabilities(draft, model, prediction, label)
            };
            mean(draft, model, entropy)
        }
    };
    let ty = tensor_type(model, prediction.elem, &[]);
    draft.outputs.push((loss, ty));
    if options.loss.has_classes() {
        let best = draft.compute_with(model, "ArgMax", "best", &[value], |line| {
            line.attr("axis", 1i64).attr("keepdims", 0i64);
        });
        let is_right = draft.compute(model, "Equal", "is_right", &[best, label]);
        let right = draft.compute_with(model, "Cast", "right", &[is_right], |line| {
            line.attr("to", ElemType::FLOAT);
        });
        let accuracy = draft.compute_with(model, "ReduceMean", "accuracy", &[right], |line| {
            line.attr("keepdims", 0i64);
        });
        let ty = tensor_type(model, ElemType::FLOAT, &[]);
        draft.outputs.push((accuracy, ty));
    }
    loss
}

fn mean(draft: &mut Draft, model: &mut Model, of: Name) -> Name {
    draft.compute_with(model, "ReduceMean", "loss", &[of], |line| {
        line.attr("keepdims", 0i64);
    })
}

/// `softplus(x) - x * t`, which is exact for large scores as well.
fn entropy_of_logits(draft: &mut Draft, model: &mut Model, x: Name, t: Name) -> Name {
    let all = draft.compute(model, "Softplus", "softplus", &[x]);
    let of_label = draft.compute(model, "Mul", "of_label", &[x, t]);
    draft.compute(model, "Sub", "entropy", &[all, of_label])
}

/// `-(t * log(p) + (1 - t) * log(1 - p))`, with probabilities a little away from 0 and 1.
fn entropy_of_probabilities(draft: &mut Draft, model: &mut Model, prediction: &Prediction, t: Name) -> Name {
    const MARGIN: f32 = 1e-7;
    let elem = prediction.elem;
    let low = draft.constant(model, "low", scalar(elem, MARGIN));
    let high = draft.constant(model, "high", scalar(elem, 1.0 - MARGIN));
    let one = draft.constant(model, "one", scalar(elem, 1.0));
    let p = draft.compute(model, "Clip", "probability", &[prediction.value, low, high]);
    let log_p = draft.compute(model, "Log", "log_probability", &[p]);
    let q = draft.compute(model, "Sub", "complement", &[one, p]);
    let log_q = draft.compute(model, "Log", "log_complement", &[q]);
    let rest = draft.compute(model, "Sub", "rest", &[one, t]);
    let first = draft.compute(model, "Mul", "first_term", &[t, log_p]);
    let second = draft.compute(model, "Mul", "second_term", &[rest, log_q]);
    let sum = draft.compute(model, "Add", "likelihood", &[first, second]);
    draft.compute(model, "Neg", "entropy", &[sum])
}

fn shaped(model: &mut Model, elem: ElemType, dims: Vec<Dim>) -> TypeId {
    let shape = Some(dims.into_iter().collect());
    model.types.intern(Type::from(TypeKind::Tensor(TensorType { elem: Some(elem), shape })))
}
