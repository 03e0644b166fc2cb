//! Tensors of equal shape as slices of one, and back.

use crate::failure::{Failure, fail};
use crate::list::{Listed as _, Strings};
use crate::run::Run;
use crate::tensor::Tensor;
use crate::value::Value;
use onnx_ir::{DimValue, ElemType, Port, TypeKind};

/// Puts tensors behind one another along a new axis, the last first if `is_reversed`. Of none, type and shape are those
/// that the output of the body declares, with 0 for what it leaves open.
pub(super) fn stack(
    run: &Run<'_, '_>,
    slices: &[Value],
    axis: i64,
    is_reversed: bool,
    port: &Port,
) -> Result<Tensor, Failure> {
    let slices = slices.iter().map(Value::tensor).try_listed()?;
    let Some(first) = slices.first() else {
        let (elem, mut dims) = declared(run, port);
        dims.insert(place(axis, dims.len())?, 0);
        return Tensor::zeros(elem, &dims);
    };
    let at = place(axis, first.rank())?;
    if let Some(other) = slices.iter().find(|t| t.dims() != first.dims() || t.elem() != first.elem()) {
        fail!("one iteration gives a tensor of shape {:?}, another one of {:?}", first.dims(), other.dims());
    }
    let (n, len) = (slices.len(), first.len());
    let inner: usize = first.dims()[at..].iter().product();
    let mut dims = first.dims().to_vec();
    dims.insert(at, n);
    let order = |i: usize| if is_reversed { n - 1 - i } else { i };
    if first.is_strings() {
        let mut strings = Strings::with_room(n * len)?;
        for k in 0..n * len {
            let (outer, rest) = (k / (n * inner).max(1), k % (n * inner).max(1));
            let all = slices[order(rest / inner.max(1))].string_slice()?;
            strings.push_copy(&all[outer * inner + rest % inner.max(1)])?;
        }
        return Tensor::of_texts(&dims, strings);
    }
    let mut stacked = Tensor::zeros(first.elem(), &dims)?;
    let width = stacked.bytes().len().checked_div(n * len).unwrap_or(0);
    let block = inner * width;
    if block > 0 {
        for (k, to) in stacked.bytes_mut()?.chunks_exact_mut(block).enumerate() {
            let from = slices[order(k % n)].bytes();
            to.copy_from_slice(&from[k / n * block..][..block]);
        }
    }
    Ok(stacked)
}

/// Zeros, as many as there are in each of these tensors; of none, as many as the output of the body declares.
pub(super) fn none(run: &Run<'_, '_>, slices: &[Value], port: &Port) -> Result<Tensor, Failure> {
    match slices.first() {
        Some(first) => Tensor::zeros(first.tensor()?.elem(), first.tensor()?.dims()),
        None => {
            let (elem, dims) = declared(run, port);
            Tensor::zeros(elem, &dims)
        }
    }
}

/// One slice of a tensor along an axis.
pub(super) fn slice(tensor: &Tensor, axis: usize, i: usize) -> Result<Tensor, Failure> {
    let mut dims = tensor.dims().to_vec();
    if axis >= dims.len() || i >= dims[axis] {
        fail!("slice {i} along axis {axis} lies outside of shape {dims:?}");
    }
    let n = dims.remove(axis);
    let inner: usize = dims[axis..].iter().product();
    let outer: usize = dims[..axis].iter().product();
    tensor.picked_runs(&dims, (0..outer).map(|o| (o * n + i) * inner), inner)
}

/// Where the new axis comes.
fn place(axis: i64, rank: usize) -> Result<usize, Failure> {
    crate::kernels::resolve_axis(axis, rank + 1)
}

fn declared(run: &Run<'_, '_>, port: &Port) -> (ElemType, Vec<usize>) {
    let types = &run.executable.model().types;
    match port.ty.map(|ty| &types[ty].kind) {
        Some(TypeKind::Tensor(tensor)) => {
            let extent = |dim: &onnx_ir::Dim| match dim.value {
                DimValue::Value(n) => usize::try_from(n).unwrap_or(0),
                DimValue::Unknown | DimValue::Param(_) => 0,
            };
            let dims = tensor.shape.iter().flatten().map(extent).collect();
            (tensor.elem.unwrap_or(ElemType::FLOAT), dims)
        }
        Some(_) | None => (ElemType::FLOAT, Vec::new()),
    }
}
