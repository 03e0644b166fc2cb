//! Results that are elements of an operand in another order, bit for bit: transpositions, slices, repetitions.
//!
//! Along the last axis of the result, elements lie one behind the other, stand still, or lie far apart. In the last case, if they
//! lie one behind the other along another axis, both are walked through in blocks, so that what is read and what is written
//! are whole lines of the cache.

use super::program::{Instr, Program};
use super::view::Operands;
use super::widest::{Job, widest};
use super::{Linear, Nest};
use crate::failure::{Failure, fail};
use crate::tensor::{advance, width};
use std::ops::Range;

/// Elements of a block along the axis where they lie together in the operand.
const BLOCK: usize = 16;

/// Where each element of a result comes from.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    operand: usize,
    place: Linear,
    dims: Vec<usize>,
}

impl Moved {
    /// What a nest without a reduction moves, if it does nothing else.
    pub(super) fn of(elem: onnx_ir::ElemType, dims: &[usize], body: &Program) -> Option<Moved> {
        let [Instr::Load { to, operand, elem: from, place }] = &body.instrs[..] else { return None };
        let is_all = *from == elem && body.result == Some(*to);
        is_all.then(|| Moved { operand: *operand, place: place.clone(), dims: dims.to_vec() })
    }

    /// Some elements of the result, in row-major order.
    pub(super) fn run(
        &self,
        operands: &Operands<'_>,
        elements: Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let Some(from) = operands.get(self.operand).copied().flatten() else {
            fail!("input {} is left out", self.operand)
        };
        match width(from.elem) {
            Some(1) => self.words::<u8>(from.words(), from.first, elements, out),
            Some(2) => self.words::<u16>(from.words(), from.first, elements, out),
            Some(4) => self.words::<u32>(from.words(), from.first, elements, out),
            Some(8) => self.words::<u64>(from.words(), from.first, elements, out),
            Some(_) | None => fail!("elements of no width"),
        }
    }

    fn words<T: bytemuck::Pod>(
        &self,
        from: &[T],
        first: i64,
        elements: Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let Ok(mut out) = bytemuck::try_cast_slice_mut::<u8, T>(out) else {
            fail!("elements of another width")
        };
        let last = self.dims.len() - 1;
        let by = &self.place.by;
        // The axis along which blocks lie: the last one itself if there is no better.
        let across = match by[last] {
            0 | 1 => last,
            _ => (0..last).rev().find(|axis| by[*axis] == 1 && self.dims[*axis] > 1).unwrap_or(last),
        };
        let behind: usize = self.dims[across + 1..].iter().product();
        let is_whole = elements.start.is_multiple_of(behind) && elements.len().is_multiple_of(behind);
        let (across, behind) = if is_whole { (across, behind) } else { (last, 1) };
        let mut at = vec![0; self.dims.len()];
        let mut index = elements.start;
        for (at, d) in at.iter_mut().zip(&self.dims).rev() {
            (*at, index) = (index % d, index / d);
        }
        while !out.is_empty() {
            let n = (self.dims[across] - at[across]).min(out.len() / behind);
            let Some((now, later)) = out.split_at_mut_checked(n * behind).filter(|_| n > 0) else {
                fail!("the result has fewer elements than are computed")
            };
            self.slab(from, first, &mut at, across, now)?;
            out = later;
            at[across] += n;
            if at[across] == self.dims[across] {
                at[across] = 0;
                advance(&mut at[..across], &self.dims[..across]);
            }
        }
        Ok(())
    }

