//! Tensors and declarations as nearly all are, straight from their bytes. `None` where one is not: then it becomes a
//! struct first. Measured by `cargo xtask bench nodes/read`.

use super::fields::{Fields, RawValue};
use crate::wire::varint;
use bytes::Bytes;
use onnx_ir::{
    Dim, DimValue, ElemType, Entry, Field, Names, Payload, Port, Tensor, TensorType, TypeId, TypeKind, Types,
};
use smallvec::SmallVec;

/// Sets a field that is there once.
fn once<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}

/// A `TensorProto` with a shape, a type, a name and one payload at most.
pub(super) fn plain_tensor(encoded: &Bytes, names: &mut Names) -> Option<Tensor> {
    const DIMS: u32 = 1;
    const DATA_TYPE: u32 = 2;
    const NAME: u32 = 8;

    let (mut name, mut payload) = (None, None);
    let mut tensor = Tensor::default();
    for field in Fields::new(encoded) {
        match field {
            (DIMS, RawValue::Number(dim)) => tensor.dims.push(dim as i64),
            (DATA_TYPE, RawValue::Number(ty)) => once(&mut tensor.elem, ElemType(ty as i32))?,
            (NAME, RawValue::Bytes(bytes)) => once(&mut name, bytes)?,
            (number, RawValue::Bytes(bytes)) => once(&mut payload, (payload_field(number)?, bytes))?,
            (_, RawValue::Number(_) | RawValue::Fixed32(_) | RawValue::Odd) => return None,
        }
    }
    if let Some((field, bytes)) = payload {
        tensor.data.push(match field {
            Field::Int32 => Payload::int32s(varint::decode_int32(bytes).ok()?.0),
            Field::Int64 => Payload::int64s(varint::decode_int64(bytes).ok()?.0),
            Field::Float if bytes.len() % 4 != 0 => return None,
            Field::Float | Field::Raw => Payload::Entries { field, bytes: encoded.slice_ref(bytes) },
            Field::Double | Field::Uint64 | Field::String => return None,
        });
    }
    tensor.name = name.map(|name| names.intern_bytes(name));
    Some(tensor)
}

/// The payload in a field of this number, of those that most tensors have.
fn payload_field(number: u32) -> Option<Field> {
    Some(match number {
        4 => Field::Float,
        5 => Field::Int32,
        7 => Field::Int64,
        9 => Field::Raw,
        _ => return None,
    })
}

/// A `ValueInfoProto` with the type of a tensor.
pub(super) fn plain_port(encoded: &[u8], names: &mut Names, types: &mut Types) -> Option<Port> {
    let (mut name, mut ty, mut doc, mut entries) = (None, None, None, SmallVec::<[&[u8]; 4]>::new());
    for field in Fields::new(encoded) {
        match field {
            (1, RawValue::Bytes(bytes)) => once(&mut name, bytes)?,
            (2, RawValue::Bytes(bytes)) => once(&mut ty, bytes)?,
            (3, RawValue::Bytes(bytes)) => once(&mut doc, bytes)?,
            (4, RawValue::Bytes(bytes)) => entries.push(bytes),
            _ => return None,
        }
    }
    let [name, doc] = [name, doc].map(|text| text.map(|text| names.intern_bytes(text)));
    let mut is_plain = true;
    let metadata = entries.iter().map(|bytes| entry(bytes, names, || is_plain = false)).collect();
    if !is_plain {
        return None;
    }
    let ty = match ty {
        Some(ty) => Some(plain_type(ty, names, types)?),
        None => None,
    };
    Some(Port { name, value: None, ty, doc, metadata })
}

/// A `StringStringEntryProto`; calls `unusual` for other contents.
pub(super) fn entry(encoded: &[u8], names: &mut Names, mut unusual: impl FnMut()) -> Entry {
    let mut entry = Entry { key: None, value: None };
    for field in Fields::new(encoded) {
        match field {
            (1, RawValue::Bytes(key)) => entry.key = Some(names.intern_bytes(key)),
            (2, RawValue::Bytes(value)) => entry.value = Some(names.intern_bytes(value)),
            _ => unusual(),
        }
    }
    entry
}

/// A `TypeProto` of a tensor.
fn plain_type(encoded: &[u8], names: &mut Names, types: &mut Types) -> Option<TypeId> {
    let mut fields = Fields::new(encoded);
    let (Some((1, RawValue::Bytes(tensor))), None) = (fields.next(), fields.next()) else { return None };
    let mut ty = TensorType { elem: None, shape: None };
    for field in Fields::new(tensor) {
        match field {
            (1, RawValue::Number(elem)) => once(&mut ty.elem, ElemType(elem as i32))?,
            (2, RawValue::Bytes(shape)) => once(&mut ty.shape, plain_shape(shape, names)?)?,
            _ => return None,
        }
    }
    Some(types.intern(TypeKind::Tensor(ty).into()))
}

/// A `TensorShapeProto` without denotations.
fn plain_shape(encoded: &[u8], names: &mut Names) -> Option<Vec<Dim>> {
    let dim = |field: (u32, RawValue<'_>)| {
        let (1, RawValue::Bytes(dim)) = field else { return None };
        let mut fields = Fields::new(dim);
        let value = match fields.next() {
            None => DimValue::Unknown,
            Some((1, RawValue::Number(value))) => DimValue::Value(value as i64),
            Some((2, RawValue::Bytes(param))) => DimValue::Param(names.intern_bytes(param)),
            Some(_) => return None,
        };
        fields.next().is_none().then_some(Dim { value, denotation: None })
    };
    Fields::new(encoded).map(dim).collect()
}
