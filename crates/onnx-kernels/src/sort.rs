//! Sorting kernels: TopK, Unique.

use crate::axis_split::AxisSplit;
use crate::order::Keys;
use crate::sorted::sort_first;
use crate::value::Value;
use crate::{Call, Row, resolve_axis, row};
use onnx_ir::diag::counted_are;
use onnx_loops::budget::{BETWEEN, look, spend};
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, filled};
use onnx_loops::tensor::Tensor;
use std::cmp::Ordering;

pub(crate) const ROWS: &[Row] = &[row("", "TopK", top_k), row("", "Unique", unique)];

/// The greatest or least elements of each line along an axis, with their indices; ties by lower index.
fn top_k(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let axis = call.attrs.axis("axis", x.rank())?;
    let k = match call.optional_ints(1)? {
        Some(given) => match given[..] {
            [k] => k,
            _ => fail!("`K` is one number, not {}", given.len()),
        },
        None => call.attrs.int("k").ok_or_else(|| Failure::new("attribute `k` is missing"))?,
    };
    let split = AxisSplit::of(x.dims(), axis)?;
    let Some(k) = usize::try_from(k).ok().filter(|&k| k <= split.extent) else {
        fail!("{} wanted of {}", counted_are(k, "element"), split.extent)
    };
    let is_largest = call.attrs.int("largest").unwrap_or(1) != 0;
    let keys = Keys::of(x)?;
    let mut dims = x.dims().to_vec();
    dims[axis] = k;
    let mut indices = Tensor::zeros(onnx_ir::ElemType::INT64, &dims)?;
    let count = indices.len();
    let mut positions = filled(count, 0usize)?;
    let mut line = List::with_room(split.extent)?;
    let places = AxisSplit { extent: k, ..split };
    let to = indices.words_mut::<i64>()?;
    for (start, place) in split.lines().zip(places.lines()) {
        let at = |i: usize| start + i * split.inner;
        let compare = |&a: &usize, &b: &usize| {
            let order = keys.compare(at(a), at(b));
            if is_largest { order.reverse() } else { order }.then(a.cmp(&b))
        };
        spend(split.extent)?;
        line.clear();
        line.extend(0..split.extent)?;
        sort_first(&mut line, k, 1, compare)?;
        for (i, &found) in line[..k].iter().enumerate() {
            look(i)?;
            to[place + i * split.inner] = i64::try_from(found).unwrap_or(i64::MAX);
            positions[place + i * split.inner] = at(found);
        }
    }
    Ok(vec![x.picked(&dims, &positions)?.into(), indices.into()])
}

/// The unique elements, or slices along an axis: first indices, inverse indices and counts.
fn unique(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let (x, axis) = match call.attrs.int("axis") {
        Some(axis) => (x.clone(), resolve_axis(axis, x.rank())?),
        None => (x.reshaped(&[x.len()])?, 0),
    };
    let split = AxisSplit::of(x.dims(), axis)?;
    let keys = Keys::of(&x)?;
    let inner = if x.is_empty() { 0 } else { split.inner };
    let outer = if x.is_empty() { 0 } else { split.outer };
    let compare = |&a: &usize, &b: &usize| {
        let elements = (0..outer).flat_map(|o| (0..inner).map(move |i| o * split.extent * inner + i));
        let differ = |start| keys.compare(start + a * inner, start + b * inner);
        elements.map(differ).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    spend(x.len())?;
    let mut order: List<usize> = List::with_room(split.extent)?;
    order.extend(0..split.extent)?;
    // Ties by index, like a stable sort, which would allocate.
    let size = outer.saturating_mul(inner).max(1);
    sort_first(&mut order, split.extent, size, |a, b| compare(a, b).then(a.cmp(b)))?;

    // Groups of equal slices; each starts with its first occurrence.
    let mut groups: List<(usize, i64)> = List::new();
    let mut group_of = filled(split.extent, 0usize)?;
    for (i, &slice) in order.iter().enumerate() {
        if i.is_multiple_of((BETWEEN / size).max(1)) {
            spend(0)?;
        }
        let is_new = i == 0 || compare(&order[i - 1], &slice).is_ne();
        match groups.last_mut() {
            Some((_, count)) if !is_new => *count += 1,
            Some(_) | None => groups.push((slice, 1))?,
        }
        group_of[slice] = groups.len() - 1;
    }
    let mut place = (0..groups.len()).listed()?;
    if call.attrs.int("sorted").unwrap_or(1) == 0 {
        // In order of first occurrence.
        let mut met = (0..groups.len()).listed()?;
        let count = met.len();
        sort_first(&mut met, count, 1, |&a: &usize, &b: &usize| groups[a].0.cmp(&groups[b].0))?;
        for (i, &group) in met.iter().enumerate() {
            place[group] = i;
        }
        sort_first(&mut groups, count, 1, |a, b| a.0.cmp(&b.0))?;
    }

    let mut dims = x.dims().to_vec();
    dims[axis] = groups.len();
    let long = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let firsts = groups.iter().map(|&(first, _)| long(first)).listed()?;
    let inverse = group_of.iter().map(|&group| long(place[group])).listed()?;
    let counts = groups.iter().map(|&(_, count)| count).listed()?;
    let list = |all: &[i64]| Tensor::of(&[all.len()], all);
    let extent = split.extent;
    let starts = (0..outer).flat_map(|o| groups.iter().map(move |&(first, _)| (o * extent + first) * inner));
    let y = x.picked_runs(&dims, starts, inner)?;
    Ok(vec![y.into(), list(&firsts)?.into(), list(&inverse)?.into(), list(&counts)?.into()])
}
