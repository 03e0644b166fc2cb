//! Decodes tensors: payloads are not copied, except packed integers, which become entries of fixed size.

use super::{entries, name};
use crate::pb;
use crate::wire::{Reason, varint};
use bytes::Bytes;
use onnx_ir::diag::{Diagnostic, Place, code};
use onnx_ir::{DataLocation, ElemType, Field, Names, Payload, Segment, SparseData, Tensor, TensorExtra};
use smallvec::SmallVec;

/// The parts of a sparse tensor, before they have a place in a body.
pub(super) fn read_sparse_tensor(
    message: pb::SparseTensorProto,
    names: &mut Names,
    diagnostics: &mut Vec<Diagnostic>,
) -> SparseData {
    SparseData {
        values: message.values.map(|tensor| read_tensor(tensor, names, diagnostics)),
        indices: message.indices.map(|tensor| read_tensor(tensor, names, diagnostics)),
        dims: message.dims.into(),
    }
}

pub(super) fn read_tensor(
    message: pb::TensorProto,
    names: &mut Names,
    diagnostics: &mut Vec<Diagnostic>,
) -> Tensor {
    let pb::TensorProto {
        dims,
        data_type,
        segment,
        float_data,
        int32_data,
        string_data,
        int64_data,
        name: tensor_name,
        raw_data,
        double_data,
        uint64_data,
        doc_string,
        external_data,
        data_location,
        metadata_props,
    } = message;

    let tensor_name = name(tensor_name, names);
    let mut payloads = Payloads { data: SmallVec::new(), failed: None };
    // In the order of the field numbers.
    payloads.add(Field::Float, float_data, fixed::<4>(Field::Float));
    payloads.add(Field::Int32, int32_data, |bytes| Ok(Payload::int32s(varint::decode_int32(&bytes)?.0)));
    if !string_data.is_empty() {
        payloads.data.push(Payload::Strings(string_data));
    }
    payloads.add(Field::Int64, int64_data, |bytes| Ok(Payload::int64s(varint::decode_int64(&bytes)?.0)));
    payloads.add(Field::Raw, raw_data, |bytes| Ok(Payload::Entries { field: Field::Raw, bytes }));
    payloads.add(Field::Double, double_data, fixed::<8>(Field::Double));
    payloads.add(Field::Uint64, uint64_data, |bytes| Ok(Payload::uint64s(varint::decode_uint64(&bytes)?.0)));
    if let Some((field, reason)) = payloads.failed {
        let of = tensor_name.map_or("", |name| &names[name]);
        let message = format!("`{}` of tensor `{of}` cannot be decoded: {reason}", field.name());
        diagnostics.push(Diagnostic::new(&code::MODEL_UNDECODABLE, Place::Nowhere, message));
    }

    let extra = TensorExtra {
        location: data_location.map(DataLocation),
        external: entries(external_data, names),
        segment: segment.map(|segment| Segment { begin: segment.begin, end: segment.end }),
        doc: name(doc_string, names),
        metadata: entries(metadata_props, names),
    };
    let has_extra = extra != TensorExtra::default();
    Tensor {
        name: tensor_name,
        dims: dims.into(),
        elem: data_type.map(ElemType),
        data: payloads.data,
        extra: has_extra.then(|| Box::new(extra)),
    }
}

struct Payloads {
    data: SmallVec<[Payload; 1]>,
    failed: Option<(Field, Reason)>,
}

impl Payloads {
    /// Adds the payload of a field that is set, or notes why it cannot be.
    fn add(
        &mut self,
        field: Field,
        bytes: Option<Bytes>,
        payload: impl FnOnce(Bytes) -> Result<Payload, Reason>,
    ) {
        match bytes.map(payload) {
            Some(Ok(payload)) => self.data.push(payload),
            Some(Err(reason)) => self.failed = Some((field, reason)),
            None => {}
        }
    }
}

/// Entries of `SIZE` bytes, as they are.
fn fixed<const SIZE: usize>(field: Field) -> impl Fn(Bytes) -> Result<Payload, Reason> {
    move |bytes| match bytes.len() % SIZE {
        0 => Ok(Payload::Entries { field, bytes }),
        _ => Err(Reason::Truncated),
    }
}
