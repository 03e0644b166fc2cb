//! Copies of operand elements in another order, bit for bit: transpositions, slices, broadcasts.
//!
//! Along the last axis of the result, operand elements are contiguous, constant, or strided. In the strided case, if they are
//! contiguous along another axis, both axes are tiled, so that reads and writes use whole cache lines; the last axes together if they
//! are short. Contiguous rows may have padding at both ends, and may start at computed offsets, for many rows at once.

pub(super) mod gather;
pub(super) mod transpose;

use super::lanes::view::{Operands, View};
use super::lanes::{Class, Linear};
use super::program::{Bound, Instr, Program};
use crate::budget::spend;
use crate::failure::{Failure, fail};
use crate::tensor::{advance, width};
use bytemuck::Pod;
use gather::Gathered;
use onnx_formula::Number;
use onnx_ir::ElemType;
use smallvec::SmallVec;
use std::ops::Range;
use transpose::{SIDE, Square, TransposeBody, Transposer, transposing};

/// Elements of a tile along the contiguous axis of the operand.
const BLOCK: usize = SIDE;

/// With fewer rows, a transposition goes row by row, so many columns at a time.
const FEW_ROWS: usize = 8;
const NEAR_COLUMNS: usize = 256;
/// Elements of a row that are closer together than this are read row by row, too.
const FEW_APART: i64 = 5;
/// The most columns whose offsets are listed.
const MAX_TABLE: usize = 1 << 12;

/// About the most elements that are copied between two looks at whether the run is cancelled.
const ELEMENTS_PER_CHECK: usize = 1 << 22;

/// A copy of operand elements.
#[derive(Clone, Debug)]
pub(super) struct CopyPlan {
    pub(super) operand: usize,
    place: Linear,
    pub(super) dims: Vec<usize>,
    padding: Option<Padding>,
    /// The offsets of rows, if they are computed.
    gathered: Option<Gathered>,
}

/// The padding where some functions are out of bounds.
#[derive(Clone, Debug)]
struct Padding {
    bounds: Vec<Bound>,
    /// The bits of the element.
    otherwise: u64,
}

impl CopyPlan {
    /// The copy that a nest without a reduction consists of, if it does nothing else.
    pub(super) fn of(elem: ElemType, dims: &[usize], body: &Program) -> Option<CopyPlan> {
        let last = dims.len() - 1;
        let (to, operand, from, place, padding, gathered) = match &body.instrs[..] {
            [Instr::Load { to, operand, elem, place }] => (to, operand, elem, place.clone(), None, None),
            [Instr::LoadWhere { to, operand, elem, place, bounds, otherwise }] if place.by[last] == 1 => {
                let number = match to.class {
                    Class::Int => Number::Int(otherwise.1.into()),
                    Class::Single | Class::Double => Number::Float(otherwise.0),
                };
                let otherwise = number.to_bits(*elem)?;
                let padding = Padding { bounds: bounds.clone(), otherwise };
                (to, operand, elem, place.clone(), Some(padding), None)
            }
            [.., Instr::Gather { to, operand, elem, .. }] => {
                let gathered = Gathered::of(dims, body)?;
                let place = Linear { base: 0, by: SmallVec::new() };
                (to, operand, elem, place, None, Some(gathered))
            }
            _ => return None,
        };
        let is_all = *from == elem && body.result == Some(*to);
        let (operand, dims) = (*operand, dims.to_vec());
        is_all.then_some(CopyPlan { operand, place, dims, padding, gathered })
    }

    /// Renumbers its operands.
    pub(super) fn renumber(&mut self, to: &dyn Fn(usize) -> usize) {
        self.operand = to(self.operand);
        self.gathered.iter_mut().for_each(|gathered| gathered.program.renumber(to));
    }

