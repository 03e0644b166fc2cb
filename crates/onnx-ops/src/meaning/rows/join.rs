//! Tensors put together.

use super::super::cx::long;
use super::super::{Cx, Definition, Expr, Index};

/// The first input that an index along the axis falls into.
pub(super) fn concat(cx: &Cx<'_>) -> Option<Definition> {
    let dims = cx.out()?.dims;
    // Version 1 joins along axis 1 if it is not told.
    let along = match cx.attributes.int("axis") {
        Some(_) => cx.axis(dims.len())?,
        None => 1,
    };
    let mut end = long(*dims.get(along)?)?;
    let mut expr: Option<Expr> = None;
    for i in (0..cx.inputs.len()).rev() {
        let from = cx.input(i)?.dims;
        let extent = long(*from.get(along)?)?;
        if extent == 0 && (expr.is_some() || i > 0) {
            continue;
        }
        let start = end.checked_sub(extent)?;
        let index = |at| if at == along { Index::Affine(-start, vec![(at, 1)]) } else { Index::of(at) };
        let load = Expr::Load(i, (0..from.len()).map(index).collect());
        expr = Some(match expr {
            None => load,
            Some(rest) => load.if_else(Expr::Index(Index::of(along)).less(Expr::int(end)), rest),
        });
        end = start;
    }
    cx.element(expr?)
}
