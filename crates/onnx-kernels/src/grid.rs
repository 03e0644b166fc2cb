//! The GridSample kernel: samples an image at coordinates from data.

use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::ElemType;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _};
use onnx_loops::parallel::parallel;
use onnx_loops::pool;
use onnx_loops::tensor::{NOWHERE, Tensor, count_of, strides};
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

/// The points of a block: their pixels are found once, for all channels.
const POINTS: usize = 1 << 10;
/// Fewer points are interpolated on one thread.
const MIN_PARALLEL_POINTS: usize = 1 << 14;

/// Where the points of a grid lie in images.
struct Points<'g> {
    axes: Vec<Axis>,
    mode: Mode,
    /// The coordinates of all images, and the number of them for each.
    numbers: &'g [f64],
    per_image: usize,
    /// Whether coordinates are converted in single precision.
    is_single: bool,
    /// The distance in an image of the pixels along each axis, and the number of pixels.
    strides: Vec<usize>,
    plane: usize,
    channels: usize,
}

impl Points<'_> {
    /// The points of an image, as the coordinates of each.
    fn of(&self, image: usize) -> impl ExactSizeIterator<Item = &[f64]> {
        self.numbers[image * self.per_image..][..self.per_image].chunks_exact(self.axes.len())
    }

    /// The number of points of an image.
    fn per_plane(&self) -> usize {
        self.per_image / self.axes.len()
    }

    /// The place of a point along an axis. The last coordinate belongs to the first axis.
    fn place(&self, point: &[f64], i: usize) -> f64 {
        let at = self.axes[i].place(point[self.axes.len() - 1 - i], self.is_single);
        self.axes[i].inside(if self.mode == Mode::Nearest { at.round_ties_even() } else { at })
    }

    /// The pixel nearest to a point; `None` for zero padding.
    fn nearest(&self, point: &[f64]) -> Option<usize> {
        // A reflected coordinate may be fractional again: it is truncated.
        let pixel = |i: usize| Some(self.axes[i].pixel(self.place(point, i).trunc())? * self.strides[i]);
        (0..self.axes.len()).try_fold(0, |sum, i| Some(sum + pixel(i)?))
    }

    /// Interpolates some planes of images, from one on.
    fn interpolate<X: Copy + Into<f64>>(
        &self,
        pixels: &[X],
        first: usize,
        out: &mut [f64],
    ) -> Result<(), Failure> {
        let per_plane = self.per_plane();
        let mut blend = Blend::default();
        let (mut at, mut out) = (first, out);
        while !out.is_empty() {
            let (image, channel) = (at / self.channels, at % self.channels);
            let count = (self.channels - channel).min(out.len() / per_plane);
            let (now, later) = out.split_at_mut(count * per_plane);
            let planes = &pixels[at * self.plane..][..count * self.plane];
            let mut points = self.of(image);
            for start in (0..per_plane).step_by(POINTS) {
                blend.clear();
                points.by_ref().take(POINTS).for_each(|point| blend.push(self, point));
                spend(blend.pixels.len().saturating_mul(count))?;
                for (plane, out) in planes.chunks_exact(self.plane).zip(now.chunks_exact_mut(per_plane)) {
                    blend.of(plane, &mut out[start..]);
                }
            }
            (at, out) = (at + count, later);
        }
        Ok(())
    }
}

/// The pixels that interpolate some points, and their weights.
#[derive(Default)]
struct Blend {
    pixels: Vec<(usize, f64)>,
    /// Where the pixels of each point end.
    ends: Vec<usize>,
}

impl Blend {
    fn clear(&mut self) {
        self.pixels.clear();
        self.ends.clear();
    }

    /// Adds a point: the products of the weights along the axes, the last axis first.
    fn push(&mut self, points: &Points<'_>, point: &[f64]) {
        let first = self.pixels.len();
        self.pixels.push((0, 1.0));
        for (i, (axis, stride)) in points.axes.iter().zip(&points.strides).enumerate() {
            let taps = axis.taps(points.place(point, i), points.mode);
            let before: SmallVec<[(usize, f64); 16]> = self.pixels.drain(first..).collect();
            for (offset, weight) in before {
                self.pixels.extend(taps.iter().map(|(pixel, w)| (offset + pixel * stride, weight * w)));
            }
        }
        self.ends.push(self.pixels.len());
    }

    /// The sums for a plane.
    fn of<X: Copy + Into<f64>>(&self, plane: &[X], out: &mut [f64]) {
        let mut from = 0;
        for (out, end) in out.iter_mut().zip(&self.ends) {
            let pixels = &self.pixels[from..*end];
            *out = pixels.iter().fold(0.0, |sum, (at, weight)| sum + weight * plane[*at].into());
            from = *end;
        }
    }
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
    let count = count_of(&dims)?;
    if count == 0 || x.is_empty() {
        return Ok(vec![Tensor::zeros(x.elem(), &dims)?.into()]);
    }
    let numbers = grid.floats()?;
    let points = Points {
        axes,
        mode,
        numbers: &numbers,
        per_image: numbers.len() / batch,
        is_single: grid.elem() != ElemType::DOUBLE,
        strides: strides(spatial),
        plane: spatial.iter().product(),
        channels,
    };
    if mode == Mode::Nearest {
        let mut positions = List::with_room(count)?;
        for image in 0..batch {
            let nearest = points.of(image).map(|point| points.nearest(point)).listed()?;
            for channel in 0..channels {
                let start = (image * channels + channel) * points.plane;
                positions.extend(nearest.iter().map(|pixel| pixel.map_or(NOWHERE, |pixel| start + pixel)))?;
            }
        }
        let zero = Tensor::zeros(x.elem(), &[1])?;
        return Ok(vec![x.picked_or(&zero, &dims, &positions)?.into()]);
    }
    let mut y = onnx_loops::list::filled(count, 0.0)?;
    match x.elem() {
        ElemType::FLOAT => planes(&points, x.words::<f32>(), &mut y)?,
        _ => planes(&points, &x.floats()?, &mut y)?,
    }
    Ok(vec![Tensor::of_floats(x.elem(), &dims, &y)?.into()])
}

/// Interpolates all planes on the threads of the pool.
fn planes<X: Copy + Into<f64> + Sync>(
    points: &Points<'_>,
    pixels: &[X],
    y: &mut [f64],
) -> Result<(), Failure> {
    let per_plane = points.per_plane();
    let count = y.len() / per_plane;
    let threads = if y.len() < MIN_PARALLEL_POINTS { 1 } else { pool::threads().min(count) };
    let each = count.div_ceil(threads.max(1)).max(1);
    let parts = y.chunks_mut(each * per_plane).enumerate().collect();
    parallel(parts, |(part, out): (usize, &mut [f64])| points.interpolate(pixels, part * each, out))
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
