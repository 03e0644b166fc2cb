//! Types of inference: like those of the IR, but with symbolic dimensions.

use crate::dims::{Dim, Dims};
use onnx_ir::{DimValue, ElemType, Model, TypeId, TypeKind, TypeLevel, nested_type_text, tensor_type_text};
use smallvec::SmallVec;

/// The dimensions of a tensor, outermost first.
pub type Shape = SmallVec<[Dim; 4]>;

/// Deeper types are unknown: ONNX does not allow them.
const MAX_DEPTH: usize = 16;

/// A tensor type, as far as it is known.
#[derive(PartialEq, Eq, Hash, Debug, Default)]
pub struct TensorTy {
    /// The element type.
    pub elem: Option<ElemType>,
    /// The shape; `None` is unknown rank.
    pub shape: Option<Shape>,
}

impl Clone for TensorTy {
    /// Clones the shape as one block; the derived implementation clones each dimension.
    fn clone(&self) -> Self {
        TensorTy { elem: self.elem, shape: self.shape.as_deref().map(Shape::from_slice) }
    }
}

/// The type of a value, as far as it is known.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Ty {
    /// Unknown.
    #[default]
    Unknown,
    /// `float[2,N]`
    Tensor(TensorTy),
    /// `sparse_tensor(float[2,N])`
    Sparse(TensorTy),
    /// `seq(T)`
    Sequence(Box<Ty>),
    /// `optional(T)`
    Optional(Box<Ty>),
    /// `map(K, T)`
    Map(Option<ElemType>, Box<Ty>),
    /// `opaque(domain, name)`
    Opaque(Box<(String, String)>),
}

impl Ty {
    /// A tensor of known shape.
    pub fn tensor(elem: ElemType, shape: impl IntoIterator<Item = Dim>) -> Ty {
        Ty::Tensor(TensorTy { elem: Some(elem), shape: Some(shape.into_iter().collect()) })
    }

    /// A tensor of unknown rank.
    pub fn unranked(elem: Option<ElemType>) -> Ty {
        Ty::Tensor(TensorTy { elem, shape: None })
    }

    /// The element type of a tensor, dense or sparse.
    pub fn elem(&self) -> Option<ElemType> {
        self.as_tensor().and_then(|t| t.elem)
    }

    /// The shape of a tensor, dense or sparse.
    pub fn shape(&self) -> Option<&Shape> {
        self.as_tensor().and_then(|t| t.shape.as_ref())
    }

    /// The tensor, dense or sparse.
    pub fn as_tensor(&self) -> Option<&TensorTy> {
        match self {
            Ty::Tensor(t) | Ty::Sparse(t) => Some(t),
            Ty::Unknown | Ty::Sequence(_) | Ty::Optional(_) | Ty::Map(..) | Ty::Opaque(_) => None,
        }
    }

    /// This type with unknown shapes.
    #[must_use]
    pub fn without_shape(&self) -> Ty {
        match self {
            Ty::Tensor(t) => Ty::unranked(t.elem),
            Ty::Sparse(t) => Ty::Sparse(TensorTy { elem: t.elem, shape: None }),
            Ty::Sequence(inner) => Ty::Sequence(Box::new(inner.without_shape())),
            Ty::Optional(inner) => Ty::Optional(Box::new(inner.without_shape())),
            Ty::Map(key, value) => Ty::Map(*key, Box::new(value.without_shape())),
            Ty::Unknown | Ty::Opaque(_) => self.clone(),
        }
    }

    /// This type with every dimension replaced.
    #[must_use]
    pub fn map_dims(&self, dim: &mut impl FnMut(Dim) -> Dim) -> Ty {
        let mut tensor = |t: &TensorTy| TensorTy {
            elem: t.elem,
            shape: t.shape.as_ref().map(|s| s.iter().map(|&d| dim(d)).collect()),
        };
        match self {
            Ty::Tensor(t) => Ty::Tensor(tensor(t)),
            Ty::Sparse(t) => Ty::Sparse(tensor(t)),
            Ty::Sequence(inner) => Ty::Sequence(Box::new(inner.map_dims(dim))),
            Ty::Optional(inner) => Ty::Optional(Box::new(inner.map_dims(dim))),
            Ty::Map(key, value) => Ty::Map(*key, Box::new(value.map_dims(dim))),
            Ty::Unknown | Ty::Opaque(_) => self.clone(),
        }
    }

