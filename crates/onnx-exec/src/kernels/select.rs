//! Kernels whose results are as large as the data says: NonZero, Compress.

use super::{Call, Row, resolve_axis};
use crate::failure::{Failure, fail};
use crate::tensor::Tensor;
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[("", "Compress", compress), ("", "NonZero", non_zero)];

/// The positions of elements that are not zero, a column each, in row-major order.
fn non_zero(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    // All types have a zero whose bits are all 0, and floats another one.
    let found: Vec<usize> = match x.floats() {
        Ok(numbers) => (0..numbers.len()).filter(|&i| numbers[i] != 0.0).collect(),
        Err(_) if x.is_strings() => {
            let strings = x.string_slice()?;
            (0..strings.len()).filter(|&i| !strings[i].is_empty()).collect()
        }
        Err(_) => {
            let width = x.bytes().len().checked_div(x.len()).unwrap_or(1).max(1);
            let is_zero = |element: &[u8]| element.iter().all(|&byte| byte == 0);
            x.bytes().chunks_exact(width).enumerate().filter(|(_, e)| !is_zero(e)).map(|(i, _)| i).collect()
        }
    };
    let mut positions = vec![0i64; x.rank() * found.len()];
    for (column, &at) in found.iter().enumerate() {
        let mut rest = at;
        for (axis, &d) in x.dims().iter().enumerate().rev() {
            positions[axis * found.len() + column] = i64::try_from(rest % d).unwrap_or(i64::MAX);
            rest /= d;
        }
    }
    Ok(vec![Tensor::of(&[x.rank(), found.len()], &positions)?.into()])
}

/// The slices for which the condition is true; without an axis, the elements.
fn compress(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (x, condition) = (call.tensor(0)?, call.tensor(1)?.words::<u8>());
    let x = if call.attrs.has("axis") { x.clone() } else { x.reshaped(&[x.len()])? };
    let axis = resolve_axis(call.attrs.int("axis").unwrap_or(0), x.rank())?;
    let kept: Vec<usize> = (0..condition.len()).filter(|&i| condition[i] != 0).collect();
    let extent = x.dims()[axis];
    if let Some(outside) = kept.last().filter(|&&i| i >= extent) {
        fail!("slice {outside} is wanted of {extent}");
    }
    let inner: usize = x.dims()[axis + 1..].iter().product();
    let outer: usize = x.dims()[..axis].iter().product();
    let mut dims = x.dims().to_vec();
    dims[axis] = kept.len();
    let slices = (0..outer).flat_map(|o| kept.iter().map(move |&i| (o * extent + i) * inner));
    let positions: Vec<usize> = slices.flat_map(|start| start..start + inner).collect();
    Ok(vec![x.picked(&dims, &positions)?.into()])
}
