//! Conversion of values to and from their stored form (files such as `input_0.pb`).

use crate::value::{Map, Value};
use bytes::Bytes;
use onnx_ir::diag::counted;
use onnx_ir::{self as ir, Data, DataKind, ElemType};
use onnx_loops::budget;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{Listed as _, Strings};
use onnx_loops::tensor::{Tensor, count_of};
use std::sync::Arc;

/// The deepest nesting of values that is accepted.
const MAX_DEPTH: usize = 64;

impl Value {
    /// The value that a file stores.
    pub fn stored(data: ir::DataRef<'_>) -> Result<Value, Failure> {
        stored(data, 0)
    }

    /// The stored form of the value, see [`Tensor::to_stored`]; fails if the budget has no room for the copies. Tensors inside
    /// have no names.
    pub fn to_stored(&self) -> Result<Data, Failure> {
        budget::has_room(room(self))?;
        Ok(match self {
            Value::Tensor(tensor) => Data::Tensor(tensor.to_stored()?),
            Value::Sequence(values) => Data::Sequence(sequence(values)?),
            Value::Map(map) => {
                let mut data = ir::MapData { key: Some(map.keys.elem()), ..ir::MapData::default() };
                match map.keys.string_slice() {
                    Ok(keys) => {
                        data.string_keys =
                            keys.iter().map(|k| Bytes::copy_from_slice(k.as_bytes())).collect();
                    }
                    Err(_) => data.keys = map.keys.ints().unwrap_or_default().to_vec(),
                }
                data.values = Some(sequence(&map.values)?);
                Data::Map(data)
            }
            Value::Optional(value) => {
                let mut data =
                    ir::OptionalData { kind: Some(DataKind::UNDEFINED), ..ir::OptionalData::default() };
                if let Some(value) = value {
                    let value = value.to_stored()?;
                    data.kind = Some(value.data_ref().kind());
                    let _is_first = data.set(value);
                }
                Data::Optional(data)
            }
        })
    }
}

/// Bytes charged for a stored tensor, map or key besides its elements, including its text form.
const STORED: usize = 768;

/// Bytes charged for a stored value, without the elements of tensors.
fn room(value: &Value) -> usize {
    let all = |values: &[Value]| values.iter().map(room).fold(STORED, usize::saturating_add);
    match value {
        Value::Tensor(_) | Value::Optional(None) => STORED,
        Value::Sequence(values) => all(values),
        Value::Map(map) => all(&map.values).saturating_add(map.keys.len().saturating_mul(STORED)),
        Value::Optional(Some(value)) => room(value).saturating_add(STORED),
    }
}

fn sequence(values: &[Value]) -> Result<ir::Sequence, Failure> {
    let mut data = ir::Sequence::default();
    for value in values {
        let value = value.to_stored()?;
        data.kind.get_or_insert(value.data_ref().kind());
        data.push(value);
    }
    data.kind.get_or_insert(DataKind::TENSOR);
    Ok(data)
}

fn stored(data: ir::DataRef<'_>, depth: usize) -> Result<Value, Failure> {
    if depth > MAX_DEPTH {
        fail!("a value has more than {MAX_DEPTH} values in one another");
    }
    Ok(match data {
        ir::DataRef::Tensor(tensor) => Value::Tensor(Tensor::stored(tensor)?),
        ir::DataRef::SparseTensor(sparse) => {
            let part = |tensor: &Option<ir::Tensor>| match tensor {
                Some(tensor) => Tensor::stored(tensor),
                None => fail!("a sparse tensor has no values or no indices"),
            };
            Value::Tensor(dense(&part(&sparse.values)?, &part(&sparse.indices)?, &sparse.dims)?)
        }
        ir::DataRef::Sequence(sequence) => {
            Value::list(sequence.elements().map(|held| stored(held, depth + 1)).try_listed()?)
        }
        ir::DataRef::Map(map) => {
            let keys = match map.key {
                Some(ElemType::STRING) => {
                    let texts = map.string_keys.iter().map(|s| String::from_utf8_lossy(s));
                    Tensor::of_texts(&[map.string_keys.len()], Strings::all(texts)?)?
                }
                Some(key) => integers(key, &map.keys)?,
                None => fail!("a map has no type of keys"),
            };
            let elements = map.values.iter().flat_map(ir::Sequence::elements);
            let values = elements.map(|held| stored(held, depth + 1)).try_listed()?;
            if values.len() != keys.len() {
                fail!("a map has {} and {}", counted(keys.len(), "key"), counted(values.len(), "value"));
            }
            Value::Map(Arc::new(Map { keys, values }))
        }
        ir::DataRef::Optional(optional) => match optional.content().next() {
            Some(held) => Value::Optional(Some(Arc::new(stored(held, depth + 1)?))),
            None => Value::Optional(None),
        },
    })
}

/// A tensor of rank 1 of an integer type.
fn integers(elem: ElemType, numbers: &[i64]) -> Result<Tensor, Failure> {
    let mut tensor = Tensor::zeros(elem, &[numbers.len()])?;
    let width = tensor.bytes().len().checked_div(numbers.len()).unwrap_or(0);
    if width > 0 {
        for (to, n) in tensor.bytes_mut()?.chunks_exact_mut(width).zip(numbers) {
            to.copy_from_slice(&n.to_le_bytes()[..width]);
        }
    }
    Ok(tensor)
}

/// Converts a sparse tensor to a dense one.
pub fn dense(values: &Tensor, indices: &Tensor, dims: &[i64]) -> Result<Tensor, Failure> {
    let dims: Option<Vec<usize>> = dims.iter().map(|&d| usize::try_from(d).ok()).collect();
    let Some(dims) = dims else { fail!("a sparse tensor has a negative extent") };
    let indices_of = indices.ints()?;
    let per_value = if indices.rank() == 2 { dims.len() } else { 1 };
    if indices_of.len() != values.len() * per_value {
        fail!(
            "a sparse tensor has {} for {}",
            counted(indices_of.len(), "index"),
            counted(values.len(), "value")
        );
    }
    let count = count_of(&dims)?;
    let place = |i: usize| {
        let index = &indices_of[i * per_value..][..per_value];
        let fits = |(&at, &d): (&i64, &usize)| usize::try_from(at).ok().filter(|&at| at < d);
        let at = match indices.rank() {
            2 => index.iter().zip(&dims).try_fold(0, |at, pair| Some(at * pair.1 + fits(pair)?)),
            _ => fits((&index[0], &count)),
        };
        at.ok_or_else(|| Failure::new("an index of a sparse tensor lies outside of it"))
    };
    if let Ok(strings) = values.string_slice() {
        let mut all = Strings::empty(count)?;
        strings.iter().enumerate().try_for_each(|(i, string)| all.set(place(i)?, string))?;
        return Tensor::of_texts(&dims, all);
    }
    let mut tensor = Tensor::zeros(values.elem(), &dims)?;
    let width = values.bytes().len().checked_div(values.len()).unwrap_or(0);
    let elements = tensor.bytes_mut()?;
    for (i, value) in values.bytes().chunks_exact(width.max(1)).enumerate() {
        elements[place(i)? * width..][..width].copy_from_slice(value);
    }
    Ok(tensor)
}
