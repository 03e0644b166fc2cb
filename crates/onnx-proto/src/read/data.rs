//! Values in files of their own.

use super::tensor::{read_sparse_tensor, read_tensor};
use super::{decode, name};
use crate::{FileKind, pb};
use bytes::Bytes;
use onnx_ir::diag::{Diagnostic, Parsed};
use onnx_ir::{Data, DataKind, ElemType, MapData, Names, OptionalData, Sequence};

/// Reads a value from a file of this kind, and returns findings about the bytes. `None`: they are not such a message, or the kind
/// is not that of a value.
pub fn read_data(bytes: Bytes, kind: FileKind, names: &mut Names) -> Parsed<Option<Data>> {
    let mut diagnostics = Vec::new();
    let ds = &mut diagnostics;
    let data = match kind {
        FileKind::Tensor => decode(bytes, kind, ds).map(|m| Data::Tensor(read_tensor(m, names, ds))),
        FileKind::SparseTensor => {
            decode(bytes, kind, ds).map(|m| Data::SparseTensor(read_sparse_tensor(m, names, ds)))
        }
        FileKind::Sequence => decode(bytes, kind, ds).map(|m| Data::Sequence(sequence(m, names, ds))),
        FileKind::Map => decode(bytes, kind, ds).map(|m| Data::Map(map(m, names, ds))),
        FileKind::Optional => decode(bytes, kind, ds).map(|m| Data::Optional(optional(m, names, ds))),
        FileKind::Model | FileKind::Function | FileKind::Graph | FileKind::OperatorSet => None,
    };
    Parsed::new(data, diagnostics)
}

fn sequence(message: pb::SequenceProto, names: &mut Names, ds: &mut Vec<Diagnostic>) -> Sequence {
    Sequence {
        name: name(message.name, names),
        kind: message.elem_type.map(DataKind),
        tensors: message.tensor_values.into_iter().map(|m| read_tensor(m, names, ds)).collect(),
        sparse_tensors: message
            .sparse_tensor_values
            .into_iter()
            .map(|m| read_sparse_tensor(m, names, ds))
            .collect(),
        sequences: message.sequence_values.into_iter().map(|m| sequence(m, names, ds)).collect(),
        maps: message.map_values.into_iter().map(|m| map(m, names, ds)).collect(),
        optionals: message.optional_values.into_iter().map(|m| optional(m, names, ds)).collect(),
    }
}

fn map(message: pb::MapProto, names: &mut Names, ds: &mut Vec<Diagnostic>) -> MapData {
    MapData {
        name: name(message.name, names),
        key: message.key_type.map(ElemType),
        keys: message.keys,
        string_keys: message.string_keys,
        values: message.values.map(|m| sequence(m, names, ds)),
    }
}

fn optional(message: pb::OptionalProto, names: &mut Names, ds: &mut Vec<Diagnostic>) -> OptionalData {
    OptionalData {
        name: name(message.name, names),
        kind: message.elem_type.map(DataKind),
        tensor: message.tensor_value.map(|m| read_tensor(m, names, ds)),
        sparse_tensor: message.sparse_tensor_value.map(|m| read_sparse_tensor(m, names, ds)),
        sequence: message.sequence_value.map(|m| Box::new(sequence(m, names, ds))),
        map: message.map_value.map(|m| Box::new(map(m, names, ds))),
        optional: message.optional_value.map(|m| Box::new(optional(*m, names, ds))),
    }
}
