//! Derivatives of pooling over regions of interest.

use crate::derivative::sample::{Axis, Padding, component, sampled, steps};
use crate::derivative::{Cell, Done, least};
use onnx_ir::ElemType;
use onnx_ir::diag::counted;

/// The samples of regions on an axis.
struct Samples {
    /// The places of all samples, `[regions, elements * samples]`.
    places: String,
    /// The number of samples of an element, as a list of one integer.
    count: String,
    /// The numbers of samples of each region, which may have fewer, `[regions, 1]`, and the numbers of the samples,
    /// `[elements * samples]`.
    own: Option<(String, String)>,
}

impl Samples {
    /// A fixed number of samples, or about one for each pixel if `ratio` is not positive. `out` is the number of elements.
    fn of(cell: &mut Cell<'_>, ratio: i64, out: i64, start: &str, length: &str) -> Result<Samples, String> {
        if ratio > 0 {
            let all = out.checked_mul(ratio).ok_or("its result is too large")?;
            let count = cell.list(&[all]);
            let parts = steps(cell, &count, 0.5, 0)?;
            let all = cell.number(all as f64, 0);
            let parts = cell.op("Div", &[&parts, &all]);
            let offset = cell.op("Mul", &[length, &parts]);
            let places = cell.op("Add", &[start, &offset]);
            return Ok(Samples { places, count: cell.list(&[ratio]), own: None });
        }
        let (zero, one) = (cell.number(0.0, 0), cell.number(1.0, 0));
        let elements = cell.number(out as f64, 0);
        let step = cell.op("Div", &[length, &elements]);
        let own = cell.op("Ceil", &[&step]);
        let own = cell.op("Max", &[&own, &zero]);
        // The most samples that a region has.
        let column = cell.list(&[1]);
        let least = cell.op("Reshape", &[&one, &column]);
        let column = cell.reshape(&own, &[-1]);
        let most = cell.op_with("Concat", "axis = 0", &[&column, &least]);
        let most = cell.reduce("ReduceMax", &most, &[0], true);
        let count = cell.op_with("Cast", &format!("to = {}", ElemType::INT64.0), &[&most]);
        let elements = cell.list(&[out]);
        let all = cell.op("Mul", &[&elements, &count]);
        let range = steps(cell, &all, 0.0, 0)?;
        let element = cell.op("Div", &[&range, &most]);
        let element = cell.op("Floor", &[&element]);
        let before = cell.op("Mul", &[&element, &most]);
        let number = cell.op("Sub", &[&range, &before]);
        let half = cell.number(0.5, 0);
        let middle = cell.op("Add", &[&number, &half]);
        let share = cell.op("Max", &[&own, &one]);
        let part = cell.op("Div", &[&middle, &share]);
        let part = cell.op("Add", &[&element, &part]);
        let offset = cell.op("Mul", &[&part, &step]);
        let places = cell.op("Add", &[start, &offset]);
        Ok(Samples { places, count, own: Some((own, number)) })
    }
}

