//! Prepacked matrices for kernels that multiply many rows by the same matrix.

use super::MIN_PARALLEL_PRODUCTS;
use super::micro::{Columns, Factor, Micro, Rows, Steps, Tile};
use crate::failure::Failure;
use crate::lanes::multiversion::{Body, isa, widest};
use crate::list::{List, filled};
use crate::pack_cache::{Entry, Key, MIN_STORED_BYTES, PackedStore};
use crate::parallel::parallel;
use crate::pool;
use crate::zip::zip;
use std::ops::{Deref, Range};

/// Steps of a block.
const STEPS: usize = f32::STEPS;
/// With at least this many products, threads share the columns of a few rows: each thread keeps its part of the matrix in its
/// caches.
const MIN_SHARED_PRODUCTS: usize = 1 << 17;

/// A matrix in the layout of the micro-kernels: for each block of steps, its tiles of columns.
pub struct Matrix {
    micro: Micro<f32>,
    steps: usize,
    columns: usize,
    numbers: Numbers,
}

/// The numbers of a matrix.
enum Numbers {
    /// Those of this program.
    Made(List<f32>),
    /// Those of a store, which other programs use, too.
    Stored(Entry),
}

impl Deref for Numbers {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match self {
            Numbers::Made(numbers) => numbers,
            // It begins at a multiple of a cache line, and its length was compared with that of the matrix.
            Numbers::Stored(entry) => bytemuck::cast_slice(entry.list(0)),
        }
    }
}

impl Matrix {
    /// The matrix whose columns of `steps` numbers are contiguous in `numbers`. A large one of weights may be shared with other
    /// programs by a store.
    pub fn of_columns(
        numbers: &[f32],
        steps: usize,
        store: Option<&dyn PackedStore>,
    ) -> Result<Matrix, Failure> {
        let columns = numbers.len().checked_div(steps).unwrap_or(0);
        Matrix::stored("columns", [steps, columns], numbers, store, |in_block, in_tile, out| {
            let tile = out.len() / in_block.len();
            for (column, at) in in_tile.enumerate() {
                let from = &numbers[at * steps..][in_block.clone()];
                out[column..].iter_mut().step_by(tile).zip(from).for_each(|(out, x)| *out = *x);
            }
        })
    }

    /// The matrix whose rows of `columns` numbers are contiguous in `numbers`, like [`of_columns`](Self::of_columns).
    pub fn of_rows(
        numbers: &[f32],
        columns: usize,
        store: Option<&dyn PackedStore>,
    ) -> Result<Matrix, Failure> {
        let steps = numbers.len().checked_div(columns).unwrap_or(0);
        Matrix::stored("rows", [steps, columns], numbers, store, |in_block, in_tile, out| {
            let tile = out.len() / in_block.len();
            for (step, out) in in_block.zip(out.chunks_exact_mut(tile)) {
                let from = &numbers[step * columns..][in_tile.clone()];
                out[..from.len()].copy_from_slice(from);
            }
        })
    }

    /// The matrix of a store, or a new one, which is put there.
    fn stored(
        contiguous: &str,
        [steps, columns]: [usize; 2],
        numbers: &[f32],
        store: Option<&dyn PackedStore>,
        lay: impl Fn(Range<usize>, Range<usize>, &mut [f32]),
    ) -> Result<Matrix, Failure> {
        let micro = Micro::best();
        let whole = columns.next_multiple_of(micro.columns);
        let bytes = whole.saturating_mul(steps).saturating_mul(size_of::<f32>());
        let Some(store) = store.filter(|_| bytes >= MIN_STORED_BYTES) else {
            return Matrix::laid(micro, [steps, columns], lay);
        };
        let tile = micro.columns;
        let form = format!("matrix {} {contiguous} {steps} {columns} {tile} {STEPS}", isa());
        let about = format!("float32 {steps} x {columns} in tiles of {tile}");
        let key = Key::of(&form, &[bytemuck::cast_slice(numbers)], about)?;
        if let Some(entry) = key.load(store, [Some(bytes), None, None, None]) {
            return Ok(Matrix { micro, steps, columns, numbers: Numbers::Stored(entry) });
        }
        let mut made = Matrix::laid(micro, [steps, columns], lay)?;
        if let Some(entry) = key.store(store, [bytemuck::cast_slice(&made.numbers), &[], &[], &[]]) {
            made.numbers = Numbers::Stored(entry);
        }
        Ok(made)
    }

