//! Pools.

use super::case::{Case, Draw};
use super::windows::FLOATS;
use onnx_ir::ElemType;

pub(crate) fn draw(mut d: Draw) -> Case {
    // As with windows.
    d.is_for_runtime = true;
    match d.below(4) {
        0 => global(d),
        1 => unpool(d),
        _ => pool(d),
    }
}

fn pool(mut d: Draw) -> Case {
    let axes = 1 + d.below(3);
    let kernel = d.extents(axes, 1, 3);
    let spatial = d.extents(axes, 3, 8);
    let x = [&[1 + d.below(2), 1 + d.below(3)][..], &spatial].concat();
    let op = d.pick(&["MaxPool", "AveragePool", "LpPool", "MaxPool", "AveragePool"]);
    let elem = match op {
        "MaxPool" => {
            d.pick(&[ElemType::FLOAT, ElemType::FLOAT, ElemType::DOUBLE, ElemType::INT8, ElemType::UINT8])
        }
        _ => d.pick(FLOATS),
    };
    d.numbers(elem, &x, 100.0);
    d.list("kernel_shape", &kernel);
    let version = match op {
        "MaxPool" => d.pick(&[8, 10, 11, 12, 22]),
        "AveragePool" => d.pick(&[7, 10, 11, 19, 22]),
        _ => d.pick(&[2, 11, 18, 22]),
    };
    let with_dilations = match op {
        "MaxPool" => version >= 10,
        "AveragePool" => version >= 19,
        _ => version >= 18,
    };
    let padding = d.below(3);
    if d.chance(2) {
        let strides = d.extents(axes, 1, 3);
        // With `auto_pad`, ONNX Runtime cuts off what strides beyond the kernel leave out.
        let stride = |(s, k): (usize, &usize)| if padding == 1 { s.min(*k) } else { s };
        let strides: Vec<usize> = strides.into_iter().zip(&kernel).map(stride).collect();
        d.list("strides", &strides);
    }
    match padding {
        0 => {
            let pads: Vec<usize> = (0..axes * 2).map(|i| d.below(kernel[i % axes])).collect();
            d.list("pads", &pads);
        }
        1 => {
            let auto = d.pick(&["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]);
            d.text("auto_pad", auto);
        }
        _ => {}
    }
    // With `auto_pad`, pools of ONNX Runtime forget dilations.
    // A window that does not fit is cut off by a stride there.
    let fits = kernel.iter().zip(&spatial).all(|(k, n)| 2 * k - 1 <= *n);
    if with_dilations && fits && padding != 1 && d.chance(3) {
        let dilations = d.extents(axes, 1, 2);
        d.list("dilations", &dilations);
    }
    if version >= if op == "LpPool" { 18 } else { 10 } && d.chance(2) {
        d.attribute("ceil_mode", 1);
    }
    match op {
        "MaxPool" => {
            if d.chance(2) {
                d.outputs(&[true, true]);
                d.maybe(2, "storage_order", 1);
            }
        }
        "AveragePool" => d.maybe(2, "count_include_pad", 1),
        _ => {
            let p = d.pick(&[1, 2, 3]);
            d.maybe(2, "p", p);
        }
    }
    d.case(op, version)
}

fn global(mut d: Draw) -> Case {
    let axes = 1 + d.below(3);
    let spatial = d.extents(axes, 1, 5);
    let x = [&[1 + d.below(2), 1 + d.below(3)][..], &spatial].concat();
    let elem = d.pick(FLOATS);
    d.floats(elem, &x, 2.0);
    let op = d.pick(&["GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"]);
    if op == "GlobalLpPool" {
        let p = d.pick(&[1, 2, 3]);
        d.maybe(2, "p", p);
    }
    let version = d.pick(&[7, 22]);
    d.case(op, version)
}

fn unpool(mut d: Draw) -> Case {
    let axes = 1 + d.below(3);
    let kernel = d.extents(axes, 1, 3);
    let strides: Vec<usize> = kernel.clone();
    let spatial = d.extents(axes, 1, 3);
    let x = [&[1 + d.below(2), 1 + d.below(2)][..], &spatial].concat();
    let full: Vec<usize> = (0..axes).map(|i| (spatial[i] - 1) * strides[i] + kernel[i]).collect();
    let total: usize = full.iter().product::<usize>() * x[0] * x[1];
    d.floats(ElemType::FLOAT, &x, 2.0);
    // Each place once.
    let count: usize = x.iter().product();
    let first = d.below(total);
    let numbers: Vec<i64> = (0..count).map(|i| ((first + i) % total) as i64).collect();
    d.tensor(super::case::integers(ElemType::INT64, &x, &numbers));
    d.list("kernel_shape", &kernel);
    d.list("strides", &strides);
    // With a shape of the output, ONNX Runtime takes indices as ones into it, and not into the shape that the window gives.
    let version = d.pick(&[9, 11, 22]);
    d.case("MaxUnpool", version)
}
