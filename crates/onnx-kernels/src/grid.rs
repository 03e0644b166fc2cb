//! The GridSample kernel: samples an image at coordinates from data.

use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::ElemType;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::List;
use onnx_loops::tensor::{NOWHERE, Tensor, advance, count_of, strides};
use smallvec::SmallVec;

pub(crate) const ROWS: &[Row] = &[row("", "GridSample", grid_sample)];

/// The padding mode.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Padding {
    Zeros,
    Border,
    Reflection,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Nearest,
    Linear,
    Cubic,
}

/// A spatial axis of the image.
#[derive(Clone, Copy, Debug)]
struct Axis {
    extent: usize,
    align_corners: bool,
    padding: Padding,
}

impl Axis {
    /// Converts a coordinate from -1..1 to pixels; in single precision if the grid has it.
    fn place(&self, n: f64, is_single: bool) -> f64 {
        let d = self.extent as f64;
        if is_single {
            let (n, d) = (n as f32, d as f32);
            return f64::from(if self.align_corners {
                (n + 1.0) / 2.0 * (d - 1.0)
            } else {
                ((n + 1.0) * d - 1.0) / 2.0
            });
        }
        if self.align_corners { (n + 1.0) / 2.0 * (d - 1.0) } else { ((n + 1.0) * d - 1.0) / 2.0 }
    }

    /// Applies the padding mode to a coordinate.
    fn inside(&self, at: f64) -> f64 {
        let (low, high) = self.borders();
        match self.padding {
            Padding::Zeros => at,
            Padding::Border if at < low || at > high => at.max(0.0).min(self.extent as f64 - 1.0),
            Padding::Border => at,
            Padding::Reflection => self.reflected(at),
        }
    }

    fn borders(&self) -> (f64, f64) {
        let d = self.extent as f64;
        if self.align_corners { (0.0, d - 1.0) } else { (-0.5, d - 0.5) }
    }

    /// Reflects a coordinate at the borders until it is between them.
    fn reflected(&self, at: f64) -> f64 {
        let (low, high) = self.borders();
        let range = high - low;
        let (beyond, is_low) = match at {
            at if at < low => (low - at, true),
            at if at > high => (at - high, false),
            _ => return at,
        };
        if range <= 0.0 {
            return low;
        }
        let turns = (beyond / range).trunc();
        let rest = beyond - turns * range;
        // After an even number of reflections it is on the side of the border that was crossed.
        if is_low == (turns % 2.0 == 0.0) { low + rest } else { high - rest }
    }

    /// The pixel at an integer coordinate; `None` for zero padding.
    fn pixel(&self, at: f64) -> Option<usize> {
        let last = self.extent.checked_sub(1)?;
        match self.padding {
            Padding::Zeros => (at >= 0.0 && at <= last as f64).then_some(at as usize),
            // NaN selects the first pixel.
            Padding::Border => Some((at as usize).min(last)),
            Padding::Reflection => Some((self.reflected(at) as usize).min(last)),
        }
    }

    /// The pixels of an interpolation and their weights; repeated pixels are merged, so there are at most as many as the axis
    /// has. A pixel without weight does not contribute, even if it is infinite.
    fn taps(&self, at: f64, mode: Mode) -> Taps {
        let floor = at.floor();
        let part = at - floor;
        let mut taps = Taps::new();
        let mut add = |at: f64, weight: f64| {
            let Some(pixel) = self.pixel(at).filter(|_| weight != 0.0) else { return };
            match taps.iter_mut().find(|(known, _)| *known == pixel) {
                Some((_, sum)) => *sum += weight,
                None => taps.push((pixel, weight)),
            }
        };
        match mode {
            Mode::Nearest => add(at, 1.0),
            Mode::Linear => {
                add(floor, 1.0 - part);
                add(floor + 1.0, part);
            }
            Mode::Cubic => {
                for (i, weight) in cubic(part).into_iter().enumerate() {
                    add(floor + i as f64 - 1.0, weight);
                }
            }
        }
        taps
    }
}

/// Pixels with their weights.
type Taps = SmallVec<[(usize, f64); 4]>;

/// Keys, Cubic convolution interpolation for digital image processing, 1981.
fn cubic(part: f64) -> [f64; 4] {
    const A: f64 = -0.75;
    let near = |x: f64| ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
    let far = |x: f64| ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
    [far(part + 1.0), near(part), near(1.0 - part), far(2.0 - part)]
}

