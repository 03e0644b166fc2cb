//! Kernels of sequences and optionals: construction, access, splitting and concatenation.
//!
//! A sequence has no element type at run time: an empty one is an empty list. A plain value is accepted as an optional that
//! contains it, as later versions of the operators allow.

use crate::value::Value;
use crate::{Call, Nodes, Row, resolve_axis, row};
use onnx_ir::diag::counted;
use onnx_loops::budget;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, Strings};
use onnx_loops::tensor::{Tensor, count_of};
use std::sync::Arc;

pub(crate) const ROWS: &[Row] = &[
    row("", "Concat", concat_inputs).only(Nodes::ManyInputs),
    row("", "ConcatFromSequence", concat),
    row("", "Optional", optional),
    row("", "OptionalGetElement", get_element),
    row("", "OptionalHasElement", has_element),
    row("", "SequenceAt", at),
    row("", "SequenceConstruct", construct),
    row("", "SequenceEmpty", |_| Ok(vec![Value::sequence(Vec::new())])),
    row("", "SequenceErase", erase),
    row("", "SequenceInsert", insert),
    row("", "SequenceLength", length),
    row("", "SplitToSequence", split),
];

fn construct(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    Ok(vec![Value::list(call.inputs.iter().flatten().cloned().listed()?)])
}

fn length(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let count = call.value(0)?.elements()?.len();
    Ok(vec![Tensor::scalar(i64::try_from(count).unwrap_or(i64::MAX))?.into()])
}

/// A position from an input, among `count`; negative ones count from the end.
fn position(call: &Call<'_>, input: usize, count: usize) -> Result<Option<usize>, Failure> {
    let Some(given) = call.optional_ints(input)? else { return Ok(None) };
    let &[given] = &given[..] else { fail!("a position is one number, not {}", given.len()) };
    let from_start = if given < 0 { given.saturating_add_unsigned(count as u64) } else { given };
    Ok(Some(usize::try_from(from_start).unwrap_or(usize::MAX)))
}

fn at(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let elements = call.value(0)?.elements()?;
    let Some(at) = position(call, 1, elements.len())? else { fail!("the position is left out") };
    match elements.get(at) {
        Some(value) => Ok(vec![value.clone()]),
        None => fail!("the position is outside of a sequence of {}", counted(elements.len(), "element")),
    }
}

/// Steps charged for copying an element.
const OF_COPY: usize = 64;

/// The elements of the first input for modification; copied if the sequence is shared.
fn taken(call: &mut Call<'_>) -> Result<List<Value>, Failure> {
    call.value(0)?.elements()?;
    match call.inputs[0].take() {
        Some(Value::Sequence(elements)) => match Arc::try_unwrap(elements) {
            Ok(elements) => Ok(elements),
            Err(shared) => {
                budget::spend(shared.len().saturating_mul(OF_COPY))?;
                List::copied(&shared)
            }
        },
        _ => fail!("a sequence is expected"),
    }
}

/// Removes an element, by default the last.
fn erase(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let mut elements = taken(call)?;
    let at = position(call, 1, elements.len())?.unwrap_or(elements.len().wrapping_sub(1));
    if at >= elements.len() {
        fail!("the position is outside of a sequence of {}", counted(elements.len(), "element"));
    }
    budget::spend(elements.len() - at)?;
    elements.remove(at);
    Ok(vec![Value::list(elements)])
}

/// Inserts an element before a position, by default at the end.
fn insert(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let mut elements = taken(call)?;
    let at = position(call, 2, elements.len())?.unwrap_or(elements.len());
    if at > elements.len() {
        fail!("the position is outside of a sequence of {}", counted(elements.len(), "element"));
    }
    budget::spend(elements.len() - at)?;
    elements.insert(at, call.value(1)?.clone())?;
    Ok(vec![Value::list(elements)])
}

/// Splits a tensor along an axis: by given lengths, by one length (the last part may be shorter), or into slices.
fn split(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let axis = call.attrs.axis("axis", x.rank())?;
    let extent = x.dims()[axis];
    let given = call.optional_tensor(1)?;
    let length = |n: i64| match usize::try_from(n) {
        Ok(n) => Ok(n),
        Err(_) => fail!("a part has length {n}"),
    };
    let lengths: List<usize> = match given {
        Some(lengths) if lengths.rank() > 0 => lengths.ints()?.into_iter().map(length).try_listed()?,
        Some(_) | None => {
            let each = match given {
                Some(each) => each.ints()?.into_iter().map(length).next().transpose()?.unwrap_or(0),
                None => 1,
            };
            if each == 0 && extent > 0 {
                fail!("parts of length 0 do not make up {extent}");
            }
            let count = extent.div_ceil(each.max(1));
            // Empty parts take memory too.
            budget::has_room(count.saturating_mul(size_of::<Value>()))?;
            if count > x.len().max(MAX_EMPTY) {
                fail!("{} without elements are too many", counted(count, "part"));
            }
            (0..count).map(|i| each.min(extent - i * each)).listed()?
        }
    };
    if lengths.iter().try_fold(0usize, |sum, &n| sum.checked_add(n)) != Some(extent) {
        let shown = &lengths[..lengths.len().min(8)];
        let more = if lengths.len() > shown.len() { " and so on" } else { "" };
        fail!("parts of lengths {shown:?}{more} do not add up to the extent {extent}");
    }
    let drops_axis = given.is_none() && call.attrs.int("keepdims") == Some(0);
    let (outer, inner): (usize, usize) =
        (x.dims()[..axis].iter().product(), x.dims()[axis + 1..].iter().product());
    let mut parts = List::with_room(lengths.len())?;
    let mut start = 0;
    for n in lengths {
        let rows = (0..if n * inner > 0 { outer } else { 0 }).map(|o| (o * extent + start) * inner);
        let mut dims = x.dims().to_vec();
        if drops_axis {
            dims.remove(axis);
        } else {
            dims[axis] = n;
        }
        parts.push(Value::Tensor(x.picked_runs(&dims, rows, n * inner)?))?;
        start += n;
    }
    Ok(vec![Value::list(parts)])
}

