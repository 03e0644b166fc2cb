//! Tensors: a payload goes back to the field that it came from.

use super::{Strings, entries};
use crate::pb;
use crate::wire::varint;
use bytes::Bytes;
use onnx_ir::{Field, Payload, Tensor};

pub(super) fn tensor_message(tensor: &Tensor, strings: &Strings) -> pb::TensorProto {
    let extra = tensor.extra();
    let mut message = pb::TensorProto {
        dims: tensor.dims.to_vec(),
        data_type: tensor.elem.map(|elem| elem.0),
        segment: extra
            .segment
            .map(|segment| pb::tensor_proto::Segment { begin: segment.begin, end: segment.end }),
        name: strings.get(tensor.name),
        doc_string: strings.get(extra.doc),
        external_data: entries(&extra.external, strings),
        data_location: extra.location.map(|location| location.0),
        metadata_props: entries(&extra.metadata, strings),
        ..pb::TensorProto::default()
    };
    for payload in &tensor.data {
        match payload {
            Payload::Strings(strings) => message.string_data.clone_from(strings),
            Payload::Entries { field, bytes } => {
                let (slot, encoded): (_, Bytes) = match field {
                    Field::Raw => (&mut message.raw_data, bytes.clone()),
                    Field::Float => (&mut message.float_data, bytes.clone()),
                    Field::Double => (&mut message.double_data, bytes.clone()),
                    Field::Int32 => (&mut message.int32_data, varint::encode_int32(bytes).into()),
                    Field::Int64 => (&mut message.int64_data, varint::encode_int64(bytes).into()),
                    Field::Uint64 => (&mut message.uint64_data, varint::encode_int64(bytes).into()),
                    // Strings are the other kind of payload.
                    Field::String => continue,
                };
                *slot = Some(encoded);
            }
        }
    }
    message
}

pub(super) fn sparse_tensor_message(
    values: Option<&Tensor>,
    indices: Option<&Tensor>,
    dims: &[i64],
    strings: &Strings,
) -> pb::SparseTensorProto {
    pb::SparseTensorProto {
        values: values.map(|tensor| tensor_message(tensor, strings)),
        indices: indices.map(|tensor| tensor_message(tensor, strings)),
        dims: dims.to_vec(),
    }
}
