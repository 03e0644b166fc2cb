//! Region-of-interest pooling: RoiAlign, MaxRoiPool.

use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::ElemType;
use onnx_ir::diag::counted_are;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _};
use onnx_loops::tensor::Tensor;
use std::ops::Range;

pub(crate) const ROWS: &[Row] = &[row("", "MaxRoiPool", max_roi_pool), row("", "RoiAlign", roi_align)];

/// A batch of images with channels.
struct Images {
    elements: List<f64>,
    batch: usize,
    channels: usize,
    height: usize,
    width: usize,
}

impl Images {
    fn of(x: &Tensor) -> Result<Images, Failure> {
        let &[batch, channels, height, width] = x.dims() else {
            fail!("the shape {:?} is not one of images", x.dims())
        };
        Ok(Images { elements: x.floats()?, batch, channels, height, width })
    }

    fn plane(&self, image: usize, channel: usize) -> &[f64] {
        let size = self.height * self.width;
        &self.elements[(image * self.channels + channel) * size..][..size]
    }

    /// An image by an index from data.
    fn image(&self, number: i64) -> Result<usize, Failure> {
        match usize::try_from(number) {
            Ok(image) if image < self.batch => Ok(image),
            Ok(_) | Err(_) => fail!("image {number} is wanted of {}", self.batch),
        }
    }
}

/// Two sizes from an attribute.
fn extents(given: [i64; 2]) -> Result<[usize; 2], Failure> {
    match given.map(usize::try_from) {
        [Ok(h), Ok(w)] if h > 0 && w > 0 => Ok([h, w]),
        _ => fail!("regions of {given:?} elements are none"),
    }
}

/// The most samples of an element along an axis.
const MAX_SAMPLES: f64 = 65_536.0;

/// The two lines around a sample along an axis, and its distance from the first.
struct Sample {
    low: usize,
    high: usize,
    part: f64,
}

/// Rounds to single precision if the tensors have it: comparisons at half pixels depend on it.
fn rounding(x: &Tensor) -> fn(f64) -> f64 {
    if x.elem() == ElemType::DOUBLE { |x| x } else { |x| f64::from(x as f32) }
}

/// One axis of a region.
struct Side {
    start: f64,
    /// The size of one element of the result.
    step: f64,
    /// Samples per element.
    samples: usize,
    /// The size of the image.
    extent: usize,
}

impl Side {
    fn new(
        start: f64,
        end: f64,
        count: usize,
        extent: usize,
        is_exact: bool,
        ratio: i64,
        single: fn(f64) -> f64,
    ) -> Result<Side, Failure> {
        // Empty regions have one element, if pixels are points.
        let length = if is_exact { single(end - start) } else { single(end - start).max(1.0) };
        let step = single(length / count as f64);
        let samples = if ratio > 0 { ratio as f64 } else { step.ceil() };
        if samples.is_nan() || samples > MAX_SAMPLES {
            fail!("a region from {start} to {end} is too large");
        }
        // A negative size has no samples.
        Ok(Side { start, step, samples: samples as usize, extent })
    }

    /// The samples of all elements, one element after the other.
    fn all(&self, count: usize) -> Result<Samples, Failure> {
        let all = (0..count).flat_map(|element| self.samples(element)).listed()?;
        Ok(Samples { all, each: self.samples })
    }

    /// The samples of an element; `None` if they are outside the image.
    fn samples(&self, element: usize) -> impl Iterator<Item = Option<Sample>> + '_ {
        (0..self.samples).map(move |i| {
            let begin = self.start + element as f64 * self.step;
            let at = begin + (i as f64 + 0.5) * self.step / self.samples as f64;
            if !(at >= -1.0 && at <= self.extent as f64) {
                return None;
            }
            let at = at.max(0.0);
            let last = self.extent - 1;
            let low = at as usize;
            if low >= last {
                return Some(Sample { low: last, high: last, part: 0.0 });
            }
            Some(Sample { low, high: low + 1, part: at - low as f64 })
        })
    }
}

/// The samples of all elements along an axis.
struct Samples {
    all: List<Option<Sample>>,
    /// For each element.
    each: usize,
}

impl Samples {
    fn of(&self, element: usize) -> &[Option<Sample>] {
        &self.all[element * self.each..][..self.each]
    }
}

/// The mean or maximum of bilinear samples.
fn roi_align(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (x, rois, numbers) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?.ints()?);
    let images = Images::of(x)?;
    let extent = |name| call.attrs.int(name).unwrap_or(1);
    let [h, w] = extents([extent("output_height"), extent("output_width")])?;
    let is_max = match call.attrs.string("mode").as_deref() {
        None | Some("avg") => false,
        Some("max") => true,
        Some(other) => fail!("there is no mode `{other}`"),
    };
    // Version 10 has no such attribute, and pixels are points.
    let is_exact = match call.attrs.string("coordinate_transformation_mode").as_deref() {
        Some("half_pixel") => true,
        None | Some("output_half_pixel") => false,
        Some(other) => fail!("there is no coordinate transformation `{other}`"),
    };
    let offset = if is_exact { 0.5 } else { 0.0 };
    let single = rounding(x);
    let scale = f64::from(call.attrs.float("spatial_scale").unwrap_or(1.0));
    let ratio = call.attrs.int("sampling_ratio").unwrap_or(0);
    if rois.dims() != [numbers.len(), 4] {
        fail!("{} of shape {:?}", counted_are(numbers.len(), "region"), rois.dims());
    }
    let dims = [numbers.len(), images.channels, h, w];
    call.has_room(x.elem(), &dims)?;
    let mut y = List::with_room(onnx_loops::tensor::count_of(&dims)?)?;
    if x.is_empty() {
        return Ok(vec![Tensor::zeros(x.elem(), &dims)?.into()]);
    }
    for (corners, number) in rois.floats()?.as_chunks::<4>().0.iter().zip(numbers) {
        let image = images.image(number)?;
        let [x1, y1, x2, y2] = corners.map(|c| single(single(c * scale) - offset));
        let rows = Side::new(y1, y2, h, images.height, is_exact, ratio, single)?;
        let columns = Side::new(x1, x2, w, images.width, is_exact, ratio, single)?;
        let (rows, columns) = (rows.all(h)?, columns.all(w)?);
        for channel in 0..images.channels {
            let plane = Plane { pixels: images.plane(image, channel), width: images.width };
            for i in 0..h {
                spend(rows.each.saturating_mul(columns.all.len()))?;
                for j in 0..w {
                    let (rows, columns) = (rows.of(i), columns.of(j));
                    y.push(if is_max { plane.most(rows, columns) } else { plane.mean(rows, columns) })?;
                }
            }
        }
    }
    Ok(vec![Tensor::of_floats(x.elem(), &dims, &y)?.into()])
}

