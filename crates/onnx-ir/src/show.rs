//! Types as ONNX text writes them, for messages. Cut where a type is too long to be read.
//!
//! The printer of models is in onnx-text, which this crate cannot use; a message needs a few words of it only.

use crate::model::Model;
use crate::names::Names;
#[cfg(feature = "verify")]
use crate::tensor::Tensor;
use crate::types::{DimValue, ElemType, TypeId, TypeKind};
use std::fmt::Write;

/// Longer shapes and deeper types are cut with `…`.
const MOST: usize = 12;

/// `seq(float[2,N])`
#[must_use]
pub fn type_text(model: &Model, mut ty: TypeId) -> String {
    let (mut text, mut closing) = (String::new(), 0);
    loop {
        let inner = match &model.types[ty].kind {
            TypeKind::Unset => {
                text.push('?');
                None
            }
            TypeKind::Tensor(t) => {
                text.push_str(&tensor_type(
                    &model.names,
                    t.elem,
                    t.shape.as_deref().map(|s| s.iter().map(|d| d.value)),
                ));
                None
            }
            TypeKind::SparseTensor(t) => {
                let dims = t.shape.as_deref().map(|s| s.iter().map(|d| d.value));
                let _ = write!(text, "sparse_tensor({})", tensor_type(&model.names, t.elem, dims));
                None
            }
            TypeKind::Sequence(inner) => {
                text.push_str("seq(");
                Some(*inner)
            }
            TypeKind::Optional(inner) => {
                text.push_str("optional(");
                Some(*inner)
            }
            TypeKind::Map { key, value } => {
                let _ = write!(text, "map({}, ", elem_text(*key));
                Some(*value)
            }
            TypeKind::Opaque { domain, name } => {
                let domain = domain.filter(|d| !d.is_empty()).map(|d| format!("{}, ", &model.names[d]));
                let _ = write!(text, "opaque({}{})", domain.unwrap_or_default(), model.text(*name));
                None
            }
        };
        let Some(inner) = inner else { break };
        closing += 1;
        match inner {
            Some(next) if closing < MOST => ty = next,
            Some(_) => {
                text.push('…');
                break;
            }
            None => {
                text.push('?');
                break;
            }
        }
    }
    text.push_str(&")".repeat(closing));
    text
}

/// `float[2,3]`: the type of a tensor with these sizes, as ONNX text writes it. A scalar has its element type alone.
///
/// ```
/// use onnx_ir::{ElemType, dense_type_text};
///
/// assert_eq!(dense_type_text(ElemType::FLOAT, &[2, 3]), "float[2,3]");
/// assert_eq!(dense_type_text(ElemType::INT64, &[]), "int64");
/// ```
#[must_use]
pub fn dense_type_text(elem: ElemType, dims: &[usize]) -> String {
    let mut text = elem.name().unwrap_or("?").to_owned();
    for (i, dim) in dims.iter().enumerate() {
        let _ = write!(text, "{}{dim}", if i == 0 { '[' } else { ',' });
    }
    if !dims.is_empty() {
        text.push(']');
    }
    text
}

/// `float[2]`, the type of a stored tensor.
#[cfg(feature = "verify")]
pub(crate) fn tensor_text(names: &Names, tensor: &Tensor) -> String {
    tensor_type(names, tensor.elem, Some(tensor.dims.iter().map(|&d| DimValue::Value(d))))
}

/// `float[2,N]`; without dimensions a scalar, without a shape `float[]`.
pub(crate) fn tensor_type(
    names: &Names,
    elem: Option<ElemType>,
    dims: Option<impl ExactSizeIterator<Item = DimValue>>,
) -> String {
    let mut text = elem_text(elem);
    let Some(dims) = dims else { return text + "[]" };
    let len = dims.len();
    if len == 0 {
        return text;
    }
    for (i, dim) in dims.take(MOST).enumerate() {
        text.push(if i == 0 { '[' } else { ',' });
        match dim {
            DimValue::Unknown => text.push('?'),
            DimValue::Value(n) => {
                let _ = write!(text, "{n}");
            }
            DimValue::Param(name) => text.push_str(&names[name]),
        }
    }
    text + if len > MOST { ",…]" } else { "]" }
}

/// `float`; the number for an unknown type.
pub(crate) fn elem_text(elem: Option<ElemType>) -> String {
    match elem {
        None => "?".to_owned(),
        Some(elem) => elem.name().map_or_else(|| elem.0.to_string(), str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TensorType;

    #[test]
    fn types_read_as_text_writes_them() {
        let mut m = Model::new();
        let n = m.names.intern("N");
        let t = m.types.tensor(ElemType::FLOAT, [DimValue::Value(2), DimValue::Param(n), DimValue::Unknown]);
        let map = m.types.intern(TypeKind::Map { key: Some(ElemType::INT64), value: Some(t) }.into());
        let seq = m.types.intern(TypeKind::Sequence(Some(map)).into());
        assert_eq!(type_text(&m, seq), "seq(map(int64, float[2,N,?]))");
        let scalar = m.types.tensor(ElemType(99), []);
        let unranked = m.types.intern(TypeKind::Tensor(TensorType { elem: None, shape: None }).into());
        assert_eq!((type_text(&m, scalar), type_text(&m, unranked)), ("99".into(), "?[]".into()));
        let mut deep = t;
        for _ in 0..100_000 {
            deep = m.types.intern(TypeKind::Optional(Some(deep)).into());
        }
        assert!(type_text(&m, deep).len() < 200);
    }
}