    /// Packs a matrix tile by tile: some steps of some columns.
    fn laid(
        micro: Micro<f32>,
        [steps, columns]: [usize; 2],
        lay: impl Fn(Range<usize>, Range<usize>, &mut [f32]),
    ) -> Result<Matrix, Failure> {
        let whole = columns.next_multiple_of(micro.columns);
        let mut numbers = filled(whole.saturating_mul(steps), 0.0)?;
        for first in (0..steps).step_by(STEPS) {
            let in_block = first..steps.min(first + STEPS);
            let block = &mut numbers[first * whole..][..in_block.len() * whole];
            for (tile, out) in block.chunks_exact_mut(in_block.len() * micro.columns).enumerate() {
                let left = tile * micro.columns;
                lay(in_block.clone(), left..columns.min(left + micro.columns), out);
            }
        }
        Ok(Matrix { micro, steps, columns, numbers: Numbers::Made(numbers) })
    }

    /// Adds to each row of `out` the product of a row of `rows` with the matrix, on the threads of the pool. They divide the
    /// rows, or the columns of a few rows: then each thread keeps its part of the matrix in its caches.
    pub fn add_products(&self, rows: &[f32], out: &mut [f32]) -> Result<(), Failure> {
        let Matrix { micro, steps, columns, .. } = self;
        if rows.is_empty() || *steps == 0 || *columns == 0 {
            return Ok(());
        }
        let count = rows.len() / steps;
        let (tiles, tiles_of_columns) = (count.div_ceil(micro.rows), columns.div_ceil(micro.columns));
        let products = rows.len().saturating_mul(*columns);
        let threads = pool::threads();
        if threads > 1
            && tiles < 2 * threads
            && products >= MIN_SHARED_PRODUCTS
            && tiles_of_columns >= threads
        {
            return self.add_by_columns(rows, out, tiles_of_columns.div_ceil(threads));
        }
        let threads = if products < MIN_PARALLEL_PRODUCTS { 1 } else { threads.min(tiles).max(1) };
        let each = tiles.div_ceil(threads) * micro.rows;
        let parts = rows.chunks(each * steps).zip(out.chunks_mut(each * columns)).collect();
        parallel(parts, |(rows, out)| self.add_some(rows, out, 0..tiles_of_columns))
    }

    /// Multiplies by columns, `tiles` tiles per thread.
    fn add_by_columns(&self, rows: &[f32], out: &mut [f32], tiles: usize) -> Result<(), Failure> {
        let Matrix { micro, steps, columns, .. } = self;
        let (count, wide) = (rows.len() / steps, tiles * micro.columns);
        // The existing values are added block by block of steps, in the same order as on one thread.
        let mut apart = filled(count * columns, 0.0)?;
        let part = |part: usize| part * wide..columns.min(&((part + 1) * wide)).to_owned();
        for (at, apart) in apart.chunks_mut(wide * count).enumerate() {
            let width = part(at).len();
            for (to, from) in apart.chunks_exact_mut(width).zip(out.chunks_exact(*columns)) {
                to.copy_from_slice(&from[part(at)]);
            }
        }
        let parts: Vec<(usize, &mut [f32])> = apart.chunks_mut(wide * count).enumerate().collect();
        let all = columns.div_ceil(micro.columns);
        parallel(parts, |(at, apart)| self.add_some(rows, apart, at * tiles..all.min((at + 1) * tiles)))?;
        for (at, apart) in apart.chunks(wide * count).enumerate() {
            for (from, to) in apart.chunks_exact(part(at).len()).zip(out.chunks_exact_mut(*columns)) {
                to[part(at)].copy_from_slice(from);
            }
        }
        Ok(())
    }

