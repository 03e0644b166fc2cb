//! Resize and Upsample.
//!
//! Interpolation is separable: one axis after the other (`along`; `axis` computes the weights), in 64-bit floats, rounded once. Images
//! that change on the last two axes only are interpolated line by line, the last axis first where there are more lines than before
//! (`planes`).
//! Nearest elements are copied for any type.

mod along;
mod axis;
mod planes;

use super::order::is_integer;
use super::real::Real;
use super::{Call, Nodes, Row, resolve_axis, row};
use crate::value::Value;
use along::{ResizeAxis, positions};
use axis::{Axis, Coordinates, Filter, Rounding};
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, filled};
use onnx_loops::parallel::parallel;
use onnx_loops::pool;
use onnx_loops::tensor::{Tensor, count_of, strides};
use planes::Planes;

pub(super) const ROWS: &[Row] = &[
    row("", "Resize", resize).only(Nodes::Unsupported),
    row("", "Upsample", resize).only(Nodes::Unsupported),
];

/// Fewer elements are interpolated on one thread.
const MIN_PARALLEL_ELEMENTS: usize = 1 << 15;

/// One scale or size for each of these axes.
enum ResizeTarget {
    Scales(List<f64>),
    Sizes(List<i64>),
}

fn resize(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let axes = axes(call, x)?;
    let old = call.op() == "Upsample" || call.since() < 11;
    let coordinates = match call.attrs.string("coordinate_transformation_mode") {
        Some(name) => Coordinates::named(&name)?,
        None if old => Coordinates::AsymmetricSingle,
        None => Coordinates::HalfPixel,
    };
    let target = target(call, x.rank())?;
    let mut all = extents(call, x.dims(), &axes, &target)?;
    for axis in &mut all {
        axis.coordinates = coordinates;
    }
    if coordinates == Coordinates::TfCropAndResize
        && let Some(roi) = call.optional_tensor(1)?.filter(|roi| !roi.is_empty())
    {
        let roi = roi.floats()?;
        if roi.len() != 2 * axes.len() {
            fail!("`roi` has {} for {}", counted(roi.len(), "number"), counted(axes.len(), "axis"));
        }
        for (i, &at) in axes.iter().enumerate() {
            all[at].roi = (roi[i], roi[axes.len() + i]);
        }
    }
    let extrapolation = f64::from(call.attrs.float("extrapolation_value").unwrap_or(0.0));
    let dims: Vec<usize> = all.iter().map(|axis| axis.to).collect();
    call.has_room(x.elem(), &dims)?;
    if count_of(&dims)? == 0 {
        return Ok(vec![Tensor::zeros(x.elem(), &dims)?.into()]);
    }
    if x.is_empty() {
        fail!("nothing of shape {:?} cannot become {dims:?}", x.dims());
    }
    let filter = match call.attrs.string("mode").as_deref() {
        None | Some("nearest") => Filter::Nearest(rounding(call, old)?),
        Some("linear" | "bilinear") => Filter::Linear,
        Some("cubic") => Filter::Cubic { a: f64::from(call.attrs.float("cubic_coeff_a").unwrap_or(-0.75)) },
        Some(other) => fail!("there is no mode `{other}`"),
    };
    let y = match filter {
        Filter::Nearest(rounding) => {
            // Before version 11, downscaling rounds up.
            let of = |axis: &Axis| if old && axis.scale < 1.0 { Rounding::Ceil } else { rounding };
            nearest(x, &all, &dims, of, extrapolation)?
        }
        Filter::Linear | Filter::Cubic { .. } => {
            let is_antialiased = call.attrs.flag("antialias");
            let exclude_outside = call.attrs.flag("exclude_outside");
            // Leading axes that do not change count images.
            let lead = all.iter().position(|axis| !axis.is_same()).unwrap_or(0);
            let changed = all[lead..].iter().enumerate().filter(|(_, axis)| !axis.is_same());
            let steps = changed.map(|(at, axis)| {
                ResizeAxis::new(at, axis, axis.weights(filter, is_antialiased, exclude_outside)?)
            });
            let steps = steps.collect::<Result<Vec<_>, Failure>>()?;
            match x.elem() {
                ElemType::FLOAT if lead + 2 >= x.rank() => planes(x, &dims, lead, &steps, extrapolation)?,
                ElemType::FLOAT => interpolated::<f32>(x, &dims, lead, &steps, extrapolation)?,
                _ => interpolated::<f64>(x, &dims, lead, &steps, extrapolation)?,
            }
        }
    };
    Ok(vec![y.into()])
}

