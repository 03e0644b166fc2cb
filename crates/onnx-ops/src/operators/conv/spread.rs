//! Inverse window operators: transposed convolution, unpooling, col2im.

use super::infer::{Operands, group};
use crate::dims::Dim;
use crate::engine::rule::axes::type_text;
use crate::engine::rule::fit::{Extent, divides, hold, list_of, same_shapes};
use crate::engine::rule::window::{auto_pad, pads, span};
use crate::engine::{Infer, NodeCx};
use crate::facts::{Shape, dim_text};
use onnx_ir::diag::{Diagnostic, code};
use onnx_ir::diag::{counted, counted_are};
use smallvec::smallvec;

/// An input of `N, C, …`, and a weight of `C, M/group, …`.
pub(super) fn conv_transpose(cx: &mut NodeCx<'_, '_>) -> Infer {
    let operands = Operands::read(cx, 0, 1)?;
    let group = group(cx)?;
    let mut inner = Extent::of_input("number of input channels", 0, operands.input[1]);
    inner.agree_or(cx, 1, operands.of_weight(0), |a, b| {
        format!("the input has {}, but the weight expects {b}", counted(a, "channel"))
    })?;
    let known = cx.dims().as_const(group);
    divides(cx, ("group", known), (0, "input channel", inner.dim))?;
    let of_group = operands.of_weight(1);
    let channels = cx.dims().mul(of_group, group);
    let mut channels = Extent::of_input("number of output channels", 1, channels);
    hold(cx, 2, &mut [&mut channels])?;
    let kernel = operands.kernel(cx)?;
    let spatial = transposed(cx, &operands.input[2..], &kernel)?;
    cx.set_shape(0, [operands.input[0], channels.dim].into_iter().chain(spatial));
    Some(())
}

/// `stride * (extent - 1) + output_padding + span - pads`, or the attribute `output_shape`, or with `auto_pad`
/// `stride * extent`, if the result is large enough.
fn transposed(cx: &mut NodeCx<'_, '_>, input: &[Dim], kernel: &[Dim]) -> Option<Shape> {
    let axes = kernel.len();
    let strides = list_of(cx, "strides", axes, 1, 1)?;
    let dilations = list_of(cx, "dilations", axes, 1, 1)?;
    let padding = list_of(cx, "output_padding", axes, 0, 0)?;
    let (begin, end) = pads(cx, axes)?;
    let auto_pad = auto_pad(cx)?;
    if cx.has_attr("pads") && !matches!(auto_pad, Some("") | None) {
        let message = format!("`pads` of `{}` cannot be combined with `auto_pad`", cx.op());
        let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_attr("pads"), message);
        cx.fail(diagnostic.related(cx.at_attr("auto_pad"), "the other attribute"))?;
    }
    for axis in 0..axes {
        if let (Dim::Const(more), Dim::Const(stride), Dim::Const(dilation)) =
            (padding[axis], strides[axis], dilations[axis])
            && more > 0
            && more >= stride.max(dilation)
        {
            let message = format!(
                "`output_padding` {more} must be less than the stride ({stride}) or the dilation ({dilation})"
            );
            cx.fail_at_attr("output_padding", message)?;
        }
    }
    if cx.has_attr("output_shape") {
        return list_of(cx, "output_shape", axes, 0, 1);
    }
    let mut output = Shape::new();
    for axis in 0..axes {
        let dims = cx.dims();
        let before = dims.sub(input[axis], Dim::Const(1));
        let before = dims.mul(before, strides[axis]);
        let span = span(dims, kernel[axis], dilations[axis]);
        let whole = dims.add(before, span);
        let whole = dims.add(whole, padding[axis]);
        let cut = dims.add(begin[axis], end[axis]);
        let extent = match auto_pad {
            Some("SAME_UPPER" | "SAME_LOWER") => {
                let wanted = dims.mul(input[axis], strides[axis]);
                dims.min(whole, wanted)
            }
            Some(_) => dims.sub(whole, cut),
            None => Dim::Unknown,
        };
        if dims.upper_bound(extent).is_some_and(|most| most <= 0) && input[axis] != Dim::Const(0) {
            let (whole, cut) = (dim_text(dims, whole), dim_text(dims, cut));
            let message = format!("the output is empty: `pads` remove {cut} of {whole} elements");
            let text = type_text(cx, 0);
            let place = if cx.has_attr("pads") { cx.at_attr("pads") } else { cx.at_op() };
            let diagnostic = Diagnostic::new(&code::SHAPE_PRECONDITION, place, message)
                .related(cx.at_input(0), format!("this is {text}"));
            cx.fail(diagnostic)?;
        }
        output.push(extent);
    }
    Some(output)
}

