//! `GridSample`, `RoiAlign` and `DeformConv` as differentiable nodes: pixels at computed places, times weights.
//!
//! Images are `[batch, channels, pixels]`, places are `[batch, places]` for each axis. A place between pixels is a sum of neighbors
//! ("taps"), whose weights depend on the place; so images and places both have gradients.

use crate::gradient::cell::{Cell, Done};
use onnx_ir::ElemType;

/// A pixel on an axis, and its weight. A weight of `None` is one.
struct Tap {
    index: String,
    weight: Option<String>,
}

/// The pixels beyond the border of an image.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    Zeros,
    Border,
    Reflection,
}

/// An axis of an image. Numbers are those of the element type of an operand.
struct Axis {
    /// The operand with the element type of places.
    like: usize,
    /// The size as a list of one integer, and as numbers.
    size: String,
    last: String,
    padding: Padding,
    /// The smallest coordinate, and the distance to the largest one, at which places are reflected.
    borders: Option<(String, String)>,
}

impl Axis {
    fn new(cell: &mut Cell<'_>, size: String, like: usize, padding: Padding) -> Result<Axis, String> {
        let float = cell.op_with("Cast", &format!("to = {}", cell.elem(like)?.0), &[&size]);
        let one = cell.number(1.0, like);
        let last = cell.op("Sub", &[&float, &one]);
        Ok(Axis { like, size, last, padding, borders: None })
    }

    /// Reflects places until they are between the borders: a triangle wave.
    fn reflected(&self, cell: &mut Cell<'_>, at: &str) -> String {
        let Some((low, range)) = &self.borders else { return at.to_owned() };
        let two = cell.number(2.0, self.like);
        let apart = cell.op("Sub", &[at, low]);
        let apart = cell.op("Abs", &[&apart]);
        let period = cell.op("Mul", &[range, &two]);
        let rest = cell.op_with("Mod", "fmod = 1", &[&apart, &period]);
        let beyond = cell.op("Sub", &[&rest, range]);
        let beyond = cell.op("Abs", &[&beyond]);
        let inside = cell.op("Sub", &[range, &beyond]);
        cell.op("Add", &[low, &inside])
    }

    /// The pixel at a coordinate without fraction; outside, its weight is zero if there is nothing beyond the border.
    fn tap(&self, cell: &mut Cell<'_>, at: &str, weight: Option<String>) -> Result<Tap, String> {
        let (zero, one) = (cell.number(0.0, self.like), cell.number(1.0, self.like));
        let mut weight = weight;
        let mut at = at.to_owned();
        match self.padding {
            Padding::Zeros => {
                let is_after = cell.op("GreaterOrEqual", &[&at, &zero]);
                let is_before = cell.op("LessOrEqual", &[&at, &self.last]);
                let is_inside = cell.op("And", &[&is_after, &is_before]);
                weight = Some(cell.op("Where", &[&is_inside, weight.as_deref().unwrap_or(&one), &zero]));
            }
            Padding::Border => {}
            Padding::Reflection => at = self.reflected(cell, &at),
        }
        let at = cell.op("Min", &[&at, &self.last]);
        let at = cell.op("Max", &[&at, &zero]);
        let index = cell.op_with("Cast", &format!("to = {}", ElemType::INT64.0), &[&at]);
        Ok(Tap { index, weight })
    }

    /// The two neighbors of a place.
    fn linear(&self, cell: &mut Cell<'_>, at: &str) -> Result<Vec<Tap>, String> {
        let one = cell.number(1.0, self.like);
        let low = cell.op("Floor", &[at]);
        let high = cell.op("Add", &[&low, &one]);
        let part = cell.op("Sub", &[at, &low]);
        let rest = cell.op("Sub", &[&one, &part]);
        Ok(vec![self.tap(cell, &low, Some(rest))?, self.tap(cell, &high, Some(part))?])
    }

    /// The four neighbors of a place, with the weights of Keys's convolution.
    fn cubic(&self, cell: &mut Cell<'_>, at: &str) -> Result<Vec<Tap>, String> {
        const A: f64 = -0.75;
        let low = cell.op("Floor", &[at]);
        let part = cell.op("Sub", &[at, &low]);
        let mut taps = Vec::new();
        for i in -1..=2i32 {
            let shift = cell.number(f64::from(i), self.like);
            let pixel = cell.op("Add", &[&low, &shift]);
            let distance = cell.op("Sub", &[&part, &shift]);
            let distance = cell.op("Abs", &[&distance]);
            // Of neighbors: (A + 2) t³ - (A + 3) t² + 1; of others: A t³ - 5 A t² + 8 A t - 4 A.
            let powers = match i {
                0 | 1 => [A + 2.0, -(A + 3.0), 0.0, 1.0],
                _ => [A, -5.0 * A, 8.0 * A, -4.0 * A],
            };
            let mut weight = cell.number(powers[0], self.like);
            for power in &powers[1..] {
                let power = cell.number(*power, self.like);
                let product = cell.op("Mul", &[&weight, &distance]);
                weight = cell.op("Add", &[&product, &power]);
            }
            taps.push(self.tap(cell, &pixel, Some(weight))?);
        }
        Ok(taps)
    }
}

