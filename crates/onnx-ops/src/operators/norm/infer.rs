//! Normalization. The output has the shape of the input; scales and biases match it.

use crate::dims::Dim;
use crate::engine::rule::axes::{int_or, positions};
use crate::engine::rule::fit::{Extent, at_least, broadcasts_to, divides, hold};
use crate::engine::{Infer, NodeCx};
use crate::facts::Shape;
use crate::operators::softmax::infer::along_axis;
use onnx_ir::diag::{Diagnostic, code};

/// The dimension of the channel axis; an input of rank 1 has one channel.
fn channels(shape: &[Dim]) -> Extent {
    let dim = if shape.len() < 2 { Dim::Const(1) } else { shape[1] };
    Extent::of_input("number of channels", 0, dim)
}

/// With `spatial = 0`, there are statistics for each element of a channel; only the output shape is inferred.
pub(super) fn batch_1(cx: &mut NodeCx<'_, '_>) -> Infer {
    if int_or(cx, "spatial", 1) == Some(1) {
        return batch(cx);
    }
    cx.copy_shape(0, 0)
}

/// `X, scale, B, mean, var` to `Y`, and up to four lists of statistics. From version 14 on, these exist only in training
/// mode, and are required there.
pub(super) fn batch(cx: &mut NodeCx<'_, '_>) -> Infer {
    if cx.since() >= 14 {
        training_outputs(cx)?;
    }
    let shape = match cx.rank(0) {
        Some(_) => Some(cx.shape_of_ranks(0, 1, None)?),
        None => None,
    };
    let mut channels = shape.as_ref().map_or(Extent::unknown("number of channels"), |s| channels(s));
    for input in 1..=4 {
        hold(cx, input, &mut [&mut channels])?;
    }
    for output in 1..cx.output_count() {
        cx.set_shape(output, [channels.dim]);
    }
    let mut shape = shape?;
    if let Some(dim) = shape.get_mut(1) {
        *dim = channels.dim;
    }
    cx.set_shape(0, shape);
    Some(())
}

fn training_outputs(cx: &mut NodeCx<'_, '_>) -> Infer {
    let (op, count) = (cx.op(), cx.output_count());
    match cx.int("training_mode") {
        Some(0) if count > 1 => {
            let message =
                format!("`{op}` has only 1 output outside of training mode, but the node has {count}");
            let diagnostic = Diagnostic::new(&code::ARITY, cx.at_output(1), message);
            cx.fail(diagnostic.help("set `training_mode = 1`, or remove the other outputs"))
        }
        Some(1..) if count < 3 => {
            let message = format!("`{op}` has 3 outputs in training mode, but the node has {count}");
            cx.fail(Diagnostic::new(&code::ARITY, cx.at_attr("training_mode"), message))
        }
        Some(_) | None => Some(()),
    }
}

pub(super) fn instance(cx: &mut NodeCx<'_, '_>) -> Infer {
    per_channel(cx, 3)
}

/// Channels in groups of equal size. Lists have an element for each channel, in version 18 for each group.
pub(super) fn group(cx: &mut NodeCx<'_, '_>) -> Infer {
    at_least(cx, "num_groups", 1)?;
    let groups = cx.int("num_groups");
    if let Some(shape) = cx.shape(0)
        && let Some(&channels) = shape.get(1)
    {
        divides(cx, ("num_groups", groups), (0, "channel", channels))?;
    }
    if cx.since() >= 21 {
        return per_channel(cx, 2);
    }
    let count = groups.map_or(Dim::Unknown, Dim::Const);
    let mut count = Extent::of_attr("number of groups", "num_groups", count);
    hold(cx, 1, &mut [&mut count])?;
    hold(cx, 2, &mut [&mut count])?;
    cx.copy_shape(0, 0)
}

/// An input of at least this rank, and two lists with an element for each channel.
fn per_channel(cx: &mut NodeCx<'_, '_>, least: usize) -> Infer {
    let shape = match cx.rank(0) {
        Some(_) => Some(cx.shape_of_ranks(0, least, None)?),
        None => None,
    };
    let mut channels = shape.as_ref().map_or(Extent::unknown("number of channels"), |s| channels(s));
    hold(cx, 1, &mut [&mut channels])?;
    hold(cx, 2, &mut [&mut channels])?;
    let mut shape = shape?;
    shape[1] = channels.dim;
    cx.set_shape(0, shape);
    Some(())
}

pub(super) fn local_response(cx: &mut NodeCx<'_, '_>) -> Infer {
    at_least(cx, "size", 1)?;
    let shape = cx.shape_of_ranks(0, 2, None)?;
    cx.set_shape(0, shape);
    Some(())
}

/// The default axes are those of a batch of images, and are not checked.
pub(super) fn mean_variance(cx: &mut NodeCx<'_, '_>) -> Infer {
    let shape = cx.shape(0)?;
    if cx.has_attr("axes")
        && let Some(axes) = cx.ints("axes")
    {
        let place = cx.at_attr("axes");
        positions(cx, &axes, shape.len(), place)?;
    }
    cx.set_shape(0, shape);
    Some(())
}

/// `X, Scale, B` to `Y`, and `Mean` and `InvStdDev`, whose normalized axes are 1 and whose type is `stash_type`.
pub(super) fn layer(cx: &mut NodeCx<'_, '_>) -> Infer {
    if let Some(elem) = cx.elem_attr("stash_type") {
        cx.set_elem(1, elem);
        cx.set_elem(2, elem);
    }
    let shape = normalised(cx, &[1, 2])?;
    cx.set_shape(0, shape.clone());
    let statistics: Shape = match int_or(cx, "axis", -1) {
        Some(axis) => {
            let place = cx.at_attr("axis");
            let axis = cx.axis(axis, shape.len(), place)?;
            shape.iter().enumerate().map(|(i, &d)| if i < axis { d } else { Dim::Const(1) }).collect()
        }
        None => shape.iter().map(|_| Dim::Unknown).collect(),
    };
    cx.set_shape(1, statistics.clone());
    cx.set_shape(2, statistics);
    Some(())
}

pub(super) fn root_mean_square(cx: &mut NodeCx<'_, '_>) -> Infer {
    let shape = normalised(cx, &[1])?;
    cx.set_shape(0, shape);
    Some(())
}

/// The shape of the input; the axes from `axis` on are normalized, and other inputs broadcast to them.
fn normalised(cx: &mut NodeCx<'_, '_>, scales: &[usize]) -> Option<Shape> {
    let shape = cx.shape_of_ranks(0, 1, None)?;
    if let Some(axis) = int_or(cx, "axis", -1) {
        let place = cx.at_attr("axis");
        cx.axis(axis, shape.len(), place)?;
    }
    for &scale in scales {
        broadcasts_to(cx, scale, (0, &shape))?;
    }
    cx.shape(0)
}

pub(super) fn lp_normalization(cx: &mut NodeCx<'_, '_>) -> Infer {
    if let Some(p) = cx.int("p")
        && !(1..=2).contains(&p)
    {
        return cx.fail_at_attr("p", format!("`p` of `LpNormalization` must be 1 or 2, but is {p}"));
    }
    along_axis(cx)
}
