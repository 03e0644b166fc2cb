//! Derivatives of `Resize` and `GridSample`.

use crate::derivative::sample::{Axis, Padding, component, sampled};
use crate::derivative::{Cell, Done, numbers};
use onnx_ir::ElemType;

/// Resizing is linear along each axis: resizing a unit matrix yields the weights.
pub(super) fn resize(cell: &mut Cell<'_>) -> Done {
    cell.need(13)?;
    let (from, to) = (cell.extents(0), cell.result_shape(0).and_then(numbers));
    let (Some(from), Some(to)) = (from, to) else {
        return Err("the shapes before and behind have to be known".to_owned());
    };
    if cell.has(1)
        && cell.site.string("coordinate_transformation_mode").as_deref() == Some("tf_crop_and_resize")
    {
        return Err("it crops".to_owned());
    }
    let rank = cell.rank(0)?;
    let elem = cell.elem(0)?;
    let given_axes = cell.site.ints("axes");
    let scales = cell.known_floats(2);
    let mut gradient = "dy0".to_owned();
    for (axis, (n, m)) in (0i64..).zip(from.iter().zip(&to)) {
        let at = match &given_axes {
            None => Some(usize::try_from(axis).unwrap_or(0)),
            Some(axes) => axes.iter().position(|a| *a == axis || *a + rank == axis),
        };
        let scale = at.and_then(|at| scales.as_ref()?.get(at).copied());
        if at.is_none() || n == m && scale.is_none_or(|scale| scale == 1.0) {
            continue;
        }
        let weights = weights(cell, (*n, *m), scale, elem);
        // The axis is moved to the end, multiplied with the weights (from m to n), and moved back.
        let mut perm: Vec<i64> = (0..rank).filter(|a| *a != axis).collect();
        perm.push(axis);
        let last = cell.permute(&gradient, &perm);
        let sums = cell.op("MatMul", &[&last, &weights]);
        let mut back: Vec<i64> = (0..rank - 1).collect();
        back.insert(usize::try_from(axis).unwrap_or(0), rank - 1);
        gradient = cell.permute(&sums, &back);
    }
    cell.give(0, gradient);
    Ok(())
}

/// The weights of an axis: a row for each of `m` results, a column for each of `n` elements.
fn weights(cell: &mut Cell<'_>, (n, m): (i64, i64), scale: Option<f64>, elem: ElemType) -> String {
    let shape = cell.list(&[n, n]);
    let zeros = cell.filled(&shape, 0, ElemType::FLOAT);
    let unit = cell.op("EyeLike", &[&zeros]);
    let attrs = cell.copied(&[
        "antialias",
        "coordinate_transformation_mode",
        "cubic_coeff_a",
        "exclude_outside",
        "mode",
        "nearest_mode",
    ]);
    let rows = match scale {
        Some(scale) => {
            let scales = format!("value = float[2] {{{:?}, 1.0}}", scale as f32);
            let scales = cell.op_with("Constant", &scales, &[]);
            cell.op_with("Resize", &attrs, &[&unit, "", &scales])
        }
        None => {
            let sizes = cell.list(&[m, n]);
            cell.op_with("Resize", &attrs, &[&unit, "", "", &sizes])
        }
    };
    match elem {
        ElemType::FLOAT => rows,
        _ => cell.op_with("Cast", &format!("to = {}", elem.0), &[&rows]),
    }
}

pub(super) fn grid_sample(cell: &mut Cell<'_>) -> Done {
    cell.need(16)?;
    let rank = cell.rank(0)?;
    let align = cell.site.int("align_corners").unwrap_or(0) != 0;
    let mode = cell.site.string("mode").unwrap_or_else(|| "linear".to_owned());
    let padding = match cell.site.string("padding_mode").as_deref() {
        None | Some("zeros") => Padding::Zeros,
        Some("border") => Padding::Border,
        Some("reflection") => Padding::Reflection,
        Some(other) => return Err(format!("its padding is `{other}`")),
    };
    let images = cell.reshape("x0", &[0, 0, -1]);
    let count = rank - 2;
    let places = cell.reshape("x1", &[0, -1, count]);
    let (zero, one) = (cell.number(0.0, 1), cell.number(1.0, 1));
    let half = cell.number(0.5, 1);
    let (mut axes, mut taps) = (Vec::new(), Vec::new());
    for i in 0..count {
        let size = cell.extent(0, i + 2);
        let mut axis = Axis::new(cell, size, 1, padding)?;
        // From -1 to 1: the centers of the first and last pixels, or their outer edges. The last coordinate is for the first axis.
        let unit = component(cell, &places, count - 1 - i, 2);
        let unit = cell.op("Add", &[&unit, &one]);
        let unit = cell.op("Mul", &[&unit, &half]);
        let mut at = if align {
            cell.op("Mul", &[&unit, &axis.last])
        } else {
            let size = cell.op("Add", &[&axis.last, &one]);
            let scaled = cell.op("Mul", &[&unit, &size]);
            cell.op("Sub", &[&scaled, &half])
        };
        if padding == Padding::Reflection {
            // An axis of one pixel has no distance between its centers.
            let least = cell.number(1e-6, 1);
            axis.borders = Some(match align {
                true => (zero.clone(), cell.op("Max", &[&axis.last, &least])),
                false => (cell.op("Neg", &[&half]), cell.op("Add", &[&axis.last, &one])),
            });
        }
        if mode == "nearest" {
            at = cell.op("Round", &[&at]);
        }
        at = match padding {
            Padding::Zeros => at,
            Padding::Border => {
                let at = cell.op("Min", &[&at, &axis.last]);
                cell.op("Max", &[&at, &zero])
            }
            Padding::Reflection => axis.reflected(cell, &at),
        };
        taps.push(match &*mode {
            "nearest" => vec![axis.tap(cell, &at, None)?],
            "linear" | "bilinear" => axis.linear(cell, &at)?,
            "cubic" | "bicubic" => axis.cubic(cell, &at)?,
            other => return Err(format!("its mode is `{other}`")),
        });
        axes.push(axis);
    }
    let sum = sampled(cell, &images, &axes, &taps, "Add")?;
    let head = cell.op_with("Shape", "start = 0, end = 2", &["x0"]);
    let tail = cell.op_with("Shape", "start = 1, end = -1", &["x1"]);
    let shape = cell.op_with("Concat", "axis = 0", &[&head, &tail]);
    cell.line(format_args!("y0 = Reshape ({sum}, {shape})"));
    Ok(())
}
