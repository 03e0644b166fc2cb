//! Values in files of their own.

use super::fields::{Fields, Messages, RawValue};
use super::read_pass::ReadPass;
use super::readable;
use super::tensor::{TensorReader, add_packed};
use crate::FileKind;
use bytes::Bytes;
use onnx_ir::diag::Parsed;
use onnx_ir::{Data, DataKind, ElemType, MapData, Names, OptionalData, Sequence};

/// Reads a value from a file of this kind, and returns findings about the bytes. `None`: they are not such a message, or the kind
/// is not that of a value.
pub fn read_data(bytes: Bytes, kind: FileKind, names: &mut Names) -> Parsed<Option<Data>> {
    let read: fn(&mut TensorReader<'_>, &Bytes) -> Data = match kind {
        FileKind::Tensor => |reader, bytes| Data::Tensor(reader.tensor(bytes)),
        FileKind::SparseTensor => |reader, bytes| Data::SparseTensor(reader.sparse_tensor(bytes)),
        FileKind::Sequence => |reader, bytes| Data::Sequence(reader.sequence(bytes)),
        FileKind::Map => |reader, bytes| Data::Map(reader.map(bytes)),
        FileKind::Optional => |reader, bytes| Data::Optional(reader.optional(bytes)),
        FileKind::Model
        | FileKind::Graph
        | FileKind::Function
        | FileKind::OperatorSet
        | FileKind::Node
        | FileKind::Type
        | FileKind::ValueInfo
        | FileKind::Attribute => {
            return Parsed::new(None, Vec::new());
        }
    };
    let mut diagnostics = Vec::new();
    let bytes = readable(bytes, kind, &mut diagnostics);
    let mut pass = ReadPass::validated(diagnostics);
    let data = bytes.map(|bytes| read(&mut TensorReader { names, pass: &mut pass }, &bytes));
    Parsed::new(data, pass.diagnostics)
}

impl TensorReader<'_> {
    fn sequence(&mut self, encoded: &Bytes) -> Sequence {
        let mut sequence = Sequence::default();
        for field in Fields::new(encoded) {
            match field {
                (1, RawValue::Bytes(name)) => sequence.name = Some(self.names.intern_bytes(name)),
                (2, RawValue::Number(kind)) => sequence.kind = Some(DataKind(kind as i32)),
                (3, RawValue::Bytes(bytes)) => sequence.tensors.push(self.tensor(&encoded.slice_ref(bytes))),
                (4, RawValue::Bytes(bytes)) => {
                    sequence.sparse_tensors.push(self.sparse_tensor(&encoded.slice_ref(bytes)));
                }
                (5, RawValue::Bytes(bytes)) => {
                    sequence.sequences.push(self.sequence(&encoded.slice_ref(bytes)));
                }
                (6, RawValue::Bytes(bytes)) => sequence.maps.push(self.map(&encoded.slice_ref(bytes))),
                (7, RawValue::Bytes(bytes)) => {
                    sequence.optionals.push(self.optional(&encoded.slice_ref(bytes)));
                }
                _ => self.pass.unusual(),
            }
        }
        sequence
    }

    fn map(&mut self, encoded: &Bytes) -> MapData {
        let (mut map, mut messages) = (MapData::default(), Messages::new(encoded));
        for field in Fields::new(encoded) {
            match field {
                (1, RawValue::Bytes(name)) => map.name = Some(self.names.intern_bytes(name)),
                (2, RawValue::Number(ty)) => map.key = Some(ElemType(ty as i32)),
                (3, RawValue::Number(key)) => map.keys.push(key as i64),
                (3, RawValue::Bytes(packed)) => {
                    if let Err(reason) = add_packed(&mut map.keys, packed) {
                        self.pass.undecodable("`keys` of a map", reason);
                    }
                }
                (4, RawValue::Bytes(key)) => map.string_keys.push(encoded.slice_ref(key)),
                (5, RawValue::Bytes(values)) => messages.push(5, values),
                _ => self.pass.unusual(),
            }
        }
        map.values = messages.one(5).map(|values| self.sequence(&values));
        map
    }

    fn optional(&mut self, encoded: &Bytes) -> OptionalData {
        let (mut optional, mut messages) = (OptionalData::default(), Messages::new(encoded));
        for field in Fields::new(encoded) {
            match field {
                (1, RawValue::Bytes(name)) => optional.name = Some(self.names.intern_bytes(name)),
                (2, RawValue::Number(kind)) => optional.kind = Some(DataKind(kind as i32)),
                (number @ 3..=7, RawValue::Bytes(value)) => messages.push(number, value),
                _ => self.pass.unusual(),
            }
        }
        optional.tensor = messages.one(3).map(|value| self.tensor(&value));
        optional.sparse_tensor = messages.one(4).map(|value| self.sparse_tensor(&value));
        optional.sequence = messages.one(5).map(|value| Box::new(self.sequence(&value)));
        optional.map = messages.one(6).map(|value| Box::new(self.map(&value)));
        optional.optional = messages.one(7).map(|value| Box::new(self.optional(&value)));
        optional
    }
}
