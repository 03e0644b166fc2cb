//! The derivative of convolutions with computed places.

use crate::derivative::sample::{Axis, Padding, component, sampled, steps};
use crate::derivative::{Cell, Done};

/// `DeformConv` as differentiable nodes: a product of weights and pixels at shifted places.
pub(in crate::operators::conv) fn deform_conv(cell: &mut Cell<'_>) -> Done {
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