fn rounding(call: &Call<'_>, old: bool) -> Result<Rounding, Failure> {
    match call.attrs.string("nearest_mode") {
        Some(name) => Rounding::named(&name),
        None if old => Ok(Rounding::Floor),
        None => Ok(Rounding::PreferFloor),
    }
}

/// The axes that scales and sizes belong to.
fn axes(call: &Call<'_>, x: &Tensor) -> Result<Vec<usize>, Failure> {
    let Some(given) = call.attrs.ints("axes") else { return Ok((0..x.rank()).collect()) };
    let mut axes = Vec::with_capacity(given.len());
    for axis in given {
        let axis = resolve_axis(axis, x.rank())?;
        if axes.contains(&axis) {
            fail!("axis {axis} is there twice");
        }
        axes.push(axis);
    }
    Ok(axes)
}

/// The scales or sizes, in the form of this version.
fn target(call: &Call<'_>, rank: usize) -> Result<ResizeTarget, Failure> {
    let (op, since) = (call.op(), call.since());
    if op == "Upsample" && since < 7 {
        let scale = |name| f64::from(call.attrs.float(name).unwrap_or(1.0));
        let mut scales = vec![1.0; rank.saturating_sub(2)];
        scales.extend([scale("height_scale"), scale("width_scale")]);
        return Ok(ResizeTarget::Scales(scales.into()));
    }
    if op == "Upsample" && since < 9 {
        let scales = call.attrs.floats("scales").unwrap_or_default();
        return Ok(ResizeTarget::Scales(scales.into_iter().map(f64::from).listed()?));
    }
    let is_first = op == "Upsample" || since < 11;
    let scales = if is_first { 1 } else { 2 };
    if !is_first && let Some(sizes) = call.optional_ints(3)?.filter(|sizes| !sizes.is_empty()) {
        return Ok(ResizeTarget::Sizes(sizes));
    }
    match call.optional_tensor(scales)?.filter(|scales| !scales.is_empty()) {
        Some(scales) => Ok(ResizeTarget::Scales(scales.floats()?)),
        None => fail!("neither scales nor sizes are given"),
    }
}

/// The resizing of each axis.
fn extents(
    call: &Call<'_>,
    dims: &[usize],
    axes: &[usize],
    target: &ResizeTarget,
) -> Result<Vec<Axis>, Failure> {
    let same = |&d: &usize| Axis {
        from: d,
        to: d,
        scale: 1.0,
        roi: (0.0, 1.0),
        coordinates: Coordinates::HalfPixel,
    };
    let mut all: Vec<Axis> = dims.iter().map(same).collect();
    let given = match target {
        ResizeTarget::Scales(scales) => scales.len(),
        ResizeTarget::Sizes(sizes) => sizes.len(),
    };
    if given != axes.len() {
        fail!("`scales` or `sizes` has {} for {}", counted(given, "number"), counted(axes.len(), "axis"));
    }
    match target {
        ResizeTarget::Scales(scales) => {
            for (&axis, &scale) in axes.iter().zip(scales) {
                if !(scale > 0.0 && scale.is_finite()) {
                    fail!("a scale of {scale} is none");
                }
                all[axis].scale = scale;
                all[axis].to = (dims[axis] as f64 * scale) as usize;
            }
        }
        ResizeTarget::Sizes(sizes) => {
            for (&axis, &size) in axes.iter().zip(sizes) {
                let Ok(to) = usize::try_from(size) else { fail!("a size of {size} is none") };
                all[axis].to = to;
                all[axis].scale = to as f64 / dims[axis].max(1) as f64;
            }
            let scales = axes.iter().map(|&axis| all[axis].scale);
            let kept = match call.attrs.string("keep_aspect_ratio_policy").as_deref() {
                None | Some("stretch") => None,
                Some("not_larger") => scales.reduce(f64::min),
                Some("not_smaller") => scales.reduce(f64::max),
                Some(other) => fail!("there is no policy `{other}`"),
            };
            if let Some(scale) = kept {
                for &axis in axes {
                    all[axis].scale = scale;
                    all[axis].to = (scale * dims[axis] as f64 + 0.5) as usize;
                }
            }
        }
    }
    Ok(all)
}