fn grid_sample(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (x, grid) = (call.tensor(0)?, call.tensor(1)?);
    let (&[batch, channels, ref spatial @ ..], [grids, places @ .., coordinates]) = (x.dims(), grid.dims())
    else {
        fail!("an image of shape {:?} and a grid of shape {:?} do not fit", x.dims(), grid.dims())
    };
    if *grids != batch || *coordinates != spatial.len() || places.len() != spatial.len() || spatial.is_empty()
    {
        fail!("an image of shape {:?} and a grid of shape {:?} do not fit", x.dims(), grid.dims());
    }
    let mode = match call.attrs.string("mode").as_deref() {
        None | Some("linear" | "bilinear") => Mode::Linear,
        Some("nearest") => Mode::Nearest,
        Some("cubic" | "bicubic") => Mode::Cubic,
        Some(other) => fail!("there is no mode `{other}`"),
    };
    let padding = match call.attrs.string("padding_mode").as_deref() {
        None | Some("zeros") => Padding::Zeros,
        Some("border") => Padding::Border,
        Some("reflection") => Padding::Reflection,
        Some(other) => fail!("there is no padding mode `{other}`"),
    };
    let align_corners = call.attrs.flag("align_corners");
    let axes: Vec<Axis> = spatial.iter().map(|&extent| Axis { extent, align_corners, padding }).collect();
    let mut dims = vec![batch, channels];
    dims.extend_from_slice(places);
    call.has_room(x.elem(), &dims)?;
    if count_of(&dims)? == 0 || x.is_empty() {
        return Ok(vec![Tensor::zeros(x.elem(), &dims)?.into()]);
    }
    let is_single = grid.elem() != ElemType::DOUBLE;
    let numbers = grid.floats()?;
    // The last coordinate belongs to the first axis.
    let place = |at: &[f64], i: usize| {
        let at = axes[i].place(at[axes.len() - 1 - i], is_single);
        axes[i].inside(if mode == Mode::Nearest { at.round_ties_even() } else { at })
    };
    let strides = strides(spatial);
    let plane: usize = spatial.iter().product();
    let per_image = numbers.len() / batch;
    if mode == Mode::Nearest {
        let mut positions = List::with_room(count_of(&dims)?)?;
        for image in 0..batch {
            let grid = &numbers[image * per_image..][..per_image];
            for channel in 0..channels {
                let start = (image * channels + channel) * plane;
                positions.extend(grid.chunks_exact(axes.len()).map(|at| {
                    // A reflected coordinate may be fractional again: it is truncated.
                    let pixel = |i: usize| axes[i].pixel(place(at, i).trunc()).map(|p| p * strides[i]);
                    (0..axes.len()).try_fold(start, |sum, i| Some(sum + pixel(i)?)).unwrap_or(NOWHERE)
                }))?;
            }
        }
        let zero = Tensor::zeros(x.elem(), &[1])?;
        return Ok(vec![x.picked_or(&zero, &dims, &positions)?.into()]);
    }
    let pixels = x.floats()?;
    let mut y = onnx_loops::list::filled(count_of(&dims)?, 0.0)?;
    let per_plane = per_image / axes.len();
    let mut index = vec![0; axes.len()];
    for image in 0..batch {
        let grid = &numbers[image * per_image..][..per_image];
        for (p, at) in grid.chunks_exact(axes.len()).enumerate() {
            let taps: Vec<Taps> = (0..axes.len()).map(|i| axes[i].taps(place(at, i), mode)).collect();
            let counts: Vec<usize> = taps.iter().map(|taps| taps.len()).collect();
            spend(counts.iter().fold(channels, |n, &count| n.saturating_mul(count)))?;
            if counts.contains(&0) {
                continue;
            }
            index.fill(0);
            loop {
                let (mut offset, mut weight) = (0, 1.0);
                for ((&i, taps), stride) in index.iter().zip(&taps).zip(&strides) {
                    offset += taps[i].0 * stride;
                    weight *= taps[i].1;
                }
                for channel in 0..channels {
                    let of = image * channels + channel;
                    y[of * per_plane + p] += weight * pixels[of * plane + offset];
                }
                if !advance(&mut index, &counts) {
                    break;
                }
            }
        }
    }
    Ok(vec![Tensor::of_floats(x.elem(), &dims, &y)?.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_thrown_back_between_the_borders() {
        let axis = Axis { extent: 3, align_corners: true, padding: Padding::Reflection };
        let reflected: Vec<f64> = [-1.0, -2.5, 0.5, 3.0, 5.0, 6.5].map(|at| axis.reflected(at)).to_vec();
        assert_eq!(reflected, [1.0, 1.5, 0.5, 1.0, 1.0, 1.5]);
        let one = Axis { extent: 1, ..axis };
        assert_eq!(one.pixel(7.0), Some(0));
        assert_eq!(axis.pixel(f64::NAN), Some(0));
    }
}
