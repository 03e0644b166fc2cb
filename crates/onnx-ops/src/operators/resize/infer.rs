//! Image operators: resize, sample, decode.

use crate::dims::{Dim, Dims};
use crate::engine::rule::axes::type_text;
use crate::engine::rule::fit::{Extent, choice, flag, hold};
use crate::engine::{Infer, NodeCx};
use crate::facts::Shape;
use onnx_ir::diag::{Diagnostic, code, counted};
use smallvec::SmallVec;

/// `extent * scale`, rounded down: the product of the stored scale, not of one that is rounded to 32 bits again. So the kernel
/// computes it, and the reference.
fn scaled(dims: &mut Dims, extent: Dim, scale: f32) -> Option<Dim> {
    if scale == 1.0 {
        return Some(extent);
    }
    if let Dim::Const(n) = extent {
        let product = (n as f64 * f64::from(scale)).floor();
        return (0.0..=MAX_EXACT).contains(&product).then_some(Dim::Const(product as i64));
    }
    // Exact for all sizes of images, if the scale is a fraction of small numbers.
    let denominator = (0..=6).map(|bits| 1_i64 << bits).find(|&d| (scale * d as f32).fract() == 0.0)?;
    let numerator = scale * denominator as f32;
    if !(1.0..=64.0).contains(&numerator) {
        return None;
    }
    let product = dims.mul(extent, Dim::Const(numerator as i64));
    Some(dims.floor_div(product, Dim::Const(denominator)))
}

/// Sizes up to this are exact in 64-bit floats.
const MAX_EXACT: f64 = 9.0e15;

/// Scales each axis of the input. If a scale or its result is unknown, the dimension is
/// anonymous.
fn scale_all(cx: &mut NodeCx<'_, '_>, shape: &[Dim], scales: &[Option<f32>]) {
    let output: Shape = shape
        .iter()
        .zip(scales)
        .map(|(&dim, scale)| match scale.and_then(|scale| scaled(cx.dims(), dim, scale)) {
            Some(dim) => dim,
            None => cx.fresh(0),
        })
        .collect();
    cx.set_shape(0, output);
}

/// `width_scale` and `height_scale` for the last two of four axes.
pub(super) fn upsample_1(cx: &mut NodeCx<'_, '_>) -> Infer {
    choice(cx, "mode", &["nearest", "bilinear"])?;
    let shape = cx.shape_of_rank(0, 4)?;
    let mut scales = [Some(1.0); 4];
    for (scale, name) in scales[2..].iter_mut().zip(["height_scale", "width_scale"]) {
        *scale = cx.float(name);
        if let Some(value) = *scale
            && value < 1.0
        {
            return cx.fail_at_attr(name, format!("`{name}` must be at least 1, but is {value}"));
        }
    }
    scale_all(cx, &shape, &scales);
    Some(())
}

/// `scales` is an attribute.
pub(super) fn upsample_7(cx: &mut NodeCx<'_, '_>) -> Infer {
    choice(cx, "mode", &["nearest", "linear"])?;
    let shape = cx.shape(0)?;
    let Some(scales) = cx.floats("scales") else { return same_rank(cx) };
    if scales.len() != shape.len() {
        let message = format!(
            "`scales` has {}, but the input has rank {}",
            counted(scales.len(), "value"),
            shape.len()
        );
        let text = type_text(cx, 0);
        let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_attr("scales"), message);
        return cx.fail(diagnostic.related(cx.at_input(0), format!("this is {text}")));
    }
    if let Some(small) = scales.iter().find(|&&scale| scale < 1.0) {
        return cx.fail_at_attr(
            "scales",
            format!("`scales` of `Upsample` must be at least 1, but one is {small}"),
        );
    }
    let scales: Vec<Option<f32>> = scales.into_iter().map(Some).collect();
    scale_all(cx, &shape, &scales);
    Some(())
}

/// `scales` is an input.
pub(super) fn upsample_9(cx: &mut NodeCx<'_, '_>) -> Infer {
    choice(cx, "mode", &["nearest", "linear"])?;
    by_scales(cx, 1, 1.0)
}

pub(super) fn resize_10(cx: &mut NodeCx<'_, '_>) -> Infer {
    choice(cx, "mode", &["nearest", "linear"])?;
    by_scales(cx, 1, 0.0)
}

/// Scales for all axes, given by an input.
fn by_scales(cx: &mut NodeCx<'_, '_>, input: usize, least: f32) -> Infer {
    let rank = rank_by(cx, &[input])?;
    let shape = cx.shape(0).unwrap_or_else(|| std::iter::repeat_n(Dim::Unknown, rank).collect());
    hold_len(cx, input, rank)?;
    let scales = scales(cx, input, rank, least)?;
    scale_all(cx, &shape, &scales);
    Some(())
}

