//! The CropAndResize kernel.

use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::diag::{counted, counted_are};
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::List;
use onnx_loops::tensor::{Tensor, count_of};

pub(super) const ROWS: &[Row] = &[row("com.microsoft", "CropAndResize", crop_and_resize)];

/// The source coordinate of each element along an axis of a region; the first and last one are the corners.
fn places(start: f64, end: f64, count: usize, pixels: usize) -> impl Fn(usize) -> Option<f64> {
    let last = pixels as f64 - 1.0;
    let step = if count > 1 { (end - start) * last / (count as f64 - 1.0) } else { 0.0 };
    let first = if count > 1 { start * last } else { 0.5 * (start + end) * last };
    move |i| {
        let at = first + i as f64 * step;
        (at >= 0.0 && at <= last).then_some(at)
    }
}

fn crop_and_resize(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (x, rois) = (call.tensor(0)?, call.tensor(1)?);
    let (images, size) = (call.tensor(2)?.ints()?, call.tensor(3)?.ints()?);
    let (&[batch, channels, height, width], &[count, 4]) = (x.dims(), rois.dims()) else {
        fail!("images of shape {:?} and regions of shape {:?} do not fit", x.dims(), rois.dims())
    };
    let size = size.iter().map(|n| usize::try_from(*n).ok().filter(|n| *n > 0)).collect::<Option<Vec<_>>>();
    let Some(&[h, w]) = size.as_deref() else { fail!("the size of a region is two positive numbers") };
    if images.len() != count {
        fail!("{} named for {}", counted_are(images.len(), "image"), counted(count, "region"));
    }
    let is_linear = match call.attrs.string("mode").as_deref() {
        None | Some("bilinear") => true,
        Some("nearest") => false,
        Some(other) => fail!("there is no mode `{other}`"),
    };
    let outside = f64::from(call.attrs.float("extrapolation_value").unwrap_or(0.0));
    let dims = [count, channels, h, w];
    call.has_room(x.elem(), &dims)?;
    let mut y = List::with_room(count_of(&dims)?)?;
    let (pixels, rois) = (x.floats()?, rois.floats()?);
    for (&[top, left, bottom, right], image) in rois.as_chunks::<4>().0.iter().zip(images) {
        let Some(image) = usize::try_from(image).ok().filter(|image| *image < batch) else {
            fail!("image {image} is wanted of {batch}")
        };
        let (rows, columns) = (places(top, bottom, h, height), places(left, right, w, width));
        for channel in 0..channels {
            spend(h * w)?;
            let plane = &pixels[(image * channels + channel) * height * width..][..height * width];
            for (i, j) in (0..h).flat_map(|i| (0..w).map(move |j| (i, j))) {
                y.push(match (rows(i), columns(j)) {
                    (Some(row), Some(column)) if is_linear => between(plane, width, row, column),
                    (Some(row), Some(column)) => {
                        plane[row.round() as usize * width + column.round() as usize]
                    }
                    (None, _) | (_, None) => outside,
                })?;
            }
        }
    }
    Ok(vec![Tensor::of_floats(x.elem(), &dims, &y)?.into()])
}

/// Bilinear interpolation.
fn between(plane: &[f64], width: usize, row: f64, column: f64) -> f64 {
    let at = |row: f64, column: f64| plane[row as usize * width + column as usize];
    let mix = |a: f64, b: f64, part: f64| a + (b - a) * part;
    let line = |row: f64| mix(at(row, column.floor()), at(row, column.ceil()), column.fract());
    mix(line(row.floor()), line(row.ceil()), row.fract())
}