    /// Copies some elements of the result, in row-major order.
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
            Some(1) => self.words::<u8>(operands, from, elements, out),
            Some(2) => self.words::<u16>(operands, from, elements, out),
            Some(4) => self.words::<u32>(operands, from, elements, out),
            Some(8) => self.words::<u64>(operands, from, elements, out),
            Some(_) | None => fail!("elements of no width"),
        }
    }

    fn words<T: Pod>(
        &self,
        operands: &Operands<'_>,
        view: View<'_>,
        elements: Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let Ok(mut out) = bytemuck::try_cast_slice_mut::<u8, T>(out) else {
            fail!("elements of another width")
        };
        let (from, first) = (view.words::<T>(), view.first);
        if let Some(gathered) = &self.gathered {
            return gathered.run(operands, &self.dims, (from, first), elements, out);
        }
        let last = self.dims.len() - 1;
        let by = &self.place.by;
        // The contiguous axis, along which tiles are copied; the last axis if there is no other.
        let across = match by[last] {
            0 | 1 => last,
            // Rows that are read from the same cache lines.
            2..FEW_APART if self.dims[last] <= NEAR_COLUMNS => last,
            _ => (0..last).rev().find(|axis| by[*axis] == 1 && self.dims[*axis] > 1).unwrap_or(last),
        };
        let behind: usize = self.dims[across + 1..].iter().product();
        let is_whole = elements.start.is_multiple_of(behind) && elements.len().is_multiple_of(behind);
        let (across, behind) = if is_whole { (across, behind) } else { (last, 1) };
        // The position of the first element.
        let mut at: SmallVec<[usize; 8]> = SmallVec::from_elem(0, self.dims.len());
        let mut index = elements.start;
        for (at, d) in at.iter_mut().zip(&self.dims).rev() {
            (*at, index) = (index % d, index / d);
        }
        while !out.is_empty() {
            spend(0)?;
            let row = self.dims[last];
            // Whole rows along the axis before.
            if across == last && last > 0 && at[last] == 0 && out.len() >= row {
                let rows = (self.dims[last - 1] - at[last - 1]).min(out.len() / row);
                let rows = rows.min((ELEMENTS_PER_CHECK / row).max(1));
                let (now, later) = out.split_at_mut(rows * row);
                self.rows(from, first, &mut at, now)?;
                out = later;
                at[last - 1] += rows;
                if at[last - 1] == self.dims[last - 1] {
                    at[last - 1] = 0;
                    advance(&mut at[..last - 1], &self.dims[..last - 1]);
                }
                continue;
            }
            let n = (self.dims[across] - at[across]).min(out.len() / behind);
            let n = n.min((ELEMENTS_PER_CHECK / behind).max(1).next_multiple_of(BLOCK));
            let Some((now, later)) = out.split_at_mut_checked(n * behind).filter(|_| n > 0) else {
                fail!("the result has fewer elements than are computed")
            };
            match &self.padding {
                None => self.slab(from, first, &mut at, across, now)?,
                Some(padding) => {
                    let values = padding.values(&at);
                    let place = self.place.at(&at) - first;
                    if padding.line(from, place, &values, last, now).is_none() {
                        fail!("an index is out of bounds")
                    }
                }
            }
            out = later;
            at[across] += n;
            if at[across] == self.dims[across] {
                at[across] = 0;
                advance(&mut at[..across], &self.dims[..across]);
            }
        }
        Ok(())
    }

    /// Copies whole rows of the last axis, along the axis before it.
    fn rows<T: Pod>(&self, from: &[T], first: i64, at: &mut [usize], out: &mut [T]) -> Result<(), Failure> {
        let last = self.dims.len() - 1;
        let (row, by) = (self.dims[last], [self.place.by[last - 1], self.place.by[last]]);
        let mut place = self.place.at(at) - first;
        let mut is_there = true;
        match &self.padding {
            Some(padding) => {
                let mut values = padding.values(at);
                for out in out.chunks_exact_mut(row) {
                    is_there &= padding.line(from, place, &values, last, out).is_some();
                    values.iter_mut().zip(&padding.bounds).for_each(|(value, bound)| {
                        *value += bound.function.by[last - 1];
                    });
                    place += by[0];
                }
            }
            None if by == REPEATED || row <= SHORT_ROW && by.iter().all(|by| *by >= 0) => {
                return match short_rows(from, place, by, row, out) {
                    Some(()) => Ok(()),
                    None => fail!("an index is out of bounds"),
                };
            }
            None => {
                for out in out.chunks_exact_mut(row) {
                    is_there &= match (by[1], usize::try_from(place)) {
                        (1, Ok(start)) => copied(from, start, out).is_some(),
                        (_, Ok(start)) => line(from, start, by[1], out).is_ok(),
                        (_, Err(_)) => false,
                    };
                    place += by[0];
                }
            }
        }
        if is_there { Ok(()) } else { fail!("an index is out of bounds") }
    }

    /// Copies elements from a position on: some steps along one axis, and everything along the axes after it.
    fn slab<T: Pod>(
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
        // Rows that are shorter than a tile are one row with those of the axes before it.
        let mut outer = last;
        let mut row = self.dims[last];
        while row < 2 * BLOCK && outer > across + 1 && row * self.dims[outer - 1] <= MAX_TABLE {
            outer -= 1;
            row *= self.dims[outer];
        }
        let table = if outer == last { Vec::new() } else { self.offsets(outer) };
        let behind: usize = self.dims[across + 1..].iter().product();
        let mut done = 0;
        loop {
            let Ok(start) = usize::try_from(self.place.at(at) - first) else {
                fail!("an index is out of bounds")
            };
            let columns = if table.is_empty() { Columns::Apart(by) } else { Columns::At(&table) };
            if !transposing(Transposed { from, start, columns, out: &mut out[done * row..], behind, row }) {
                fail!("an index is out of bounds")
            }
            done += 1;
            if !advance(&mut at[across + 1..outer], &self.dims[across + 1..outer]) {
                return Ok(());
            }
        }
    }

    /// The offsets of all elements of an axis and those after it.
    fn offsets(&self, axis: usize) -> Vec<i64> {
        let dims = &self.dims[axis..];
        let mut offsets = vec![0];
        for (d, by) in dims.iter().zip(&self.place.by[axis..]) {
            let along = |first: i64| (0..*d as i64).map(move |i| first + i * by);
            offsets = offsets.into_iter().flat_map(along).collect();
        }
        offsets
    }
}

