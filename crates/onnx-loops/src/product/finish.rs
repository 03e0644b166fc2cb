//! Epilogues of products: from accumulators to elements of the result.

use super::kind::Kind;
use super::micro::End;
use super::{Contraction, place};
use crate::epilogue::{Numbers, Shape};
use crate::failure::{Failure, fail};
use crate::lanes::access::{Places, load, store};
use crate::lanes::strip::Strip;
use crate::lanes::view::{Operands, View};
use crate::lanes::{Class, LANES, Reg, Registers};
use crate::pipeline::Out;
use crate::program::interpret::{numbers, run_into};
use crate::tensor::{strides, width};
use onnx_ir::ElemType;
use smallvec::SmallVec;
use std::ops::Range;

/// Computes the epilogue and stores its results.
pub(super) struct Finish<'f, T: Kind> {
    contraction: &'f Contraction,
    extents: &'f [usize],
    /// The registers of the program, once it was run, and how many of each class there are.
    regs: Option<Registers>,
    counts: [usize; 3],
    total: Reg,
    /// The distance between rows of accumulators.
    stride: usize,
    /// The strides of the result.
    strides: Vec<usize>,
    /// Whether the columns are the last axes of the result, in order.
    has_planes: bool,
    /// The number of columns that are contiguous in the result.
    plane: usize,
    /// Whether the rows are the axes before those, so that rows are contiguous in the result.
    has_rows: bool,
    /// Contiguous accumulators.
    row: Vec<T::Total>,
    /// Room for numbers of columns.
    numbers: Numbers,
    /// Room for bytes, and for results that are not contiguous.
    bytes: Vec<u8>,
    singles: Vec<f32>,
    /// How far apart rows are in the result, if equally far.
    row_stride: Option<usize>,
    /// Whether results are accumulators of floats, and those of a row are contiguous.
    is_plain: bool,
}

/// Columns with contiguous accumulators.
#[derive(Clone, Debug)]
pub(super) struct ColumnRun {
    pub(super) columns: Range<usize>,
    /// The offset of the first accumulator in its row.
    pub(super) from: usize,
}

impl<'f, T: Kind> Finish<'f, T> {
    pub(super) fn new(contraction: &'f Contraction, extents: &'f [usize], stride: usize) -> Self {
        let mut counts = contraction.run_then().map_or([0; 3], |then| then.counts);
        let class = T::CLASS;
        counts[class as usize] += 1;
        let own = Reg { class, at: counts[class as usize] - 1 };
        let total = contraction.run_then().and_then(|then| then.total).unwrap_or(own);
        let strides = strides(&contraction.dims);
        let axes = &contraction.b.axes;
        let has_planes = axes.iter().copied().eq(contraction.dims.len() - axes.len()..contraction.dims.len());
        let before = contraction.dims.len() - axes.len();
        let rows = &contraction.a.axes;
        let has_rows = has_planes && rows.iter().copied().eq(before.saturating_sub(rows.len())..before);
        let Contraction { dims, a, b, .. } = contraction;
        let row_stride = Shape { dims, rows: &a.axes, columns: &b.axes, is_one_row: false }.row_stride();
        let (row, numbers, bytes, singles) = (Vec::new(), Numbers::default(), Vec::new(), Vec::new());
        let is_own = contraction.run_then().is_none() && contraction.elem == T::TOTAL;
        let is_plain = is_own && class == Class::Single && contraction.planes().0 == 1;
        Finish {
            contraction,
            extents,
            regs: None,
            counts,
            total,
            stride,
            strides,
            has_planes,
            plane: contraction.plane().max(1),
            has_rows,
            row,
            numbers,
            bytes,
            singles,
            row_stride,
            is_plain,
        }
    }

    /// Whether integers that are the same for all rows may be taken away from totals when they are stored.
    pub(super) fn takes_less(&self) -> bool {
        self.contraction.epilogue().is_some()
    }

    /// Whether results are a function of what is stored first.
    pub(super) fn has_function(&self) -> bool {
        self.contraction.has_function()
    }

