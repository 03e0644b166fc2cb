//! Scatter kernels: Scatter, ScatterElements, ScatterND, TensorScatter.

use crate::arithmetic::{Arithmetic, for_elements};
use crate::axis_split::AxisSplit;
use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::diag::{counted, counted_are};
use onnx_loops::budget::look;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::List;
use onnx_loops::tensor::{Tensor, advance, strides};

pub(crate) const ROWS: &[Row] = &[
    row("", "Scatter", scatter_elements),
    row("", "ScatterElements", scatter_elements),
    row("", "ScatterND", scatter_nd),
    row("", "TensorScatter", tensor_scatter),
];

/// The combination of an existing and a new element.
#[derive(Clone, Copy)]
enum Reduction {
    Add,
    Mul,
    Min,
    Max,
}

/// `None` replaces the existing element.
fn reduction(call: &Call<'_>) -> Result<Option<Reduction>, Failure> {
    Ok(match call.attrs.string("reduction").as_deref() {
        None | Some("none") => None,
        Some("add") => Some(Reduction::Add),
        Some("mul") => Some(Reduction::Mul),
        Some("min") => Some(Reduction::Min),
        Some("max") => Some(Reduction::Max),
        Some(other) => fail!("there is no reduction `{other}`"),
    })
}

/// The data with the updates: each run of `run` updates goes to the elements from the next of `starts` on.
fn scattered(
    call: &mut Call<'_>,
    starts: &[usize],
    run: usize,
    reduction: Option<Reduction>,
) -> Result<Vec<Value>, Failure> {
    let updates = call.tensor(2 - usize::from(call.op() == "TensorScatter"))?.clone();
    let mut data = call.tensor(0)?.clone();
    // Data without other users are updated in place.
    call.inputs[0] = None;
    let Some(reduction) = reduction else {
        return Ok(vec![data.with_placed(&updates, starts, run)?.into()]);
    };
    if data.elem() != updates.elem() {
        fail!("data and updates have different types");
    }
    for_elements!(data.elem(), reduce(&mut data, &updates, starts, run, reduction))?;
    Ok(vec![data.into()])
}

fn reduce<T: Arithmetic>(
    data: &mut Tensor,
    updates: &Tensor,
    starts: &[usize],
    run: usize,
    reduction: Reduction,
) -> Result<(), Failure> {
    let (to, from) = (data.words_mut::<T>()?, updates.words::<T>());
    match reduction {
        Reduction::Add => combine(to, from, starts, run, T::plus),
        Reduction::Mul => combine(to, from, starts, run, T::times as fn(T, T) -> T),
        Reduction::Min => combine(to, from, starts, run, T::least as fn(T, T) -> T),
        Reduction::Max => combine(to, from, starts, run, T::most as fn(T, T) -> T),
    }
}

fn combine<T: Copy>(
    to: &mut [T],
    from: &[T],
    starts: &[usize],
    run: usize,
    with: impl Fn(T, T) -> T,
) -> Result<(), Failure> {
    for (i, (start, from)) in starts.iter().zip(from.chunks_exact(run.max(1))).enumerate() {
        look(i + 1)?;
        let Some(to) = to.get_mut(*start..).and_then(|to| to.get_mut(..run)) else {
            fail!("a position lies outside of the tensor")
        };
        to.iter_mut().zip(from).for_each(|(to, from)| *to = with(*to, *from));
    }
    Ok(())
}

/// Resolves an index of an axis; negative ones count from the end.
fn resolve(index: i64, extent: usize) -> Result<usize, Failure> {
    let from_start = if index < 0 { index.saturating_add_unsigned(extent as u64) } else { index };
    match usize::try_from(from_start) {
        Ok(at) if at < extent => Ok(at),
        Ok(_) | Err(_) => fail!("index {index} is out of bounds of an axis of {extent}"),
    }
}

