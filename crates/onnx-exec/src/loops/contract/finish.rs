//! From totals to elements of the result.

use super::kind::Kind;
use super::{Contraction, place};
use crate::failure::{Failure, fail};
use crate::loops::LANES;
use crate::loops::interpret::{numbers, run};
use crate::loops::lanes::Registers;
use crate::loops::memory::store;
use crate::loops::program::Reg;
use crate::loops::strip::Strip;
use crate::loops::view::Operands;
use crate::tensor::{strides, width};
use onnx_ir::ElemType;
use std::ops::Range;

/// Stores what is computed from totals.
pub(super) struct Finish<'f, T: Kind> {
    contraction: &'f Contraction,
    extents: &'f [usize],
    regs: Registers,
    total: Reg,
    /// How far apart rows of totals are.
    stride: usize,
    /// How far apart the elements of the result are along its axes.
    strides: Vec<usize>,
    /// Whether the columns are the last axes of the result, in order.
    has_planes: bool,
    /// Totals of a row, one behind the other.
    row: Vec<T::Total>,
}

/// Columns whose totals lie one behind the other.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) columns: Range<usize>,
    /// The first of its totals among those of a row.
    pub(super) from: usize,
}

impl<'f, T: Kind> Finish<'f, T> {
    pub(super) fn new(contraction: &'f Contraction, extents: &'f [usize], stride: usize) -> Self {
        let mut counts = contraction.then.as_ref().map_or([0; 3], |then| then.counts);
        let class = T::CLASS;
        counts[class as usize] += 1;
        let own = Reg { class, at: counts[class as usize] - 1 };
        let total = contraction.then.as_ref().and_then(|then| then.total).unwrap_or(own);
        let mut regs = Registers::new(counts, LANES);
        if let Some(then) = &contraction.then {
            numbers(then, &mut regs);
        }
        let strides = strides(&contraction.dims);
        let axes = &contraction.b.axes;
        let has_planes = axes.iter().copied().eq(contraction.dims.len() - axes.len()..contraction.dims.len());
        Finish { contraction, extents, regs, total, stride, strides, has_planes, row: Vec::new() }
    }

    /// The totals of a block of rows and of columns, each run of which begins where the one before ends.
    pub(super) fn store(
        &mut self,
        operands: &Operands<'_>,
        at: &mut [usize],
        rows: Range<usize>,
        runs: &[Run],
        totals: &[T::Total],
        result: &mut [u8],
    ) -> Result<(), Failure> {
        let Contraction { a, b, dims, elem, then, .. } = self.contraction;
        let Some(width) = width(*elem) else { fail!("the result is of no number") };
        let last = dims.len() - 1;
        at[dims.len()..].fill(0);
        let (Some(first), Some(end)) = (runs.first(), runs.last()) else { return Ok(()) };
        let columns = first.columns.start..end.columns.end;
        for (row, totals) in rows.zip(totals.chunks_exact(self.stride)) {
            place(at, &a.axes, self.extents, row);
            let totals = match runs {
                [run] => &totals[run.from..][..run.columns.len()],
                runs => {
                    self.row.clear();
                    for run in runs {
                        self.row.extend_from_slice(&totals[run.from..][..run.columns.len()]);
                    }
                    &self.row
                }
            };
            let mut column = columns.start;
            while column < columns.end {
                place(at, &b.axes, self.extents, column);
                let left = columns.end - column;
                let strip = if self.has_planes {
                    Strip::at(&at[..dims.len()], dims, left)
                } else {
                    Strip::line(last, LANES.min(left).min(dims[last] - at[last]))
                };
                let n = strip.n();
                let from = &totals[column - columns.start..][..n];
                let offset: usize = self.strides.iter().zip(&*at).map(|(stride, at)| stride * at).sum();
                let out = &mut result[offset * width..][..n * width];
                if then.is_none() && *elem == T::TOTAL {
                    bytemuck::cast_slice_mut(out).copy_from_slice(from);
                } else {
                    T::put(from, &mut self.regs, self.total)?;
                    let mut from = self.total;
                    if let Some(then) = then {
                        let wanted = match elem {
                            &ElemType::FLOAT => bytemuck::try_cast_slice_mut(&mut *out).ok(),
                            _ => None,
                        };
                        if run(then, &mut self.regs, operands, strip, at, wanted)? {
                            column += n;
                            continue;
                        }
                        from = then.result.unwrap_or(from);
                    }
                    self.regs.settle(n, from, operands);
                    store(out, *elem, &self.regs, from);
                }
                column += n;
            }
        }
        Ok(())
    }
}
