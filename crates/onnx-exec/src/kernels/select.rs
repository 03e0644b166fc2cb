//! Kernels with data-dependent result sizes: NonZero, Compress.

use super::{Call, Row, resolve_axis};
use crate::budget::spend;
use crate::failure::{Failure, fail};
use crate::list::Listed as _;
use crate::tensor::Tensor;
use crate::value::Value;
use onnx_ir::ElemType;
use onnx_ops::meaning::Number;

pub(super) const ROWS: &[Row] = &[("", "Compress", compress), ("", "NonZero", non_zero)];

/// The positions of nonzero elements as columns, in row-major order.
fn non_zero(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    // All types have a zero with all bits 0, and floats also a negative zero.
    let width = x.bytes().len().checked_div(x.len()).unwrap_or(1).max(1);
    let strings = x.string_slice().ok();
    let is_zero = |i: usize| match strings {
        Some(strings) => strings[i].is_empty(),
        None => is_zero(x.elem(), &x.bytes()[i * width..][..width]),
    };
    spend(x.len())?;
    let count = (0..x.len()).filter(|&i| !is_zero(i)).count();
    let mut positions = Tensor::zeros(ElemType::INT64, &[x.rank(), count])?;
    let to = positions.words_mut::<i64>()?;
    for (column, at) in (0..x.len()).filter(|&i| !is_zero(i)).enumerate() {
        let mut rest = at;
        for (axis, &d) in x.dims().iter().enumerate().rev() {
            to[axis * count + column] = i64::try_from(rest % d).unwrap_or(i64::MAX);
            rest /= d;
        }
    }
    Ok(vec![positions.into()])
}

/// Whether the bytes of an element are a zero.
fn is_zero(elem: ElemType, bytes: &[u8]) -> bool {
    match elem {
        // Either part of a complex number may be a negative zero.
        ElemType::COMPLEX64 => bytes.chunks_exact(4).all(|part| is_zero(ElemType::FLOAT, part)),
        ElemType::COMPLEX128 => bytes.chunks_exact(8).all(|part| is_zero(ElemType::DOUBLE, part)),
        _ => {
            let mut bits = [0; size_of::<u64>()];
            bits[..bytes.len()].copy_from_slice(bytes);
            match Number::from_bits(elem, u64::from_le_bytes(bits)) {
                Some(Number::Float(x)) => x == 0.0,
                Some(Number::Int(_)) | None => bytes.iter().all(|&byte| byte == 0),
            }
        }
    }
}

/// The slices for which the condition is true; without an axis, the elements.
fn compress(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (x, condition) = (call.tensor(0)?, call.tensor(1)?.words::<u8>());
    let x = if call.attrs.has("axis") { x.clone() } else { x.reshaped(&[x.len()])? };
    let axis = resolve_axis(call.attrs.int("axis").unwrap_or(0), x.rank())?;
    let kept = (0..condition.len()).filter(|&i| condition[i] != 0).listed()?;
    let extent = x.dims()[axis];
    if let Some(outside) = kept.last().filter(|&&i| i >= extent) {
        fail!("slice {outside} is wanted of {extent}");
    }
    let inner: usize = x.dims()[axis + 1..].iter().product();
    let outer: usize = x.dims()[..axis].iter().product();
    let mut dims = x.dims().to_vec();
    dims[axis] = kept.len();
    let starts = (0..outer).flat_map(|o| kept.iter().map(move |&i| (o * extent + i) * inner));
    Ok(vec![x.picked_runs(&dims, starts, inner)?.into()])
}