/// The sums, or another combination, of pixels of images `[batch, channels, pixels]` at the places of taps of each axis,
/// `[batch, channels, places]`.
fn sampled(
    cell: &mut Cell<'_>,
    images: &str,
    axes: &[Axis],
    taps: &[Vec<Tap>],
    combine: &str,
) -> Result<String, String> {
    let one = cell.list(&[1]);
    let channels = cell.extent_of(images, 1);
    let spread = cell.op_with("Concat", "axis = 0", &[&one, &channels, &one]);
    let elem = cell.elem(0)?;
    // Every combination of taps of the axes.
    let mut combined: Vec<(Option<String>, Option<String>)> = vec![(None, None)];
    for (axis, taps) in axes.iter().zip(taps) {
        let mut next = Vec::new();
        for (index, weight) in &combined {
            for tap in taps {
                let index = match index {
                    None => tap.index.clone(),
                    Some(before) => {
                        let row = cell.op("Mul", &[before, &axis.size]);
                        cell.op("Add", &[&row, &tap.index])
                    }
                };
                let weight = match (weight, &tap.weight) {
                    (Some(before), Some(own)) => Some(cell.op("Mul", &[before, own])),
                    (before, own) => before.clone().or(own.clone()),
                };
                next.push((Some(index), weight));
            }
        }
        combined = next;
    }
    let mut total: Option<String> = None;
    for (index, weight) in combined {
        let index = index.ok_or("its images have no axes")?;
        let flat = cell.reshape(&index, &[0, 1, -1]);
        let flat = cell.op("Expand", &[&flat, &spread]);
        let mut pixels = cell.op_with("GatherElements", "axis = 2", &[images, &flat]);
        if let Some(weight) = weight {
            let mut weight = cell.reshape(&weight, &[0, 1, -1]);
            if axes.first().is_some_and(|axis| cell.elem(axis.like).ok() != Some(elem)) {
                weight = cell.op_with("Cast", &format!("to = {}", elem.0), &[&weight]);
            }
            pixels = cell.op("Mul", &[&pixels, &weight]);
        }
        total = Some(match total {
            None => pixels,
            Some(before) => cell.op(combine, &[&before, &pixels]),
        });
    }
    total.ok_or_else(|| "its images have no axes".to_owned())
}

/// One of the numbers in the last axis, of a tensor `[a, b, numbers]` or `[a, numbers]`.
fn component(cell: &mut Cell<'_>, of: &str, i: i64, axis: i64) -> String {
    let at = cell.number_of(i as f64, ElemType::INT64);
    cell.op_with("Gather", &format!("axis = {axis}"), &[of, &at])
}

