//! Loss functions.

use crate::dims::Dim;
use crate::engine::rule::fit::{Extent, choice, hold};
use crate::engine::{Infer, NodeCx};

/// Scores of `N, C, …`, labels of `N, …`, and weights of `C`. The output is a scalar, or has the shape of the labels.
pub(super) fn loss(cx: &mut NodeCx<'_, '_>) -> Infer {
    choice(cx, "reduction", &["mean", "none", "sum"])?;
    let is_reduced = cx.string("reduction").map(|reduction| reduction != "none");
    let labels = labels(cx);
    match is_reduced {
        Some(true) => cx.set_shape(0, []),
        Some(false) => cx.set_shape(0, labels?),
        None => {}
    }
    Some(())
}

/// The shape of the labels; `None` if their rank is unknown, or the inputs do not match.
fn labels(cx: &mut NodeCx<'_, '_>) -> Option<Vec<Dim>> {
    if cx.rank(0).is_some() {
        cx.shape_of_ranks(0, 2, None)?;
    }
    let rank = cx.rank(0).or_else(|| cx.rank(1)?.checked_add(1))?.max(2);
    let mut batch = Extent::unknown("batch size");
    let mut classes = Extent::unknown("number of classes");
    let mut rest = vec![Extent::unknown("label size"); rank - 2];
    let mut scores = vec![&mut batch, &mut classes];
    scores.extend(&mut rest);
    hold(cx, 0, &mut scores)?;
    let mut labels = vec![&mut batch];
    labels.extend(&mut rest);
    hold(cx, 1, &mut labels)?;
    let labels = labels.iter().map(|e| e.dim).collect();
    hold(cx, 2, &mut [&mut classes])?;
    Some(labels)
}

/// [`loss`], and the logarithms of the probabilities.
pub(super) fn cross_entropy(cx: &mut NodeCx<'_, '_>) -> Infer {
    if let Some(shape) = cx.shape(0) {
        cx.set_shape(1, shape);
    }
    loss(cx)
}