/// The rank of the first input, or the length of another input with an element for each axis.
fn rank_by(cx: &mut NodeCx<'_, '_>, lists: &[usize]) -> Option<usize> {
    if let Some(rank) = cx.rank(0) {
        return Some(rank);
    }
    lists.iter().find_map(|&input| cx.extents_of(input).map(|list| list.len()).filter(|&len| len > 0))
}

/// Checks that a list has an element for each resized axis.
fn hold_len(cx: &mut NodeCx<'_, '_>, input: usize, axes: usize) -> Infer {
    let count = Dim::Const(i64::try_from(axes).ok()?);
    hold(cx, input, &mut [&mut Extent::of_input("number of axes", 0, count)])
}

/// The elements of `scales`, which must be positive and at least `least`.
fn scales(cx: &mut NodeCx<'_, '_>, input: usize, axes: usize, least: f32) -> Option<Vec<Option<f32>>> {
    let Some(value) = cx.value(input) else { return Some(vec![None; axes]) };
    let scales: Vec<Option<f32>> = value.elems.iter().map(|e| e.number().map(|x| x as f32)).collect();
    if let Some(small) = scales.iter().flatten().find(|&&scale| scale < least || scale <= 0.0) {
        let least = if least > 0.0 { format!("at least {least}") } else { "positive".to_owned() };
        let message = format!("`scales` of `{}` must be {least}, but one is {small}", cx.op());
        cx.fail_at_input(input, &code::CONSTANT_INPUT, message)?;
    }
    (scales.len() == axes).then_some(scales)
}

const COORDINATES: &[&str] = &[
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
];

