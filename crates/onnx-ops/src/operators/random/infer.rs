//! Random numbers: the values are unknown, but their shape and type are inferred.

use crate::dims::Dim;
use crate::engine::{Infer, NodeCx};
use crate::facts::Shape;
use crate::operators::cast::infer::{dtype, element_type};
use onnx_ir::diag::counted;

pub(super) fn of_shape(cx: &mut NodeCx<'_, '_>) -> Infer {
    if let Some(elem) = dtype(cx) {
        cx.set_elem(0, elem);
    }
    let list = cx.ints("shape")?;
    if let Some(n) = list.iter().find(|n| **n < 0) {
        return cx.fail_at_attr("shape", format!("negative size {n}"));
    }
    cx.set_shape(0, list.into_iter().map(Dim::Const).collect::<Shape>());
    Some(())
}

/// The default element type is that of the input.
pub(super) fn like_input(cx: &mut NodeCx<'_, '_>) -> Infer {
    if cx.has_attr("dtype") {
        if let Some(elem) = dtype(cx) {
            cx.set_elem(0, elem);
        }
    } else if let Some(elem) = cx.elem(0).filter(|&e| output_allows(cx, e)) {
        cx.set_elem(0, elem);
    }
    cx.copy_shape(0, 0)
}

/// Whether the output can have this type: not every input type is a valid output type.
fn output_allows(cx: &NodeCx<'_, '_>, elem: onnx_ir::ElemType) -> bool {
    cx.schema().output(0).is_some_and(|p| p.types.tensors.contains(elem))
}

/// `[batch, classes]` to `[batch, samples]`.
pub(super) fn multinomial(cx: &mut NodeCx<'_, '_>) -> Infer {
    let number = cx.int("dtype");
    if let Some(elem) = number.and_then(|n| element_type(cx, "dtype", n)) {
        cx.set_elem(0, elem);
    }
    let samples = cx.int("sample_size");
    if let Some(n) = samples.filter(|n| *n < 0) {
        return cx.fail_at_attr("sample_size", counted(n, "sample"));
    }
    let samples = samples.map_or(Dim::Unknown, Dim::Const);
    let batch = match cx.rank(0) {
        Some(_) => cx.shape_of_rank(0, 2)?[0],
        None => Dim::Unknown,
    };
    cx.set_shape(0, [batch, samples]);
    Some(())
}
