//! Operators of ONNX Runtime that a few standard operators define.

use crate::bodies::draft::Draft;
use crate::bodies::site::CallSite;
use onnx_ir::ElemType;

/// The distances of each row of one matrix to each row of the other.
pub(in crate::operators::contributed) fn distances(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    draft.list("first", &[0]);
    draft.list("second", &[1]);
    draft.list("last", &[2]);
    draft.add("rows = Unsqueeze (A, second)");
    draft.add("columns = Unsqueeze (B, first)");
    draft.add("differences = Sub (rows, columns)");
    draft.add("squares = Mul (differences, differences)");
    match &*site.string("metric")? {
        "sqeuclidean" => draft.add("C = ReduceSum <keepdims = 0> (squares, last)"),
        "euclidean" => {
            draft.add("sums = ReduceSum <keepdims = 0> (squares, last)");
            draft.add("C = Sqrt (sums)");
        }
        _ => return None,
    }
    Some(draft)
}

/// The product of 16-bit integers has 32 bits.
pub(in crate::operators::contributed) fn product_of_shorts(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    let wide = match (site.elem(0)?, site.elem(1)?) {
        (ElemType::INT16, ElemType::INT16) => ElemType::INT32,
        (ElemType::UINT16, ElemType::UINT16) => ElemType::UINT32,
        _ => return None,
    };
    draft.add(format_args!("a = Cast <to = {}> (A)", wide.0));
    draft.add(format_args!("b = Cast <to = {}> (B)", wide.0));
    draft.add("Y = MatMul (a, b)");
    Some(draft)
}

/// Operands may be lists of one element; the step may be omitted.
pub(in crate::operators::contributed) fn range(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    draft.add("first = Squeeze (start)");
    draft.add("end = Squeeze (limit)");
    if site.has_input(2) {
        draft.add("step = Squeeze (delta)");
    } else {
        let elem = site.elem(0)?;
        let is_float = matches!(elem, ElemType::FLOAT | ElemType::DOUBLE);
        draft.scalar("step", elem, if is_float || elem == ElemType::INT16 { "1.0" } else { "1" });
    }
    draft.add("Y = Range (first, end, step)");
    Some(draft)
}

/// For nodes without automatic padding.
pub(in crate::operators::contributed) fn transposed_convolution(site: &CallSite<'_>) -> Option<Draft> {
    if site.string("auto_pad")? != "NOTSET" {
        return None;
    }
    let axes = i64::try_from(site.rank(0)?).ok()? - 2;
    let mut draft = Draft::new();
    let attributes =
        super::fused::passed_on(site, &["dilations", "group", "kernel_shape", "output_padding", "strides"]);
    let bias = if site.has_input(3) { ", B" } else { "" };
    let has_pads = site.has_input(2);
    let whole = if has_pads { "whole" } else { "Y" };
    draft.add(format_args!("{whole} = ConvTranspose <{attributes}> (X, W{bias})"));
    if has_pads {
        draft.extents("sizes", "whole", 2, 0);
        draft.list("halves", &[axes, axes]);
        draft.add("heads, tails = Split <axis = 0> (Pads, halves)");
        draft.add("ends = Sub (sizes, tails)");
        draft.list("axes", &(2..axes + 2).collect::<Vec<_>>());
        draft.add("Y = Slice (whole, heads, ends, axes)");
    }
    Some(draft)
}

/// All slices of a size along an axis, which becomes the last axis.
pub(in crate::operators::contributed) fn unfolded(site: &CallSite<'_>) -> Option<Draft> {
    let rank = i64::try_from(site.rank(0)?).ok()?;
    let axis = site.int("dim")?;
    let axis = if axis < 0 { axis + rank } else { axis };
    let (size, step) = (site.int("size")?, site.int("step")?);
    if !(0..rank).contains(&axis) || size < 1 || step < 1 {
        return None;
    }
    let mut draft = Draft::new();
    draft.extent("extents", "input", axis);
    draft.add("extent = Squeeze (extents)");
    for (name, value) in [("zero", 0), ("one", 1), ("size", size), ("step", step)] {
        draft.scalar(name, ElemType::INT64, value);
    }
    draft.add("last = Sub (extent, size)");
    draft.add("end = Add (last, one)");
    draft.add("starts = Range (zero, end, step)");
    draft.add("within = Range (zero, size, one)");
    draft.list("behind", &[1]);
    draft.add("column = Unsqueeze (starts, behind)");
    draft.add("places = Add (column, within)");
    draft.add(format_args!("slices = Gather <axis = {axis}> (input, places)"));
    let order: Vec<String> =
        (0..=rank).filter(|&i| i != axis + 1).chain([axis + 1]).map(|i| i.to_string()).collect();
    draft.add(format_args!("output = Transpose <perm = [{}]> (slices)", order.join(", ")));
    Some(draft)
}
