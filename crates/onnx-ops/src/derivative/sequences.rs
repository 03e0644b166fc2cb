//! Parts of derivatives of sequences.

use crate::facts::Ty;
use onnx_ir::ElemType;

/// `SequenceMap` exists since this version.
pub(crate) const MAPS: i64 = 17;

/// The element type of the tensors that a value is or holds; `None` if it is unknown.
pub(crate) fn element_type(ty: &Ty) -> Option<ElemType> {
    match ty {
        Ty::Tensor(tensor) | Ty::Sparse(tensor) => tensor.elem,
        Ty::Sequence(inner) | Ty::Optional(inner) => element_type(inner),
        Ty::Unknown | Ty::Map(..) | Ty::Opaque(_) => None,
    }
}

/// The attribute of a `SequenceMap` whose results are zeros or ones in the shapes of the elements.
pub(crate) fn filling_body(filling: &str) -> String {
    format!(
        "body = filled (element) => (full) {{ extents = Shape (element) full = ConstantOfShape <value = {filling}> (extents) }}"
    )
}
