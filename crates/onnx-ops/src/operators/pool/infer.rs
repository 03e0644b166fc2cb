//! Pooling over windows, over all spatial axes, and over regions.

use crate::dims::Dim;
use crate::engine::rule::fit::{Extent, at_least, choice, flag, hold, list_of};
use crate::engine::rule::window::Window;
use crate::engine::{Infer, NodeCx};
use smallvec::smallvec;

/// `N, C, …` to `N, C` and the number of window positions.
pub(crate) fn pool(cx: &mut NodeCx<'_, '_>) -> Infer {
    let axes = match cx.rank(0) {
        Some(_) => cx.shape_of_ranks(0, 3, None)?.len() - 2,
        None => cx.ints("kernel_shape")?.len(),
    };
    let input = cx.shape(0).unwrap_or_else(|| smallvec![Dim::Unknown; axes + 2]);
    // The first version of `LpPool` does not require the attribute, and does not define a default.
    let kernel = if cx.has_attr("kernel_shape") {
        list_of(cx, "kernel_shape", axes, 1, 1)?
    } else {
        smallvec![Dim::Unknown; axes]
    };
    let window = Window::of_pool(cx, kernel)?;
    let places = window.places(cx, 0, &input[2..])?;
    cx.set_shape(0, input[..2].iter().copied().chain(places));
    Some(())
}

/// [`pool`], and the positions of the greatest elements.
pub(crate) fn max_pool(cx: &mut NodeCx<'_, '_>) -> Infer {
    flag(cx, "storage_order")?;
    pool(cx)?;
    let shape = cx.output(0).shape()?.clone();
    cx.set_shape(1, shape);
    Some(())
}

/// Every spatial axis becomes 1.
pub(crate) fn global(cx: &mut NodeCx<'_, '_>) -> Infer {
    let shape = cx.shape_of_ranks(0, 3, None)?;
    cx.set_shape(0, shape.iter().enumerate().map(|(axis, &d)| if axis < 2 { d } else { Dim::Const(1) }));
    Some(())
}

/// `X` of `N, C, H, W`, and `rois` of 5 numbers each.
pub(crate) fn max_roi_pool(cx: &mut NodeCx<'_, '_>) -> Infer {
    let pooled = list_of(cx, "pooled_shape", 2, 1, 1)?;
    let (channels, count) = regions(cx, 5)?;
    cx.set_shape(0, [count.dim, channels.dim].into_iter().chain(pooled));
    Some(())
}

/// `X` of `N, C, H, W`, `rois` of 4 numbers each, and the position of the image of each.
pub(crate) fn roi_align(cx: &mut NodeCx<'_, '_>) -> Infer {
    choice(cx, "mode", &["avg", "max"])?;
    choice(cx, "coordinate_transformation_mode", &["half_pixel", "output_half_pixel"])?;
    at_least(cx, "output_height", 1)?;
    at_least(cx, "output_width", 1)?;
    let (channels, mut count) = regions(cx, 4)?;
    hold(cx, 2, &mut [&mut count])?;
    let [height, width] =
        ["output_height", "output_width"].map(|name| cx.int(name).map_or(Dim::Unknown, Dim::Const));
    cx.set_shape(0, [count.dim, channels.dim, height, width]);
    Some(())
}

/// The channels of the first input, and the number of regions, each of `numbers` elements.
fn regions(cx: &mut NodeCx<'_, '_>, numbers: i64) -> Option<(Extent, Extent)> {
    let mut channels = Extent::unknown("number of channels");
    let mut count = Extent::unknown("number of regions");
    let mut numbers = Extent::fixed("number of elements per region", numbers);
    let [mut batch, mut height, mut width] = ["batch size", "height", "width"].map(Extent::unknown);
    hold(cx, 0, &mut [&mut batch, &mut channels, &mut height, &mut width])?;
    hold(cx, 1, &mut [&mut count, &mut numbers])?;
    Some((channels, count))
}
