//! Derivatives of convolutions and pooling.

mod columns;

use crate::gradient::cell::{Cell, Done, numbers};
use onnx_ir::ElemType;

/// The geometry of windows on an image.
struct Window {
    kernel: Vec<i64>,
    strides: Vec<i64>,
    dilations: Vec<i64>,
    /// Padding before each axis.
    begin: Vec<i64>,
    /// Padding after each axis.
    end: Vec<i64>,
    /// The spatial sizes of the image, if known.
    image: Option<Vec<i64>>,
    /// The numbers of windows, if known.
    places: Option<Vec<i64>>,
}

fn joined(values: impl IntoIterator<Item = i64>) -> String {
    let text: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    format!("[{}]", text.join(", "))
}

impl Window {
    /// The window of a node, for this kernel size.
    fn of(
        cell: &Cell<'_>,
        kernel: Vec<i64>,
        image: Option<Vec<i64>>,
        places: Option<Vec<i64>>,
    ) -> Result<Self, String> {
        let count = kernel.len();
        let list = |name: &str, value: i64| match cell.site.ints(name) {
            Some(list) if list.len() == count => list,
            Some(_) | None => vec![value; count],
        };
        let (strides, dilations) = (list("strides", 1), list("dilations", 1));
        if strides.iter().chain(&dilations).chain(&kernel).any(|n| !(1..=1 << 20).contains(n)) {
            return Err("its window is not sound".to_owned());
        }
        let pads = match cell.site.ints("pads") {
            Some(pads) if pads.len() == 2 * count => pads,
            Some(_) | None => vec![0; 2 * count],
        };
        let (begin, end) = (pads[..count].to_vec(), pads[count..].to_vec());
        let mut window = Window { kernel, strides, dilations, begin, end, image, places };
        window.pad(cell.site.string("auto_pad").as_deref().unwrap_or("NOTSET"))?;
        Ok(window)
    }

    /// The size that a window covers on an axis.
    fn reach(&self, axis: usize) -> i64 {
        self.dilations[axis] * (self.kernel[axis] - 1) + 1
    }

    /// Resolves `auto_pad`.
    fn pad(&mut self, auto: &str) -> Done {
        if auto == "NOTSET" {
            return Ok(());
        }
        (self.begin, self.end) = (vec![0; self.kernel.len()], vec![0; self.kernel.len()]);
        if auto == "VALID" {
            return Ok(());
        }
        let (Some(image), Some(places)) = (&self.image, &self.places) else {
            return Err(format!("`auto_pad = \"{auto}\"` needs known shapes"));
        };
        for axis in 0..self.kernel.len() {
            let total = ((places[axis] - 1) * self.strides[axis] + self.reach(axis) - image[axis]).max(0);
            let small = total / 2;
            let (begin, end) =
                if auto == "SAME_LOWER" { (total - small, small) } else { (small, total - small) };
            (self.begin[axis], self.end[axis]) = (begin, end);
        }
        Ok(())
    }

    fn pads(&self) -> String {
        joined(self.begin.iter().chain(&self.end).copied())
    }

    /// The transposed sum over windows: each element receives the gradients of its windows, times the weights.
    fn back(
        &self,
        cell: &mut Cell<'_>,
        gradient: &str,
        weights: &str,
        group: i64,
        extents: &[String],
    ) -> String {
        let (strides, dilations) = (joined(self.strides.clone()), joined(self.dilations.clone()));
        let common = format!("dilations = {dilations}, group = {group}, strides = {strides}");
        if let Some(rest) = self.rest() {
            let attrs = format!("{common}, output_padding = {}, pads = {}", joined(rest), self.pads());
            return cell.op_with("ConvTranspose", &attrs, &[gradient, weights]);
        }
        // Everything that windows can cover, which includes the image.
        let more = joined(self.strides.iter().map(|stride| stride - 1));
        let attrs = format!("{common}, output_padding = {more}");
        let all = cell.op_with("ConvTranspose", &attrs, &[gradient, weights]);
        let starts = cell.list(&self.begin);
        let extents: Vec<&str> = extents.iter().map(String::as_str).collect();
        let extents = cell.op_with("Concat", "axis = 0", &extents);
        let ends = cell.op("Add", &[&starts, &extents]);
        let axes: Vec<i64> = (2..).take(self.kernel.len()).collect();
        let axes = cell.list(&axes);
        cell.op("Slice", &[&all, &starts, &ends, &axes])
    }