    /// Runs that are each contiguous in the result, if results are computed at once.
    pub(super) fn contiguous<'r>(
        &self,
        runs: &'r [ColumnRun],
        room: &'r mut Vec<ColumnRun>,
    ) -> &'r [ColumnRun] {
        let plane = self.plane;
        let of = |run: &ColumnRun| run.columns.start / plane..run.columns.end.div_ceil(plane);
        if self.contraction.epilogue().is_none() || runs.iter().all(|run| of(run).len() == 1) {
            return runs;
        }
        room.clear();
        for run in runs {
            room.extend(of(run).map(|at| {
                let columns = run.columns.start.max(at * plane)..run.columns.end.min((at + 1) * plane);
                ColumnRun { from: run.from + columns.start - run.columns.start, columns }
            }));
        }
        room
    }

    /// The epilogue of tiles of some rows and a run of columns; `None` if micro-kernels cannot compute it.
    pub(super) fn end<'e>(
        &'e mut self,
        operands: &Operands<'e>,
        at: &mut [usize],
        rows: &Range<usize>,
        run: &ColumnRun,
        less: Option<&'e [i32]>,
        out: &'e mut [u8],
    ) -> Result<Option<End<'e>>, Failure> {
        let Contraction { a, b, dims, .. } = self.contraction;
        let Some(stride) = self.row_stride else { return Ok(None) };
        at[dims.len()..].fill(0);
        place(at, &a.axes, self.extents, rows.start);
        place(at, &b.axes, self.extents, run.columns.start);
        let size = [rows.len(), run.columns.len()];
        let line = match self.contraction.epilogue() {
            Some(epilogue) => match epilogue.line(operands, at, size, &mut self.numbers)? {
                Some(line) => Some(line),
                None => return Ok(None),
            },
            None if self.is_plain => None,
            None => return Ok(None),
        };
        let first: usize = self.strides.iter().zip(&*at).map(|(stride, at)| stride * at).sum();
        let out = bytemuck::try_cast_slice_mut(out).ok().and_then(|out| out.get_mut(first..));
        let less = less.and_then(|less| less.get(run.from..));
        Ok(out.map(|out| End { out, stride, less, line }))
    }

    /// The totals of a block of rows and of columns, each run of which begins where the one before ends; for each total of a row, there
    /// may be an integer that is taken away.
    pub(super) fn store(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        rows: Range<usize>,
        runs: &[ColumnRun],
        (totals, less): (&[T::Total], Option<&[i32]>),
        result: &mut [u8],
    ) -> Result<(), Failure> {
        let (dims, b) = (&self.contraction.dims, &self.contraction.b);
        at[dims.len()..].fill(0);
        let (Some(first), Some(end)) = (runs.first(), runs.last()) else { return Ok(()) };
        let columns = first.columns.start..end.columns.end;
        if self.contraction.epilogue().is_some() {
            self.store_at_once(operands, at, rows.clone(), runs, (totals, less), result)?;
            return if self.has_function() { self.function(at, rows, runs, result) } else { Ok(()) };
        }
        let is_whole = columns == (0..b.count(self.extents));
        // Short rows are processed together.
        let rows_at_once = if self.has_rows && is_whole { (LANES / columns.len().max(1)).max(1) } else { 1 };
        let mut numbered = rows.zip(totals.chunks_exact(self.stride)).peekable();
        let mut joined = std::mem::take(&mut self.row);
        while let Some((row, totals)) = numbered.next() {
            if let ([run], None) = (runs, numbered.peek().filter(|_| rows_at_once > 1)) {
                let totals = &totals[run.from..][..columns.len()];
                self.finish(operands, at, row, &columns, totals, result)?;
                continue;
            }
            joined.clear();
            let mut join = |totals: &[T::Total]| {
                for run in runs {
                    joined.extend_from_slice(&totals[run.from..][..run.columns.len()]);
                }
            };
            join(totals);
            for (_, totals) in numbered.by_ref().take(rows_at_once - 1) {
                join(totals);
            }
            self.finish(operands, at, row, &columns, &joined, result)?;
        }
        self.row = joined;
        Ok(())
    }

    /// Stores results with an epilogue in one pass.
    fn store_at_once(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        rows: Range<usize>,
        runs: &[ColumnRun],
        (totals, less): (&[T::Total], Option<&[i32]>),
        result: &mut [u8],
    ) -> Result<(), Failure> {
        let Contraction { a, b, .. } = self.contraction;
        let Some(epilogue) = self.contraction.epilogue() else { return Ok(()) };
        // Rows at a constant distance are processed at once.
        let (rows_at_once, of_out) = match self.row_stride {
            Some(stride) => (rows.len(), stride),
            None => (1, 0),
        };
        for run in runs {
            for row in rows.clone().step_by(rows_at_once.max(1)) {
                place(at, &a.axes, self.extents, row);
                place(at, &b.axes, self.extents, run.columns.start);
                let first = self.strides.iter().zip(&*at).map(|(stride, at)| stride * at).sum();
                let totals = &totals[(row - rows.start) * self.stride + run.from..];
                let size = [rows_at_once, run.columns.len()];
                let less = less.and_then(|less| less.get(run.from..));
                let (from, to) = ((totals, self.stride, less), (&mut *result, of_out, first));
                epilogue.store(operands, at, from, to, size, &mut self.numbers)?;
            }
        }
        Ok(())
    }

    /// Computes the function of results in place.
    pub(super) fn function(
        &mut self,
        at: &mut [usize],
        rows: Range<usize>,
        runs: &[ColumnRun],
        result: &mut [u8],
    ) -> Result<(), Failure> {
        let Contraction { a, b, .. } = self.contraction;
        let Ok(result) = bytemuck::try_cast_slice_mut::<u8, f32>(result) else {
            fail!("results are not aligned")
        };
        // Stretches of results, joined where they are adjacent, and as many at once as there are lanes.
        let mut stretches: SmallVec<[Range<usize>; 16]> = SmallVec::new();
        let mut count = 0;
        for row in rows {
            place(at, &a.axes, self.extents, row);
            for run in runs {
                place(at, &b.axes, self.extents, run.columns.start);
                let first: usize = self.strides.iter().zip(&*at).map(|(stride, at)| stride * at).sum();
                let mut left = first..first + run.columns.len();
                while !left.is_empty() {
                    let now = left.start..left.end.min(left.start + LANES - count);
                    (left.start, count) = (now.end, count + now.len());
                    match stretches.last_mut() {
                        Some(last) if last.end == now.start => last.end = now.end,
                        Some(_) | None => stretches.push(now),
                    }
                    if count == LANES {
                        self.function_of(&stretches, count, result)?;
                        stretches.clear();
                        count = 0;
                    }
                }
            }
        }
        if count > 0 { self.function_of(&stretches, count, result) } else { Ok(()) }
    }

    /// Computes the function of stretches of results that have `count` elements in all.
    fn function_of(
        &mut self,
        stretches: &[Range<usize>],
        count: usize,
        result: &mut [f32],
    ) -> Result<(), Failure> {
        let Some(then) = self.contraction.run_then() else { return Ok(()) };
        let mut regs = self.registers();
        let lanes = regs.own(self.total);
        let mut done = 0;
        for stretch in stretches {
            lanes[done..done + stretch.len()].copy_from_slice(&result[stretch.clone()]);
            done += stretch.len();
        }
        let strip = Strip::line(0, count);
        let mut joined = std::mem::take(&mut self.singles);
        let out = match stretches {
            [stretch] => &mut result[stretch.clone()],
            _ => {
                joined.resize(LANES, 0.0);
                &mut joined[..count]
            }
        };
        if !run_into(then, &mut regs, &[], strip, &[0], Some(Out::Single(&mut *out)))? {
            let Some(from) = then.result else { fail!("a program has no result") };
            regs.settle(count, from, &[]);
            store(bytemuck::cast_slice_mut(out), ElemType::FLOAT, &regs, from);
        }
        if stretches.len() > 1 {
            let mut done = 0;
            for stretch in stretches {
                result[stretch.clone()].copy_from_slice(&joined[done..done + stretch.len()]);
                done += stretch.len();
            }
        }
        (self.singles, self.regs) = (joined, Some(regs));
        Ok(())
    }

    /// The registers of the program, to be given back.
    fn registers(&mut self) -> Registers {
        self.regs.take().unwrap_or_else(|| {
            let mut regs = Registers::new(self.counts, LANES);
            if let Some(then) = self.contraction.run_then() {
                numbers(then, &mut regs);
            }
            regs
        })
    }

    /// Runs the epilogue program for some columns of a row, or for all columns of several rows.
    fn finish(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        row: usize,
        columns: &Range<usize>,
        totals: &[T::Total],
        result: &mut [u8],
    ) -> Result<(), Failure> {
        let Contraction { a, b, dims, elem, .. } = self.contraction;
        let then = self.contraction.run_then();
        let Some(width) = width(*elem) else { fail!("the result is of no number") };
        let mut own = self.registers();
        let regs = &mut own;
        let mut done = 0;
        while done < totals.len() {
            let (below, beside) = (done / columns.len(), done % columns.len());
            place(at, &a.axes, self.extents, row + below);
            place(at, &b.axes, self.extents, columns.start + beside);
            let left = totals.len() - done;
            // All rows that are contiguous, or up to the end of a plane.
            let left = match self.has_planes {
                true => left,
                false => left.min(self.plane - (columns.start + beside) % self.plane),
            };
            let strip = Strip::at(&at[..dims.len()], dims, left);
            let n = strip.n();
            let from = &totals[done..][..n];
            let offset: usize = self.strides.iter().zip(&*at).map(|(stride, at)| stride * at).sum();
            let out = &mut result[offset * width..][..n * width];
            done += n;
            if then.is_none() && *elem == T::TOTAL {
                bytemuck::cast_slice_mut(out).copy_from_slice(from);
                continue;
            }
            match self.contraction.byte_first() {
                None => T::put(from, regs, self.total)?,
                Some(byte) => {
                    let lanes = columns.len().min(n);
                    let size = [n / lanes.max(1), lanes];
                    self.bytes.resize(n, 0);
                    let to = (&mut self.bytes[..], lanes, 0);
                    let from = (from, lanes, None);
                    byte.epilogue.store(operands, &at[..dims.len()], from, to, size, &mut self.numbers)?;
                    let bytes = View { elem: byte.elem, bytes: &self.bytes, first: 0 };
                    load(regs, 0..n, self.total, bytes, Places::Stride(0, 1));
                }
            }
            let mut from = self.total;
            if let Some(then) = then {
                let wanted = Out::of(*elem, &mut *out);
                if run_into(then, regs, operands, strip, at, wanted)? {
                    continue;
                }
                from = then.result.unwrap_or(from);
            }
            regs.settle(n, from, operands);
            store(out, *elem, regs, from);
        }
        self.regs = Some(own);
        Ok(())
    }
}
