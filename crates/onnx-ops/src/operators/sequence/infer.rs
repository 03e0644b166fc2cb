//! Sequences of tensors.
//!
//! The type of a sequence holds for each element, so a dimension that is not a symbol of the model is
//! unknown: two elements may differ in it.

use crate::dims::Dim;
use crate::engine::{Infer, NodeCx};
use crate::facts::{Fact, Shape, TensorTy, Ty};
use crate::operators::control::infer::single;
use onnx_ir::ElemType;
use onnx_ir::diag::{Diagnostic, code};

/// The common type of the elements of a sequence.
fn element(cx: &NodeCx<'_, '_>, i: usize) -> Option<Ty> {
    match cx.ty(i) {
        Ty::Sequence(inner) => Some((**inner).clone()),
        Ty::Unknown | Ty::Tensor(_) | Ty::Sparse(_) | Ty::Optional(_) | Ty::Map(..) | Ty::Opaque(_) => None,
    }
}

fn set_sequence(cx: &mut NodeCx<'_, '_>, element: Ty) -> Infer {
    cx.set_ty(0, Ty::Sequence(Box::new(element)));
    Some(())
}

/// The join of two tensor types.
fn either(cx: &mut NodeCx<'_, '_>, a: Ty, b: Ty) -> Ty {
    cx.either(&Fact::of(a), &Fact::of(b)).ty
}

pub(super) fn construct(cx: &mut NodeCx<'_, '_>) -> Infer {
    let generic = cx.output(0).clone();
    let mut element = cx.ty(0).clone();
    for i in 1..cx.input_count() {
        let next = cx.ty(i).clone();
        element = either(cx, element, next);
    }
    let elem = (0..cx.input_count()).find_map(|i| cx.elem(i));
    element = cx.meet(&element, &Ty::unranked(elem)).unwrap_or(element);
    set_sequence(cx, element)?;
    let ty = cx.meet(&cx.output(0).clone(), &generic)?;
    cx.set_ty(0, ty);
    Some(())
}

pub(super) fn empty(cx: &mut NodeCx<'_, '_>) -> Infer {
    let elem = if cx.has_attr("dtype") {
        let number = cx.int("dtype")?;
        let elem = cx.elem_attr("dtype");
        let allowed = cx.schema().output(0).map(|o| o.types.sequences);
        let Some(elem) = elem.filter(|&e| allowed.is_some_and(|set| set.contains(e))) else {
            let name = elem.and_then(ElemType::name).map_or_else(|| number.to_string(), str::to_owned);
            return cx.fail_at_attr("dtype", format!("sequences of {name} tensors are not supported"));
        };
        elem
    } else {
        ElemType::FLOAT
    };
    set_sequence(cx, Ty::unranked(Some(elem)))
}

pub(super) fn at(cx: &mut NodeCx<'_, '_>) -> Infer {
    single(cx, 1);
    let element = Fact::of(element(cx, 0)?);
    let ty = cx.with_symbols(element, 0).ty;
    cx.set_ty(0, ty);
    Some(())
}

pub(super) fn insert(cx: &mut NodeCx<'_, '_>) -> Infer {
    single(cx, 2);
    let old = element(cx, 0)?;
    let new = cx.ty(1).clone();
    if cx.meet(&old.without_shape(), &new.without_shape()).is_none() {
        let [into, ty] = [cx.ty(0).clone(), new].map(|ty| ty.without_shape().text(cx.dims()));
        let message = format!("cannot insert {ty} into {into}");
        let diagnostic = Diagnostic::new(&code::TYPE_CONFLICT, cx.at_input(1), message)
            .label(format!("this is {ty}"))
            .related(cx.at_input(0), format!("this is {into}"));
        return cx.fail(diagnostic);
    }
    let elem = old.elem().or(new.elem());
    let both = either(cx, old, new);
    let both = cx.meet(&both, &Ty::unranked(elem)).unwrap_or(both);
    set_sequence(cx, both)
}

