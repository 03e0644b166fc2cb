//! Derivatives of convolutions: the gradient of the operand is a transposed convolution, and the other way around.

use super::weights::SpatialTensor;
use crate::derivative::window::{Window, extents, joined, spatial};
use crate::derivative::{Cell, Done};

fn kernel(cell: &Cell<'_>, weights: usize) -> Result<Vec<i64>, String> {
    let given = cell.site.ints("kernel_shape").filter(|kernel| !kernel.is_empty());
    given
        .or_else(|| spatial(cell.shape(weights)))
        .ok_or_else(|| "the extents of its kernel are unknown".to_owned())
}

fn group(cell: &Cell<'_>) -> i64 {
    cell.site.int("group").unwrap_or(1).max(1)
}

fn bias(cell: &mut Cell<'_>, count: usize) {
    if cell.has(2) {
        let axes: Vec<i64> = std::iter::once(0).chain((2..).take(count)).collect();
        let sum = cell.sum("dy0", &axes, false);
        cell.give(2, sum);
    }
}

pub(in crate::operators::conv) fn conv(cell: &mut Cell<'_>) -> Done {
    let (image, places) = (spatial(cell.shape(0)), spatial(cell.result_shape(0)));
    let window = Window::read(cell, kernel(cell, 1)?, image, places)?;
    let (group, count) = (group(cell), window.kernel.len());
    let sizes = extents(cell, "x0", window.image.as_ref(), count);
    let back = window.back(cell, "dy0", "x1", group, &sizes);
    cell.give(0, back);
    let channels = cell.extents(1).and_then(|all| all.get(1).copied());
    let image = SpatialTensor { name: "x0".to_owned(), extents: sizes };
    let gradient = SpatialTensor { name: "dy0".to_owned(), extents: Vec::new() };
    let weights = window.weights(cell, &image, &gradient, group, channels)?;
    cell.give(1, weights);
    bias(cell, count);
    Ok(())
}

/// The transposed case: the gradient of the operand is a convolution of the gradient.
pub(in crate::operators::conv) fn conv_transpose(cell: &mut Cell<'_>) -> Done {
    let (image, places) = (spatial(cell.result_shape(0)), spatial(cell.shape(0)));
    let window = transposed_window(cell, image, places)?;
    let (group, count) = (group(cell), window.kernel.len());
    let attrs = format!(
        "dilations = {}, group = {group}, pads = {}, strides = {}",
        joined(window.dilations.clone()),
        window.pads(),
        joined(window.strides.clone())
    );
    let back = cell.op_with("Conv", &attrs, &["dy0", "x1"]);
    cell.give(0, back);
    let channels = cell.extents(1).and_then(|all| all.get(1).copied());
    let sizes = extents(cell, "dy0", window.image.as_ref(), count);
    let image = SpatialTensor { name: "dy0".to_owned(), extents: sizes };
    let gradient = SpatialTensor { name: "x0".to_owned(), extents: Vec::new() };
    let weights = window.weights(cell, &image, &gradient, group, channels)?;
    cell.give(1, weights);
    bias(cell, count);
    Ok(())
}

/// The padding, which follows from the shape of the result if that is given.
fn transposed_window(
    cell: &Cell<'_>,
    image: Option<Vec<i64>>,
    places: Option<Vec<i64>>,
) -> Result<Window, String> {
    let auto = cell.site.string("auto_pad").unwrap_or_else(|| "NOTSET".to_owned());
    let has_shape = cell.site.ints("output_shape").is_some_and(|shape| !shape.is_empty());
    let mut window = Window::read(cell, kernel(cell, 1)?, image, places)?;
    if !has_shape && !auto.starts_with("SAME") {
        return Ok(window);
    }
    let (Some(image), Some(places)) = (window.image.clone(), window.places.clone()) else {
        return Err("its borders follow from shapes that are unknown".to_owned());
    };
    let more = cell.site.ints("output_padding").filter(|more| more.len() == window.kernel.len());
    let more = more.unwrap_or_else(|| vec![0; window.kernel.len()]);
    for axis in 0..window.kernel.len() {
        let covered = window.covered(axis, places[axis]).unwrap_or(i64::MIN);
        let total = covered.saturating_add(more[axis]).saturating_sub(image[axis]);
        if total < 0 {
            return Err("its result is larger than what its windows reach".to_owned());
        }
        let small = total / 2;
        let (begin, end) = if auto == "SAME_UPPER" { (small, total - small) } else { (total - small, small) };
        (window.begin[axis], window.end[axis]) = (begin, end);
    }
    Ok(window)
}