    /// Multiplies some tiles of columns, which are all columns of `out`.
    fn add_some(&self, rows: &[f32], out: &mut [f32], tiles: Range<usize>) -> Result<(), Failure> {
        let Matrix { micro, steps, columns, numbers } = self;
        let whole = columns.next_multiple_of(micro.columns);
        let columns = columns.min(&(tiles.end * micro.columns)) - tiles.start * micro.columns;
        let mut ragged = filled(micro.rows * micro.columns, 0.0)?;
        let of_rows: Vec<usize> = (0..STEPS.min(*steps)).collect();
        let of_columns: Vec<usize> = of_rows.iter().map(|step| step * micro.columns).collect();
        let parts = rows.chunks(micro.rows * steps).zip(out.chunks_mut(micro.rows * columns));
        for (rows, out) in parts {
            let count = rows.len() / steps;
            for first in (0..*steps).step_by(STEPS) {
                let n = STEPS.min(steps - first);
                let each = n * micro.columns;
                let block = &numbers[first * whole..][..n * whole];
                let block = &block[tiles.start * each..tiles.end * each];
                let a = Rows::of(&rows[first..], *steps, Steps::of(&of_rows[..n]));
                if count == 1
                    && widest(RowProduct { row: &rows[first..first + n], block, columns: micro.columns, out })
                {
                    continue;
                }
                let in_columns = Steps::of(&of_columns[..n]);
                for (tile, b) in block.chunks_exact(each).enumerate() {
                    let left = tile * micro.columns;
                    let wide = micro.columns.min(columns - left);
                    let b = Columns::of(b, in_columns);
                    if wide == micro.columns {
                        let c = &mut out[left..];
                        micro.run(Tile {
                            a,
                            b,
                            c,
                            stride: columns,
                            size: [count, wide],
                            is_first: false,
                            end: None,
                        });
                        continue;
                    }
                    // A full tile would overwrite the start of the next row.
                    let (c, stride) = (&mut ragged[..], micro.columns);
                    micro.run(Tile { a, b, c, stride, size: [count, wide], is_first: true, end: None });
                    for (out, sums) in out.chunks_exact_mut(columns).zip(ragged.chunks_exact(micro.columns)) {
                        out[left..].iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
                    }
                }
            }
        }
        Ok(())
    }
}

/// A single row by several tiles of columns at a time, which hides the latency of additions. The order of additions is that of a
/// micro-kernel.
struct RowProduct<'l> {
    row: &'l [f32],
    block: &'l [f32],
    columns: usize,
    out: &'l mut [f32],
}

impl Body for RowProduct<'_> {
    /// Whether it was done: only with fused multiply-add, as in micro-kernels.
    type Out = bool;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> bool {
        match (FUSED, self.columns) {
            (true, 32) => self.tiles::<32>(),
            (true, 16) => self.tiles::<16>(),
            _ => return false,
        }
        true
    }
}

impl RowProduct<'_> {
    #[inline(always)]
    fn tiles<const WIDE: usize>(self) {
        let RowProduct { row, block, out, .. } = self;
        let each = row.len() * WIDE;
        let fours = block.chunks(4 * each).zip(out.chunks_mut(4 * WIDE));
        for (block, out) in fours {
            let mut tiles = block.chunks_exact(each).map(|tile| tile.as_chunks::<WIDE>().0);
            let (Some(p), q, r, s) = (tiles.next(), tiles.next(), tiles.next(), tiles.next()) else { return };
            // Separate variables, so that all accumulators stay in registers.
            let (mut a, mut b, mut c, mut d) = ([0.0; WIDE], [0.0; WIDE], [0.0; WIDE], [0.0; WIDE]);
            if let (Some(q), Some(r), Some(s)) = (q, r, s) {
                for ((x, (p, q)), (r, s)) in zip(zip(row, zip(p, q)), zip(r, s)) {
                    (a, b) = (added(a, *x, p), added(b, *x, q));
                    (c, d) = (added(c, *x, r), added(d, *x, s));
                }
            } else {
                a = summed(row, Some(p));
                (b, c, d) = (summed(row, q), summed(row, r), summed(row, s));
            }
            for (out, sums) in out.chunks_mut(WIDE).zip([a, b, c, d]) {
                zip(out, &sums).for_each(|(out, sum)| *out += sum);
            }
        }
    }
}

