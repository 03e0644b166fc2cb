//! Convolutions.

use super::case::{Case, Draw};
use onnx_ir::ElemType;

pub(crate) const FLOATS: &[ElemType] =
    &[ElemType::FLOAT, ElemType::FLOAT, ElemType::FLOAT, ElemType::DOUBLE, ElemType::FLOAT16];

pub(crate) fn draw(mut d: Draw) -> Case {
    // The reference evaluator gives other shapes for some paddings, and has kernels of two axes only.
    d.is_for_runtime = true;
    match d.below(7) {
        0 | 1 => convolution(d),
        2 | 3 => transposed(d),
        4 => integer(d),
        5 => quantized(d),
        _ => deform(d),
    }
}

/// Attributes of a window over these axes.
fn window(d: &mut Draw, axes: usize, kernel: &[usize]) {
    if d.chance(2) {
        d.list("kernel_shape", kernel);
    }
    if d.chance(2) {
        let strides = d.extents(axes, 1, 3);
        d.list("strides", &strides);
    }
    if d.chance(3) {
        let dilations = d.extents(axes, 1, 2);
        d.list("dilations", &dilations);
    }
    match d.below(4) {
        0 => {
            let pads = d.extents(axes * 2, 0, 2);
            d.list("pads", &pads);
        }
        1 => {
            let auto = d.pick(&["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]);
            d.text("auto_pad", auto);
        }
        _ => {}
    }
}

struct Shapes {
    axes: usize,
    groups: usize,
    x: Vec<usize>,
    w: Vec<usize>,
    kernel: Vec<usize>,
    outputs: usize,
}

fn shapes(d: &mut Draw, is_transposed: bool) -> Shapes {
    let axes = 1 + d.below(3);
    let groups = d.pick(&[1, 1, 2, 3]);
    let (inputs, each) = (1 + d.below(3), 1 + d.below(3));
    let kernel = d.extents(axes, 1, 3);
    let least = if d.chance(20) { 0 } else { 3 };
    let spatial = d.extents(axes, least, 7);
    let batch = if d.chance(30) { 0 } else { 1 + d.below(2) };
    let x = [&[batch, inputs * groups][..], &spatial].concat();
    let w = match is_transposed {
        true => [&[inputs * groups, each][..], &kernel].concat(),
        false => [&[each * groups, inputs][..], &kernel].concat(),
    };
    Shapes { axes, groups, x, w, kernel, outputs: each * groups }
}

fn convolution(mut d: Draw) -> Case {
    let s = shapes(&mut d, false);
    let elem = d.pick(FLOATS);
    d.floats(elem, &s.x, 2.0);
    d.floats(elem, &s.w, 1.0);
    if d.chance(2) {
        d.floats(elem, &[s.outputs], 1.0);
    }
    if s.groups > 1 || d.chance(2) {
        d.attribute("group", s.groups);
    }
    window(&mut d, s.axes, &s.kernel);
    let version = d.pick(&[7, 11, 22]);
    d.case("Conv", version)
}

fn transposed(mut d: Draw) -> Case {
    let s = shapes(&mut d, true);
    let elem = d.pick(FLOATS);
    d.floats(elem, &s.x, 2.0);
    d.floats(elem, &s.w, 1.0);
    if d.chance(2) {
        d.floats(elem, &[s.outputs], 1.0);
    }
    if s.groups > 1 || d.chance(2) {
        d.attribute("group", s.groups);
    }
    let strides = d.extents(s.axes, 1, 3);
    let dilations = if d.chance(3) { d.extents(s.axes, 1, 2) } else { vec![1; s.axes] };
    d.list("strides", &strides);
    d.list("dilations", &dilations);
    d.maybe(2, "kernel_shape", format!("{:?}", s.kernel));
    let mut extra = vec![0; s.axes];
    if d.chance(3) {
        for (i, extra) in extra.iter_mut().enumerate() {
            *extra = d.below(strides[i].max(dilations[i]));
        }
        d.list("output_padding", &extra);
    }
    match d.below(5) {
        0 => {
            let pads = d.extents(s.axes * 2, 0, 1);
            d.list("pads", &pads);
        }
        1 => {
            let auto = d.pick(&["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]);
            d.text("auto_pad", auto);
        }
        2 => {
            let auto = d.pick(&["SAME_UPPER", "SAME_LOWER", "NOTSET"]);
            if d.chance(2) {
                d.text("auto_pad", auto);
            }
            let shape: Vec<usize> = (0..s.axes)
                .map(|i| {
                    let full = (s.x[i + 2].max(1) - 1) * strides[i]
                        + extra[i]
                        + (s.kernel[i] - 1) * dilations[i]
                        + 1;
                    let less = d.below(3);
                    full.saturating_sub(less).max(1)
                })
                .collect();
            d.list("output_shape", &shape);
        }
        _ => {}
    }
    let version = d.pick(&[7, 11, 22]);
    d.case("ConvTranspose", version)
}

fn integer(mut d: Draw) -> Case {
    let s = shapes(&mut d, false);
    let (x, w) = (d.pick(&[ElemType::UINT8, ElemType::INT8]), d.pick(&[ElemType::UINT8, ElemType::INT8]));
    d.numbers(x, &s.x, 300.0);
    d.numbers(w, &s.w, 300.0);
    if d.chance(2) {
        let dims: &[usize] = if d.chance(2) { &[] } else { &[1] };
        d.numbers(x, dims, 20.0);
    } else {
        d.omit();
    }
    match d.below(4) {
        0 => d.numbers(w, &[], 20.0),
        1 => d.numbers(w, &[s.outputs], 20.0),
        _ => {}
    }
    if s.groups > 1 || d.chance(2) {
        d.attribute("group", s.groups);
    }
    window(&mut d, s.axes, &s.kernel);
    d.case("ConvInteger", 10)
}

fn quantized(mut d: Draw) -> Case {
    let s = shapes(&mut d, false);
    let (x, w) = (d.pick(&[ElemType::UINT8, ElemType::INT8]), d.pick(&[ElemType::UINT8, ElemType::INT8]));
    let scale = |d: &mut Draw, count: Option<usize>, least: f64, most: f64| {
        let dims: Vec<usize> = count.into_iter().collect();
        let tensor = d.random_floats(ElemType::FLOAT, &dims, least, most);
        d.tensor(tensor);
    };
    d.numbers(x, &s.x, 300.0);
    scale(&mut d, None, 0.01, 0.1);
    d.numbers(x, &[], 20.0);
    d.numbers(w, &s.w, 300.0);
    let per = if d.chance(2) { Some(s.outputs) } else { None };
    scale(&mut d, per, 0.01, 0.1);
    let dims: Vec<usize> = per.into_iter().collect();
    d.numbers(w, &dims, 20.0);
    scale(&mut d, None, 0.5, 1.0);
    d.numbers(x, &[], 100.0);
    if d.chance(2) {
        d.ints(ElemType::INT32, &[s.outputs], -2000, 2000);
    }
    if s.groups > 1 || d.chance(2) {
        d.attribute("group", s.groups);
    }
    window(&mut d, s.axes, &s.kernel);
    // A quotient may lie just between two bytes.
    d.tolerance = Some(1.0);
    d.case("QLinearConv", 10)
}

fn deform(mut d: Draw) -> Case {
    let groups = d.pick(&[1, 1, 2]);
    let offset_groups = d.pick(&[1, 1, 2]);
    let inputs = groups * offset_groups;
    let outputs = groups * (1 + d.below(2));
    let (kernel, spatial) = (d.extents(2, 1, 3), d.extents(2, 5, 7));
    let (strides, dilations, pads) = (d.extents(2, 1, 2), d.extents(2, 1, 2), d.extents(4, 0, 2));
    let out: Vec<usize> = (0..2)
        .map(|i| {
            let full = spatial[i] + pads[i] + pads[i + 2];
            let reach = (kernel[i] - 1) * dilations[i] + 1;
            full.saturating_sub(reach) / strides[i] + 1
        })
        .collect();
    let elem = d.pick(&[ElemType::FLOAT, ElemType::FLOAT, ElemType::DOUBLE, ElemType::FLOAT16]);
    d.floats(elem, &[2, inputs, spatial[0], spatial[1]], 2.0);
    d.floats(elem, &[outputs, inputs / groups, kernel[0], kernel[1]], 1.0);
    let taps = kernel[0] * kernel[1] * offset_groups;
    d.floats(elem, &[2, taps * 2, out[0], out[1]], 2.0);
    match d.below(3) {
        0 => {}
        1 => d.floats(elem, &[outputs], 1.0),
        _ => {
            if d.chance(2) {
                d.floats(elem, &[outputs], 1.0);
            } else {
                d.omit();
            }
            d.floats(elem, &[2, taps, out[0], out[1]], 1.0);
        }
    }
    d.attribute("group", groups);
    d.attribute("offset_group", offset_groups);
    d.list("strides", &strides);
    d.list("dilations", &dilations);
    d.list("pads", &pads);
    let version = d.pick(&[19, 22]);
    d.case("DeformConv", version)
}
