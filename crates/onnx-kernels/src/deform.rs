//! The DeformConv kernel: a convolution with offsets from data.

use crate::value::Value;
use crate::window::{dilations, long, longs, pads, positions, strides};
use crate::{Call, Row, row};
use onnx_ir::diag::counted;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, filled};
use onnx_loops::tensor::{Tensor, count_of};

pub(crate) const ROWS: &[Row] = &[row("", "DeformConv", deform_conv)];

/// A number of groups.
fn groups(call: &Call<'_>, name: &str) -> Result<usize, Failure> {
    match usize::try_from(call.attrs.int(name).unwrap_or(1)) {
        Ok(groups) if groups > 0 => Ok(groups),
        Ok(_) | Err(_) => fail!("attribute `{name}` has to be positive"),
    }
}

/// A point of an image: the four pixels around it, how far it lies below and right of the first, and its factor.
#[derive(Clone, Copy)]
struct Point {
    /// Offsets in the plane; pixels outside are the zero at its end.
    pixels: [usize; 4],
    down: f64,
    right: f64,
    weight: f64,
}

impl Point {
    fn of([h, w]: [usize; 2], y: f64, x: f64, weight: f64) -> Point {
        let (i, j) = (y.floor(), x.floor());
        let at = |i: f64, j: f64| {
            let is_inside = i >= 0.0 && j >= 0.0 && i < h as f64 && j < w as f64;
            if is_inside { i as usize * w + j as usize } else { h * w }
        };
        let pixels = [at(i, j), at(i, j + 1.0), at(i + 1.0, j), at(i + 1.0, j + 1.0)];
        Point { pixels, down: y - i, right: x - j, weight }
    }

    /// Bilinear interpolation of a plane with a zero at its end.
    fn seen(&self, plane: &[f64]) -> f64 {
        let [a, b, c, d] = self.pixels.map(|at| plane[at]);
        let (down, right) = (self.down, self.right);
        let seen = (1.0 - down) * ((1.0 - right) * a + right * b) + down * ((1.0 - right) * c + right * d);
        self.weight * seen
    }
}

fn deform_conv(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (x, w, offset) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let (&[n, c, h, width], &[oc, per_group, kh, kw], &[on, offsets, oh, ow]) =
        (x.dims(), w.dims(), offset.dims())
    else {
        fail!(
            "images of shape {:?}, weights of {:?} and offsets of {:?} do not fit",
            x.dims(),
            w.dims(),
            offset.dims()
        )
    };
    let (group, offset_group) = (groups(call, "group")?, groups(call, "offset_group")?);
    let taps = count_of(&[kh, kw])?;
    let fits = on == n
        && per_group.checked_mul(group) == Some(c)
        && oc.is_multiple_of(group)
        && c.is_multiple_of(offset_group)
        && count_of(&[2, offset_group, taps])? == offsets;
    if !fits {
        fail!(
            "images of shape {:?}, weights of {:?} in {} and offsets of {:?} in {offset_group} do not fit",
            x.dims(),
            w.dims(),
            counted(group, "group"),
            offset.dims(),
        );
    }
    let (strides, dilations, pads) = (strides(call, 2)?, dilations(call, 2)?, pads(call, 2)?);
    for (axis, (from, to)) in longs(&[h, width])?.into_iter().zip([oh, ow]).enumerate() {
        let kernel = long([kh, kw][axis])?;
        let fitting = positions(from, pads[axis], (kernel, dilations[axis]), strides[axis])?;
        if to != fitting {
            fail!("the offsets are for {}, the window has {fitting}", counted(to, "place"));
        }
    }
    let bias = match call.optional_tensor(3)? {
        Some(b) if b.dims() == [oc] => b.floats()?,
        Some(b) => fail!("a bias of shape {:?} does not fit {}", b.dims(), counted(oc, "channel")),
        None => filled(oc, 0.0)?,
    };
    let mask = match call.optional_tensor(4)? {
        Some(mask) if mask.dims() == [n, count_of(&[offset_group, taps])?, oh, ow] => Some(mask.floats()?),
        Some(mask) => fail!("a mask of shape {:?} does not fit", mask.dims()),
        None => None,
    };
    let dims = [n, oc, oh, ow];
    call.has_room(x.elem(), &dims)?;
    if x.is_empty() || w.is_empty() || count_of(&dims)? == 0 {
        let count = count_of(&dims)?;
        let mut y = filled(count, 0.0)?;
        let plane = (oh * ow).max(1);
        y.iter_mut().enumerate().for_each(|(i, y)| *y = bias[i / plane % oc.max(1)]);
        return Ok(vec![Tensor::of_floats(x.elem(), &dims, &y)?.into()]);
    }
    let (x_elem, x, w, offset) = (x.elem(), x.floats()?, w.floats()?, offset.floats()?);
    let places = oh * ow;
    let (per_offset, out_per_group) = (c / offset_group, oc / group);
    let mut y = filled(count_of(&dims)?, 0.0)?;
    // The points of a group of channels: a row of output positions for each tap. What is seen there of one channel, and its plane.
    let mut points = List::with_room(count_of(&[taps, places])?)?;
    let mut seen = filled(count_of(&[taps, places])?, 0.0)?;
    let mut plane = filled(h * width + 1, 0.0)?;
    for image in 0..n {
        for channel in 0..c {
            spend(taps.saturating_mul(places).saturating_mul(out_per_group + 1))?;
            if channel.is_multiple_of(per_offset) {
                let part = image * offset_group + channel / per_offset;
                points.clear();
                for tap in 0..taps {
                    let (ki, kj) = (tap / kw, tap % kw);
                    let shift = |axis: usize| &offset[((part * taps + tap) * 2 + axis) * places..][..places];
                    let (dy, dx) = (shift(0), shift(1));
                    points.extend((0..places).map(|p| {
                        let row = (p / ow) as f64 * strides[0] as f64 - pads[0].0 as f64;
                        let column = (p % ow) as f64 * strides[1] as f64 - pads[1].0 as f64;
                        let i = row + (ki as f64) * dilations[0] as f64 + dy[p];
                        let j = column + (kj as f64) * dilations[1] as f64 + dx[p];
                        let weight = mask.as_ref().map_or(1.0, |m| m[(part * taps + tap) * places + p]);
                        Point::of([h, width], i, j, weight)
                    }))?;
                }
            }
            plane[..h * width].copy_from_slice(&x[(image * c + channel) * h * width..][..h * width]);
            seen.iter_mut().zip(points.iter()).for_each(|(seen, point)| *seen = point.seen(&plane));
            let (g, inside) = (channel / per_group, channel % per_group);
            for out in g * out_per_group..(g + 1) * out_per_group {
                let y = &mut y[(image * oc + out) * places..][..places];
                for (tap, seen) in seen.chunks_exact(places).enumerate() {
                    let weight = w[(out * per_group + inside) * taps + tap];
                    y.iter_mut().zip(seen).for_each(|(y, seen)| *y += weight * seen);
                }
            }
        }
        for (out, y) in y[image * oc * places..][..oc * places].chunks_exact_mut(places).enumerate() {
            y.iter_mut().for_each(|y| *y += bias[out]);
        }
    }
    Ok(vec![Tensor::of_floats(x_elem, &dims, &y)?.into()])
}
