//! Derivatives of pooling.

pub(super) mod regions;

use crate::derivative::window::{Window, extents, joined, spatial};
use crate::derivative::{Cell, Done, add_at};
use crate::operators::reduce::gradient::{extreme_from, spread};
use onnx_ir::ElemType;

/// The maximum over all axes but the first two.
pub(super) fn global_max(cell: &mut Cell<'_>) -> Done {
    extreme_from(cell, 2)
}

/// The mean over all axes but the first two.
pub(super) fn global_mean(cell: &mut Cell<'_>) -> Done {
    let axes: Vec<i64> = (2..cell.rank(0)?).collect();
    let ones = cell.zeros(0)?;
    let one = cell.number(1.0, 0);
    let ones = cell.op("Add", &[&ones, &one]);
    let count = cell.sum(&ones, &axes, true);
    let share = cell.op("Div", &["dy0", &count]);
    spread(cell, &share);
    Ok(())
}

/// Images of one channel each, `[N*C, 1, …]`.
fn planes(cell: &mut Cell<'_>, name: &str, sizes: &[String]) -> String {
    let head = cell.list(&[-1, 1]);
    let mut shape = vec![head.as_str()];
    shape.extend(sizes.iter().map(String::as_str));
    let shape = cell.op_with("Concat", "axis = 0", &shape);
    cell.op("Reshape", &[name, &shape])
}

struct Pool {
    window: Window,
    sizes: Vec<String>,
    ones: String,
    elem: ElemType,
}

fn pool(cell: &mut Cell<'_>) -> Result<Pool, String> {
    let (image, places) = (spatial(cell.shape(0)), spatial(cell.result_shape(0)));
    let kernel = cell.site.ints("kernel_shape").ok_or("its kernel is unknown")?;
    let window = Window::read(cell, kernel, image, places)?;
    let sizes = extents(cell, "x0", window.image.as_ref(), window.kernel.len());
    let elem = cell.elem(0)?;
    let shape: Vec<i64> = [1, 1].into_iter().chain(window.kernel.iter().copied()).collect();
    let shape = cell.list(&shape);
    let ones = cell.filled(&shape, 1, elem);
    Ok(Pool { window, sizes, ones, elem })
}

impl Pool {
    /// The gradient of each window at all its elements.
    fn back(&self, cell: &mut Cell<'_>, gradient: &str) -> String {
        let places = extents(cell, "dy0", self.window.places.as_ref(), self.window.kernel.len());
        let gradient = planes(cell, gradient, &places);
        self.back_planes(cell, &gradient)
    }

    fn back_planes(&self, cell: &mut Cell<'_>, gradient: &str) -> String {
        let back = self.window.back(cell, gradient, &self.ones, 1, &self.sizes);
        cell.reshape_like(&back, 0)
    }
}

/// Each element receives a share of the gradients of its windows. A share is one over the number of elements, including padding
/// if that counts.
pub(super) fn average_pool(cell: &mut Cell<'_>) -> Done {
    let pool = pool(cell)?;
    let window = &pool.window;
    let counts_border = cell.site.int("count_include_pad").unwrap_or(0) != 0;
    let is_ceil = cell.site.int("ceil_mode").unwrap_or(0) != 0;
    let has_border = window.begin.iter().chain(&window.end).any(|pad| *pad != 0);
    let count = window.kernel.len();
    if !is_ceil && (counts_border || !has_border) {
        let elements: i64 = window.kernel.iter().product();
        let elements = cell.number(elements as f64, 0);
        let share = cell.op("Div", &["dy0", &elements]);
        let back = pool.back(cell, &share);
        cell.give(0, back);
        return Ok(());
    }
    let head = cell.list(&[1, 1]);
    let mut shape = vec![head.clone()];
    let mut pads: Vec<i64> = window.begin.iter().chain(&window.end).copied().collect();
    for (axis, size) in pool.sizes.iter().enumerate() {
        let more = cell.list(&[window.begin[axis] + window.end[axis]]);
        shape.push(if counts_border { cell.op("Add", &[size, &more]) } else { size.clone() });
    }
    if counts_border {
        pads = vec![0; 2 * count];
    }
    if is_ceil {
        if window.places.is_none() {
            return Err("`ceil_mode` needs known shapes".to_owned());
        }
        // The last window may exceed the padding.
        (0..count).for_each(|axis| pads[count + axis] += window.strides[axis] - 1);
    }
    let shape: Vec<&str> = shape.iter().map(String::as_str).collect();
    let shape = cell.op_with("Concat", "axis = 0", &shape);
    let all = cell.filled(&shape, 1, pool.elem);
    let attrs = format!(
        "dilations = {}, pads = {}, strides = {}",
        joined(window.dilations.clone()),
        joined(pads),
        joined(window.strides.clone())
    );
    let mut counts = cell.op_with("Conv", &attrs, &[&all, &pool.ones]);
    if let (true, Some(places)) = (is_ceil, &window.places) {
        let (starts, ends) = (cell.list(&vec![0; count]), cell.list(places));
        let axes: Vec<i64> = (2..).take(count).collect();
        let axes = cell.list(&axes);
        counts = cell.op("Slice", &[&counts, &starts, &ends, &axes]);
    }
    let places = extents(cell, "dy0", window.places.as_ref(), count);
    let gradient = planes(cell, "dy0", &places);
    let share = cell.op("Div", &[&gradient, &counts]);
    let back = pool.back_planes(cell, &share);
    cell.give(0, back);
    Ok(())
}

/// `y = (sum |x|^p)^(1/p)`, whose slope is `sign(x) |x|^(p-1) y^(1-p)`; zero where the result is zero.
pub(super) fn lp_pool(cell: &mut Cell<'_>) -> Done {
    let pool = pool(cell)?;
    let scaled = lp_share(cell)?;
    let sums = pool.back(cell, &scaled);
    lp_parts(cell, &sums)
}

pub(super) fn global_lp_pool(cell: &mut Cell<'_>) -> Done {
    let scaled = lp_share(cell)?;
    lp_parts(cell, &scaled)
}

fn lp_share(cell: &mut Cell<'_>) -> Result<String, String> {
    let p = cell.site.int("p").unwrap_or(2);
    let (zero, one) = (cell.number(0.0, 0), cell.number(1.0, 0));
    let is_zero = cell.op("Equal", &["y0", &zero]);
    let length = cell.op("Where", &[&is_zero, &one, "y0"]);
    let exponent = cell.number((1 - p) as f64, 0);
    let slope = cell.op("Pow", &[&length, &exponent]);
    Ok(cell.op("Mul", &["dy0", &slope]))
}

fn lp_parts(cell: &mut Cell<'_>, sums: &str) -> Done {
    let p = cell.site.int("p").unwrap_or(2);
    let slope = if p == 2 {
        "x0".to_owned()
    } else {
        let (sign, magnitude) = (cell.op("Sign", &["x0"]), cell.op("Abs", &["x0"]));
        let exponent = cell.number((p - 1) as f64, 0);
        let power = cell.op("Pow", &[&magnitude, &exponent]);
        cell.op("Mul", &[&sign, &power])
    };
    let part = cell.op("Mul", &[&slope, sums]);
    cell.give(0, part);
    Ok(())
}

/// The indices of the maxima, which the operator returns.
pub(super) fn max_pool(cell: &mut Cell<'_>) -> Done {
    cell.need(16)?;
    let attrs = cell.copied(&["auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"]);
    cell.line(format_args!("greatest, places = MaxPool <{attrs}> (x0)"));
    let back = add_at(cell, "places")?;
    cell.give(0, back);
    Ok(())
}
