//! Tensors: payloads are not copied, except packed integers, which become entries of fixed size.
//! Measured by `cargo xtask bench nodes/read`.

use super::fields::{Fields, Messages, RawValue};
use super::read_pass::ReadPass;
use super::types::entry;
use crate::wire::{Reason, varint};
use bytes::Bytes;
use onnx_ir::{DataLocation, ElemType, Field, Names, Payload, Segment, SparseData, Tensor, TensorExtra};
use smallvec::SmallVec;

const DIMS: u32 = 1;
const DATA_TYPE: u32 = 2;
const SEGMENT: u32 = 3;
const STRING_DATA: u32 = 6;
const NAME: u32 = 8;
const DOC_STRING: u32 = 12;
const EXTERNAL_DATA: u32 = 13;
const DATA_LOCATION: u32 = 14;
const METADATA_PROPS: u32 = 16;

/// The fields of payloads, in the order of their numbers.
const PAYLOADS: [(u32, Field); 7] = [
    (4, Field::Float),
    (5, Field::Int32),
    (STRING_DATA, Field::String),
    (7, Field::Int64),
    (9, Field::Raw),
    (10, Field::Double),
    (11, Field::Uint64),
];

/// Reads tensors, and values that have them.
pub(super) struct TensorReader<'r> {
    pub(super) names: &'r mut Names,
    pub(super) pass: &'r mut ReadPass,
}

impl TensorReader<'_> {
    /// A `TensorProto`.
    pub(super) fn tensor(&mut self, encoded: &Bytes) -> Tensor {
        let Self { names, pass } = self;
        let (mut tensor, mut extra) = (Tensor::default(), TensorExtra::default());
        let (mut strings, mut failed) = (Vec::new(), None);
        for field in Fields::new(encoded) {
            match field {
                (DIMS, RawValue::Number(dim)) => tensor.dims.push(dim as i64),
                (DIMS, RawValue::Bytes(packed)) => {
                    _ = add_packed(&mut tensor.dims, packed)
                        .map_err(|reason| failed = Some(("dims", reason)));
                }
                (DATA_TYPE, RawValue::Number(ty)) => tensor.elem = Some(ElemType(ty as i32)),
                (SEGMENT, RawValue::Bytes(bytes)) => {
                    segment(bytes, extra.segment.get_or_insert_default(), pass)
                }
                (STRING_DATA, RawValue::Bytes(string)) => strings.push(encoded.slice_ref(string)),
                (NAME, RawValue::Bytes(name)) => tensor.name = Some(names.intern_bytes(name)),
                (DOC_STRING, RawValue::Bytes(doc)) => extra.doc = Some(names.intern_bytes(doc)),
                (EXTERNAL_DATA, RawValue::Bytes(bytes)) => extra.external.push(entry(bytes, names, pass)),
                (DATA_LOCATION, RawValue::Number(at)) => extra.location = Some(DataLocation(at as i32)),
                (METADATA_PROPS, RawValue::Bytes(bytes)) => extra.metadata.push(entry(bytes, names, pass)),
                (number, RawValue::Bytes(bytes)) => match PAYLOADS.iter().find(|(of, _)| *of == number) {
                    Some(&(_, field)) => {
                        if let Some(at) = tensor.data.iter().position(|payload| payload.field() == field) {
                            tensor.data.remove(at);
                            // Pieces of a packed list.
                            if field != Field::Raw {
                                pass.unusual();
                            }
                        }
                        match payload(field, encoded.slice_ref(bytes)) {
                            Ok(payload) => tensor.data.push(payload),
                            Err(reason) => failed = Some((field.name(), reason)),
                        }
                    }
                    None => pass.unusual(),
                },
                (_, RawValue::Number(_) | RawValue::Fixed32(_) | RawValue::Odd) => pass.unusual(),
            }
        }
        if !strings.is_empty() {
            tensor.data.push(Payload::Strings(strings));
        }
        if tensor.data.len() > 1 {
            let rank = |payload: &Payload| PAYLOADS.iter().position(|(_, of)| *of == payload.field());
            tensor.data.sort_by_key(rank);
        }
        if let Some((field, reason)) = failed {
            let of = tensor.name.map_or("", |name| &names[name]);
            pass.undecodable(format_args!("`{field}` of tensor `{of}`"), reason);
        }
        let has_extra = extra != TensorExtra::default();
        tensor.extra = has_extra.then(|| Box::new(extra));
        tensor
    }

    /// A `SparseTensorProto`, before its parts have a place in a body.
    pub(super) fn sparse_tensor(&mut self, encoded: &Bytes) -> SparseData {
        let (mut messages, mut dims) = (Messages::new(encoded), SmallVec::new());
        for field in Fields::new(encoded) {
            match field {
                (number @ (1 | 2), RawValue::Bytes(tensor)) => messages.push(number, tensor),
                (3, RawValue::Number(dim)) => dims.push(dim as i64),
                (3, RawValue::Bytes(packed)) => {
                    if let Err(reason) = add_packed(&mut dims, packed) {
                        self.pass.undecodable("`dims` of a sparse tensor", reason);
                    }
                }
                _ => self.pass.unusual(),
            }
        }
        let [values, indices] = [1, 2].map(|number| messages.one(number).map(|tensor| self.tensor(&tensor)));
        SparseData { values, indices, dims }
    }
}

/// Adds the numbers of a packed list to a list that is not packed in the standard encoding.
pub(super) fn add_packed(list: &mut impl Extend<i64>, packed: &[u8]) -> Result<(), Reason> {
    list.extend(varint::decode_int64(packed)?.0);
    Ok(())
}

fn segment(encoded: &[u8], segment: &mut Segment, pass: &mut ReadPass) {
    for field in Fields::new(encoded) {
        match field {
            (1, RawValue::Number(begin)) => segment.begin = Some(begin as i64),
            (2, RawValue::Number(end)) => segment.end = Some(end as i64),
            _ => pass.unusual(),
        }
    }
}

fn payload(field: Field, bytes: Bytes) -> Result<Payload, Reason> {
    Ok(match field {
        Field::Int32 => Payload::int32s(varint::decode_int32(&bytes)?.0),
        Field::Int64 => Payload::int64s(varint::decode_int64(&bytes)?.0),
        Field::Uint64 => Payload::uint64s(varint::decode_uint64(&bytes)?.0),
        Field::Float | Field::Double if !bytes.len().is_multiple_of(field.entry_size()) => {
            return Err(Reason::Truncated);
        }
        Field::Float | Field::Double | Field::Raw => Payload::Entries { field, bytes },
        Field::String => Payload::Strings(vec![bytes]),
    })
}