struct Plane<'a> {
    pixels: &'a [f64],
    width: usize,
}

/// The pixels of the two rows around a sample, and its distance from the first.
struct Pair<'a> {
    low: &'a [f64],
    high: &'a [f64],
    part: f64,
}

impl Pair<'_> {
    /// The four pixels around a sample, multiplied by their weights.
    fn weighted(&self, column: &Sample) -> [f64; 4] {
        [
            (1.0 - self.part) * (1.0 - column.part) * self.low[column.low],
            (1.0 - self.part) * column.part * self.low[column.high],
            self.part * (1.0 - column.part) * self.high[column.low],
            self.part * column.part * self.high[column.high],
        ]
    }
}

impl Plane<'_> {
    fn pair(&self, row: &Sample) -> Pair<'_> {
        let line = |row: usize| &self.pixels[row * self.width..][..self.width];
        Pair { low: line(row.low), high: line(row.high), part: row.part }
    }

    fn mean(&self, rows: &[Option<Sample>], columns: &[Option<Sample>]) -> f64 {
        let count = (rows.len() * columns.len()).max(1) as f64;
        let mut sum = 0.0;
        for row in rows.iter().flatten() {
            let row = self.pair(row);
            for column in columns.iter().flatten() {
                sum += row.weighted(column).iter().sum::<f64>();
            }
        }
        sum / count
    }

    /// The greatest of the weighted pixels, as in the reference; samples outside are 0.
    fn most(&self, rows: &[Option<Sample>], columns: &[Option<Sample>]) -> f64 {
        let mut most: Option<f64> = None;
        for row in rows {
            let row = row.as_ref().map(|row| self.pair(row));
            for column in columns {
                let sample = match (&row, column) {
                    (Some(row), Some(column)) => {
                        row.weighted(column).into_iter().fold(f64::NEG_INFINITY, f64::max)
                    }
                    (None, _) | (_, None) => 0.0,
                };
                most = Some(most.map_or(sample, |most| most.max(sample)));
            }
        }
        most.unwrap_or(0.0)
    }
}

/// The greatest pixel of each part of a region, whose corners are rounded to pixels.
fn max_roi_pool(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (x, rois) = (call.tensor(0)?, call.tensor(1)?);
    let images = Images::of(x)?;
    let [h, w] = match call.attrs.ints("pooled_shape").unwrap_or_default()[..] {
        [h, w] => extents([h, w])?,
        _ => fail!("attribute `pooled_shape` has to have two numbers"),
    };
    let &[count, 5] = rois.dims() else { fail!("the shape {:?} is not one of regions", rois.dims()) };
    let scale = f64::from(call.attrs.float("spatial_scale").unwrap_or(1.0));
    let single = rounding(x);
    let dims = [count, images.channels, h, w];
    call.has_room(x.elem(), &dims)?;
    let mut y = List::with_room(onnx_loops::tensor::count_of(&dims)?)?;
    for &[number, corners @ ..] in rois.floats()?.as_chunks::<5>().0 {
        let image = images.image(number as i64)?;
        let [x1, y1, x2, y2] = corners.map(|c| single(c * scale).round());
        let rows = (0..h).map(|i| part(y1, y2, i, h, images.height)).listed()?;
        let columns = (0..w).map(|j| part(x1, x2, j, w, images.width)).listed()?;
        for channel in 0..images.channels {
            let plane = images.plane(image, channel);
            for rows in rows.iter() {
                for columns in columns.iter() {
                    spend(rows.len() * columns.len())?;
                    // The greatest of a number and NaN is the number.
                    let mut most = if rows.is_empty() || columns.is_empty() { 0.0 } else { f64::NAN };
                    for row in rows.clone() {
                        let row = &plane[row * images.width..][..images.width][columns.clone()];
                        most = row.iter().copied().fold(most, f64::max);
                    }
                    y.push(most)?;
                }
            }
        }
    }
    Ok(vec![Tensor::of_floats(x.elem(), &dims, &y)?.into()])
}

/// The pixels of part `i` of `count` of a region, clipped to the image.
fn part(start: f64, end: f64, i: usize, count: usize, extent: usize) -> Range<usize> {
    let size = (end - start + 1.0).max(1.0) / count as f64;
    let pixel = |at: f64| (at.max(0.0) as usize).min(extent);
    let from = pixel((i as f64 * size).floor() + start);
    from..pixel(((i + 1) as f64 * size).ceil() + start).max(from)
}
