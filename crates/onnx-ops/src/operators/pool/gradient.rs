//! `MaxRoiPool` as differentiable nodes.

use crate::gradient::cell::{Cell, Done};
use crate::gradient::rules;
use onnx_ir::ElemType;

/// A column of regions, `[regions]`.
fn column(cell: &mut Cell<'_>, i: i64) -> String {
    let at = cell.number_of(i as f64, ElemType::INT64);
    cell.op_with("Gather", "axis = 1", &["x1", &at])
}

/// The pixels of an axis of the images in each part of each region, `[regions, parts, pixels]`. Positions are double floats.
fn inside(cell: &mut Cell<'_>, axis: i64, corners: [i64; 2], count: i64) -> Result<String, String> {
    let scale = f64::from(cell.site.float("spatial_scale").unwrap_or(1.0));
    let double = |value: f64, cell: &mut Cell<'_>| cell.number_of(value, ElemType::DOUBLE);
    let to_double = format!("to = {}", ElemType::DOUBLE.0);
    // Halves are rounded away from zero.
    let (half, zero, one) = (double(0.5, cell), double(0.0, cell), double(1.0, cell));
    let ends = corners.map(|corner| {
        let corner = column(cell, corner);
        let factor = cell.number(scale, 0);
        let scaled = cell.op("Mul", &[&corner, &factor]);
        let scaled = cell.op_with("Cast", &to_double, &[&scaled]);
        let (sign, apart) = (cell.op("Sign", &[&scaled]), cell.op("Abs", &[&scaled]));
        let apart = cell.op("Add", &[&apart, &half]);
        let apart = cell.op("Floor", &[&apart]);
        let end = cell.op("Mul", &[&sign, &apart]);
        cell.unsqueeze(&end, &[1])
    });
    let length = cell.op("Sub", &[&ends[1], &ends[0]]);
    let length = cell.op("Add", &[&length, &one]);
    let length = cell.op("Max", &[&length, &one]);
    let parts = double(count as f64, cell);
    let size = cell.op("Div", &[&length, &parts]);
    let extent = cell.extent(0, axis);
    let scalar = cell.list(&[]);
    let extent = cell.op("Reshape", &[&extent, &scalar]);
    let positions = |end: &str, cell: &mut Cell<'_>| {
        let (zero, one) = (cell.number_of(0.0, ElemType::INT64), cell.number_of(1.0, ElemType::INT64));
        let range = cell.op("Range", &[&zero, end, &one]);
        cell.op_with("Cast", &to_double, &[&range])
    };
    let end = cell.number_of(count as f64, ElemType::INT64);
    let before = positions(&end, cell);
    let after = cell.op("Add", &[&before, &one]);
    let (from, to) = (cell.op("Mul", &[&size, &before]), cell.op("Mul", &[&size, &after]));
    let (from, to) = (cell.op("Floor", &[&from]), cell.op("Ceil", &[&to]));
    let [from, to] = [from, to].map(|border| {
        let border = cell.op("Add", &[&border, &ends[0]]);
        let border = cell.op("Max", &[&border, &zero]);
        cell.unsqueeze(&border, &[2])
    });
    let pixels = positions(&extent, cell);
    let is_after = cell.op("GreaterOrEqual", &[&pixels, &from]);
    let is_before = cell.op("Less", &[&pixels, &to]);
    Ok(cell.op("And", &[&is_after, &is_before]))
}

/// The greatest pixel of each part of each region: over columns first, then over rows.
pub(super) fn max_roi_pool(cell: &mut Cell<'_>) -> Done {
    cell.need(12)?;
    let shape = cell.site.ints("pooled_shape").unwrap_or_default();
    let &[height, width] = &*shape else { return Err("its `pooled_shape` is unknown".to_owned()) };
    let least = cell.number(rules::least(cell.elem(0)?), 0);
    let zero = cell.number(0.0, 0);
    let rows = inside(cell, 2, [2, 4], height)?;
    let columns = inside(cell, 3, [1, 3], width)?;
    let images = column(cell, 0);
    let images = cell.op_with("Cast", &format!("to = {}", ElemType::INT64.0), &[&images]);
    let images = cell.op_with("Gather", "axis = 0", &["x0", &images]);
    // [regions, channels, rows, parts, columns], and [regions, channels, parts, rows, parts of columns].
    let pixels = cell.unsqueeze(&images, &[3]);
    let columns = cell.unsqueeze(&columns, &[1, 2]);
    let pixels = cell.op("Where", &[&columns, &pixels, &least]);
    let most = cell.reduce("ReduceMax", &pixels, &[4], false);
    let most = cell.unsqueeze(&most, &[2]);
    let rows = cell.unsqueeze(&rows, &[1, 4]);
    let pixels = cell.op("Where", &[&rows, &most, &least]);
    let most = cell.reduce("ReduceMax", &pixels, &[3], false);
    let is_empty = cell.op("LessOrEqual", &[&most, &least]);
    cell.line(format_args!("y0 = Where ({is_empty}, {zero}, {most})"));
    Ok(())
}