#[inline(always)]
fn summed<const WIDE: usize>(row: &[f32], tile: Option<&[[f32; WIDE]]>) -> [f32; WIDE] {
    zip(row, tile.unwrap_or_default()).into_iter().fold([0.0; WIDE], |sums, (x, tile)| added(sums, *x, tile))
}

#[inline(always)]
fn added<const WIDE: usize>(sums: [f32; WIDE], x: f32, tile: &[f32; WIDE]) -> [f32; WIDE] {
    let mut next = sums;
    for lane in 0..WIDE {
        next[lane] = x.mul_add(tile[lane], sums[lane]);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_share_columns_change_no_bit() {
        for (steps, columns, count) in [(300, 500, 1), (256, 1024, 1), (700, 333, 3), (513, 1000, 12)] {
            let number = |i: usize| ((i * 7919) % 1009) as f32 / 500.0 - 1.0;
            let numbers: Vec<f32> = (0..steps * columns).map(number).collect();
            let matrix = Matrix::of_columns(&numbers, steps, None).expect("there is room");
            let rows: Vec<f32> = (0..count * steps).map(|i| number(i + 3)).collect();
            let product = |threads| {
                let mut out: Vec<f32> = (0..count * columns).map(|i| number(i + 8)).collect();
                pool::with_threads(threads, || matrix.add_products(&rows, &mut out)).expect("there is room");
                out
            };
            let one = product(1);
            assert!((2..5).all(|threads| product(threads) == one), "{steps} {columns} {count}");
            // A single row gives the same result as among others.
            let mut alone: Vec<f32> = (0..columns).map(|i| number(i + 8)).collect();
            matrix.add_products(&rows[..steps], &mut alone).expect("there is room");
            assert_eq!(alone, one[..columns]);
        }
    }

    #[test]
    fn rows_of_all_numbers_are_multiplied_by_matrices_of_all_sizes() {
        let number = |i: usize| ((i * 7 + i / 5) % 11) as f32 - 5.0;
        for (steps, columns) in [(0, 3), (1, 1), (3, 31), (7, 32), (300, 33), (513, 100)] {
            let transposed: Vec<f32> = (0..steps * columns).map(number).collect();
            let by_rows: Vec<f32> =
                (0..steps * columns).map(|i| transposed[i % columns * steps + i / columns]).collect();
            let of_rows = Matrix::of_rows(&by_rows, columns, None).expect("there is room");
            let matrix = Matrix::of_columns(&transposed, steps, None).expect("there is room");
            assert_eq!(matrix.numbers[..], of_rows.numbers[..]);
            for count in [0, 1, 2, 12, 13, 30] {
                let rows: Vec<f32> = (0..count * steps).map(|i| number(i + 3)).collect();
                let mut out = vec![1.0; count * columns];
                matrix.add_products(&rows, &mut out).expect("there is room");
                for (i, out) in out.iter().enumerate() {
                    let (row, column) = (&rows[i / columns * steps..][..steps], i % columns);
                    let of = &transposed[column * steps..][..steps];
                    let sum: f32 = row.iter().zip(of).map(|(a, b)| a * b).sum();
                    assert_eq!(*out, 1.0 + sum, "{steps} {columns} {count} {i}");
                }
            }
        }
    }
}
