//! The MaxUnpool kernel: the inverse of MaxPool.

use crate::value::Value;
use crate::window::{longs, pads, strides};
use crate::{Call, Row, row};
use onnx_ir::diag::counted;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::Listed as _;
use onnx_loops::tensor::{NOWHERE, Tensor, count_of};

pub(crate) const ROWS: &[Row] = &[row("", "MaxUnpool", max_unpool)];

/// Indices refer to the shape that the window implies; a larger requested shape is padded with zeros at the end.
fn max_unpool(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (x, indices) = (call.tensor(0)?, call.tensor(1)?);
    if x.dims() != indices.dims() {
        fail!("{:?} elements have {:?} indices", x.dims(), indices.dims());
    }
    let [n, c, spatial @ ..] = x.dims() else { fail!("the shape {:?} is not one of images", x.dims()) };
    let rank = spatial.len();
    let kernel = call.attrs.ints("kernel_shape").unwrap_or_default();
    if kernel.len() != rank || kernel.iter().any(|k| *k < 1 || *k > i64::from(i32::MAX)) {
        fail!("a kernel of shape {kernel:?} does not fit {rank} spatial axes");
    }
    let (strides, pads) = (strides(call, rank)?, pads(call, rank)?);
    let mut pooled = vec![*n, *c];
    for (axis, d) in longs(spatial)?.into_iter().enumerate() {
        let extent = (d - 1) * strides[axis] - pads[axis].0 - pads[axis].1 + kernel[axis];
        let Ok(extent) = usize::try_from(extent) else {
            fail!("an axis would have {}", counted(extent, "element"))
        };
        pooled.push(extent);
    }
    let dims = match call.optional_ints(2)? {
        None => pooled.clone(),
        Some(given) => {
            let dims: Option<Vec<usize>> = given.iter().map(|&d| usize::try_from(d).ok()).collect();
            match dims.filter(|dims| dims.len() == pooled.len()) {
                Some(dims) => dims,
                None => fail!("an output of shape {given:?} is none of rank {}", pooled.len()),
            }
        }
    };
    if pooled.iter().zip(&dims).any(|(inner, outer)| inner > outer) {
        fail!("{pooled:?} elements do not fit an output of shape {dims:?}");
    }
    let count = count_of(&pooled)?;
    let is_whole = pooled == dims;
    let place = |index: i64| {
        let mut rest = usize::try_from(index).ok().filter(|&at| at < count)?;
        if is_whole {
            return Some(rest);
        }
        let (mut place, mut stride) = (0, 1);
        for (&inner, &outer) in pooled.iter().zip(&dims).rev() {
            place += rest % inner * stride;
            rest /= inner;
            stride *= outer;
        }
        Some(place)
    };
    let y = Tensor::zeros(x.elem(), &dims)?;
    let places = indices.ints()?.into_iter().map(|i| place(i).unwrap_or(NOWHERE)).listed()?;
    if places.contains(&NOWHERE) {
        fail!("an index is out of bounds of {}", counted(count, "element"));
    }
    let y = y.with_placed(x, &places, 1)?;
    Ok(vec![y.into()])
}