    /// The numbers of elements after the last window on each axis, if known and less than a stride.
    fn rest(&self) -> Option<Vec<i64>> {
        let (image, places) = (self.image.as_ref()?, self.places.as_ref()?);
        let rest = |axis: usize| {
            let covered = (places[axis] - 1) * self.strides[axis] + self.reach(axis);
            let rest = image[axis] - (covered - self.begin[axis] - self.end[axis]);
            (0..self.strides[axis]).contains(&rest).then_some(rest)
        };
        let is_plain = self.begin.iter().chain(&self.end).all(|pad| *pad >= 0);
        (0..self.kernel.len()).map(rest).collect::<Option<_>>().filter(|_| is_plain)
    }

    /// The gradient of weights `[M, C/group, …]` of a convolution from `[N, C, …]` to `[N, M, …]`: batch and channels of images
    /// and gradients are exchanged, and strides and dilations are exchanged.
    fn weights(
        &self,
        cell: &mut Cell<'_>,
        image: &Part,
        gradient: &Part,
        group: i64,
        channels: Option<i64>,
    ) -> Result<String, String> {
        let filters = cell.extents(1).and_then(|all| all.first().copied());
        if group == 1
            && let Some(sizes) = filters.zip(channels)
            && let Some(product) = self.weights_by_columns(cell, image, gradient, sizes)
        {
            return Ok(product);
        }
        let count = i64::try_from(self.kernel.len()).unwrap_or(0);
        let exchange: Vec<i64> = [1, 0].into_iter().chain(2..2 + count).collect();
        let images = match group {
            1 => cell.permute(&image.name, &exchange),
            _ => {
                let channels = channels.ok_or("the number of channels has to be known")?;
                let head = cell.list(&[0, group, channels]);
                let mut shape = vec![head.as_str()];
                shape.extend(image.extents.iter().map(String::as_str));
                let shape = cell.op_with("Concat", "axis = 0", &shape);
                let grouped = cell.op("Reshape", &[&image.name, &shape]);
                let perm: Vec<i64> = [2, 1, 0].into_iter().chain(3..3 + count).collect();
                let first = cell.permute(&grouped, &perm);
                let head = cell.list(&[channels, -1]);
                let mut shape = vec![head.as_str()];
                shape.extend(image.extents.iter().map(String::as_str));
                let shape = cell.op_with("Concat", "axis = 0", &shape);
                cell.op("Reshape", &[&first, &shape])
            }
        };
        let kernels = cell.permute(&gradient.name, &exchange);
        let attrs = format!(
            "dilations = {}, group = {group}, pads = {}, strides = {}",
            joined(self.strides.clone()),
            self.pads(),
            joined(self.dilations.clone())
        );
        let sums = cell.op_with("Conv", &attrs, &[&images, &kernels]);
        let sums = cell.permute(&sums, &exchange);
        if self.is_exact() {
            return Ok(sums);
        }
        let (starts, ends) = (cell.list(&vec![0; self.kernel.len()]), cell.list(&self.kernel));
        let axes: Vec<i64> = (2..2 + count).collect();
        let axes = cell.list(&axes);
        Ok(cell.op("Slice", &[&sums, &starts, &ends, &axes]))
    }

    /// Whether the convolution for the weights yields exactly the kernel size.
    fn is_exact(&self) -> bool {
        let exact = |axis: usize| {
            let (image, places) = (self.image.as_ref()?[axis], self.places.as_ref()?[axis]);
            let free = image + self.begin[axis] + self.end[axis] - ((places - 1) * self.strides[axis] + 1);
            Some(free / self.dilations[axis] + 1 == self.kernel[axis])
        };
        (0..self.kernel.len()).all(|axis| exact(axis).unwrap_or(false))
    }
}

