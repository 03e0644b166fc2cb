//! Types of values.

use super::name;
use crate::pb;
use crate::pb::tensor_shape_proto::dimension::Value;
use onnx_ir::{Dim, DimValue, ElemType, Names, TensorType, Type, TypeId, TypeKind, Types};

pub(super) fn read_type(message: pb::TypeProto, names: &mut Names, types: &mut Types) -> TypeId {
    // One is set at most: of several on the wire, the last one counts (see `wire::canonical`).
    let mut element =
        |ty: Option<Box<pb::TypeProto>>, names: &mut Names| ty.map(|ty| read_type(*ty, names, types));
    let kind = if let Some(tensor) = message.tensor_type {
        TypeKind::Tensor(tensor_type(tensor.elem_type, tensor.shape, names))
    } else if let Some(tensor) = message.sparse_tensor_type {
        TypeKind::SparseTensor(tensor_type(tensor.elem_type, tensor.shape, names))
    } else if let Some(sequence) = message.sequence_type {
        TypeKind::Sequence(element(sequence.elem_type, names))
    } else if let Some(optional) = message.optional_type {
        TypeKind::Optional(element(optional.elem_type, names))
    } else if let Some(map) = message.map_type {
        TypeKind::Map { key: map.key_type.map(ElemType), value: element(map.value_type, names) }
    } else if let Some(opaque) = message.opaque_type {
        TypeKind::Opaque { domain: name(opaque.domain, names), name: name(opaque.name, names) }
    } else {
        TypeKind::Unset
    };
    types.intern(Type { kind, denotation: name(message.denotation, names) })
}

fn tensor_type(elem: Option<i32>, shape: Option<pb::TensorShapeProto>, names: &mut Names) -> TensorType {
    let mut dim = |dim: pb::tensor_shape_proto::Dimension| Dim {
        value: match dim.value {
            Some(Value::DimValue(value)) => DimValue::Value(value),
            Some(Value::DimParam(param)) => DimValue::Param(names.intern_bytes(&param)),
            None => DimValue::Unknown,
        },
        denotation: name(dim.denotation, names),
    };
    TensorType {
        elem: elem.map(ElemType),
        shape: shape.map(|shape| shape.dim.into_iter().map(&mut dim).collect()),
    }
}