pub(crate) fn grid_sample(cell: &mut Cell<'_>) -> Done {
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

/// The numbers `0 + shift`, `1 + shift` … below `count + shift`, which is a list of one element.
fn steps(cell: &mut Cell<'_>, count: &str, shift: f64, like: usize) -> Result<String, String> {
    let scalar = cell.list(&[]);
    let end = cell.op("Reshape", &[count, &scalar]);
    let (zero, one) = (cell.number_of(0.0, ElemType::INT64), cell.number_of(1.0, ElemType::INT64));
    let range = cell.op("Range", &[&zero, &end, &one]);
    let range = cell.op_with("Cast", &format!("to = {}", cell.elem(like)?.0), &[&range]);
    let shift = cell.number(shift, like);
    Ok(cell.op("Add", &[&range, &shift]))
}

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
pub(crate) fn roi_align(cell: &mut Cell<'_>) -> Done {
    cell.need(16)?;
    let ratio = cell.site.int("sampling_ratio").unwrap_or(0);
    if ratio > 64 {
        return Err(format!("it has {ratio} samples for each element"));
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
    let least = cell.number(super::least(elem), 0);
    let grid = cell.op("Where", &[&exists, grid, &least]);
    let most = cell.reduce("ReduceMax", &grid, &[3, 5], false);
    let is_empty = cell.op("LessOrEqual", &[&count, &zero]);
    Ok(cell.op("Where", &[&is_empty, &zero, &most]))
}

/// A product of weights and pixels at shifted places.
pub(crate) fn deform_conv(cell: &mut Cell<'_>) -> Done {
    let weights =
        cell.extents(1).filter(|all| all.len() == 4).ok_or("the shape of its weights is unknown")?;
    let (filters, each, kernel) = (weights[0], weights[1], [weights[2], weights[3]]);
    let group = cell.site.int("group").unwrap_or(1).max(1);
    let offset_group = cell.site.int("offset_group").unwrap_or(1).max(1);
    let list = |name: &str, default: i64, count: usize| {
        let given = cell.site.ints(name).filter(|list| list.len() == count);
        given.unwrap_or_else(|| vec![default; count])
    };
    let (strides, dilations, pads) = (list("strides", 1, 2), list("dilations", 1, 2), list("pads", 0, 4));
    let count = kernel[0].checked_mul(kernel[1]).filter(|n| (1..=1 << 12).contains(n));
    let count = count.ok_or("its kernel is too large")?;
    let channels = each.checked_mul(group).filter(|n| n % offset_group == 0 && filters % group == 0);
    let channels = channels.ok_or("its groups do not fit its channels")?;
    let (height, width) = (cell.extent(0, 2), cell.extent(0, 3));
    let pixels = cell.op("Mul", &[&height, &width]);
    let head = cell.list(&[-1, channels / offset_group]);
    let shape = cell.op_with("Concat", "axis = 0", &[&head, &pixels]);
    let images = cell.op("Reshape", &["x0", &shape]);
    let out = [cell.extent(2, 2), cell.extent(2, 3)];
    let places = cell.op("Mul", &[&out[0], &out[1]]);
    let head = cell.list(&[-1, count, 2]);
    let shape = cell.op_with("Concat", "axis = 0", &[&head, &out[0], &out[1]]);
    let offsets = cell.op("Reshape", &["x2", &shape]);
    let (mut axes, mut taps) = (Vec::new(), Vec::new());
    for i in 0..2usize {
        let size = if i == 0 { height.clone() } else { width.clone() };
        let axis = Axis::new(cell, size, 0, Padding::Zeros)?;
        let offset = component(cell, &offsets, i64::try_from(i).unwrap_or(0), 2);
        let range = steps(cell, &out[i], 0.0, 0)?;
        let stride = cell.number(strides[i] as f64, 0);
        let starts = cell.op("Mul", &[&range, &stride]);
        let starts = cell.reshape(&starts, if i == 0 { &[-1, 1] } else { &[1, -1] });
        let inside: Vec<i64> = (0..count)
            .map(|k| if i == 0 { k / kernel[1] } else { k % kernel[1] } * dilations[i] - pads[i])
            .collect();
        let inside = cell.list(&inside);
        let inside = cell.op_with("Cast", &format!("to = {}", cell.elem(0)?.0), &[&inside]);
        let inside = cell.reshape(&inside, &[-1, 1, 1]);
        let base = cell.op("Add", &[&inside, &starts]);
        let at = cell.op("Add", &[&offset, &base]);
        taps.push(axis.linear(cell, &at)?);
        axes.push(axis);
    }
    let mut columns = sampled(cell, &images, &axes, &taps, "Add")?;
    if cell.has(4) {
        let head = cell.list(&[-1, 1]);
        let taps = cell.list(&[count]);
        let all = cell.op("Mul", &[&places, &taps]);
        let shape = cell.op_with("Concat", "axis = 0", &[&head, &all]);
        let mask = cell.op("Reshape", &["x4", &shape]);
        columns = cell.op("Mul", &[&columns, &mask]);
    }
    let rows = each.checked_mul(count).ok_or("its kernel is too large")?;
    let head = cell.list(&[-1, group, rows]);
    let shape = cell.op_with("Concat", "axis = 0", &[&head, &places]);
    let columns = cell.op("Reshape", &[&columns, &shape]);
    let matrices = cell.reshape("x1", &[group, filters / group, rows]);
    let product = cell.op("MatMul", &[&matrices, &columns]);
    let head = cell.list(&[-1, filters]);
    let shape = cell.op_with("Concat", "axis = 0", &[&head, &out[0], &out[1]]);
    let mut result = cell.op("Reshape", &[&product, &shape]);
    if cell.has(3) {
        let bias = cell.reshape("x3", &[-1, 1, 1]);
        result = cell.op("Add", &[&result, &bias]);
    }
    cell.line(format_args!("y0 = Identity ({result})"));
    Ok(())
}
