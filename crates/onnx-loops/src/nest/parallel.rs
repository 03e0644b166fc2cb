//! Runs a nest on several threads, each of which computes a part of the result.
//!
//! Parts start at strip boundaries, or at tiles of columns, and a strip is computed in the same way in any part, so results do not depend on the number
//! of threads.

use super::Nest;
use super::run::Workers;

use crate::failure::Failure;
use crate::lanes::LANES;
use crate::lanes::view::Operands;
use crate::parallel::{MAX_INLINE_PARTS, share};
use crate::pool;
use crate::product::MIN_PARALLEL_PRODUCTS;
use crate::tensor::width;
use smallvec::SmallVec;
use std::ops::Range;

/// Nests with fewer steps run on one thread.
const MIN_PARALLEL_STEPS: usize = 1 << 16;

/// Parts of a matrix product have at least so many rows.
const MIN_PART_ROWS: usize = 12;

/// Some columns of a matrix product, and their part of each line of the result.
type ColumnPart<'o> = (Range<usize>, Vec<&'o mut [u8]>);

impl Nest {
    /// Computes all elements of the result on the threads of the pool.
    pub fn run_all(&self, operands: &Operands<'_>, out: &mut [u8], workers: &Workers) -> Result<(), Failure> {
        let count: usize = self.dims.iter().product();
        let threads = pool::threads();
        let one = |out| self.run(operands, 0..count, out, workers);
        if threads < 2 || self.is_little() {
            return one(out);
        }
        if let Some(columns) = self.contraction().and_then(|product| product.columns_of_part(threads)) {
            return self.run_by_columns(operands, out, columns);
        }
        let unit = self.unit(threads);
        let units = count.div_ceil(unit);
        if units < 2 {
            return one(out);
        }
        let width = width(self.elem).unwrap_or(1);
        let threads = threads.min(units);
        let mut parts: SmallVec<[_; MAX_INLINE_PARTS]> = SmallVec::with_capacity(threads);
        let (mut rest, mut first) = (out, 0);
        for thread in 1..=threads {
            let last = (units * thread / threads * unit).min(count);
            let (now, later) = rest.split_at_mut(((last - first) * width).min(rest.len()));
            parts.push((first..last, now));
            (rest, first) = (later, last);
        }
        share(parts, |(elements, out)| self.run(operands, elements, out, workers))
    }

    /// Computes parts of so many columns of a matrix product.
    fn run_by_columns(&self, operands: &Operands<'_>, out: &mut [u8], columns: usize) -> Result<(), Failure> {
        let (Some(product), Some(&all)) = (self.contraction(), self.dims.last()) else { return Ok(()) };
        let width = width(self.elem).unwrap_or(1);
        let starts = (0..all).step_by(columns);
        let mut parts: SmallVec<[ColumnPart<'_>; MAX_INLINE_PARTS]> =
            starts.map(|first| (first..all.min(first + columns), Vec::new())).collect();
        for mut line in out.chunks_exact_mut(all * width) {
            for (columns, lines) in &mut parts {
                let (now, later) = line.split_at_mut(columns.len() * width);
                lines.push(now);
                line = later;
            }
        }
        share(parts, |(columns, lines)| product.run_columns(operands, columns, lines))
    }

    /// The elements of a part are a multiple of this.
    fn unit(&self, threads: usize) -> usize {
        let behind: usize = self.dims[1..].iter().product();
        let is_one = self.dims.len() == 1;
        match (self.contraction(), self.dims.last()) {
            // Whole tiles of any processor, or whole prepacked tiles.
            (Some(contraction), _) if is_one => contraction.b.known.as_ref().map_or(32, |known| known.tile()),
            // Whole tiles of rows, which may be prepacked.
            (Some(contraction), _) if contraction.a.axes == [0] => {
                MIN_PART_ROWS.next_multiple_of(contraction.rows_of_tile()) * behind.max(1)
            }
            (Some(contraction), _) => contraction.lines_of_tiles() * behind.max(1),
            (None, _) if is_one || self.is_piecewise() => LANES,
            (None, Some(_)) if self.dims[0] >= threads => behind.max(1),
            (None, last) => last.copied().unwrap_or(1).max(1),
        }
    }

    /// Whether one thread runs it.
    pub fn is_little(&self) -> bool {
        let steps = self.steps();
        match self.is_product() {
            true => steps < MIN_PARALLEL_PRODUCTS,
            false => steps.saturating_mul(self.body.instrs.len().max(1)) < MIN_PARALLEL_STEPS,
        }
    }
}
