//! Tensors of which the elements follow from their positions.

use super::super::{Binary, Cx, Definition, Expr, Index, Number};

pub(super) fn constant_of_shape(cx: &Cx<'_>) -> Option<Definition> {
    let number = match cx.attributes.tensor("value") {
        Some(value) if value.elem == cx.out()?.elem => value.numbers.first().copied()?,
        Some(_) => return None,
        None => Number::Float(0.0),
    };
    cx.element(Expr::Number(number))
}

/// `start + i * delta`.
pub(super) fn range(cx: &Cx<'_>) -> Option<Definition> {
    let elem = cx.out()?.elem;
    let at = Expr::Index(Index::of(0)).cast(elem);
    cx.element(cx.scalar(0)? + at * cx.scalar(2)?)
}

/// What is above a diagonal, or below it.
pub(super) fn triangle(cx: &Cx<'_>) -> Option<Definition> {
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
