//! Gathers elements at positions from data.

use crate::definition::cx::{axis, long};
use crate::definition::{Cx, Definition, Expr, Index};
use crate::operators::view::meaning::parts;
use onnx_ir::ElemType;
use std::cmp::Ordering;

/// A position from an element; negative ones count from the end.
fn position(picked: Expr, extent: usize) -> Option<Index> {
    let from_end = picked.clone() + Expr::int(long(extent)?);
    Some(Index::Element(Box::new(from_end.if_else(picked.clone().less(Expr::int(0)), picked))))
}

pub(crate) fn gather(cx: &Cx<'_>) -> Option<Definition> {
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

pub(crate) fn gather_elements(cx: &Cx<'_>) -> Option<Definition> {
    let (data, rank) = (cx.input(0)?.dims, cx.out()?.dims.len());
    let along = cx.axis(data.len())?;
    let mut load: Vec<Index> = (0..rank).map(Index::of).collect();
    *load.get_mut(along)? = position(cx.broadcast(1)?, data[along])?;
    cx.element(Expr::Load(0, load))
}

/// The last axis of the indices holds positions along the axes after the batch axes.
pub(crate) fn gather_nd(cx: &Cx<'_>) -> Option<Definition> {
    let (data, indices) = (cx.input(0)?.dims, cx.input(1)?.dims);
    let batches = usize::try_from(cx.attributes.int("batch_dims").unwrap_or(0)).ok()?;
    let (picked, outer) = (*indices.last()?, indices.len() - 1);
    let rest = data.len().checked_sub(batches.checked_add(picked)?)?;
    let mut load: Vec<Index> = (0..batches).map(Index::of).collect();
    for axis in 0..picked {
        let mut at: Vec<Index> = (0..outer).map(Index::of).collect();
        at.push(Index::at(long(axis)?));
        load.push(position(Expr::Load(1, at), *data.get(batches + axis)?)?);
    }
    load.extend((0..rest).map(|axis| Index::of(outer + axis)));
    cx.element(Expr::Load(0, load))
}

/// The second value where the index along the new axis equals the element, otherwise the first. Indices of other types are cast to
/// int64, but one beyond that is not the index that it would wrap around to.
pub(crate) fn one_hot(cx: &Cx<'_>) -> Option<Definition> {
    let (dims, indices) = (cx.out()?.dims, cx.input(0)?);
    let along = cx.axis(dims.len())?;
    let depth = long(dims[along])?;
    let at = (0..indices.dims.len()).map(|i| Index::of(if i < along { i } else { i + 1 }));
    let picked = Expr::Load(0, at.collect());
    let index = Expr::Index(Index::of(along));
    let is_there = if indices.elem == ElemType::UINT64 {
        index.into_type(ElemType::INT64, indices.elem).equal(picked)
    } else {
        let picked = picked.into_type(indices.elem, ElemType::INT64);
        let from_end = picked.clone() + Expr::int(depth);
        index.equal(from_end.if_else(picked.clone().less(Expr::int(0)), picked))
    };
    let value = |i: i64| Expr::Load(2, vec![Index::at(i)]);
    cx.element(value(1).if_else(is_there, value(0)))
}

/// Reverses the first elements along the time axis, by the length of each batch member.
pub(crate) fn reverse_sequence(cx: &Cx<'_>) -> Option<Definition> {
    let rank = cx.out()?.dims.len();
    let of = |name: &str| axis(cx.attributes.int(name)?, rank);
    let (batch, time) = (of("batch_axis")?, of("time_axis")?);
    let length = Expr::Load(1, vec![Index::of(batch)]);
    let at = || Expr::Index(Index::of(time));
    let reversed = length.clone() - Expr::int(1) - at();
    let mut load: Vec<Index> = (0..rank).map(Index::of).collect();
    load[time] = Index::Element(Box::new(reversed.if_else(at().less(length), at())));
    cx.element(Expr::Load(0, load))
}

/// Columns of the last axis, by a list of any shape; a vector counts as one row.
pub(crate) fn columns(cx: &Cx<'_>) -> Option<Definition> {
    let (data, list, out) = (cx.input(0)?.dims, cx.input(1)?.dims, cx.out()?.dims);
    let rows = data.len().checked_sub(1)?;
    let last = out.len().checked_sub(1)?;
    let mut load: Vec<Index> = match rows {
        0 => Vec::new(),
        _ => (0..rows).map(Index::of).collect(),
    };
    // The row-major index in the list.
    let at = parts(&Index::of(last), list)?;
    load.push(position(Expr::Load(1, at), data[rows])?);
    cx.element(Expr::Load(0, load))
}
