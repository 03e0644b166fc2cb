//! Softmax and similar operators: the shape of the input, and an axis of it.

use crate::engine::{Infer, NodeCx};

pub(crate) fn along_axis(cx: &mut NodeCx<'_, '_>) -> Infer {
    let shape = cx.shape_of_ranks(0, 1, None)?;
    cx.set_shape(0, shape.iter().copied());
    let axis = cx.int("axis")?;
    let place = cx.at_attr("axis");
    cx.axis(axis, shape.len(), place)?;
    Some(())
}