/// Means or maxima of samples in each element of a region. The maximum is that of the four pixels around each sample, multiplied by their
/// weights.
pub(in crate::operators) fn roi_align(cell: &mut Cell<'_>) -> Done {
    cell.need(16)?;
    let ratio = cell.site.int("sampling_ratio").unwrap_or(0);
    if ratio > 64 {
        return Err(format!("it has {} for each element", counted(ratio, "sample")));
    }
    let is_max = match cell.site.string("mode").as_deref() {
        None | Some("avg") => false,
        Some("max") => true,
        Some(other) => return Err(format!("its mode is `{other}`")),
    };
    let is_exact = cell.site.string("coordinate_transformation_mode").is_none_or(|mode| mode == "half_pixel");
    let scale = f64::from(cell.site.float("spatial_scale").unwrap_or(1.0));
    let outs = ["output_height", "output_width"].map(|name| cell.site.int(name).unwrap_or(1).max(1));
    let (zero, one, scale) = (cell.number(0.0, 0), cell.number(1.0, 0), cell.number(scale, 0));
    let (minus, shift) = (cell.number(-1.0, 0), cell.number(if is_exact { 0.5 } else { 0.0 }, 0));
    let images = cell.op_with("Gather", "axis = 0", &["x0", "x2"]);
    let images = cell.reshape(&images, &[0, 0, -1]);
    let (mut axes, mut taps, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for (i, out) in (0i64..).zip(outs) {
        let size = cell.extent(0, i + 2);
        let axis = Axis::new(cell, size, 0, Padding::Border)?;
        let bounds = [1 - i, 3 - i].map(|at| {
            let bound = component(cell, "x1", at, 1);
            let bound = cell.op("Mul", &[&bound, &scale]);
            cell.op("Sub", &[&bound, &shift])
        });
        let mut length = cell.op("Sub", &[&bounds[1], &bounds[0]]);
        if !is_exact {
            length = cell.op("Max", &[&length, &one]);
        }
        let (start, length) = (cell.unsqueeze(&bounds[0], &[1]), cell.unsqueeze(&length, &[1]));
        let samples = Samples::of(cell, ratio, out, &start, &length)?;
        let at = samples.places.clone();
        // Samples far outside are zero; those near the border are at the border.
        let end = cell.op("Add", &[&axis.last, &one]);
        let is_after = cell.op("GreaterOrEqual", &[&at, &minus]);
        let is_before = cell.op("LessOrEqual", &[&at, &end]);
        let mut is_inside = cell.op("And", &[&is_after, &is_before]);
        if let Some((own, number)) = &samples.own {
            let exists = cell.op("Less", &[number, own]);
            is_inside = cell.op("And", &[&is_inside, &exists]);
        }
        let at = cell.op("Min", &[&at, &axis.last]);
        let at = cell.op("Max", &[&at, &zero]);
        let mut own = axis.linear(cell, &at)?;
        for tap in &mut own {
            let weight = tap.weight.take().unwrap_or_else(|| one.clone());
            let weight = cell.op("Where", &[&is_inside, &weight, &zero]);
            // Rows and columns of a grid.
            let across = [2 - i];
            tap.index = cell.unsqueeze(&tap.index, &across);
            tap.weight = Some(cell.unsqueeze(&weight, &across));
        }
        taps.push(own);
        axes.push(axis);
        all.push(samples);
    }
    let values = sampled(cell, &images, &axes, &taps, if is_max { "Max" } else { "Add" })?;
    let (rows, columns) = (&all[0], &all[1]);
    let (head, width) = (cell.list(&[0, 0, outs[0]]), cell.list(&[outs[1]]));
    let shape = cell.op_with("Concat", "axis = 0", &[&head, &rows.count, &width, &columns.count]);
    let grid = cell.op("Reshape", &[&values, &shape]);
    let result = match (&rows.own, &columns.own) {
        (Some(rows), Some(columns)) => adaptive(cell, &grid, is_max, rows, columns)?,
        _ => cell.reduce(if is_max { "ReduceMax" } else { "ReduceMean" }, &grid, &[3, 5], false),
    };
    cell.line(format_args!("y0 = Identity ({result})"));
    Ok(())
}

/// The means or maxima of those samples that exist, in a grid `[regions, channels, rows, samples, columns, samples]`.
fn adaptive(
    cell: &mut Cell<'_>,
    grid: &str,
    is_max: bool,
    rows: &(String, String),
    columns: &(String, String),
) -> Result<String, String> {
    let elem = cell.elem(0)?;
    let (zero, one) = (cell.number(0.0, 0), cell.number(1.0, 0));
    let count = cell.op("Mul", &[&rows.0, &columns.0]);
    let count = cell.unsqueeze(&count, &[2, 3]);
    if !is_max {
        let sum = cell.sum(grid, &[3, 5], false);
        let count = cell.op("Max", &[&count, &one]);
        return Ok(cell.op("Div", &[&sum, &count]));
    }
    // Samples that do not exist are less than all others.
    let exist = [(rows, 2, [4, 5]), (columns, 4, [2, 3])].map(|((own, number), axis, others)| {
        let own_axes = cell.op_with("Shape", &format!("start = {axis}, end = {}", axis + 2), &[grid]);
        let exists = cell.op("Less", &[number, own]);
        let head = cell.list(&[0, 1]);
        let shape = cell.op_with("Concat", "axis = 0", &[&head, &own_axes]);
        let exists = cell.op("Reshape", &[&exists, &shape]);
        cell.unsqueeze(&exists, &others)
    });
    let exists = cell.op("And", &[&exist[0], &exist[1]]);
    let least = cell.number(least(elem), 0);
    let grid = cell.op("Where", &[&exists, grid, &least]);
    let most = cell.reduce("ReduceMax", &grid, &[3, 5], false);
    let is_empty = cell.op("LessOrEqual", &[&count, &zero]);
    Ok(cell.op("Where", &[&is_empty, &zero, &most]))
}

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
pub(in crate::operators) fn max_roi_pool(cell: &mut Cell<'_>) -> Done {
    cell.need(12)?;
    let shape = cell.site.ints("pooled_shape").unwrap_or_default();
    let &[height, width] = &*shape else { return Err("its `pooled_shape` is unknown".to_owned()) };
    let least = cell.number(least(cell.elem(0)?), 0);
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
