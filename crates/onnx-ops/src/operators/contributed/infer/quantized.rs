//! Operators on quantized tensors, each with scale and zero point.

use crate::dims::Dim;
use crate::engine::rule::fit::{Extent, flag};
use crate::engine::{Infer, NodeCx};
use crate::facts::Shape;
use crate::operators::conv::infer as conv;
use crate::operators::pool::infer as pool;
use onnx_ir::ElemType;

/// Whether channels are the second axis; if they are the last, only the rank is inferred.
fn is_channels_first(cx: &mut NodeCx<'_, '_>) -> Option<bool> {
    flag(cx, "channels_last")?;
    let is_first = cx.int("channels_last")? == 0;
    if !is_first {
        let rank = cx.rank(0)?;
        cx.set_rank(0, rank);
    }
    Some(is_first)
}

pub(in crate::operators::contributed) fn average_pool(cx: &mut NodeCx<'_, '_>) -> Infer {
    if is_channels_first(cx)? { pool::pool(cx) } else { Some(()) }
}

pub(in crate::operators::contributed) fn convolution(cx: &mut NodeCx<'_, '_>) -> Infer {
    if is_channels_first(cx)? { conv::quantized(cx) } else { Some(()) }
}

/// Every spatial axis becomes 1.
pub(in crate::operators::contributed) fn global_pool(cx: &mut NodeCx<'_, '_>) -> Infer {
    let is_first = is_channels_first(cx)?;
    let shape = cx.shape_of_ranks(0, 3, None)?;
    let channels = if is_first { 1 } else { shape.len() - 1 };
    let keep = |axis| axis == 0 || axis == channels;
    cx.set_shape(0, shape.iter().enumerate().map(|(axis, &d)| if keep(axis) { d } else { Dim::Const(1) }));
    Some(())
}

/// Scale and zero point of the output, then tensor, scale and zero point of each part.
pub(in crate::operators::contributed) fn concat(cx: &mut NodeCx<'_, '_>) -> Infer {
    let parts: Vec<usize> = (2..cx.input_count()).step_by(3).collect();
    let shapes: Vec<Shape> = parts.iter().map(|&i| cx.shape(i)).collect::<Option<_>>()?;
    let mut shape = shapes.first()?.clone();
    let axis = cx.int("axis")?;
    let place = cx.at_attr("axis");
    let axis = cx.axis(axis, shape.len(), place)?;
    let mut extents: Vec<Extent> = shape.iter().map(|&d| Extent::of_input("extent", parts[0], d)).collect();
    for (&input, other) in parts.iter().zip(&shapes).skip(1) {
        cx.shape_of_rank(input, shape.len())?;
        shape[axis] = cx.dims().add(shape[axis], other[axis]);
        for at in (0..shape.len()).filter(|&at| at != axis) {
            extents[at].agree(cx, input, other[at])?;
        }
    }
    let sum = shape[axis];
    cx.set_shape(0, extents.iter().enumerate().map(|(at, e)| if at == axis { sum } else { e.dim }));
    Some(())
}

/// Rows of a table that is stored in blocks. Bytes hold several elements, along an axis that depends on the layout.
pub(in crate::operators::contributed) fn gather(cx: &mut NodeCx<'_, '_>) -> Infer {
    let (shape, indices) = (cx.shape(0)?, cx.shape(1)?);
    let axis = cx.int("gather_axis")?;
    let place = cx.at_attr("gather_axis");
    let axis = cx.axis(axis, shape.len(), place)?;
    let is_packed = !matches!(cx.elem(0), Some(ElemType::INT4 | ElemType::UINT4));
    let rest = |&d: &Dim| if is_packed { Dim::Unknown } else { d };
    let output = shape[..axis].iter().map(rest).chain(indices).chain(shape[axis + 1..].iter().map(rest));
    let output: Shape = output.collect();
    cx.set_shape(0, output);
    Some(())
}
