//! ConvTranspose: each element of the input spreads a weighted kernel over the output.
//!
//! The products with all weights are those of matrices, for some taps of some channels at a time; each row of them is moved to
//! where its tap belongs and added there.

use super::real::Real;
use super::window::{dilations, long, longs, output_padding, pads, strides};
use super::{Call, Row};
use crate::budget::spend;
use crate::failure::{Failure, fail};
use crate::list::{List, filled};
use crate::tensor::{Tensor, advance, count_of};
use crate::value::Value;
use onnx_ir::ElemType;

pub(super) const ROWS: &[Row] = &[("", "ConvTranspose", conv_transpose)];

/// Where elements of one spatial axis go.
struct Axis {
    from: usize,
    to: usize,
    kernel: usize,
    stride: i64,
    dilation: i64,
    /// What is cut off at the start.
    pad: i64,
}

impl Axis {
    /// Which elements of the input a tap of the kernel moves into the output, and where the first one goes.
    fn span(&self, tap: usize) -> Option<(std::ops::Range<usize>, usize)> {
        let long = |n: usize| i64::try_from(n).ok();
        let shift = long(tap)? * self.dilation - self.pad;
        // From the first element at or behind 0 to the last one before the end.
        let first = (-shift).max(0).div_euclid(self.stride);
        let first = if first * self.stride + shift < 0 { first + 1 } else { first };
        let end =
            (long(self.to)? - shift + self.stride - 1).div_euclid(self.stride).clamp(0, long(self.from)?);
        let start = usize::try_from(first * self.stride + shift).ok()?;
        (first < end).then_some((usize::try_from(first).ok()?..usize::try_from(end).ok()?, start))
    }
}

/// The spatial axes, by the attributes.
fn axes(call: &Call<'_>, from: &[usize], kernel: &[usize]) -> Result<Vec<Axis>, Failure> {
    let rank = from.len();
    let (strides, dilations) = (strides(call, rank)?, dilations(call, rank)?);
    let (padding, pads) = (output_padding(call, rank)?, pads(call, rank)?);
    let asked = call.attrs.ints("output_shape").filter(|shape| !shape.is_empty());
    if asked.as_ref().is_some_and(|shape| shape.len() != rank) {
        fail!("attribute `output_shape` has to have {rank} numbers");
    }
    let auto_pad = call.attrs.string("auto_pad").unwrap_or_default();
    let (is_same, more_behind) = match auto_pad.as_str() {
        "SAME_UPPER" => (true, true),
        "SAME_LOWER" => (true, false),
        "" | "NOTSET" | "VALID" => (false, false),
        other => fail!("there is no padding `{other}`"),
    };
    let mut axes = Vec::with_capacity(rank);
    let kernels = longs(kernel)?;
    for (axis, extent) in longs(from)?.into_iter().enumerate() {
        let full = strides[axis] * (extent - 1) + padding[axis] + (kernels[axis] - 1) * dilations[axis] + 1;
        let asked = asked.as_ref().map(|shape| shape[axis]);
        let (to, pad) = match asked.or(is_same.then_some(full.min(extent * strides[axis]))) {
            // What is asked for decides what is cut off; where nothing is, the end is filled up.
            Some(to) => {
                let cut = full.saturating_sub(to).max(0);
                let half = cut / 2;
                (to, if more_behind { half } else { cut - half })
            }
            None if auto_pad == "VALID" => (full, 0),
            None => (full - pads[axis].0 - pads[axis].1, pads[axis].0),
        };
        let Ok(to) = usize::try_from(to) else { fail!("an axis would have {to} elements") };
        long(to)?;
        axes.push(Axis {
            from: from[axis],
            to,
            kernel: kernel[axis],
            stride: strides[axis],
            dilation: dilations[axis],
            pad,
        });
    }
    Ok(axes)
}

fn conv_transpose(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (x, w) = (call.tensor(0)?, call.tensor(1)?);
    let ([n, c, from @ ..], [wc, per_group, kernel @ ..]) = (x.dims(), w.dims()) else {
        fail!("images of shape {:?} and weights of shape {:?} do not fit", x.dims(), w.dims())
    };
    let (n, c) = (*n, *c);
    let group = usize::try_from(call.attrs.int("group").unwrap_or(1)).unwrap_or(0);
    if group == 0 || !c.is_multiple_of(group) || *wc != c || from.len() != kernel.len() {
        fail!(
            "images of shape {:?} and weights of shape {:?} in {group} groups do not fit",
            x.dims(),
            w.dims()
        );
    }
    let axes = axes(call, from, kernel)?;
    let channels = count_of(&[*per_group, group])?;
    if let Some(b) = call.optional_tensor(2)?
        && b.dims() != [channels]
    {
        fail!("a bias of shape {:?} does not fit {channels} channels", b.dims());
    }
    let mut dims = vec![n, channels];
    dims.extend(axes.iter().map(|axis| axis.to));
    call.has_room(x.elem(), &dims)?;
    let y = match x.elem() {
        ElemType::DOUBLE => convolved::<f64>(call, &axes, group, &dims)?,
        _ => convolved::<f32>(call, &axes, group, &dims)?,
    };
    Ok(vec![y.into()])
}