/// Gathers the nearest elements.
fn nearest(
    x: &Tensor,
    axes: &[Axis],
    dims: &[usize],
    rounding: impl Fn(&Axis) -> Rounding,
    extrapolation: f64,
) -> Result<Tensor, Failure> {
    let strides = strides(x.dims());
    let mut offsets = Vec::with_capacity(axes.len());
    for (axis, stride) in axes.iter().zip(strides) {
        let offset = |at: Option<usize>| at.map(|at| at * stride);
        offsets.push(axis.nearest(rounding(axis))?.changed(offset));
    }
    let filler = Tensor::of_floats(x.elem(), &[1], &[extrapolation]);
    let filler = filler.or_else(|_| Tensor::zeros(x.elem(), &[1]))?;
    x.picked_or(&filler, dims, &positions(&offsets)?)
}

/// Interpolates image by image: everything after the leading axes. `T` can hold the elements.
fn interpolated<'a, T: Real>(
    x: &Tensor,
    dims: &[usize],
    lead: usize,
    steps: impl IntoIterator<Item = &'a ResizeAxis>,
    extrapolation: f64,
) -> Result<Tensor, Failure> {
    let numbers = T::numbers(x)?;
    let steps: Vec<&ResizeAxis> = steps.into_iter().collect();
    let (from, to) = (count_of(&x.dims()[lead..])?, count_of(&dims[lead..])?);
    let mut results = filled(count_of(dims)?, T::of(0.0))?;
    let images = results.len() / to.max(1);
    let each = images.div_ceil(threads_for(results.len(), images)).max(1);
    let parts = numbers.chunks((each * from).max(1)).zip(results.chunks_mut((each * to).max(1))).collect();
    let is_integer = is_integer(x.elem());
    parallel(parts, |(numbers, results): (&[T], &mut [T])| {
        let (mut image, mut next) = (List::new(), List::new());
        let images = numbers.chunks_exact(from.max(1)).zip(results.chunks_exact_mut(to.max(1)));
        for (numbers, results) in images {
            let mut shape = x.dims()[lead..].to_vec();
            image.clear();
            image.extend(numbers.iter().map(|&x| x.into()))?;
            for step in &steps {
                step.run(&image, &mut shape, extrapolation, &mut next)?;
                std::mem::swap(&mut image, &mut next);
            }
            let results = results.iter_mut().zip(&image);
            if is_integer {
                // To the nearest one with ties to even; floats are rounded when they are stored.
                results.for_each(|(to, x)| *to = T::of(x.round_ties_even()));
            } else {
                results.for_each(|(to, x)| *to = T::of(*x));
            }
        }
        Ok(())
    })?;
    T::tensor(x.elem(), dims, &results)
}

/// The threads for images of so many elements together.
fn threads_for(elements: usize, images: usize) -> usize {
    if elements < MIN_PARALLEL_ELEMENTS { 1 } else { pool::threads().min(images).max(1) }
}

/// Interpolates images that only change on the last two axes, the leading ones of which do not.
fn planes(
    x: &Tensor,
    dims: &[usize],
    lead: usize,
    steps: &[ResizeAxis],
    extrapolation: f64,
) -> Result<Tensor, Failure> {
    let step = |axis: usize| steps.iter().find(|step| lead + step.at() == axis);
    let (last, rank) = (x.rank() - 1, x.rank());
    let size = |dims: &[usize]| [if rank > 1 { dims[rank - 2] } else { 1 }, dims[last]];
    let down = last.checked_sub(1).and_then(step);
    let planes = Planes { from: size(x.dims()), to: size(dims), down, along: step(last), extrapolation };
    let mut result = Tensor::zeros(ElemType::FLOAT, dims)?;
    planes.run(x.slice::<f32>()?, result.words_mut()?)?;
    Ok(result)
}
