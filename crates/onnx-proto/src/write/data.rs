//! Values in files of their own.

use super::tensor::{sparse_tensor_message, tensor_message};
use super::{Strings, TooLarge, encode};
use crate::pb;
use onnx_ir::{Data, MapData, Names, OptionalData, Sequence, SparseData, Tensor};

/// The encoded message of a value.
///
/// # Errors
///
/// The message would have more bytes than protobuf can read.
pub fn write_data(data: &Data, names: &Names) -> Result<Vec<u8>, TooLarge> {
    let writer = Writer { strings: &Strings::new(names) };
    match data {
        Data::Tensor(tensor) => encode(&writer.tensor(tensor)),
        Data::SparseTensor(tensor) => encode(&writer.sparse_tensor(tensor)),
        Data::Sequence(sequence) => encode(&writer.sequence(sequence)),
        Data::Map(map) => encode(&writer.map(map)),
        Data::Optional(optional) => encode(&writer.optional(optional)),
    }
}

struct Writer<'a> {
    strings: &'a Strings,
}

impl Writer<'_> {
    fn tensor(&self, tensor: &Tensor) -> pb::TensorProto {
        tensor_message(tensor, self.strings)
    }

    fn sparse_tensor(&self, tensor: &SparseData) -> pb::SparseTensorProto {
        sparse_tensor_message(tensor.values.as_ref(), tensor.indices.as_ref(), &tensor.dims, self.strings)
    }

    fn sequence(&self, sequence: &Sequence) -> pb::SequenceProto {
        pb::SequenceProto {
            name: self.strings.get(sequence.name),
            elem_type: sequence.kind.map(|kind| kind.0),
            tensor_values: sequence.tensors.iter().map(|tensor| self.tensor(tensor)).collect(),
            sparse_tensor_values: sequence
                .sparse_tensors
                .iter()
                .map(|tensor| self.sparse_tensor(tensor))
                .collect(),
            sequence_values: sequence.sequences.iter().map(|inner| self.sequence(inner)).collect(),
            map_values: sequence.maps.iter().map(|map| self.map(map)).collect(),
            optional_values: sequence.optionals.iter().map(|optional| self.optional(optional)).collect(),
        }
    }

    fn map(&self, map: &MapData) -> pb::MapProto {
        pb::MapProto {
            name: self.strings.get(map.name),
            key_type: map.key.map(|key| key.0),
            keys: map.keys.clone(),
            string_keys: map.string_keys.clone(),
            values: map.values.as_ref().map(|values| self.sequence(values)),
        }
    }

    fn optional(&self, optional: &OptionalData) -> pb::OptionalProto {
        pb::OptionalProto {
            name: self.strings.get(optional.name),
            elem_type: optional.kind.map(|kind| kind.0),
            tensor_value: optional.tensor.as_ref().map(|tensor| self.tensor(tensor)),
            sparse_tensor_value: optional.sparse_tensor.as_ref().map(|tensor| self.sparse_tensor(tensor)),
            sequence_value: optional.sequence.as_ref().map(|sequence| self.sequence(sequence)),
            map_value: optional.map.as_ref().map(|map| self.map(map)),
            optional_value: optional.optional.as_ref().map(|inner| Box::new(self.optional(inner))),
        }
    }
}