/// Each update goes to its own position, except along the axis, where its index says.
fn scatter_elements(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (data, indices, updates) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let axis = call.attrs.axis("axis", data.rank())?;
    let fits = |i: usize| i == axis || indices.dims()[i] <= data.dims()[i];
    if indices.dims() != updates.dims() || indices.rank() != data.rank() || !(0..data.rank()).all(fits) {
        let (a, b, c) = (data.dims(), indices.dims(), updates.dims());
        fail!("indices of shape {b:?} and updates of shape {c:?} do not fit data of shape {a:?}");
    }
    let [of_data, of_indices] = [data, indices].map(|tensor| AxisSplit::of(tensor.dims(), axis));
    let (of_data, of_indices) = (of_data?, of_indices?);
    let mut starts: List<usize> = List::with_room(indices.len())?;
    let is_alike = |i: usize| i == axis || indices.dims()[i] == data.dims()[i];
    let all = indices.ints()?;
    if (0..data.rank()).all(is_alike) {
        // Lines along the axis are where they are in the data.
        for (line, all) in all.chunks(of_indices.inner.max(1)).enumerate() {
            let first = line / of_indices.extent.max(1) * of_data.extent * of_data.inner;
            for (i, &at) in all.iter().enumerate() {
                starts.push(first + resolve(at, of_data.extent)? * of_data.inner + i)?;
            }
        }
    } else {
        let strides = strides(data.dims());
        let mut index = vec![0; indices.rank()];
        for &at in &all {
            let along = resolve(at, of_data.extent)?;
            let place =
                |(i, (&at, &stride)): (usize, (&usize, &usize))| stride * if i == axis { along } else { at };
            starts.push(index.iter().zip(&strides).enumerate().map(place).sum())?;
            advance(&mut index, indices.dims());
        }
    }
    let reduction = reduction(call)?;
    scattered(call, &starts, 1, reduction)
}

/// The last axis of the indices holds the positions of slices of the updates.
fn scatter_nd(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (data, indices, updates) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let Some((&depth, outer)) = indices.dims().split_last() else { fail!("the indices are a scalar") };
    let fits = depth <= data.rank() && {
        let (expected, inner) = (outer.len(), &data.dims()[depth..]);
        updates.rank() == expected + inner.len()
            && updates.dims()[..expected] == *outer
            && updates.dims()[expected..] == *inner
    };
    if !fits {
        let (a, b, c) = (data.dims(), indices.dims(), updates.dims());
        fail!("indices of shape {b:?} and updates of shape {c:?} do not fit data of shape {a:?}");
    }
    let reduction = reduction(call)?;
    if updates.is_empty() {
        return Ok(vec![data.clone().into()]);
    }
    let strides = strides(data.dims());
    let slice: usize = data.dims()[depth..].iter().product();
    let indices = indices.ints()?;
    let rows = updates.len() / slice;
    let mut starts: List<usize> = List::with_room(rows)?;
    for row in 0..rows {
        let mut start = 0;
        for (axis, &at) in indices[row * depth..][..depth].iter().enumerate() {
            start += resolve(at, data.dims()[axis])? * strides[axis];
        }
        starts.push(start)?;
    }
    scattered(call, &starts, slice, reduction)
}

/// Writes to a cache along an axis, from an index per batch on; a circular cache wraps around.
fn tensor_scatter(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (cache, update) = (call.tensor(0)?, call.tensor(1)?);
    let axis = call.attrs.axis("axis", cache.rank())?;
    let fits = |i: usize| match (cache.dims()[i], update.dims()[i]) {
        (a, b) if i == axis => b <= a,
        (a, b) => a == b,
    };
    if axis == 0 || cache.rank() != update.rank() || !(0..cache.rank()).all(fits) {
        fail!("an update of shape {:?} does not fit a cache of shape {:?}", update.dims(), cache.dims());
    }
    let is_circular = match call.attrs.string("mode").as_deref() {
        None | Some("linear") => false,
        Some("circular") => true,
        Some(other) => fail!("there is no mode `{other}`"),
    };
    let batches = cache.dims()[0];
    let starts = match call.optional_ints(2)? {
        Some(starts) if starts.len() == batches => starts,
        Some(starts) => {
            fail!("{} given for {}", counted_are(starts.len(), "write index"), counted(batches, "batch"))
        }
        None => onnx_loops::list::filled(batches, 0)?,
    };
    if update.is_empty() {
        return Ok(vec![cache.clone().into()]);
    }
    let (to, from) = (AxisSplit::of(cache.dims(), axis)?, AxisSplit::of(update.dims(), axis)?);
    // The position of each slice after the axis.
    let mut places: List<usize> = List::with_room(from.outer.saturating_mul(from.extent))?;
    for outer in 0..from.outer {
        let start = starts[outer / (from.outer / batches)];
        for i in 0..from.extent {
            let at = start.saturating_add_unsigned(i as u64);
            let extent = i64::try_from(to.extent).unwrap_or(i64::MAX);
            let at = match usize::try_from(if is_circular { at.rem_euclid(extent) } else { at }) {
                Ok(at) if at < to.extent => at,
                Ok(_) | Err(_) => fail!("write index {at} is out of bounds of a cache of {}", to.extent),
            };
            places.push((outer * to.extent + at) * to.inner)?;
        }
    }
    scattered(call, &places, to.inner, None)
}
