//! ConvTranspose: each element of the input spreads a weighted kernel over the output.

use super::window::{dilations, long, longs, output_padding, pads, strides};
use super::{Call, Row};
use crate::budget::{filled, spend};
use crate::failure::{Failure, fail};
use crate::tensor::{Tensor, advance, count_of};
use crate::value::Value;

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
        let (to, pad) = match asked.or(is_same.then_some(extent * strides[axis])) {
            // What is asked for decides what is cut off; where nothing is, the end is filled up.
            Some(to) => {
                let cut = full.saturating_sub(to);
                let cut = if is_same { cut } else { cut.max(0) };
                let half = cut.div_euclid(2);
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
    let out = count_of(&[*per_group, group])?;
    let bias = match call.optional_tensor(2)? {
        Some(b) if b.dims() == [out] => b.floats()?,
        Some(b) => fail!("a bias of shape {:?} does not fit {out} channels", b.dims()),
        None => filled(out, 0.0)?,
    };
    let mut dims = vec![n, out];
    dims.extend(axes.iter().map(|axis| axis.to));
    let count = call.has_room(x.elem(), &dims)?;
    let mut y = filled(count, 0.0)?;
    if count > 0 {
        let plane = count / (n * out);
        y.chunks_exact_mut(plane).enumerate().for_each(|(i, y)| y.fill(bias[i % out]));
        if !x.is_empty() && !w.is_empty() {
            let (xs, ws) = (x.floats()?, w.floats()?);
            let (x_plane, taps) = (xs.len() / (n * c), ws.len() / (c * per_group));
            let (in_group, out_group) = (c / group, *per_group);
            for (image, channel) in (0..n).flat_map(|image| (0..c).map(move |channel| (image, channel))) {
                let x = &xs[(image * c + channel) * x_plane..][..x_plane];
                let first = image * out + channel / in_group * out_group;
                let y = &mut y[first * plane..][..out_group * plane];
                let w = &ws[channel * out_group * taps..][..out_group * taps];
                for tap in 0..taps {
                    spend(x_plane.saturating_mul(out_group))?;
                    spread(x, y, &axes, tap, |k| w[k * taps + tap]);
                }
            }
        }
    }
    Ok(vec![Tensor::of_floats(x.elem(), &dims, &y)?.into()])
}

/// Adds a plane, moved by one tap of the kernel, to planes that weigh it differently.
fn spread(x: &[f64], y: &mut [f64], axes: &[Axis], mut tap: usize, weight: impl Fn(usize) -> f64) {
    let mut spans = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        let Some(span) = axis.span(tap % axis.kernel) else { return };
        tap /= axis.kernel;
        spans.push(span);
    }
    spans.reverse();
    let plane: usize = axes.iter().map(|axis| axis.to).product();
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
        for (k, y) in y.chunks_exact_mut(plane).enumerate() {
            let weight = weight(k);
            for (y, x) in y[to..].iter_mut().step_by(stride).zip(x) {
                *y += weight * x;
            }
        }
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
