//! Kernels that treat values as a whole: Shape, Size, Identity of values that are not numeric tensors, and Equal of strings.

use crate::broadcast::Broadcast;
use crate::value::Value;
use crate::{Call, Nodes, Row, row};
use onnx_ir::ElemType;
use onnx_loops::failure::Failure;
use onnx_loops::tensor::Tensor;

/// For any value. These are formulas too, but inference mostly computes their results, and otherwise nothing can be fused.
pub(crate) const ROWS: &[Row] = &[
    row("", "Equal", equal).only(Nodes::Strings),
    row("", "Identity", identity).only(Nodes::Unsupported),
    row("", "Shape", shape),
    row("", "Size", size),
];

fn identity(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    Ok(vec![call.value(0)?.clone()])
}

/// A part of the shape: `start` and `end` are axes, clamped to the rank.
fn shape(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let dims = call.tensor(0)?.dims();
    let rank = i64::try_from(dims.len()).unwrap_or(i64::MAX);
    let bound = |name: &str, missing: i64| {
        let axis = call.attrs.int(name).unwrap_or(missing);
        let from_start = if axis < 0 { axis.saturating_add(rank) } else { axis };
        usize::try_from(from_start.clamp(0, rank)).unwrap_or(0)
    };
    let (start, end) = (bound("start", 0), bound("end", rank));
    let extents = dims.get(start..end).unwrap_or_default();
    let extents: Vec<i64> = extents.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)).collect();
    Ok(vec![Tensor::of(&[extents.len()], &extents)?.into()])
}

fn size(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    Ok(vec![Tensor::scalar(i64::try_from(call.tensor(0)?.len()).unwrap_or(i64::MAX))?.into()])
}

fn equal(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let shape = Broadcast::of(a, b)?;
    let count = call.has_room(ElemType::BOOL, &shape.dims)?;
    let (left, right) = (a.string_slice()?, b.string_slice()?);
    let is_equal = |at: usize| left[shape.place(a, at)] == right[shape.place(b, at)];
    Ok(vec![Tensor::of_bools(&shape.dims, (0..count).map(is_equal))?.into()])
}
