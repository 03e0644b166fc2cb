//! Sorting kernels: TopK, Unique.

use crate::axis_split::AxisSplit;
use crate::order::{Keys, rank, short_rank};
use crate::sorted::sort_first;
use crate::value::Value;
use crate::{Call, Row, resolve_axis, row};
use onnx_ir::ElemType as E;
use onnx_ir::diag::counted_are;
use onnx_loops::budget::{BETWEEN, look, spend};
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, filled};
use onnx_loops::tensor::{Tensor, count_of};
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
    let mut dims = x.dims().to_vec();
    dims[axis] = k;
    let count = count_of(&dims)?;
    let mut found = Found { indices: filled(count, 0)?, positions: filled(count, 0)? };
    // Their indices have 32 bits.
    let are_few = u32::try_from(split.extent).is_ok();
    match x.elem() {
        E::FLOAT if are_few => {
            let words = x.words::<f32>();
            found.short(split, k, is_largest, |at| short_rank(words[at]))?;
        }
        E::FLOAT16 if are_few => {
            let words = x.words::<half::f16>();
            found.short(split, k, is_largest, |at| short_rank(words[at].into()))?;
        }
        E::BFLOAT16 if are_few => {
            let words = x.words::<half::bf16>();
            found.short(split, k, is_largest, |at| short_rank(words[at].into()))?;
        }
        E::INT32 if are_few => {
            let words = x.words::<i32>();
            found.short(split, k, is_largest, |at| words[at])?;
        }
        _ => found.long(split, k, is_largest, &Keys::of(x)?)?,
    }
    Ok(vec![x.picked(&dims, &found.positions)?.into(), Tensor::of(&dims, &found.indices)?.into()])
}

/// The elements that were found: their indices along the axis, and their places in the tensor.
struct Found {
    indices: List<i64>,
    positions: List<usize>,
}

impl Found {
    /// Keeps the `i`th element of the line whose results start at `place`.
    fn put(&mut self, split: AxisSplit, (place, start): (usize, usize), i: usize, found: usize) {
        self.indices[place + i * split.inner] = i64::try_from(found).unwrap_or(i64::MAX);
        self.positions[place + i * split.inner] = start + found * split.inner;
    }

    /// Finds elements by keys of 32 bits, which are sorted together with their indices, of as many bits, as one number.
    fn short(
        &mut self,
        split: AxisSplit,
        k: usize,
        is_largest: bool,
        key: impl Fn(usize) -> i32,
    ) -> Result<(), Failure> {
        let reversed = if is_largest { -1 } else { 0 };
        let mut line: List<i64> = List::with_room(split.extent)?;
        let places = AxisSplit { extent: k, ..split };
        for (start, place) in split.lines().zip(places.lines()) {
            spend(split.extent)?;
            line.clear();
            let number = |i: usize| (i64::from(key(start + i * split.inner) ^ reversed) << 32) | i as i64;
            line.extend((0..split.extent).map(number))?;
            sort_first(&mut line, k, 1, Ord::cmp)?;
            for (i, found) in line[..k].iter().enumerate() {
                look(i)?;
                self.put(split, (place, start), i, *found as u32 as usize);
            }
        }
        Ok(())
    }

    /// Finds elements of any type.
    fn long(&mut self, split: AxisSplit, k: usize, is_largest: bool, keys: &Keys<'_>) -> Result<(), Failure> {
        let mut line = List::with_room(split.extent)?;
        let places = AxisSplit { extent: k, ..split };
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
            for (i, found) in line[..k].iter().enumerate() {
                look(i)?;
                self.put(split, (place, start), i, *found);
            }
        }
        Ok(())
    }
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
    // Ties by index, like a stable sort, which would allocate.
    let size = outer.saturating_mul(inner).max(1);
    let by_key = |key: &dyn Fn(usize) -> i64| {
        let mut pairs = (0..split.extent).map(|i| (key(i), i)).listed()?;
        sort_first(&mut pairs, split.extent, 1, Ord::cmp)?;
        pairs.iter().map(|(_, i)| *i).listed()
    };
    let order: List<usize> = match &keys {
        Keys::Integers(keys) if size == 1 && !x.is_empty() => by_key(&|i| keys[i])?,
        Keys::Floats(keys) if size == 1 && !x.is_empty() => by_key(&|i| rank(keys[i]))?,
        _ => {
            let mut order = (0..split.extent).listed()?;
            sort_first(&mut order, split.extent, size, |a, b| compare(a, b).then(a.cmp(b)))?;
            order
        }
    };

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_keys_find_what_comparisons_find() {
        let number = |i: usize| match i * 2_654_435_761 % 13 {
            0 => f32::NAN,
            1 => -0.0,
            2 => 0.0,
            3 => f32::NEG_INFINITY,
            4 => f32::INFINITY,
            n => n as f32 - 8.0,
        };
        let dims = [2, 30, 3];
        let numbers: Vec<f32> = (0..180).map(number).collect();
        let x = Tensor::of(&dims, &numbers).unwrap();
        let keys = Keys::of(&x).unwrap();
        for (axis, is_largest) in [(0, true), (1, true), (1, false), (2, false)] {
            let split = AxisSplit::of(&dims, axis).unwrap();
            for k in 0..=split.extent {
                let count = split.outer * k * split.inner;
                let none =
                    || Found { indices: filled(count, 0).unwrap(), positions: filled(count, 0).unwrap() };
                let (mut short, mut long) = (none(), none());
                short.short(split, k, is_largest, |at| short_rank(numbers[at])).unwrap();
                long.long(split, k, is_largest, &keys).unwrap();
                assert_eq!(short.indices[..], long.indices[..], "{k} along {axis}");
                assert_eq!(short.positions[..], long.positions[..], "{k} along {axis}");
            }
        }
    }
}
