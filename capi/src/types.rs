//! Types of values.

use crate::abi::{Buffer, Str, guard, handle, put};
use crate::model::Model;
use crate::walk::{string, type_number};
use onnx_ir::{DimValue, TensorType, TypeId, TypeKind, type_text};

/// The kind of a type.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// Not set.
    Unset = 0,
    /// A tensor: it has an element type and a shape.
    Tensor = 1,
    /// A sparse tensor: it has an element type and a shape.
    SparseTensor = 2,
    /// A sequence of `inner`.
    Sequence = 3,
    /// An optional `inner`.
    Optional = 4,
    /// A map from `elem_type` to `inner`.
    Map = 5,
    /// A type of another domain.
    Opaque = 6,
}

/// A view of a type.
#[repr(C)]
pub struct TypeView {
    /// Its kind.
    pub category: Category,
    /// The element type, a number of `TensorProto.DataType`; 0 if it is not known.
    pub elem_type: i32,
    /// Whether the rank is known.
    pub has_shape: bool,
    /// The number of dimensions; 0 for a scalar, and if the rank is not known.
    pub rank: usize,
    /// The type inside, or `ONNXTXT_NONE`.
    pub inner: u32,
    /// The denotation of the value, such as `IMAGE`; may be empty.
    pub denotation: Str,
}

/// A dimension: a number, a symbol, or unknown.
#[repr(C)]
pub struct DimView {
    /// The size; -1 if it is a symbol or unknown.
    pub size: i64,
    /// The symbol; empty if it is a number or unknown.
    pub symbol: Str,
}

fn find(model: &onnx_ir::Model, ty: u32) -> Option<TypeId> {
    model.types.id_at(ty as usize)
}

fn tensor(kind: &TypeKind) -> Option<&TensorType> {
    match kind {
        TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => Some(tensor),
        _ => None,
    }
}

/// A view of a type. Returns whether there is such a type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_type_get(model: *const Model, ty: u32, out: *mut TypeView) -> bool {
    // SAFETY: a model of this library, or null; `out` as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return false };
        let model = model.model();
        let Some(ty) = find(model, ty) else { return false };
        let ty = &model.types[ty];
        let (category, key, inner) = match &ty.kind {
            TypeKind::Unset => (Category::Unset, None, None),
            TypeKind::Tensor(_) => (Category::Tensor, None, None),
            TypeKind::SparseTensor(_) => (Category::SparseTensor, None, None),
            TypeKind::Sequence(inner) => (Category::Sequence, None, *inner),
            TypeKind::Optional(inner) => (Category::Optional, None, *inner),
            TypeKind::Map { key, value } => (Category::Map, *key, *value),
            TypeKind::Opaque { .. } => (Category::Opaque, None, None),
        };
        let tensor = tensor(&ty.kind);
        let shape = tensor.and_then(|tensor| tensor.shape.as_ref());
        put(
            out,
            TypeView {
                category,
                elem_type: key.or(tensor.and_then(|tensor| tensor.elem)).map_or(0, |elem| elem.0),
                has_shape: shape.is_some(),
                rank: shape.map_or(0, Vec::len),
                inner: type_number(inner),
                denotation: string(model, ty.denotation),
            },
        )
    }
}

/// A dimension of a tensor type. Returns whether there is one at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_type_dim(
    model: *const Model,
    ty: u32,
    at: usize,
    out: *mut DimView,
) -> bool {
    // SAFETY: a model of this library, or null; `out` as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return false };
        let model = model.model();
        let Some(ty) = find(model, ty) else { return false };
        let shape = tensor(&model.types[ty].kind).and_then(|tensor| tensor.shape.as_ref());
        let Some(dim) = shape.and_then(|shape| shape.get(at)) else { return false };
        let (size, symbol) = match dim.value {
            DimValue::Value(size) => (size, Str::EMPTY),
            DimValue::Param(name) => (-1, string(model, Some(name))),
            DimValue::Unknown => (-1, Str::EMPTY),
        };
        put(out, DimView { size, symbol })
    }
}

/// A type as text, such as `float[N,3]`; a null pointer if there is no such type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_type_text(model: *const Model, ty: u32) -> *mut Buffer {
    // SAFETY: a model of this library, or null.
    let Some(model) = (unsafe { model.as_ref() }) else { return std::ptr::null_mut() };
    let Some(ty) = find(model.model(), ty) else { return std::ptr::null_mut() };
    guard(std::ptr::null_mut(), || handle(Buffer(type_text(model.model(), ty).into_bytes())))
}

/// The name of an element type, such as `float`; empty for a number that is not one.
#[unsafe(no_mangle)]
pub extern "C" fn onnxtxt_elem_type_name(elem_type: i32) -> Str {
    onnx_ir::ElemType(elem_type).name().map_or(Str::EMPTY, Str::new)
}
