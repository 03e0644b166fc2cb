//! Stacks tensors of equal shape along a new axis, and slices them again.

use crate::failure::{Failure, fail};
use crate::list::{List, Listed as _, Strings};
use crate::run::Run;
use crate::tensor::{Dims, Tensor};
use onnx_ir::{DimValue, ElemType, Port, TypeKind};
use onnx_kernels::Value;

/// Collects tensors of equal shape, one after the other, into one tensor with a new axis.
pub(super) struct Stack {
    axis: i64,
    is_reversed: bool,
    /// The most slices that can follow.
    max_slices: Option<usize>,
    so_far: SoFar,
}

enum SoFar {
    Nothing,
    /// The result, with this many slices written at its start, or at its end if reversed.
    Rows(Tensor, usize),
    /// Separate slices, for strings and for results in which a slice is not contiguous.
    Slices(List<Value>),
}

/// Results up to this size are allocated at once if the number of slices is known; larger ones grow, because a loop may end
/// earlier.
const MAX_BYTES_AT_ONCE: usize = 1 << 20;

impl Stack {
    /// At most `max_slices` slices, stacked along a first axis.
    pub(super) fn with_limit(max_slices: Option<usize>) -> Stack {
        Stack { axis: 0, is_reversed: false, max_slices, so_far: SoFar::Nothing }
    }

    /// Exactly `count` slices, in reverse order if `is_reversed`.
    pub(super) fn with_count(count: usize, axis: i64, is_reversed: bool) -> Stack {
        Stack { axis, is_reversed, max_slices: Some(count), so_far: SoFar::Nothing }
    }

    /// Slices that are kept separate until the end.
    pub(super) fn listed(axis: i64, is_reversed: bool) -> Stack {
        Stack { axis, is_reversed, max_slices: None, so_far: SoFar::Slices(List::new()) }
    }

    /// Adds a slice.
    pub(super) fn push(&mut self, run: &Run<'_, '_>, slice: Value) -> Result<(), Failure> {
        match &mut self.so_far {
            SoFar::Slices(all) => all.push(slice),
            SoFar::Rows(rows, count) => {
                let tensor = slice.tensor()?;
                let dims = &rows.dims()[1..];
                if tensor.elem() != rows.elem() || tensor.dims() != dims {
                    return Err(differ(dims, tensor.dims()));
                }
                let room = rows.dims()[0];
                if *count == room {
                    let room =
                        room.saturating_mul(2).min(self.max_slices.unwrap_or(usize::MAX)).max(*count + 1);
                    let mut larger = rows_of(run, tensor, room)?;
                    let written = rows.bytes();
                    larger.bytes_mut()?[..written.len()].copy_from_slice(written);
                    *rows = larger;
                }
                let block = tensor.bytes().len();
                let at = if self.is_reversed { rows.dims()[0] - 1 - *count } else { *count };
                rows.bytes_mut()?[at * block..][..block].copy_from_slice(tensor.bytes());
                *count += 1;
                Ok(())
            }
            SoFar::Nothing => {
                let tensor = slice.tensor()?;
                self.so_far = if tensor.is_strings() || place(self.axis, tensor.rank())? != 0 {
                    SoFar::Slices(List::new())
                } else {
                    let at_once = MAX_BYTES_AT_ONCE / tensor.bytes().len().max(1);
                    let room = match self.max_slices {
                        Some(count) if self.is_reversed || count <= at_once => count,
                        Some(_) | None => FIRST_CAPACITY,
                    };
                    SoFar::Rows(rows_of(run, tensor, room)?, 0)
                };
                self.push(run, slice)
            }
        }
    }

    /// The slices, if they are kept separate.
    pub(super) fn slices(&self) -> &[Value] {
        match &self.so_far {
            SoFar::Slices(all) => all,
            SoFar::Nothing | SoFar::Rows(..) => &[],
        }
    }

    /// Repeats a slice until there are `count`, if slices are kept separate.
    pub(super) fn fill_up(&mut self, count: usize, with: Value) -> Result<(), Failure> {
        match &mut self.so_far {
            SoFar::Slices(all) => all.resize(count, with),
            SoFar::Nothing | SoFar::Rows(..) => fail!("the slices are put together already"),
        }
    }

    /// The stacked slices. Without slices, type and shape are those that the output of the body declares.
    pub(super) fn finish(self, run: &Run<'_, '_>, port: &Port) -> Result<Tensor, Failure> {
        match self.so_far {
            SoFar::Nothing => stack(run, &[], self.axis, self.is_reversed, port),
            SoFar::Slices(all) => stack(run, &all, self.axis, self.is_reversed, port),
            SoFar::Rows(rows, count) if count == rows.dims()[0] => Ok(rows),
            SoFar::Rows(rows, count) => {
                let mut dims = rows.dims().to_vec();
                dims[0] = count;
                let mut whole = Tensor::recycled(rows.elem(), &dims, &run.caches.recycler)?;
                let to = whole.bytes_mut()?;
                to.copy_from_slice(&rows.bytes()[..to.len()]);
                Ok(whole)
            }
        }
    }
}

/// The capacity in slices at first, if their number is unknown.
const FIRST_CAPACITY: usize = 16;

/// Memory for `count` tensors of the type and shape of a slice.
fn rows_of(run: &Run<'_, '_>, slice: &Tensor, count: usize) -> Result<Tensor, Failure> {
    let mut dims = Dims::from_slice(slice.dims());
    dims.insert(0, count);
    Tensor::recycled(slice.elem(), &dims, &run.caches.recycler)
}

fn differ(first: &[usize], other: &[usize]) -> Failure {
    Failure::new(format!("one iteration gives a tensor of shape {first:?}, another one of {other:?}"))
}

/// Stacks tensors along a new axis, in reverse order if `is_reversed`. Without tensors, type and shape are those that the output
/// of the body declares, with size 0 for unknown dimensions.
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
        return Err(differ(first.dims(), other.dims()));
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

/// Zeros in the shape of a slice; without slices, in the shape that the output of the body declares.
pub(super) fn none(run: &Run<'_, '_>, slices: &[Value], port: &Port) -> Result<Tensor, Failure> {
    match slices.first() {
        Some(first) => Tensor::zeros(first.tensor()?.elem(), first.tensor()?.dims()),
        None => {
            let (elem, dims) = declared(run, port);
            Tensor::zeros(elem, &dims)
        }
    }
}

/// Slice `i` of a tensor along an axis.
pub(super) fn slice(tensor: &Tensor, axis: usize, i: usize) -> Result<Tensor, Failure> {
    let mut dims = Dims::from_slice(tensor.dims());
    if axis >= dims.len() || i >= dims[axis] {
        fail!("slice {i} along axis {axis} lies outside of shape {dims:?}");
    }
    let n = dims.remove(axis);
    let inner: usize = dims[axis..].iter().product();
    let outer: usize = dims[..axis].iter().product();
    // A contiguous slice shares the memory of the tensor.
    if outer == 1
        && let Some(part) = tensor.part(i * inner, &dims)
    {
        return Ok(part);
    }
    tensor.picked_runs(&dims, (0..outer).map(|o| (o * n + i) * inner), inner)
}

/// The index of the new axis.
fn place(axis: i64, rank: usize) -> Result<usize, Failure> {
    onnx_kernels::resolve_axis(axis, rank + 1)
}

fn declared(run: &Run<'_, '_>, port: &Port) -> (ElemType, Vec<usize>) {
    let types = &run.program.model.types;
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
