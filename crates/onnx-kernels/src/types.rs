//! Types of values.

use crate::value::Value;
use onnx_ir::{DimValue, ElemType, Model, TensorType, TypeId, TypeKind};
use onnx_loops::tensor::Tensor;

impl Value {
    /// Whether the value has a type. A dimension that is not a number fits every size; so does a negative one, which some producers
    /// write for an unknown size.
    pub fn fits(&self, model: &Model, ty: TypeId) -> bool {
        match (&model.types[ty].kind, self) {
            (TypeKind::Tensor(declared) | TypeKind::SparseTensor(declared), Value::Tensor(tensor)) => {
                tensor_fits(tensor, declared)
            }
            (TypeKind::Sequence(Some(inner)), Value::Sequence(values)) => {
                values.iter().all(|value| value.fits(model, *inner))
            }
            (TypeKind::Optional(Some(inner)), Value::Optional(Some(value))) => value.fits(model, *inner),
            (TypeKind::Optional(Some(inner)), Value::Tensor(_) | Value::Sequence(_)) => {
                self.fits(model, *inner)
            }
            (TypeKind::Map { .. }, Value::Map(_))
            | (TypeKind::Optional(_), Value::Optional(_))
            | (TypeKind::Sequence(None), Value::Sequence(_))
            | (TypeKind::Unset | TypeKind::Opaque { .. }, _) => true,
            (
                TypeKind::Tensor(_)
                | TypeKind::SparseTensor(_)
                | TypeKind::Sequence(_)
                | TypeKind::Optional(_)
                | TypeKind::Map { .. },
                _,
            ) => false,
        }
    }

    /// The type in the syntax of types: `float[2,3]`.
    pub fn type_text(&self) -> String {
        match self {
            Value::Tensor(tensor) => tensor.type_text(),
            Value::Sequence(values) => match values.first() {
                Some(first) => format!("seq({})", first.type_text()),
                None => "an empty sequence".to_owned(),
            },
            Value::Map(map) => format!("map({}, …)", map.keys.elem().name().unwrap_or("?")),
            Value::Optional(Some(value)) => format!("optional({})", value.type_text()),
            Value::Optional(None) => "an empty optional".to_owned(),
        }
    }
}

fn tensor_fits(tensor: &Tensor, declared: &TensorType) -> bool {
    extents_fit(tensor.elem(), tensor.dims(), declared)
}

/// Whether tensors of an element type and a shape have a declared type, as [`Value::fits`] says.
pub fn extents_fit(elem: ElemType, dims: &[usize], declared: &TensorType) -> bool {
    let fits = |(dim, extent): (&onnx_ir::Dim, &usize)| match dim.value {
        DimValue::Value(expected @ 0..) => usize::try_from(expected) == Ok(*extent),
        DimValue::Value(_) | DimValue::Param(_) | DimValue::Unknown => true,
    };
    declared.elem.is_none_or(|declared| declared == elem)
        && declared
            .shape
            .as_ref()
            .is_none_or(|shape| shape.len() == dims.len() && shape.iter().zip(dims).all(fits))
}