pub(super) fn erase(cx: &mut NodeCx<'_, '_>) -> Infer {
    single(cx, 1);
    let element = element(cx, 0)?;
    set_sequence(cx, element)
}

pub(super) fn length(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.set_shape(0, []);
    Some(())
}

pub(super) fn concat(cx: &mut NodeCx<'_, '_>) -> Infer {
    let new_axis = cx.int("new_axis")?;
    if !(0..=1).contains(&new_axis) {
        return cx.fail_at_attr("new_axis", format!("`new_axis` must be 0 or 1, but is {new_axis}"));
    }
    let element = element(cx, 0)?;
    if let Some(elem) = element.elem() {
        cx.set_elem(0, elem);
    }
    let mut shape = element.shape()?.clone();
    let place = cx.at_attr("axis");
    let axis = cx.int("axis")?;
    let count = cx.fresh(0);
    if new_axis == 1 {
        let axis = cx.axis(axis, shape.len() + 1, place)?;
        shape.insert(axis, count);
    } else {
        let axis = cx.axis(axis, shape.len(), place)?;
        shape[axis] = if shape[axis] == Dim::Const(0) { Dim::Const(0) } else { count };
    }
    cx.set_shape(0, shape);
    Some(())
}

pub(super) fn split(cx: &mut NodeCx<'_, '_>) -> Infer {
    let elem = cx.elem(0);
    set_sequence(cx, Ty::unranked(elem))?;
    let mut shape = cx.shape(0)?;
    let place = cx.at_attr("axis");
    let axis = cx.int("axis")?;
    let axis = cx.axis(axis, shape.len(), place)?;
    if !cx.has_input(1) {
        if cx.int("keepdims") == Some(0) {
            shape.remove(axis);
        } else {
            cx.int("keepdims")?;
            shape[axis] = Dim::Const(1);
        }
    } else {
        shape[axis] = chunk(cx, shape[axis])?;
    }
    let shape: Shape = shape;
    set_sequence(cx, Ty::Tensor(TensorTy { elem, shape: Some(shape) }))
}

/// The common size of all chunks, if there is one.
fn chunk(cx: &mut NodeCx<'_, '_>, whole: Dim) -> Option<Dim> {
    let Some(sizes) = cx.shape_of_ranks(1, 0, Some(1)) else {
        return cx.rank(1).is_none().then_some(Dim::Unknown);
    };
    let Some(value) = cx.value(1) else { return Some(Dim::Unknown) };
    let sizes_known: Vec<Dim> = value.as_dims().map(|d| cx.dims().resolve(d)).collect();
    let is_scalar = sizes.is_empty();
    if let Some(Dim::Const(size)) =
        sizes_known.iter().find(|d| matches!(d, Dim::Const(n) if *n < i64::from(is_scalar)))
    {
        let expected = if is_scalar { "greater than zero" } else { "zero or greater" };
        let message = format!("chunk size {size} is not {expected}");
        cx.fail_at_input(1, &code::CONSTANT_INPUT, message)?;
    }
    if is_scalar {
        let size = *sizes_known.first()?;
        if size == Dim::Const(1) {
            return Some(size);
        }
        let rest = cx.dims().modulo(whole, size);
        return Some(if rest == Dim::Const(0) { size } else { Dim::Unknown });
    }
    let total = sizes_known.iter().fold(Dim::Const(0), |sum, &d| cx.dims().add(sum, d));
    if let (Dim::Const(sum), Dim::Const(extent)) = (total, whole)
        && sum != extent
    {
        let message = format!("the chunk sizes add up to {sum}, but the axis has size {extent}");
        cx.fail_at_input(1, &code::CONSTANT_INPUT, message)?;
    }
    let first = *sizes_known.first()?;
    let are_equal = sizes_known.iter().all(|&d| cx.dims().known_equal(first, d) == Some(true));
    Some(if are_equal { first } else { Dim::Unknown })
}
