//! Views: the same elements in another shape or order.

use crate::definition::cx::{axis, long};
use crate::definition::{Cx, Definition, Expr, Index};

/// The elements of the input, in row-major order, in another shape.
///
/// Axes with equal products on both sides form a group, in which positions are computed: `[2,3,4]` as `[6,4]` divides only the
/// first index, and `[6,4]` as `[2,3,4]` divides none.
pub(crate) fn same_order(cx: &Cx<'_>) -> Option<Definition> {
    cx.element(Expr::Load(0, reshaped(cx.input(0)?.dims, cx.out()?.dims)?))
}

/// The position in `from` with the same row-major index as the position in `to`.
pub(crate) fn reshaped(from: &[usize], to: &[usize]) -> Option<Vec<Index>> {
    if from == to {
        return Some((0..to.len()).map(Index::of).collect());
    }
    let (mut a, mut b) = (0, 0);
    let mut load = Vec::with_capacity(from.len());
    while a < from.len() || b < to.len() {
        let (start, first) = (a, b);
        let (mut left, mut right) = (1i64, 1i64);
        // First an axis of each side that has one left, then axes of the side with the smaller product.
        loop {
            if left <= right && a < from.len() && (left < right || a == start) {
                left = left.checked_mul(long(from[a])?)?;
                a += 1;
            } else if b < to.len() && (right < left || b == first) {
                right = right.checked_mul(long(to[b])?)?;
                b += 1;
            } else {
                break;
            }
        }
        if left != right {
            // Only for empty tensors, where positions do not matter.
            return (from.contains(&0) && to.contains(&0)).then(|| vec![Index::at(0); from.len()]);
        }
        let mut linear = Index::at(0);
        let mut stride = 1i64;
        for i in (first..b).rev().filter(|i| to[*i] != 1) {
            linear = Index::Affine(0, vec![(i, stride)]).plus(linear);
            stride = stride.checked_mul(long(to[i])?)?;
        }
        load.extend(parts(&linear, &from[start..a])?);
    }
    Some(load)
}

/// Unravels a row-major index.
pub(crate) fn parts(linear: &Index, dims: &[usize]) -> Option<Vec<Index>> {
    let mut stride = 1i64;
    let mut load = Vec::with_capacity(dims.len());
    // The first axis whose size is not 1 needs no remainder.
    let first = dims.iter().position(|d| *d != 1);
    for (i, d) in dims.iter().enumerate().rev() {
        let d = long(*d)?;
        load.push(match first {
            _ if d == 1 => Index::at(0),
            Some(first) if first == i => linear.clone().div(stride),
            Some(_) | None => linear.clone().div(stride).rem(d),
        });
        stride = stride.checked_mul(d)?;
    }
    load.reverse();
    Some(load)
}

pub(crate) fn transpose(cx: &Cx<'_>) -> Option<Definition> {
    let rank = cx.input(0)?.dims.len();
    let perm = match cx.attributes.ints("perm") {
        Some(perm) => perm.into_iter().map(|p| axis(p, rank)).collect::<Option<Vec<_>>>()?,
        None => (0..rank).rev().collect(),
    };
    // Axis `i` of the input is at its position in `perm`.
    let load = (0..rank).map(|i| Some(Index::of(perm.iter().position(|p| *p == i)?)));
    cx.element(Expr::Load(0, load.collect::<Option<_>>()?))
}

pub(crate) fn expand(cx: &Cx<'_>) -> Option<Definition> {
    cx.element(cx.broadcast(0)?)
}

pub(crate) fn tile(cx: &Cx<'_>) -> Option<Definition> {
    let (dims, to) = (cx.input(0)?.dims, cx.out()?.dims);
    let index = |(i, (d, to)): (usize, (&usize, &usize))| {
        Some(if d == to { Index::of(i) } else { Index::of(i).rem(long(*d)?.max(1)) })
    };
    let load = dims.iter().zip(to).enumerate().map(index).collect::<Option<_>>()?;
    cx.element(Expr::Load(0, load))
}

/// Moves blocks of channels to rows and columns; with `CRD`, the channels of the result come before those of the block.
pub(crate) fn depth_to_space(cx: &Cx<'_>) -> Option<Definition> {
    let block = block_size(cx)?;
    let &[_, channels, _, _] = cx.out()?.dims else { return None };
    let channels = long(channels)?;
    let (row, column) = (Index::of(2).rem(block), Index::of(3).rem(block));
    let channel = match cx.attributes.string("mode").as_deref() {
        Some("DCR") | None => {
            vec![(row, block.checked_mul(channels)?), (column, channels), (Index::of(1), 1)]
        }
        Some("CRD") => vec![(Index::of(1), block.checked_mul(block)?), (row, block), (column, 1)],
        Some(_) => return None,
    };
    let load = vec![Index::of(0), Index::Sum(channel), Index::of(2).div(block), Index::of(3).div(block)];
    cx.element(Expr::Load(0, load))
}

/// Moves blocks of rows and columns to channels.
pub(crate) fn space_to_depth(cx: &Cx<'_>) -> Option<Definition> {
    let block = block_size(cx)?;
    let &[_, channels, _, _] = cx.input(0)?.dims else { return None };
    let channels = long(channels)?.max(1);
    let at = || Index::of(1);
    let (channel, row, column) = match cx.attributes.string("mode").as_deref() {
        Some("DCR") | None => {
            let row = at().div(channels.checked_mul(block)?);
            (at().rem(channels), row, at().div(channels).rem(block))
        }
        Some("CRD") => (at().div(block.checked_mul(block)?), at().div(block).rem(block), at().rem(block)),
        Some(_) => return None,
    };
    let place = |axis: usize, within: Index| Index::Sum(vec![(Index::of(axis), block), (within, 1)]);
    cx.element(Expr::Load(0, vec![Index::of(0), channel, place(2, row), place(3, column)]))
}

fn block_size(cx: &Cx<'_>) -> Option<i64> {
    cx.attributes.int("blocksize").filter(|n| (1..1 << 20).contains(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_affine_where_they_can_be() {
        assert_eq!(
            reshaped(&[6, 4], &[2, 3, 4]),
            Some(vec![Index::Affine(0, vec![(0, 3), (1, 1)]), Index::of(2)])
        );
        let divided = vec![Index::of(0).div(3), Index::of(0).rem(3), Index::of(1)];
        assert_eq!(reshaped(&[2, 3, 4], &[6, 4]), Some(divided));
        assert_eq!(reshaped(&[1, 5, 1], &[5]), Some(vec![Index::at(0), Index::of(0), Index::at(0)]));
        assert_eq!(reshaped(&[], &[1, 1]), Some(Vec::new()));
        assert_eq!(reshaped(&[1, 1], &[]), Some(vec![Index::at(0), Index::at(0)]));
        assert_eq!(reshaped(&[2, 3], &[4]), None);
        assert!(reshaped(&[0, 3], &[5, 0]).is_some());
    }
}
