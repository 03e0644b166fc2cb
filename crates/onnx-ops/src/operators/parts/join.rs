//! Concatenation.

use crate::definition::cx::long;
use crate::definition::{Cx, Definition, Expr, Index};

/// An input with its start.
struct JoinedInput {
    input: usize,
    rank: usize,
    start: i64,
}

/// Selects the input of an index along the axis by binary search.
pub(super) fn concat(cx: &Cx<'_>) -> Option<Definition> {
    let rank = cx.out()?.dims.len();
    // Version 1 has axis 1 as its default.
    let along = match cx.attributes.int("axis") {
        Some(_) => cx.axis(rank)?,
        None => 1,
    };
    let mut parts = Vec::new();
    let mut start = 0i64;
    for input in 0..cx.inputs.len() {
        let dims = cx.input(input)?.dims;
        let extent = long(*dims.get(along)?)?;
        if extent > 0 {
            parts.push(JoinedInput { input, rank: dims.len(), start });
        }
        start = start.checked_add(extent)?;
    }
    if parts.is_empty() {
        parts.push(JoinedInput { input: 0, rank, start: 0 });
    }
    cx.element(search(along, &parts)?)
}

fn search(along: usize, parts: &[JoinedInput]) -> Option<Expr> {
    if let [JoinedInput { input, rank, start }] = *parts {
        let index = |at| if at == along { Index::Affine(-start, vec![(at, 1)]) } else { Index::of(at) };
        return Some(Expr::Load(input, (0..rank).map(index).collect()));
    }
    let (low, high) = parts.split_at(parts.len() / 2);
    let is_low = Expr::Index(Index::of(along)).less(Expr::int(high.first()?.start));
    Some(search(along, low)?.if_else(is_low, search(along, high)?))
}
