//! Parts of tensors.

use super::super::cx::{axes, long};
use super::super::{Cx, Definition, Expr, Index};

pub(super) fn slice(cx: &Cx<'_>) -> Option<Definition> {
    let dims = cx.input(0)?.dims;
    let starts = cx.ints(1, "starts")??;
    let axes = match cx.ints(3, "axes")? {
        Some(list) => axes(list, dims.len())?,
        None => (0..starts.len()).collect(),
    };
    let steps = cx.ints(4, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
    let mut load: Vec<Index> = (0..dims.len()).map(Index::of).collect();
    for ((&start, &along), &step) in starts.iter().zip(&axes).zip(&steps) {
        let d = long(*dims.get(along)?)?;
        let start = if start < 0 { start.saturating_add(d) } else { start };
        let start = if step < 0 { start.clamp(0, (d - 1).max(0)) } else { start.clamp(0, d) };
        load[along] = Index::Affine(start, vec![(along, step)]);
    }
    cx.element(Expr::Load(0, load))
}
