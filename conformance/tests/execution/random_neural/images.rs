//! Resizing, sampling, regions, and columns of images.

use super::case::{Case, Draw, floats, integers};
use onnx_exec::Tensor;
use onnx_ir::ElemType;

pub(crate) fn draw(mut d: Draw) -> Case {
    match d.below(10) {
        0..=3 => resize(d),
        4 => upsample(d),
        5 | 6 => sample(d),
        7 => grid(d),
        8 => regions(d),
        _ => columns(d),
    }
}

fn resize(mut d: Draw) -> Case {
    let version = d.pick(&[10, 11, 13, 18, 19]);
    let elem = d.pick(&[
        ElemType::FLOAT,
        ElemType::FLOAT,
        ElemType::FLOAT,
        ElemType::UINT8,
        ElemType::INT32,
        ElemType::INT8,
    ]);
    let modes: &[&str] = if version == 10 { &["nearest", "linear"] } else { &["nearest", "linear", "cubic"] };
    let mode = d.pick(modes);
    // ONNX Runtime interpolates over two axes at most, mostly the last ones.
    let rank = if mode == "cubic" { 4 } else { d.pick(&[2, 4, 4, 3, 5]) };
    let resized = if mode == "nearest" { 1 + d.below(rank) } else { 2.min(rank) };
    let dims = d.extents(rank, 1, 6);
    d.numbers(elem, &dims, 100.0);
    d.text("mode", mode);
    let axes: Vec<usize> = (rank - resized..rank).collect();
    let with_axes = version >= 18 && d.chance(2);
    let transformation = if version == 10 {
        "asymmetric"
    } else {
        let all = [
            "half_pixel",
            "pytorch_half_pixel",
            "align_corners",
            "asymmetric",
            "tf_crop_and_resize",
            "half_pixel_symmetric",
        ];
        let count = if version >= 19 { 6 } else { 5 };
        let all: Vec<&str> = all[..count].to_vec();
        let one = d.pick(&all);
        d.text("coordinate_transformation_mode", one);
        one
    };
    let is_cropped = transformation == "tf_crop_and_resize";
    if is_cropped {
        d.maybe(2, "extrapolation_value", "2.5");
        let count = if with_axes { axes.len() } else { rank };
        let from = |i: usize| if with_axes || axes.contains(&i) { 0.125 } else { 0.0 };
        let starts: Vec<f64> = (0..count).map(from).collect();
        let ends: Vec<f64> =
            starts.iter().map(|s| if *s > 0.0 { d.pick(&[0.75, 1.25]) } else { 1.0 }).collect();
        d.tensor(floats(ElemType::FLOAT, &[count * 2], &[starts, ends].concat()));
    } else if version > 10 {
        if version == 11 || d.chance(4) {
            d.stored(floats(ElemType::FLOAT, &[0], &[]));
        } else {
            d.omit();
        }
    }
    if version > 10 && mode == "nearest" {
        let how = d.pick(&["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]);
        d.text("nearest_mode", how);
    }
    if mode == "cubic" {
        d.maybe(2, "cubic_coeff_a", "-0.5");
        d.maybe(2, "exclude_outside", 1);
    }
    // With antialiasing, ONNX Runtime has no signed bytes below 0, and rounds bytes after each axis.
    let has_antialias = matches!(elem, ElemType::FLOAT | ElemType::INT32);
    if version >= 18 && mode != "nearest" && !is_cropped && has_antialias && d.chance(3) {
        d.attribute("antialias", 1);
    }
    if with_axes {
        d.list("axes", &axes);
    }
    // ONNX Runtime aligns corners of whole extents, and ONNX's own tests of what scales say; it crops no axis that keeps its extent.
    let scales: &[f64] = match transformation {
        "align_corners" => &[1.0, 2.0, 3.0],
        "tf_crop_and_resize" => &[2.0, 3.0],
        // Positions just between two elements are for rounding to decide.
        _ if mode == "nearest" => &[1.0, 2.0, 0.5, 1.5, 3.0, 0.75],
        _ => &[1.0, 2.0, 0.5, 1.5, 3.0, 0.75, 0.6, 2.3],
    };
    let wanted: Vec<f64> = (0..rank).map(|i| if axes.contains(&i) { d.pick(scales) } else { 1.0 }).collect();
    let wanted: Vec<f64> = if with_axes { wanted[rank - resized..].to_vec() } else { wanted };
    // Something is left.
    let of = |i: usize| dims[if with_axes { rank - resized + i } else { i }] as f64;
    let wanted: Vec<f64> =
        wanted.iter().enumerate().map(|(i, s)| if of(i) * s < 1.0 { 1.0 } else { *s }).collect();
    if version == 10 || d.chance(2) {
        d.stored(floats(ElemType::FLOAT, &[wanted.len()], &wanted));
    } else {
        if version == 11 {
            d.stored(floats(ElemType::FLOAT, &[0], &[]));
        } else {
            d.omit();
        }
        let sizes: Vec<i64> = wanted.iter().enumerate().map(|(i, s)| (of(i) * s) as i64).collect();
        d.tensor(integers(ElemType::INT64, &[sizes.len()], &sizes));
        if version >= 18 && with_axes && d.chance(3) {
            let policy = d.pick(&["stretch", "not_larger", "not_smaller"]);
            d.text("keep_aspect_ratio_policy", policy);
        }
    }
    // Interpolated bytes are rounded or cut off.
    d.is_for_runtime = true;
    d.tolerance = (elem != ElemType::FLOAT).then_some(1.0);
    d.case("Resize", version)
}

fn upsample(mut d: Draw) -> Case {
    let version = d.pick(&[7, 9]);
    let elem = d.pick(&[ElemType::FLOAT, ElemType::FLOAT, ElemType::INT32, ElemType::UINT8]);
    let mode = d.pick(&["nearest", "linear"]);
    let rank = d.pick(&[4, 4, 2]);
    let dims = d.extents(rank, 1, 5);
    d.numbers(elem, &dims, 100.0);
    d.text("mode", mode);
    let scales: Vec<f64> =
        (0..rank).map(|i| if i + 2 >= rank { d.pick(&[1.0, 2.0, 1.5, 3.0]) } else { 1.0 }).collect();
    if version == 7 {
        d.float_list("scales", &scales);
    } else {
        d.stored(floats(ElemType::FLOAT, &[rank], &scales));
    }
    d.is_for_runtime = true;
    d.tolerance = (elem != ElemType::FLOAT).then_some(1.0);
    d.case("Upsample", version)
}

fn sample(mut d: Draw) -> Case {
    let version = d.pick(&[16, 20, 22]);
    let elem = d.pick(&[ElemType::FLOAT, ElemType::FLOAT, ElemType::DOUBLE]);
    let axes = if version >= 20 && d.chance(3) { 3 } else { 2 };
    let (n, c) = (1 + d.below(2), 1 + d.below(2));
    let (from, to) = (d.extents(axes, 1, 5), d.extents(axes, 1, 5));
    d.floats(elem, &[&[n, c][..], &from].concat(), 3.0);
    let reach = d.pick(&[0.9, 1.0, 1.7, 3.0]);
    d.floats(elem, &[&[n][..], &to, &[axes]].concat(), reach);
    let modes: &[&str] = match (version, axes) {
        (16, _) => &["bilinear", "nearest", "bicubic"],
        (_, 2) => &["linear", "nearest", "cubic"],
        _ => &["linear", "nearest"],
    };
    let mode = d.pick(modes);
    d.text("mode", mode);
    // With cubic neighbors, ONNX Runtime bounds each of them, the reference evaluator and we the position.
    let paddings: &[&str] =
        if mode.ends_with("cubic") { &["zeros", "reflection"] } else { &["zeros", "border", "reflection"] };
    let padding = d.pick(paddings);
    d.text("padding_mode", padding);
    d.maybe(2, "align_corners", 1);
    d.is_for_runtime = true;
    // Positions are computed from numbers between -1 and 1.
    d.tolerance = (elem == ElemType::FLOAT).then_some(1e-4);
    d.case("GridSample", version)
}

fn grid(mut d: Draw) -> Case {
    let axes = 2 + d.below(2);
    let n = 1 + d.below(2);
    let elem = d.pick(&[ElemType::FLOAT, ElemType::DOUBLE]);
    d.floats(elem, &[n, axes, axes + 1], 2.0);
    let mut size = vec![n as i64, 1 + d.below(3) as i64];
    size.extend((0..axes).map(|_| 2 + d.below(4) as i64));
    d.tensor(integers(ElemType::INT64, &[size.len()], &size));
    d.maybe(2, "align_corners", 1);
    d.case("AffineGrid", 20)
}

/// Boxes in an image: where they begin and end.
fn boxes(d: &mut Draw, count: usize, with_image: Option<usize>, reach: f64) -> Tensor {
    let mut numbers = Vec::new();
    for _ in 0..count {
        if let Some(images) = with_image {
            numbers.push(d.below(images) as f64);
        }
        let from = [(d.unit() + 0.9) * reach / 2.0, (d.unit() + 0.9) * reach / 2.0];
        let size = [(d.unit() + 1.1) * reach / 2.0, (d.unit() + 1.1) * reach / 2.0];
        numbers.extend([from[0], from[1], from[0] + size[0], from[1] + size[1]]);
    }
    let each = if with_image.is_some() { 5 } else { 4 };
    floats(ElemType::FLOAT, &[count, each], &numbers)
}

fn regions(mut d: Draw) -> Case {
    let (n, c, count) = (1 + d.below(2), 1 + d.below(3), d.below(4));
    let spatial = d.extents(2, 3, 8);
    d.floats(ElemType::FLOAT, &[n, c, spatial[0], spatial[1]], 3.0);
    d.is_for_runtime = true;
    if d.chance(3) {
        let regions = boxes(&mut d, count.max(1), Some(n), 6.0);
        d.tensor(regions);
        let shape = d.extents(2, 1, 4);
        d.list("pooled_shape", &shape);
        d.maybe(2, "spatial_scale", "0.5");
        let version = d.pick(&[7, 22]);
        return d.case("MaxRoiPool", version);
    }
    let regions = boxes(&mut d, count, None, 6.0);
    d.tensor(regions);
    let indices: Vec<i64> = (0..count).map(|_| d.below(n) as i64).collect();
    d.tensor(integers(ElemType::INT64, &[count], &indices));
    let version = d.pick(&[10, 16, 22]);
    // ONNX Runtime takes the greatest of weighted neighbors, and not of what is interpolated.
    d.maybe(2, "mode", "\"avg\"");
    let (height, width) = (1 + d.below(4), 1 + d.below(4));
    d.maybe(2, "output_height", height);
    d.maybe(2, "output_width", width);
    let ratio = d.below(3);
    d.maybe(2, "sampling_ratio", ratio);
    d.maybe(2, "spatial_scale", "0.5");
    if version >= 16 {
        let how = d.pick(&["half_pixel", "output_half_pixel"]);
        d.text("coordinate_transformation_mode", how);
    }
    d.case("RoiAlign", version)
}

fn columns(mut d: Draw) -> Case {
    // ONNX Runtime is wrong about dilations of other than two axes; the reference evaluator is as we are.
    let axes = 1 + d.below(2);
    let (n, c) = (1 + d.below(2), 1 + d.below(2));
    let (image, block) = (d.extents(axes, 4, 6), d.extents(axes, 1, 3));
    let (strides, dilations, pads) =
        (d.extents(axes, 1, 2), d.extents(axes, 1, if axes == 2 { 2 } else { 1 }), d.extents(2 * axes, 0, 1));
    let places: usize = (0..axes)
        .map(|i| {
            let full = image[i] + pads[i] + pads[i + axes];
            full.saturating_sub((block[i] - 1) * dilations[i] + 1) / strides[i] + 1
        })
        .product();
    let taps: usize = block.iter().product();
    let elem = d.pick(&[ElemType::FLOAT, ElemType::FLOAT, ElemType::DOUBLE]);
    d.floats(elem, &[n, c * taps, places], 2.0);
    let longs = |list: &[usize]| list.iter().map(|&x| x as i64).collect::<Vec<_>>();
    d.tensor(integers(ElemType::INT64, &[axes], &longs(&image)));
    d.tensor(integers(ElemType::INT64, &[axes], &longs(&block)));
    d.list("strides", &strides);
    d.list("dilations", &dilations);
    d.list("pads", &pads);
    d.case("Col2Im", 18)
}