/// The most parts of a tensor without elements, whose axis can have a huge size.
const MAX_EMPTY: usize = 1 << 20;

/// Concatenates the inputs. Version 1 has axis 1 as its default.
fn concat_inputs(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let tensors = (0..call.inputs.len()).map(|i| call.tensor(i)).try_listed()?;
    let axis = match call.attrs.int("axis") {
        Some(_) => call.attrs.axis("axis", call.tensor(0)?.rank())?,
        None => 1,
    };
    Ok(vec![join(&tensors, axis)?.into()])
}

/// Concatenates all elements of a sequence along an axis, or stacks them along a new one.
fn concat(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let tensors = call.value(0)?.elements()?.iter().map(Value::tensor).try_listed()?;
    let Some(first) = tensors.first() else { fail!("an empty sequence cannot be concatenated") };
    let is_new = call.attrs.flag("new_axis");
    let axis = call.attrs.axis("axis", first.rank() + usize::from(is_new))?;
    if !is_new {
        return Ok(vec![join(&tensors, axis)?.into()]);
    }
    let with_axis = |t: &&Tensor| {
        let mut dims = t.dims().to_vec();
        dims.insert(axis.min(dims.len()), 1);
        t.reshaped(&dims)
    };
    let tensors = tensors.iter().map(with_axis).try_listed()?;
    Ok(vec![join(&tensors.iter().listed()?, axis)?.into()])
}

/// Concatenates tensors along an axis of the first one.
fn join(tensors: &[&Tensor], axis: usize) -> Result<Tensor, Failure> {
    let Some(first) = tensors.first() else { fail!("at least one tensor is needed") };
    let axis = resolve_axis(i64::try_from(axis).unwrap_or(i64::MAX), first.rank())?;
    let mut dims = first.dims().to_vec();
    let mut total = 0usize;
    for t in tensors {
        let mut expected = dims.clone();
        if t.rank() == dims.len() {
            expected[axis] = t.dims()[axis];
        }
        if t.dims() != expected || t.elem() != first.elem() {
            fail!("tensors of shapes {:?} and {:?} cannot be joined", first.dims(), t.dims());
        }
        total = total.saturating_add(t.dims()[axis]);
    }
    dims[axis] = total;
    let outer: usize = dims[..axis].iter().product();
    let count = |t: &Tensor| t.len().checked_div(outer).unwrap_or(0);
    if first.is_strings() {
        let mut strings = Strings::with_room(count_of(&dims)?)?;
        for o in 0..outer {
            for t in tensors {
                let texts = &t.string_slice()?[o * count(t)..][..count(t)];
                texts.iter().try_for_each(|text| strings.push_copy(text))?;
            }
        }
        return Tensor::of_texts(&dims, strings);
    }
    let mut joined = Tensor::zeros(first.elem(), &dims)?;
    let width = joined.bytes().len().checked_div(joined.len()).unwrap_or(0);
    let mut to = joined.bytes_mut()?;
    for o in 0..if width > 0 { outer } else { 0 } {
        for t in tensors {
            let size = count(t) * width;
            let (here, rest) = to.split_at_mut(size);
            here.copy_from_slice(&t.bytes()[o * size..][..size]);
            to = rest;
        }
    }
    Ok(joined)
}

/// An optional with the input, or an empty one.
fn optional(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    Ok(vec![Value::Optional(call.optional(0).cloned().map(Arc::new))])
}

fn get_element(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    match call.value(0)? {
        Value::Optional(Some(value)) => Ok(vec![(**value).clone()]),
        Value::Optional(None) => fail!("the optional is empty"),
        value @ (Value::Tensor(_) | Value::Sequence(_) | Value::Map(_)) => Ok(vec![value.clone()]),
    }
}

fn has_element(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let is_empty = matches!(call.optional(0), None | Some(Value::Optional(None)));
    Ok(vec![Tensor::of_bools(&[], [!is_empty])?.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_are_joined_along_any_axis() {
        let a = Tensor::of(&[2, 1], &[1i64, 2]).expect("two");
        let b = Tensor::of(&[2, 2], &[3i64, 4, 5, 6]).expect("four");
        let joined = join(&[&a, &b], 1).expect("fit");
        assert_eq!(
            (joined.dims(), joined.slice::<i64>().expect("int64")),
            (&[2, 3][..], &[1, 3, 4, 2, 5, 6][..])
        );
        assert!(join(&[&a, &b], 0).is_err());
        let none = Tensor::zeros(onnx_ir::ElemType::INT64, &[2, 0]).expect("none");
        assert_eq!(join(&[&none, &none], 1).expect("fit").dims(), [2, 0]);
    }
}