/// How many products with weights are there at a time, about.
const AT_ONCE: usize = 1 << 18;

fn convolved<T: Real>(
    call: &Call<'_>,
    axes: &[Axis],
    group: usize,
    dims: &[usize],
) -> Result<Tensor, Failure> {
    let (x, w) = (call.tensor(0)?, call.tensor(1)?);
    let (n, channels, count) = (dims[0], dims[1], count_of(dims)?);
    let mut y = filled(count, T::of(0.0))?;
    if count == 0 {
        return T::tensor(x.elem(), dims, &y);
    }
    let plane = count / (n * channels);
    if let Some(bias) = call.optional_tensor(2)? {
        let bias = T::numbers(bias)?;
        y.chunks_exact_mut(plane).enumerate().for_each(|(i, y)| y.fill(bias[i % channels]));
    }
    if x.is_empty() || w.is_empty() {
        return T::tensor(x.elem(), dims, &y);
    }
    let steps = x.dims()[1] / group;
    let rows = call.kept(&[1], || rows_of(&T::numbers(w)?, group, steps))?;
    let taps = rows.len() / (steps * channels);
    let xs = T::numbers(x)?;
    let from = xs.len() / (n * group * steps);
    let in_group = channels / group;
    let at_once = (AT_ONCE / from).clamp(1, in_group * taps);
    let mut products = filled(at_once.saturating_mul(from), T::of(0.0))?;
    let parts = xs.chunks_exact(steps * from).zip(y.chunks_exact_mut(in_group * plane));
    for (i, (x, y)) in parts.enumerate() {
        let matrix = T::matrix_of_rows(x, from)?;
        let rows = &rows[i % group * in_group * taps * steps..][..in_group * taps * steps];
        let mut first = 0;
        for rows in rows.chunks(at_once * steps) {
            spend(rows.len().saturating_mul(from))?;
            let products = &mut products[..rows.len() / steps * from];
            products.fill(T::of(0.0));
            T::add_products(&matrix, rows, products)?;
            for products in products.chunks_exact(from) {
                spread(products, &mut y[first / taps * plane..][..plane], axes, first % taps);
                first += 1;
            }
        }
    }
    T::tensor(x.elem(), dims, &y)
}

/// The weights that each tap of each channel of the result has for the channels of the input.
fn rows_of<T: Real>(w: &[T], group: usize, steps: usize) -> Result<List<T>, Failure> {
    let mut rows = List::with_room(w.len())?;
    let each = w.len() / (group * steps);
    for w in w.chunks_exact(steps * each) {
        (0..each).try_for_each(|at| rows.extend(w.iter().skip(at).step_by(each).copied()))?;
    }
    Ok(rows)
}

/// Adds a plane, moved by one tap of the kernel, to another.
fn spread<T: Real>(x: &[T], y: &mut [T], axes: &[Axis], mut tap: usize) {
    let mut spans = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        let Some(span) = axis.span(tap % axis.kernel) else { return };
        tap /= axis.kernel;
        spans.push(span);
    }
    spans.reverse();
    let step = |axis: &Axis| usize::try_from(axis.stride).unwrap_or(1);
    // All axes but the last, element by element; the last one in a row.
    let (rows, last) = match (axes.split_last(), spans.split_last()) {
        (Some((last, rows)), Some((span, _))) => (rows, Some((last, span))),
        _ => (&axes[..0], None),
    };
    let counts: Vec<usize> = spans[..rows.len()].iter().map(|(range, _)| range.len()).collect();
    let mut index = vec![0; rows.len()];
    loop {
        let (mut from, mut to) = (0, 0);
        for ((axis, (range, start)), i) in rows.iter().zip(&spans).zip(&index) {
            from = from * axis.from + range.start + i;
            to = to * axis.to + start + i * step(axis);
        }
        let (x, to, stride) = match last {
            Some((axis, (range, start))) => {
                (&x[from * axis.from..][range.clone()], to * axis.to + start, step(axis))
            }
            None => (x, 0, 1),
        };
        y[to..].iter_mut().step_by(stride).zip(x).for_each(|(y, x)| *y = *y + *x);
        if !advance(&mut index, &counts) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tap_moves_the_elements_that_stay_inside() {
        let axis = Axis { from: 3, to: 4, kernel: 3, stride: 2, dilation: 1, pad: 1 };
        // Elements go to -1, 1, 3; to 0, 2, 4; to 1, 3, 5.
        assert_eq!(axis.span(0), Some((1..3, 1)));
        assert_eq!(axis.span(1), Some((0..2, 0)));
        assert_eq!(axis.span(2), Some((0..2, 1)));
        let cut = Axis { pad: 10, ..axis };
        assert_eq!(cut.span(0), None);
    }
}