impl Padding {
    /// The values of functions with bounds at a position.
    fn values(&self, at: &[usize]) -> SmallVec<[i64; 4]> {
        self.bounds.iter().map(|bound| bound.function.at(at)).collect()
    }

    /// Copies a run of elements along an axis, from an offset on.
    #[inline]
    fn line<T: Pod>(
        &self,
        from: &[T],
        place: i64,
        values: &[i64],
        along: usize,
        out: &mut [T],
    ) -> Option<()> {
        let otherwise =
            bytemuck::pod_read_unaligned::<T>(self.otherwise.to_le_bytes().get(..size_of::<T>())?);
        let mut inside = 0..out.len();
        for (bound, value) in self.bounds.iter().zip(values) {
            let mine = bound.of(*value, bound.function.by[along], inside.end);
            inside = inside.start.max(mine.start)..inside.end.min(mine.end);
        }
        if inside.is_empty() {
            out.fill(otherwise);
            return Some(());
        }
        let start = usize::try_from(place + inside.start as i64).ok()?;
        out[..inside.start].fill(otherwise);
        out[inside.end..].fill(otherwise);
        copied(from, start, &mut out[inside])
    }
}

/// Copies contiguous elements.
#[inline]
fn copied<T: Copy>(from: &[T], start: usize, out: &mut [T]) -> Option<()> {
    out.copy_from_slice(from.get(start..)?.get(..out.len())?);
    Some(())
}

/// Rows of at most so many elements are copied by loops of static lengths.
const SHORT_ROW: usize = 4;

/// The distances of elements that are repeated, as in images that are enlarged.
const REPEATED: [i64; 2] = [1, 0];

/// Copies short rows, or repeated elements. Elements are `by` apart along both axes, which is not negative.
fn short_rows<T: Pod>(from: &[T], place: i64, by: [i64; 2], row: usize, out: &mut [T]) -> Option<()> {
    let [by_row, by] = by.map(|by| usize::try_from(by).ok());
    let (by, start) = ([by_row?, by?], usize::try_from(place).ok()?);
    let rows = (out.len() / row).checked_sub(1)?;
    let last = rows.checked_mul(by[0])?.checked_add((row - 1).checked_mul(by[1])?)?;
    let from = from.get(start..)?.get(..=last)?;
    match row {
        1 => rows_of::<T, 1>(from, by, out),
        2 => rows_of::<T, 2>(from, by, out),
        3 => rows_of::<T, 3>(from, by, out),
        SHORT_ROW => rows_of::<T, SHORT_ROW>(from, by, out),
        8 => rows_of::<T, 8>(from, by, out),
        _ => out.chunks_exact_mut(row).zip(from).for_each(|(row, x)| row.fill(*x)),
    }
    Some(())
}