    /// A type of the model.
    pub fn declared(model: &Model, dims: &mut Dims, ty: TypeId) -> Ty {
        Self::declared_at(model, dims, ty, 0)
    }

    fn declared_at(model: &Model, dims: &mut Dims, ty: TypeId, depth: usize) -> Ty {
        if depth > MAX_DEPTH {
            return Ty::Unknown;
        }
        let mut inner = |ty: Option<TypeId>| {
            Box::new(ty.map_or(Ty::Unknown, |ty| Self::declared_at(model, dims, ty, depth + 1)))
        };
        match &model.types[ty].kind {
            TypeKind::Unset => Ty::Unknown,
            TypeKind::Tensor(t) => Ty::Tensor(tensor(model, dims, t)),
            TypeKind::SparseTensor(t) => Ty::Sparse(tensor(model, dims, t)),
            TypeKind::Sequence(of) => Ty::Sequence(inner(*of)),
            TypeKind::Optional(of) => Ty::Optional(inner(*of)),
            TypeKind::Map { key, value } => Ty::Map(*key, inner(*value)),
            TypeKind::Opaque { domain, name } => {
                Ty::Opaque(Box::new((model.text(*domain).to_owned(), model.text(*name).to_owned())))
            }
        }
    }

    /// The type in ONNX syntax; unknown parts are `?`.
    #[must_use]
    pub fn text(&self, dims: &Dims) -> String {
        let tensor = |t: &TensorTy| {
            let shape = t.shape.as_deref().map(|shape| shape.iter().map(|&d| dim_text(dims, d)));
            tensor_type_text(t.elem, shape, usize::MAX)
        };
        nested_type_text(self, usize::MAX, |ty| match ty {
            Ty::Unknown => TypeLevel::Unknown,
            Ty::Tensor(t) => TypeLevel::Tensor(tensor(t)),
            Ty::Sparse(t) => TypeLevel::SparseTensor(tensor(t)),
            Ty::Sequence(inner) => TypeLevel::Sequence(Some(&**inner)),
            Ty::Optional(inner) => TypeLevel::Optional(Some(&**inner)),
            Ty::Map(key, value) => TypeLevel::Map(*key, Some(&**value)),
            Ty::Opaque(names) => TypeLevel::Opaque(names.0.clone(), names.1.clone()),
        })
    }
}

fn tensor(model: &Model, dims: &mut Dims, t: &onnx_ir::TensorType) -> TensorTy {
    let elem = t.elem.filter(|e| e.name().is_some());
    let dim = |d: &onnx_ir::Dim| match d.value {
        DimValue::Value(n) if n >= 0 => Dim::Const(n),
        DimValue::Unknown | DimValue::Value(_) => Dim::Unknown,
        DimValue::Param(name) if says_nothing(&model.names[name]) => Dim::Unknown,
        DimValue::Param(name) => dims.parse(&model.names[name]),
    };
    TensorTy { elem, shape: t.shape.as_ref().map(|s| s.iter().map(dim).collect()) }
}

/// Whether exporters write this symbol for every unknown dimension: it stands for different sizes.
fn says_nothing(symbol: &str) -> bool {
    matches!(
        symbol,
        "" | "?" | "*" | "-1" | "None" | "none" | "unk" | "unknown" | "Unknown" | "dynamic" | "-"
    )
}

/// The name of an element type, or its number.
#[must_use]
pub fn elem_text(elem: ElemType) -> String {
    onnx_ir::elem_text(Some(elem))
}

/// A dimension as text, `?` if it is unknown.
#[must_use]
pub fn dim_text(dims: &Dims, dim: Dim) -> String {
    match dim {
        Dim::Unknown => "?".to_owned(),
        Dim::Const(n) => n.to_string(),
        Dim::Expr(_) => dims.text(dim),
    }
}
