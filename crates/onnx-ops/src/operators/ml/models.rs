//! Linear models and support vector machines.

use super::infer::{len, one_attr, post_transform, same_len};
use crate::dims::Dim;
use crate::engine::{Infer, NodeCx};
use onnx_ir::ElemType;
use onnx_ir::diag::counted;

/// The number of examples: the rows of a table; a tensor of rank 1 is one example.
pub(super) fn examples(cx: &mut NodeCx<'_, '_>) -> Option<Dim> {
    let shape = cx.shape_of_ranks(0, 1, Some(2))?;
    Some(if shape.len() == 2 { shape[0] } else { Dim::Const(1) })
}

/// Sets the outputs of a classifier: a label for each example, and scores. The attribute with labels determines their type;
/// returns their number.
pub(super) fn labels(cx: &mut NodeCx<'_, '_>, ints: &'static str) -> Option<usize> {
    let name = one_attr(cx, &[ints, "classlabels_strings"])?;
    cx.set_elem(0, if name == ints { ElemType::INT64 } else { ElemType::STRING });
    len(cx, name)
}

/// Sets the shapes of labels and scores.
pub(super) fn classified(cx: &mut NodeCx<'_, '_>, scores: Dim) {
    let examples = examples(cx).unwrap_or(Dim::Unknown);
    cx.set_shape(0, [examples]);
    cx.set_shape(1, [examples, scores]);
}

/// The length of a list as a dimension.
fn count(n: usize) -> Dim {
    i64::try_from(n).map_or(Dim::Unknown, Dim::Const)
}

/// A score for each label, if there are several: for a single one there may be a second score for the opposite.
pub(super) fn several(labels: usize) -> Dim {
    if labels > 1 { count(labels) } else { Dim::Unknown }
}

pub(super) fn linear_classifier(cx: &mut NodeCx<'_, '_>) -> Infer {
    post_transform(cx)?;
    let labels = labels(cx, "classlabels_ints")?;
    let scores = match len(cx, "intercepts")? {
        1 if labels == 2 => Dim::Const(2),
        0 => several(labels),
        intercepts => count(intercepts),
    };
    classified(cx, scores);
    Some(())
}

pub(super) fn linear_regressor(cx: &mut NodeCx<'_, '_>) -> Infer {
    post_transform(cx)?;
    let targets = cx.int("targets")?;
    if targets < 1 {
        return cx.fail_at_attr("targets", format!("invalid number of targets {targets}"));
    }
    let intercepts = len(cx, "intercepts")?;
    if intercepts > 0 && i64::try_from(intercepts) != Ok(targets) {
        return cx.fail_at_attr(
            "intercepts",
            format!("{} for {}", counted(intercepts, "intercept"), counted(targets, "target")),
        );
    }
    let examples = examples(cx).unwrap_or(Dim::Unknown);
    cx.set_shape(0, [examples, Dim::Const(targets)]);
    Some(())
}

fn kernel(cx: &mut NodeCx<'_, '_>) -> Infer {
    post_transform(cx)?;
    cx.one_of("kernel_type", &["LINEAR", "POLY", "RBF", "SIGMOID"])?;
    match len(cx, "kernel_params")? {
        0 | 3 => Some(()),
        other => {
            let message =
                format!("`kernel_params` must have 3 elements (gamma, coef0 and degree), but has {other}");
            cx.fail_at_attr("kernel_params", message)
        }
    }
}

/// With probabilities, there is a score for each class; otherwise, the number depends on the training of the machine.
pub(super) fn svm_classifier(cx: &mut NodeCx<'_, '_>) -> Infer {
    kernel(cx)?;
    let labels = labels(cx, "classlabels_ints")?;
    let probabilities = same_len(cx, "prob_a", &["prob_b"], &[])?;
    classified(cx, if probabilities > 0 { several(labels) } else { Dim::Unknown });
    Some(())
}

pub(super) fn svm_regressor(cx: &mut NodeCx<'_, '_>) -> Infer {
    kernel(cx)?;
    let examples = examples(cx).unwrap_or(Dim::Unknown);
    cx.set_shape(0, [examples, Dim::Const(1)]);
    Some(())
}