/// Copies rows of a static length. All elements exist.
fn rows_of<T: Pod, const ROW: usize>(from: &[T], [by_row, by]: [usize; 2], out: &mut [T]) {
    let (rows, _) = out.as_chunks_mut::<ROW>();
    if [by_row, by] == [1, 0] {
        return rows.iter_mut().zip(from).for_each(|(row, x)| *row = [*x; ROW]);
    }
    for (at, row) in rows.iter_mut().enumerate() {
        let place = at * by_row;
        for (column, out) in row.iter_mut().enumerate() {
            *out = from[place + column * by];
        }
    }
}

/// Copies a run of elements along the last axis.
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
        2 => {
            let (pairs, last) = from.as_chunks::<2>();
            let first = pairs.iter().map(|[x, _]| x).chain(last);
            out.iter_mut().zip(first).for_each(|(out, x)| *out = *x);
        }
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

/// Transposes a matrix: the rows of the result are `behind` apart and one element apart in the operand.
struct Transposed<'t, T> {
    from: &'t [T],
    start: usize,
    columns: Columns<'t>,
    out: &'t mut [T],
    behind: usize,
    row: usize,
}

/// The offsets of the columns of a result in the operand.
#[derive(Clone, Copy)]
enum Columns<'c> {
    /// So far apart.
    Apart(i64),
    At(&'c [i64]),
}

impl Columns<'_> {
    #[inline(always)]
    fn offset(self, column: usize) -> Option<i64> {
        match self {
            Columns::Apart(by) => Some(column as i64 * by),
            Columns::At(offsets) => offsets.get(column).copied(),
        }
    }
}

impl<T: Pod> TransposeBody for Transposed<'_, T> {
    /// Whether all elements exist.
    type Out = bool;

    #[inline(always)]
    fn with(self, transposer: Transposer) -> bool {
        let Transposed { from, start, columns, out, behind, row } = self;
        let rows = (out.len() - row) / behind + 1;
        for top in (0..rows).step_by(BLOCK) {
            let n = BLOCK.min(rows - top);
            let mut column = 0;
            while column < row {
                let line = |column: usize| {
                    let place = start as i64 + top as i64 + columns.offset(column)?;
                    usize::try_from(place).ok().and_then(|place| from.get(place..)?.get(..n))
                };
                let out = &mut out[top * behind + column..];
                if n == BLOCK && column + BLOCK <= row {
                    let Some(square) = square(|i| line(column + i)) else { return false };
                    for (row, line) in transposer.square(&square).iter().enumerate() {
                        let out = out.get_mut(row * behind..).and_then(|out| out.first_chunk_mut::<BLOCK>());
                        let Some(out) = out else { return false };
                        *out = *line;
                    }
                    column += BLOCK;
                } else if let (true, Columns::Apart(by @ 1..)) = (n < FEW_ROWS, columns) {
                    // Row by row, over what stays in the first-level cache.
                    let count = (row - column).min(NEAR_COLUMNS);
                    let (first, by) = (start + top + column * by as usize, by as usize);
                    let Some(from) = from.get(first..first + (count - 1) * by + n) else { return false };
                    for (row, out) in out.chunks_mut(behind).take(n).enumerate() {
                        let elements = from[row..].iter().step_by(by);
                        out[..count].iter_mut().zip(elements).for_each(|(out, x)| *out = *x);
                    }
                    column += count;
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

/// A square tile of [`BLOCK`] lines.
#[inline(always)]
fn square<'f, T: Copy + 'f>(line: impl Fn(usize) -> Option<&'f [T]>) -> Option<Square<T>> {
    let first = line(0)?.first_chunk::<BLOCK>()?;
    let mut lines = [*first; BLOCK];
    for (column, to) in lines.iter_mut().enumerate() {
        *to = *line(column)?.first_chunk::<BLOCK>()?;
    }
    Some(lines)
}
