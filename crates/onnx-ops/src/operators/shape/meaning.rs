//! Tensors whose elements depend on their positions only.

use crate::definition::cx::long;
use crate::definition::{Binary, Cx, Definition, Expr, Index, Number};
use onnx_formula::count;
use onnx_formula::wide;
use onnx_ir::ElemType;

pub(crate) fn constant_of_shape(cx: &Cx<'_>) -> Option<Definition> {
    let number = match cx.attributes.tensor("value") {
        Some(value) if value.elem == cx.out()?.elem => value.numbers.first().copied()?,
        Some(_) => return None,
        None => Number::Float(0.0),
    };
    cx.element(Expr::Number(number))
}

/// `start + i * delta`.
pub(crate) fn range(cx: &Cx<'_>) -> Option<Definition> {
    let elem = cx.out()?.elem;
    // Narrow floats cannot represent all indices.
    let common = wide(elem);
    let scalar = |i: usize| Some(cx.scalar(i)?.into_type(elem, common));
    let at = Expr::Index(Index::of(0)).into_type(ElemType::INT64, common);
    cx.element((scalar(0)? + at * scalar(2)?).into_type(common, elem))
}

/// The upper or lower triangle.
pub(crate) fn triangle(cx: &Cx<'_>) -> Option<Definition> {
    let out = cx.out()?;
    let rank = out.dims.len().checked_sub(2)?;
    let k = match cx.input(1) {
        Some(k) => *k.value?.ints()?.first()?,
        None => 0,
    };
    let op = if cx.attributes.is("upper") { Binary::GreaterOrEqual } else { Binary::LessOrEqual };
    let edge = Expr::Index(Index::Affine(k, vec![(rank, 1)]));
    let is_in = Expr::Index(Index::of(rank + 1)).binary(op, edge);
    cx.element(cx.broadcast(0)?.if_else(is_in, Expr::number(out.elem, 0)))
}

/// 1 on a diagonal, 0 elsewhere.
pub(crate) fn eye_like(cx: &Cx<'_>) -> Option<Definition> {
    let elem = cx.out()?.elem;
    let diagonal = Index::Affine(cx.attributes.int("k")?, vec![(0, 1)]);
    let is_on = Expr::Index(Index::of(1)).equal(Expr::Index(diagonal));
    cx.element(Expr::number(elem, 1).if_else(is_on, Expr::number(elem, 0)))
}

/// The shape of the input, or the part from `start` to `end`.
pub(crate) fn shape(cx: &Cx<'_>) -> Option<Definition> {
    let (dims, out) = (cx.input(0)?.dims, cx.out()?.dims);
    let start = match cx.attributes.int("start").unwrap_or(0) {
        start if start < 0 => (start.saturating_add(long(dims.len())?)).max(0),
        start => start,
    };
    let numbers: Vec<Number> = (dims.iter().skip(usize::try_from(start).ok()?))
        .map(|d| Some(Number::Int(long(*d)?.into())))
        .collect::<Option<_>>()?;
    let &[count] = out else { return None };
    let none = (count == 0).then_some(Expr::int(0));
    cx.element(none.or_else(|| Expr::table(&Index::of(0), numbers.get(..count)?))?)
}

pub(crate) fn size(cx: &Cx<'_>) -> Option<Definition> {
    cx.element(Expr::int(long(count(cx.input(0)?.dims)?)?))
}