    /// Elements from a position on, some steps along one axis and all along those behind it.
    fn slab<T: Copy>(
        &self,
        from: &[T],
        first: i64,
        at: &mut [usize],
        across: usize,
        out: &mut [T],
    ) -> Result<(), Failure> {
        let last = self.dims.len() - 1;
        let by = self.place.by[last];
        let Some(start) = usize::try_from(self.place.at(at) - first).ok() else {
            fail!("an index is out of bounds")
        };
        if across == last {
            return line(from, start, by, out);
        }
        let row = self.dims[last];
        let behind: usize = self.dims[across + 1..].iter().product();
        let mut done = 0;
        loop {
            let Ok(start) = usize::try_from(self.place.at(at) - first) else {
                fail!("an index is out of bounds")
            };
            if !widest(Transposed { from, start, by, out: &mut out[done * row..], behind, row }) {
                fail!("an index is out of bounds")
            }
            done += 1;
            if !advance(&mut at[across + 1..last], &self.dims[across + 1..last]) {
                return Ok(());
            }
        }
    }
}

/// A stretch of elements along the last axis.
fn line<T: Copy>(from: &[T], start: usize, by: i64, out: &mut [T]) -> Result<(), Failure> {
    let n = out.len();
    let span = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX).saturating_mul(n - 1);
    let (start, end) =
        if by < 0 { (start.wrapping_sub(span), start) } else { (start, start.saturating_add(span)) };
    let Some(from) = from.get(start..).and_then(|from| from.get(..=end - start)) else {
        fail!("an index is out of bounds")
    };
    match by {
        0 => out.fill(from[0]),
        1 => out.copy_from_slice(from),
        _ if by < 0 => {
            let by = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
            out.iter_mut().zip(from.iter().rev().step_by(by)).for_each(|(out, x)| *out = *x);
        }
        _ => {
            let by = usize::try_from(by).unwrap_or(usize::MAX);
            out.iter_mut().zip(from.iter().step_by(by)).for_each(|(out, x)| *out = *x);
        }
    }
    Ok(())
}

/// A matrix, transposed: the rows of the result, `behind` apart, lie one element apart in the operand, its columns `by`.
struct Transposed<'t, T> {
    from: &'t [T],
    start: usize,
    by: i64,
    out: &'t mut [T],
    behind: usize,
    row: usize,
}

impl<T: Copy> Job for Transposed<'_, T> {
    /// Whether all elements are there.
    type Out = bool;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> bool {
        let Transposed { from, start, by, out, behind, row } = self;
        let rows = (out.len() - row) / behind + 1;
        for top in (0..rows).step_by(BLOCK) {
            let n = BLOCK.min(rows - top);
            let mut column = 0;
            while column < row {
                let line = |column: usize| {
                    let place = start as i64 + top as i64 + column as i64 * by;
                    usize::try_from(place).ok().and_then(|place| from.get(place..)?.get(..n))
                };
                let out = &mut out[top * behind + column..];
                if n == BLOCK && column + BLOCK <= row {
                    let Some(square) = square(|i| line(column + i)) else { return false };
                    for (out, i) in out.chunks_mut(behind).zip(0..BLOCK) {
                        let Some(out) = out.first_chunk_mut::<BLOCK>() else { return false };
                        for column in 0..BLOCK {
                            out[column] = square[column][i];
                        }
                    }
                    column += BLOCK;
                } else {
                    let Some(from) = line(column) else { return false };
                    out.iter_mut().step_by(behind).zip(from).for_each(|(out, x)| *out = *x);
                    column += 1;
                }
            }
        }
        true
    }
}

/// As many lines as elements of a line.
#[inline(always)]
fn square<'f, T: Copy + 'f>(line: impl Fn(usize) -> Option<&'f [T]>) -> Option<[[T; BLOCK]; BLOCK]> {
    let first = line(0)?.first_chunk::<BLOCK>()?;
    let mut lines = [*first; BLOCK];
    for (column, to) in lines.iter_mut().enumerate() {
        *to = *line(column)?.first_chunk::<BLOCK>()?;
    }
    Some(lines)
}

impl Nest {
    /// What the nest moves, if it does nothing else.
    pub(super) fn moves(&self) -> Option<Moved> {
        if self.reduction.is_some() || self.then.is_some() {
            return None;
        }
        Moved::of(self.elem, &self.dims, &self.body)
    }
}
