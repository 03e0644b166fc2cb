//! Facts for inference from the values of a run.

use crate::tensor::Tensor;
use onnx_ir::ElemType;
use onnx_kernels::Value;
use onnx_ops::dims::Dim;
use onnx_ops::infer::{self, Elem, Fact, Ty};

/// The type of a value, with its shape.
pub(crate) fn type_of(value: &Value) -> Ty {
    match value {
        Value::Tensor(tensor) => Ty::tensor(
            tensor.elem(),
            tensor.dims().iter().map(|&d| i64::try_from(d).map_or(Dim::Unknown, Dim::Const)),
        ),
        Value::Sequence(values) => Ty::Sequence(Box::new(values.first().map_or(Ty::Unknown, element_type))),
        Value::Map(map) => {
            let value = map.values.first().map_or(Ty::Unknown, type_of);
            Ty::Map(Some(map.keys.elem()), Box::new(value))
        }
        Value::Optional(value) => Ty::Optional(Box::new(value.as_deref().map_or(Ty::Unknown, type_of))),
    }
}

/// The type of the elements of a sequence, without a shape because the elements may differ.
fn element_type(value: &Value) -> Ty {
    type_of(value).without_shape()
}

/// The fact of a value: its type, and its elements if there are few.
pub(crate) fn fact(value: &Value) -> Fact {
    let elements = match value {
        Value::Tensor(tensor) if tensor.len() <= infer::SmallTensor::MAX_ELEMENTS => elements(tensor),
        Value::Tensor(_) | Value::Sequence(_) | Value::Map(_) | Value::Optional(_) => None,
    };
    Fact { value: elements.map(Into::into), ..Fact::of(type_of(value)) }
}

fn elements(tensor: &Tensor) -> Option<infer::SmallTensor> {
    let is_float =
        matches!(tensor.elem(), ElemType::FLOAT | ElemType::DOUBLE | ElemType::FLOAT16 | ElemType::BFLOAT16);
    let elems = if is_float {
        tensor.floats().ok()?.into_iter().map(Elem::Float).collect()
    } else {
        tensor.ints().ok()?.into_iter().map(|i| Elem::Int(Dim::Const(i))).collect()
    };
    infer::SmallTensor::new(tensor.dims().iter().copied(), elems)
}
