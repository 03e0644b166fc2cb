//! Optional values.

use crate::dims::Dim;
use crate::engine::{Infer, NodeCx};
use crate::facts::{SmallTensor, Ty};
use onnx_ir::diag::{Diagnostic, code};

/// The input, or an empty optional of the type in the attribute.
pub(super) fn optional(cx: &mut NodeCx<'_, '_>) -> Infer {
    let has_type = cx.has_attr("type");
    let ty = match (cx.has_input(0), has_type) {
        (false, false) => {
            let message = "`Optional` without an input requires the attribute `type`";
            return cx.fail(Diagnostic::new(&code::ATTR_VALUE, cx.at_op(), message));
        }
        (true, false) => cx.ty(0).clone(),
        (false, true) => stated(cx)?,
        (true, true) => {
            let (ty, stated) = (cx.ty(0).clone(), stated(cx)?);
            let Some(both) = cx.meet(&ty, &stated) else {
                let [ty, stated] = [ty, stated].map(|ty| ty.text(cx.dims()));
                let message = format!("`type` is {stated}, but the input is {ty}");
                let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_attr("type"), message);
                return cx.fail(diagnostic.related(cx.at_input(0), format!("this is {ty}")));
            };
            both
        }
    };
    cx.set_ty(0, Ty::Optional(Box::new(ty)));
    Some(())
}

/// The attribute `type`: a tensor or a sequence of tensors.
fn stated(cx: &mut NodeCx<'_, '_>) -> Option<Ty> {
    let ty = cx.type_attr("type")?;
    let is_allowed = match &ty {
        Ty::Tensor(_) | Ty::Unknown => true,
        Ty::Sequence(inner) => matches!(**inner, Ty::Tensor(_) | Ty::Unknown),
        Ty::Sparse(_) | Ty::Optional(_) | Ty::Map(..) | Ty::Opaque(_) => false,
    };
    if !is_allowed {
        let text = ty.text(cx.dims());
        let message = format!("`type` is {text}, neither a tensor nor a sequence of tensors");
        cx.fail_at_attr("type", message)?;
    }
    Some(ty)
}

/// The content of an optional; from version 18 on, other values are returned unchanged.
pub(super) fn get(cx: &mut NodeCx<'_, '_>) -> Infer {
    let fact = cx.fact(0).clone();
    match fact.ty {
        Ty::Unknown => return None,
        Ty::Optional(inner) => cx.set_ty(0, *inner),
        ty @ (Ty::Tensor(_) | Ty::Sparse(_) | Ty::Sequence(_) | Ty::Map(..) | Ty::Opaque(_)) => {
            cx.set_fact(0, ty, fact.value);
        }
    }
    Some(())
}

/// A value that is not an optional is present; an omitted input is not.
pub(super) fn has(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.set_shape(0, []);
    let is_there = if cx.has_input(0) {
        match cx.ty(0) {
            Ty::Unknown | Ty::Optional(_) => return None,
            Ty::Tensor(_) | Ty::Sparse(_) | Ty::Sequence(_) | Ty::Map(..) | Ty::Opaque(_) => true,
        }
    } else {
        false
    };
    cx.set_value(0, SmallTensor::scalar(Dim::Const(is_there.into())));
    Some(())
}
