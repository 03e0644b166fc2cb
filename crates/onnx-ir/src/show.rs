//! Types as ONNX text writes them, for messages: those of models, cut where they are too long to be read, and those of inference.
//!
//! The printer of models is in onnx-text, which this crate cannot use; a message needs a few words of it only.

use crate::ids::TypeId;
use crate::model::Model;
use crate::names::Names;
#[cfg(feature = "verify")]
use crate::tensor::Tensor;
use crate::types::{DimValue, ElemType, TensorType, TypeKind};
use std::fmt::{Display, Write};

/// Longer shapes and deeper types are cut with `…`.
const MAX_LENGTH: usize = 12;

/// One level of a type, as [`nested_type_text`] prints it.
#[derive(Debug)]
pub enum TypeLevel<T> {
    /// An unknown type, `?`.
    Unknown,
    /// A tensor, as text of [`tensor_type_text`].
    Tensor(String),
    /// A sparse tensor, likewise.
    SparseTensor(String),
    /// A sequence of this type.
    Sequence(Option<T>),
    /// An optional value of this type.
    Optional(Option<T>),
    /// A map with keys of an element type.
    Map(Option<ElemType>, Option<T>),
    /// An opaque type with its domain, which may be empty.
    Opaque(String, String),
}

/// `seq(float[2,N])`: any type, level by level. More than `most` levels are cut with `…`.
pub fn nested_type_text<T>(ty: T, most: usize, level: impl Fn(T) -> TypeLevel<T>) -> String {
    let (mut text, mut closing, mut next) = (String::new(), 0, Some(ty));
    while let Some(ty) = next.take() {
        let inner = match level(ty) {
            TypeLevel::Unknown => {
                text.push('?');
                break;
            }
            TypeLevel::Tensor(tensor) => {
                text.push_str(&tensor);
                break;
            }
            TypeLevel::SparseTensor(tensor) => {
                let _ = write!(text, "sparse_tensor({tensor})");
                break;
            }
            TypeLevel::Opaque(domain, name) => {
                let comma = if domain.is_empty() { "" } else { ", " };
                let _ = write!(text, "opaque({domain}{comma}{name})");
                break;
            }
            TypeLevel::Sequence(inner) => {
                text.push_str("seq(");
                inner
            }
            TypeLevel::Optional(inner) => {
                text.push_str("optional(");
                inner
            }
            TypeLevel::Map(key, value) => {
                let _ = write!(text, "map({}, ", elem_text(key));
                value
            }
        };
        closing += 1;
        if inner.is_none() {
            text.push('?');
        } else if closing == most {
            text.push('…');
            break;
        }
        next = inner;
    }
    text.push_str(&")".repeat(closing));
    text
}

/// `float[2,N]`; without dimensions a scalar, without a shape `float[]`. More than `most` dimensions are cut with `…`.
pub fn tensor_type_text(
    elem: Option<ElemType>,
    dims: Option<impl ExactSizeIterator<Item = impl Display>>,
    most: usize,
) -> String {
    let mut text = elem_text(elem);
    let Some(dims) = dims else { return text + "[]" };
    let len = dims.len();
    if len == 0 {
        return text;
    }
    for (i, dim) in dims.take(most).enumerate() {
        let _ = write!(text, "{}{dim}", if i == 0 { '[' } else { ',' });
    }
    text + if len > most { ",…]" } else { "]" }
}

/// `seq(float[2,N])`: a type of a model.
#[must_use]
pub fn type_text(model: &Model, ty: TypeId) -> String {
    let tensor = |t: &TensorType| {
        tensor_type(&model.names, t.elem, t.shape.as_deref().map(|s| s.iter().map(|d| d.value)))
    };
    nested_type_text(ty, MAX_LENGTH, |ty| match &model.types[ty].kind {
        TypeKind::Unset => TypeLevel::Unknown,
        TypeKind::Tensor(t) => TypeLevel::Tensor(tensor(t)),
        TypeKind::SparseTensor(t) => TypeLevel::SparseTensor(tensor(t)),
        TypeKind::Sequence(inner) => TypeLevel::Sequence(*inner),
        TypeKind::Optional(inner) => TypeLevel::Optional(*inner),
        TypeKind::Map { key, value } => TypeLevel::Map(*key, *value),
        TypeKind::Opaque { domain, name } => {
            TypeLevel::Opaque(model.text(*domain).to_owned(), model.text(*name).to_owned())
        }
    })
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
    tensor_type_text(Some(elem), Some(dims.iter()), usize::MAX)
}

/// `float[2]`, the type of a stored tensor.
#[cfg(feature = "verify")]
pub(crate) fn tensor_text(names: &Names, tensor: &Tensor) -> String {
    tensor_type(names, tensor.elem, Some(tensor.dims.iter().map(|&d| DimValue::Value(d))))
}

/// The type of a tensor with dimensions of a model.
pub(crate) fn tensor_type(
    names: &Names,
    elem: Option<ElemType>,
    dims: Option<impl ExactSizeIterator<Item = DimValue>>,
) -> String {
    let text = |dim| match dim {
        DimValue::Unknown => "?".to_owned(),
        DimValue::Value(n) => n.to_string(),
        DimValue::Param(name) => names[name].to_owned(),
    };
    tensor_type_text(elem, dims.map(|dims| dims.map(text)), MAX_LENGTH)
}

/// `float`; the number for an unknown type.
pub fn elem_text(elem: Option<ElemType>) -> String {
    match elem {
        None => "?".to_owned(),
        Some(elem) => elem.name().map_or_else(|| elem.0.to_string(), str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