/// The shape in an input; dimensions that depend on data are anonymous. `None` if the rank is unknown.
fn said(cx: &mut NodeCx<'_, '_>, input: usize) -> Option<Shape> {
    let extents = cx.extents_of(input)?;
    Some(extents.into_iter().map(|d| if d == Dim::Unknown { cx.fresh(0) } else { d }).collect())
}

/// `X, I, output_shape`: `stride * (extent - 1) + kernel - pads`, or the third input.
pub(super) fn max_unpool(cx: &mut NodeCx<'_, '_>) -> Infer {
    let input = same_shapes(cx, &[0, 1]);
    if let Some(input) = &input
        && input.len() < 3
    {
        cx.shape_of_ranks(0, 3, None)?;
    }
    if cx.has_input(2) {
        let output = said(cx, 2);
        if let (Some(input), Some(output)) = (&input, &output)
            && input.len() != output.len()
        {
            let text = type_text(cx, 0);
            let message = format!(
                "`output_shape` has {}, but the input has rank {}",
                counted(output.len(), "element"),
                input.len(),
            );
            let diagnostic = Diagnostic::new(&code::SHAPE_PRECONDITION, cx.at_input(2), message)
                .related(cx.at_input(0), format!("this is {text}"));
            return cx.fail(diagnostic);
        }
        let output = output.or_else(|| input.map(|shape| cx.fresh_shape(0, shape.len())))?;
        cx.set_shape(0, output);
        return Some(());
    }
    let axes = match &input {
        Some(input) => input.len() - 2,
        None => cx.ints("kernel_shape")?.len(),
    };
    let input = input.unwrap_or_else(|| smallvec![Dim::Unknown; axes + 2]);
    let kernel = list_of(cx, "kernel_shape", axes, 1, 1)?;
    let strides = list_of(cx, "strides", axes, 1, 1)?;
    let (begin, end) = pads(cx, axes)?;
    let mut output: Shape = input[..2].into();
    for axis in 0..axes {
        let dims = cx.dims();
        let before = dims.sub(input[axis + 2], Dim::Const(1));
        let before = dims.mul(before, strides[axis]);
        let whole = dims.add(before, kernel[axis]);
        let cut = dims.add(begin[axis], end[axis]);
        output.push(dims.sub(whole, cut));
    }
    cx.set_shape(0, output);
    Some(())
}

/// `N, C * product(block_shape), L` to `N, C, image_shape…`, where the block has `L` positions in the image.
pub(super) fn col2im(cx: &mut NodeCx<'_, '_>) -> Infer {
    let input = match cx.rank(0) {
        Some(_) => cx.shape_of_rank(0, 3)?,
        None => smallvec![Dim::Unknown; 3],
    };
    let (image, block) = (said(cx, 1), said(cx, 2));
    let axes = image.as_ref().or(block.as_ref()).map(Shape::len)?;
    if let (Some(image), Some(block)) = (&image, &block) {
        let mut count =
            Extent::of_input("number of spatial axes", 1, Dim::Const(i64::try_from(image.len()).ok()?));
        count.agree(cx, 2, Dim::Const(i64::try_from(block.len()).ok()?))?;
    }
    let strides = list_of(cx, "strides", axes, 1, 1)?;
    let dilations = list_of(cx, "dilations", axes, 1, 1)?;
    let (begin, end) = pads(cx, axes)?;
    let image = image.unwrap_or_else(|| cx.fresh_shape(0, axes));
    let mut channels = Dim::Unknown;
    if let Some(block) = block {
        let dims = cx.dims();
        let places: Vec<Dim> = (0..axes)
            .map(|axis| {
                let span = span(dims, block[axis], dilations[axis]);
                let pads = dims.add(begin[axis], end[axis]);
                let padded = dims.add(image[axis], pads);
                let slack = dims.sub(padded, span);
                let steps = dims.floor_div(slack, strides[axis]);
                dims.add(steps, Dim::Const(1))
            })
            .collect();
        let places = dims.product(&places);
        let block = dims.product(&block);
        channels = dims.div_exact(input[1], block);
        if let (Dim::Const(all), Dim::Const(each @ 1..)) = (input[1], block)
            && all % each != 0
        {
            let message = format!("{} not a multiple of the block size {each}", counted_are(all, "row"));
            return cx.fail_at_input(0, &code::SHAPE_PRECONDITION, message);
        }
        Extent::of_input("number of blocks", 2, places).agree(cx, 0, input[2])?;
    }
    cx.set_shape(0, [input[0], channels].into_iter().chain(image));
    Some(())
}
