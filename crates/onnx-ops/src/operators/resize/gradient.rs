//! The derivative of `Resize`.

use crate::gradient::{Cell, Done, numbers};
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
