//! Quantization: for a whole tensor, for each element of an axis, or for blocks along it.

use crate::dims::Dim;
use crate::engine::rule::axes::int_or;
use crate::engine::rule::fit::{Extent, at_least, flag, hold, one_or_each, single};
use crate::engine::{Infer, NodeCx};
use crate::facts::elem_text;
use onnx_ir::ElemType;

/// `x, y_scale, y_zero_point`: the type of the result is that of the zero point, or `output_dtype`, or uint8.
pub(super) fn quantize(cx: &mut NodeCx<'_, '_>) -> Infer {
    flag(cx, "saturate")?;
    match output_dtype(cx)? {
        Some(elem) => {
            if let Some(zero) = cx.elem(2).filter(|&zero| zero != elem) {
                let (elem, zero) = (elem_text(elem), elem_text(zero));
                let message = format!("`output_dtype` is {elem}, but the zero point is {zero}");
                return cx.fail_at_attr("output_dtype", message);
            }
            cx.set_elem(0, elem);
        }
        None if !cx.has_input(2) && !cx.has_attr("output_dtype") => cx.set_elem(0, ElemType::UINT8),
        None if !cx.has_input(2) && cx.int("output_dtype") == Some(0) => cx.set_elem(0, ElemType::UINT8),
        None => {}
    }
    granularity(cx)?;
    cx.copy_shape(0, 0)
}

/// `x, x_scale, x_zero_point`: the type of the result is that of the scale, or `output_dtype`.
pub(super) fn dequantize(cx: &mut NodeCx<'_, '_>) -> Infer {
    match output_dtype(cx)? {
        Some(elem) => cx.set_elem(0, elem),
        None if cx.has_attr("output_dtype") && cx.int("output_dtype").is_none() => {}
        None => {
            if let Some(elem) = cx.elem(1) {
                cx.set_elem(0, elem);
            }
        }
    }
    granularity(cx)?;
    cx.copy_shape(0, 0)
}

/// The attribute `output_dtype`, if it is known and not 0; reports a type that the operator cannot produce.
fn output_dtype(cx: &mut NodeCx<'_, '_>) -> Option<Option<ElemType>> {
    let Some(number) = cx.int("output_dtype").filter(|&n| n != 0) else { return Some(None) };
    let elem = cx.elem_attr("output_dtype");
    let is_given = |elem: &ElemType| cx.schema().output(0).is_some_and(|p| p.types.tensors.contains(*elem));
    if let Some(elem) = elem.filter(is_given) {
        return Some(Some(elem));
    }
    let name = elem.map_or_else(|| number.to_string(), elem_text);
    cx.fail_at_attr("output_dtype", format!("`{}` cannot produce {name}", cx.op()))?;
    None
}

/// Checks scale and zero point against the input and each other. A scale is a scalar, a list with an element for
/// each element of an axis, or with `block_size` has the shape of the input except for one axis, with one element per block.
fn granularity(cx: &mut NodeCx<'_, '_>) -> Infer {
    at_least(cx, "block_size", 0)?;
    let block = int_or(cx, "block_size", 0);
    if cx.rank(1).is_none() {
        return Some(());
    }
    match block {
        Some(block @ 1..) => blocks(cx, block),
        Some(_) => {
            let scale = cx.shape_of_ranks(1, 0, Some(1))?;
            per_axis(cx, scale.first().copied())
        }
        None => Some(()),
    }
}

fn blocks(cx: &mut NodeCx<'_, '_>, block: i64) -> Infer {
    let scale = cx.shape(1)?;
    let input = cx.shape(0);
    let mut extents: Vec<Extent> = match &input {
        Some(input) => input.iter().map(|&d| Extent::of_input("input size", 0, d)).collect(),
        None => scale.iter().map(|&d| Extent::of_input("scale size", 1, d)).collect(),
    };
    let axis = match int_or(cx, "axis", 1) {
        Some(axis) => {
            let place = cx.at_attr("axis");
            Some(cx.axis(axis, extents.len(), place)?)
        }
        None => None,
    };
    match (axis, &input) {
        (Some(axis), Some(input)) => {
            let blocks = cx.dims().ceil_div(input[axis], Dim::Const(block));
            extents[axis] = extents[axis].derive("number of blocks", blocks);
        }
        (None, Some(_)) => return Some(()),
        (_, None) => {}
    }
    hold(cx, 1, &mut extents.iter_mut().collect::<Vec<_>>())?;
    hold(cx, 2, &mut extents.iter_mut().collect::<Vec<_>>())
}

/// One element, as a scalar or a list, or one for each element of an axis. Before version 13, a scalar.
fn per_axis(cx: &mut NodeCx<'_, '_>, len: Option<Dim>) -> Infer {
    let Some(len) = len.filter(|&len| len != Dim::Const(1)) else { return single(cx, 2) };
    if cx.since() < 13 {
        return Some(());
    }
    // A tensor of rank 1 has one scale, whatever the attribute is.
    if let (Some(input), Some(axis)) = (cx.shape(0).filter(|s| s.len() > 1), int_or(cx, "axis", 1)) {
        let place = cx.at_attr("axis");
        let axis = cx.axis(axis, input.len(), place)?;
        let mut extent = Extent::of_input("axis size", 0, input[axis]);
        one_or_each(cx, 1, &mut extent)?;
    }
    let mut extent = Extent::of_input("number of scales", 1, len);
    match cx.dims().lower_bound(len) {
        Some(2..) => hold(cx, 2, &mut [&mut extent]),
        Some(_) | None => one_or_each(cx, 2, &mut extent),
    }
}

/// The result, its scale and its zero point.
pub(super) fn dynamic(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.set_shape(1, []);
    cx.set_shape(2, []);
    cx.copy_shape(0, 0)
}