/// A tensor `[batch, channels, …]` with its spatial sizes as lists of one element.
struct Part {
    name: String,
    extents: Vec<String>,
}

fn spatial(shape: Option<&crate::infer::Shape>) -> Option<Vec<i64>> {
    numbers(&shape?.iter().skip(2).copied().collect())
}

/// The spatial sizes of a tensor of the derivative.
fn extents(cell: &mut Cell<'_>, name: &str, known: Option<&Vec<i64>>, count: usize) -> Vec<String> {
    match known {
        Some(known) => known.iter().map(|n| cell.list(&[*n])).collect(),
        None => (2..).take(count).map(|axis| cell.extent_of(name, axis)).collect(),
    }
}

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

pub(crate) fn conv(cell: &mut Cell<'_>) -> Done {
    let (image, places) = (spatial(cell.shape(0)), spatial(cell.result_shape(0)));
    let window = Window::of(cell, kernel(cell, 1)?, image, places)?;
    let (group, count) = (group(cell), window.kernel.len());
    let sizes = extents(cell, "x0", window.image.as_ref(), count);
    let back = window.back(cell, "dy0", "x1", group, &sizes);
    cell.give(0, back);
    let channels = cell.extents(1).and_then(|all| all.get(1).copied());
    let image = Part { name: "x0".to_owned(), extents: sizes };
    let gradient = Part { name: "dy0".to_owned(), extents: Vec::new() };
    let weights = window.weights(cell, &image, &gradient, group, channels)?;
    cell.give(1, weights);
    bias(cell, count);
    Ok(())
}

/// The transposed case: the gradient of the operand is a convolution of the gradient.
pub(crate) fn conv_transpose(cell: &mut Cell<'_>) -> Done {
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
    let image = Part { name: "dy0".to_owned(), extents: sizes };
    let gradient = Part { name: "x0".to_owned(), extents: Vec::new() };
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
    let mut window = Window::of(cell, kernel(cell, 1)?, image, places)?;
    if !has_shape && !auto.starts_with("SAME") {
        return Ok(window);
    }
    let (Some(image), Some(places)) = (window.image.clone(), window.places.clone()) else {
        return Err("its borders follow from shapes that are unknown".to_owned());
    };
    let more = cell.site.ints("output_padding").filter(|more| more.len() == window.kernel.len());
    let more = more.unwrap_or_else(|| vec![0; window.kernel.len()]);
    for axis in 0..window.kernel.len() {
        let whole = window.strides[axis] * (places[axis] - 1) + more[axis] + window.reach(axis);
        let total = whole - image[axis];
        if total < 0 {
            return Err("its result is larger than what its windows reach".to_owned());
        }
        let small = total / 2;
        let (begin, end) = if auto == "SAME_UPPER" { (small, total - small) } else { (total - small, small) };
        (window.begin[axis], window.end[axis]) = (begin, end);
    }
    Ok(window)
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
    let window = Window::of(cell, kernel, image, places)?;
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
pub(crate) fn average_pool(cell: &mut Cell<'_>) -> Done {
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
pub(crate) fn lp_pool(cell: &mut Cell<'_>) -> Done {
    let pool = pool(cell)?;
    let scaled = lp_share(cell)?;
    let sums = pool.back(cell, &scaled);
    lp_parts(cell, &sums)
}

pub(crate) fn global_lp_pool(cell: &mut Cell<'_>) -> Done {
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
pub(crate) fn max_pool(cell: &mut Cell<'_>) -> Done {
    cell.need(16)?;
    let attrs = cell.copied(&["auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"]);
    cell.line(format_args!("greatest, places = MaxPool <{attrs}> (x0)"));
    let back = crate::gradient::add_at(cell, "places")?;
    cell.give(0, back);
    Ok(())
}
