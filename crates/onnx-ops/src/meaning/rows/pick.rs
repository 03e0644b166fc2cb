//! Elements at positions that other elements say.

use super::super::cx::long;
use super::super::{Cx, Definition, Expr, Index};
use std::cmp::Ordering;

/// A position that an element says, counted from the end if it is negative.
fn position(picked: Expr, extent: usize) -> Option<Index> {
    let from_end = picked.clone() + Expr::int(long(extent)?);
    Some(Index::Element(Box::new(from_end.if_else(picked.clone().less(Expr::int(0)), picked))))
}

pub(super) fn gather(cx: &Cx<'_>) -> Option<Definition> {
    let (data, indices) = (cx.input(0)?.dims, cx.input(1)?.dims);
    let along = cx.axis(data.len())?;
    let count = indices.len();
    let picked = Expr::Load(1, (0..count).map(|i| Index::of(along + i)).collect());
    let element = position(picked, data[along])?;
    let index = |i: usize| match i.cmp(&along) {
        Ordering::Less => Index::of(i),
        Ordering::Equal => element.clone(),
        Ordering::Greater => Index::of(i + count - 1),
    };
    cx.element(Expr::Load(0, (0..data.len()).map(index).collect()))
}