/// `X, roi, scales, sizes`: one of the last two is given and not empty, for all axes or for `axes`.
pub(super) fn resize(cx: &mut NodeCx<'_, '_>) -> Infer {
    choice(cx, "mode", &["nearest", "linear", "cubic"])?;
    choice(cx, "nearest_mode", &["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])?;
    choice(cx, "coordinate_transformation_mode", COORDINATES)?;
    choice(cx, "keep_aspect_ratio_policy", &["stretch", "not_larger", "not_smaller"])?;
    let Some(input) = list(cx, 2, 3)? else { return same_rank(cx) };
    let axes = if cx.has_attr("axes") { Some(cx.ints("axes")) } else { None };
    let rank = match (cx.rank(0), &axes) {
        (Some(rank), _) => rank,
        // Without `axes`, there is an element for each axis.
        (None, None) => rank_by(cx, &[input])?,
        (None, Some(_)) => return None,
    };
    let shape = cx.shape(0).unwrap_or_else(|| std::iter::repeat_n(Dim::Unknown, rank).collect());
    let axes: SmallVec<[usize; 4]> = match axes {
        None => (0..rank).collect(),
        Some(Some(axes)) => {
            let place = cx.at_attr("axes");
            cx.axes(&axes, rank, place)?
        }
        Some(None) => return same_rank(cx),
    };
    hold_len(cx, input, axes.len())?;
    if input == 3 {
        return by_sizes(cx, shape, &axes);
    }
    if !matches!(cx.string("keep_aspect_ratio_policy").as_deref(), None | Some("stretch")) {
        let message = "`keep_aspect_ratio_policy` requires `sizes`, but `scales` are given".to_owned();
        return cx.fail_at_attr("keep_aspect_ratio_policy", message);
    }
    let mut all = vec![Some(1.0); rank];
    let is_crop = match cx.string("coordinate_transformation_mode").as_deref() {
        Some(mode) => mode == "tf_crop_and_resize",
        None => cx.has_attr("coordinate_transformation_mode"),
    };
    let list = scales(cx, input, axes.len(), 0.0)?;
    for (i, (&axis, scale)) in axes.iter().zip(list).enumerate() {
        // The documentation uses the region of interest, implementations do not.
        all[axis] = scale.filter(|_| !is_crop || is_whole(cx, axes.len(), i));
    }
    scale_all(cx, &shape, &all);
    Some(())
}

/// Only the rank of the output is known.
fn same_rank(cx: &mut NodeCx<'_, '_>) -> Infer {
    let rank = cx.rank(0)?;
    let output = cx.fresh_shape(0, rank);
    cx.set_shape(0, output);
    Some(())
}

/// Whether the region of interest covers a whole axis.
fn is_whole(cx: &NodeCx<'_, '_>, axes: usize, i: usize) -> bool {
    let number = |i: usize| cx.value(1).and_then(|roi| roi.elems.get(i)?.number());
    number(i) == Some(0.0) && number(i + axes) == Some(1.0)
}

/// The one of two lists that is given and not empty; reports if there is none. `None` inside if that is unknown.
fn list(cx: &mut NodeCx<'_, '_>, first: usize, second: usize) -> Option<Option<usize>> {
    let is_given = |cx: &mut NodeCx<'_, '_>, input: usize| {
        if !cx.has_input(input) {
            return Some(false);
        }
        let shape = cx.shape(input)?;
        let [len] = shape[..] else { return Some(true) };
        match (cx.dims().lower_bound(len), cx.dims().upper_bound(len)) {
            (Some(1..), _) => Some(true),
            (_, Some(..=0)) => Some(false),
            _ => None,
        }
    };
    match (is_given(cx, first), is_given(cx, second)) {
        (Some(true), Some(true)) => {
            let message = format!("`{}` accepts `scales` or `sizes`, but not both", cx.op());
            let diagnostic = Diagnostic::new(&code::SHAPE_PRECONDITION, cx.at_input(second), message);
            cx.fail(diagnostic.related(cx.at_input(first), "the other one"))?;
            None
        }
        (Some(false), Some(false)) => {
            let message = format!("`{}` requires `scales` or `sizes`", cx.op());
            cx.fail(Diagnostic::new(&code::SHAPE_PRECONDITION, cx.at_op(), message))?;
            None
        }
        (Some(true), _) | (None, Some(false)) => Some(Some(first)),
        (_, Some(true)) | (Some(false), None) => Some(Some(second)),
        (None, None) => Some(None),
    }
}

/// The sizes are given, or a bound for them.
fn by_sizes(cx: &mut NodeCx<'_, '_>, mut shape: Shape, axes: &[usize]) -> Infer {
    let sizes = cx.extents_of(3).filter(|sizes| sizes.len() == axes.len());
    let policy = cx.string("keep_aspect_ratio_policy").map(std::borrow::Cow::into_owned);
    let is_free =
        policy.as_deref() == Some("stretch") || policy.is_none() && !cx.has_attr("keep_aspect_ratio_policy");
    let fitted = match (&sizes, policy.as_deref()) {
        (Some(sizes), _) if is_free => Some(sizes.clone()),
        (Some(sizes), Some("not_larger")) => fitted(&shape, axes, sizes, f64::min),
        (Some(sizes), Some("not_smaller")) => fitted(&shape, axes, sizes, f64::max),
        _ => None,
    };
    for (i, &axis) in axes.iter().enumerate() {
        let size = fitted.as_ref().map_or(Dim::Unknown, |sizes| sizes[i]);
        if let Dim::Const(negative @ ..0) = size {
            return cx.fail_at_input(3, &code::CONSTANT_INPUT, format!("negative size {negative}"));
        }
        shape[axis] = if size == Dim::Unknown { cx.fresh(0) } else { size };
    }
    cx.set_shape(0, shape);
    Some(())
}

/// The sizes that keep the proportions of the input, if all are known.
fn fitted(shape: &[Dim], axes: &[usize], sizes: &[Dim], better: fn(f64, f64) -> f64) -> Option<Shape> {
    let number = |dim: Dim| match dim {
        Dim::Const(n @ 1..=0x000F_FFFF_FFFF_FFFF) => Some(n as f64),
        Dim::Const(_) | Dim::Unknown | Dim::Expr(_) => None,
    };
    let mut scale: Option<f64> = None;
    for (&axis, &size) in axes.iter().zip(sizes) {
        let ratio = number(size)? / number(shape[axis])?;
        scale = Some(scale.map_or(ratio, |scale| better(scale, ratio)));
    }
    let scale = scale?;
    axes.iter().map(|&axis| Some(Dim::Const((number(shape[axis])? * scale + 0.5).floor() as i64))).collect()
}

/// `X` of `N, C, …` and a grid of positions, to `N, C` and the number of positions.
pub(super) fn grid_sample(cx: &mut NodeCx<'_, '_>) -> Infer {
    let modes: &[&str] =
        if cx.since() < 20 { &["bilinear", "nearest", "bicubic"] } else { &["linear", "nearest", "cubic"] };
    choice(cx, "mode", modes)?;
    choice(cx, "padding_mode", &["zeros", "border", "reflection"])?;
    flag(cx, "align_corners")?;
    let rank = cx.rank(0).or_else(|| cx.rank(1))?;
    let mut batch = Extent::unknown("batch size");
    let mut channels = Extent::unknown("number of channels");
    if cx.rank(0).is_some() {
        let shape = cx.shape_of_ranks(0, 3, None)?;
        batch.agree(cx, 0, shape[0])?;
        channels.agree(cx, 0, shape[1])?;
    }
    let mut output: Shape = std::iter::repeat_n(Dim::Unknown, rank).collect();
    if cx.rank(1).is_some() {
        let grid = cx.shape_of_rank(1, rank)?;
        let [first, places @ .., last] = &grid[..] else { return None };
        batch.agree(cx, 1, *first)?;
        let axes = i64::try_from(places.len()).ok()?;
        Extent::of_input("number of spatial axes", 0, Dim::Const(axes)).agree(cx, 1, *last)?;
        output[2..].copy_from_slice(places);
    }
    (output[0], output[1]) = (batch.dim, channels.dim);
    cx.set_shape(0, output);
    Some(())
}

/// `theta` of `N, 2, 3` and a size of `N, C, H, W` to `N, H, W, 2`; likewise with one more axis.
pub(super) fn affine_grid(cx: &mut NodeCx<'_, '_>) -> Infer {
    flag(cx, "align_corners")?;
    let size = cx.extents_of(1);
    if let Some(size) = &size
        && !matches!(size.len(), 4 | 5)
    {
        let message = format!("`size` must have 4 or 5 elements, but has {}", size.len());
        return cx.fail_at_input(1, &code::SHAPE_PRECONDITION, message);
    }
    let theta = match cx.rank(0) {
        Some(_) => Some(cx.shape_of_rank(0, 3)?),
        None => None,
    };
    let by_theta = theta.as_ref().and_then(|t| cx.dims().as_const(t[1]));
    let axes = match size.as_ref().map(|size| size.len() - 2) {
        Some(axes) => axes,
        None => usize::try_from(by_theta?).ok().filter(|axes| matches!(axes, 2 | 3))?,
    };
    let mut batch = Extent::unknown("batch size");
    let count = i64::try_from(axes).ok()?;
    let mut rows = Extent::of_input("number of spatial axes", 1, Dim::Const(count));
    let mut columns = Extent::of_input("number of columns", 1, Dim::Const(count + 1));
    hold(cx, 0, &mut [&mut batch, &mut rows, &mut columns])?;
    if let Some(size) = &size {
        batch.agree(cx, 1, size[0])?;
    }
    let mut output: Shape = [batch.dim].into_iter().collect();
    for axis in 0..axes {
        let known = size.as_ref().map_or(Dim::Unknown, |size| size[axis + 2]);
        output.push(if known == Dim::Unknown { cx.fresh(0) } else { known });
    }
    output.push(Dim::Const(count));
    cx.set_shape(0, output);
    Some(())
}

/// Height, width and channels depend on the file.
pub(super) fn image_decoder(cx: &mut NodeCx<'_, '_>) -> Infer {
    choice(cx, "pixel_format", &["RGB", "BGR", "Grayscale"])?;
    if cx.rank(0).is_some() {
        cx.shape_of_rank(0, 1)?;
    }
    let image = cx.fresh_shape(0, 3);
    cx.set_shape(0, image);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_scaled_as_floats() {
        let mut dims = Dims::new();
        let mut known = |n, scale| scaled(&mut dims, Dim::Const(n), scale);
        assert_eq!(known(5, 0.6), Some(Dim::Const(3)));
        assert_eq!(known(3, 1.0 / 3.0), Some(Dim::Const(1)));
        assert_eq!(known(5, 1.7), Some(Dim::Const(8)));
        // The nearest float to 0.7 is less, and 2^24 + 1 is none.
        assert_eq!(known(10, 0.7), Some(Dim::Const(6)));
        assert_eq!(known(16_777_217, 2.0), Some(Dim::Const(33_554_434)));
        assert_eq!(known(i64::MAX, 2.0), None);
        assert_eq!(known(5, f32::NAN), None);
    }

    #[test]
    fn symbols_are_scaled_by_small_fractions() {
        let mut dims = Dims::new();
        let n = dims.symbol("N");
        let mut text = |scale| scaled(&mut dims, n, scale).map(|d| dims.text(d));
        assert_eq!(text(2.0).as_deref(), Some("N*2"));
        assert_eq!(text(0.5).as_deref(), Some("floor(N/2)"));
        assert_eq!(text(1.5).as_deref(), Some("N+floor(N/2)"));
        assert_eq!(text(0.3), None);
        assert_eq!(text(f32::INFINITY), None);
    }
}
