//! Types of values.

use super::Strings;
use crate::pb;
use crate::pb::tensor_shape_proto::dimension::Value;
use onnx_ir::{Dim, DimValue, TensorType, TypeId, TypeKind, Types};

pub(super) fn type_message(id: TypeId, types: &Types, strings: &Strings) -> pb::TypeProto {
    use pb::type_proto::{Map, Opaque, Optional, Sequence, SparseTensor, Tensor};
    let ty = &types[id];
    let element = |id: Option<TypeId>| id.map(|id| Box::new(type_message(id, types, strings)));
    let mut message = pb::TypeProto { denotation: strings.get(ty.denotation), ..pb::TypeProto::default() };
    match &ty.kind {
        TypeKind::Unset => {}
        TypeKind::Tensor(tensor) => {
            let (elem_type, shape) = (tensor.elem.map(|elem| elem.0), shape(tensor, strings));
            message.tensor_type = Some(Tensor { elem_type, shape });
        }
        TypeKind::SparseTensor(tensor) => {
            let (elem_type, shape) = (tensor.elem.map(|elem| elem.0), shape(tensor, strings));
            message.sparse_tensor_type = Some(SparseTensor { elem_type, shape });
        }
        TypeKind::Sequence(elem) => {
            message.sequence_type = Some(Box::new(Sequence { elem_type: element(*elem) }))
        }
        TypeKind::Optional(elem) => {
            message.optional_type = Some(Box::new(Optional { elem_type: element(*elem) }))
        }
        TypeKind::Map { key, value } => {
            let (key_type, value_type) = (key.map(|key| key.0), element(*value));
            message.map_type = Some(Box::new(Map { key_type, value_type }));
        }
        TypeKind::Opaque { domain, name } => {
            message.opaque_type = Some(Opaque { domain: strings.get(*domain), name: strings.get(*name) });
        }
    }
    message
}

fn shape(tensor: &TensorType, strings: &Strings) -> Option<pb::TensorShapeProto> {
    let dim = |dim: &Dim| pb::tensor_shape_proto::Dimension {
        value: match dim.value {
            DimValue::Unknown => None,
            DimValue::Value(value) => Some(Value::DimValue(value)),
            DimValue::Param(param) => Some(Value::DimParam(strings.of(param))),
        },
        denotation: strings.get(dim.denotation),
    };
    let dims = tensor.shape.as_ref()?;
    Some(pb::TensorShapeProto { dim: dims.iter().map(dim).collect() })
}
