//! Matrices by which rows are multiplied again and again, for kernels whose rows come one after the other.

use super::micro::{Columns, Factor, Micro, Rows, Steps, Tile};
use super::parallel::{LEAST_PRODUCTS, parallel};
use crate::failure::Failure;
use crate::list::{List, filled};
use crate::pool;
use std::ops::Range;

/// Steps of a block.
const STEPS: usize = f32::STEPS;

/// A matrix, laid out once as the micro-kernels read it: for each block of steps, tile of columns after tile.
pub(crate) struct Matrix {
    micro: Micro<f32>,
    steps: usize,
    columns: usize,
    numbers: List<f32>,
}

impl Matrix {
    /// The matrix that has these numbers, `steps` after `steps`, as its columns.
    pub(crate) fn of_columns(numbers: &[f32], steps: usize) -> Result<Matrix, Failure> {
        let columns = numbers.len().checked_div(steps).unwrap_or(0);
        Matrix::laid(steps, columns, |in_block, in_tile, out| {
            let tile = out.len() / in_block.len();
            for (column, at) in in_tile.enumerate() {
                let from = &numbers[at * steps..][in_block.clone()];
                out[column..].iter_mut().step_by(tile).zip(from).for_each(|(out, x)| *out = *x);
            }
        })
    }

    /// The matrix that has these numbers, `columns` after `columns`, as its rows.
    pub(crate) fn of_rows(numbers: &[f32], columns: usize) -> Result<Matrix, Failure> {
        let steps = numbers.len().checked_div(columns).unwrap_or(0);
        Matrix::laid(steps, columns, |in_block, in_tile, out| {
            let tile = out.len() / in_block.len();
            for (step, out) in in_block.zip(out.chunks_exact_mut(tile)) {
                let from = &numbers[step * columns..][in_tile.clone()];
                out[..from.len()].copy_from_slice(from);
            }
        })
    }

    /// A matrix that is laid out tile by tile: some steps of some columns.
    fn laid(
        steps: usize,
        columns: usize,
        lay: impl Fn(Range<usize>, Range<usize>, &mut [f32]),
    ) -> Result<Matrix, Failure> {
        let micro = Micro::best();
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
        Ok(Matrix { micro, steps, columns, numbers })
    }

    /// Adds to each row of `out` the product of a row of `rows` with the matrix, on the threads that there are.
    pub(crate) fn add_products(&self, rows: &[f32], out: &mut [f32]) -> Result<(), Failure> {
        let Matrix { micro, steps, columns, .. } = self;
        if rows.is_empty() || *steps == 0 || *columns == 0 {
            return Ok(());
        }
        let tiles = (rows.len() / steps).div_ceil(micro.rows);
        let is_little = rows.len().saturating_mul(*columns) < LEAST_PRODUCTS;
        let threads = if is_little { 1 } else { pool::threads().min(tiles).max(1) };
        let each = tiles.div_ceil(threads) * micro.rows;
        let parts = rows.chunks(each * steps).zip(out.chunks_mut(each * columns)).collect();
        parallel(parts, |(rows, out)| self.add_some(rows, out))
    }

    fn add_some(&self, rows: &[f32], out: &mut [f32]) -> Result<(), Failure> {
        let Matrix { micro, steps, columns, numbers } = self;
        let whole = columns.next_multiple_of(micro.columns);
        let mut ragged = filled(micro.rows * micro.columns, 0.0)?;
        let of_rows: Vec<usize> = (0..STEPS.min(*steps)).collect();
        let of_columns: Vec<usize> = of_rows.iter().map(|step| step * micro.columns).collect();
        let parts = rows.chunks(micro.rows * steps).zip(out.chunks_mut(micro.rows * columns));
        for (rows, out) in parts {
            let count = rows.len() / steps;
            for first in (0..*steps).step_by(STEPS) {
                let n = STEPS.min(steps - first);
                let a = Rows { numbers: &rows[first..], apart: *steps, steps: Steps::of(&of_rows[..n]) };
                let in_columns = Steps::of(&of_columns[..n]);
                let block = numbers[first * whole..][..n * whole].chunks_exact(n * micro.columns);
                for (tile, b) in block.enumerate() {
                    let left = tile * micro.columns;
                    let wide = micro.columns.min(columns - left);
                    let b = Columns { numbers: b, steps: in_columns };
                    if wide == micro.columns {
                        let c = &mut out[left..];
                        micro.run(Tile { a, b, c, stride: *columns, size: [count, wide], is_first: false });
                        continue;
                    }
                    // Behind the last column, the next row begins.
                    let (c, stride) = (&mut ragged[..], micro.columns);
                    micro.run(Tile { a, b, c, stride, size: [count, wide], is_first: true });
                    for (out, sums) in out.chunks_exact_mut(*columns).zip(ragged.chunks_exact(micro.columns))
                    {
                        out[left..].iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_all_numbers_are_multiplied_by_matrices_of_all_sizes() {
        let number = |i: usize| ((i * 7 + i / 5) % 11) as f32 - 5.0;
        for (steps, columns) in [(0, 3), (1, 1), (3, 31), (7, 32), (300, 33), (513, 100)] {
            let transposed: Vec<f32> = (0..steps * columns).map(number).collect();
            let by_rows: Vec<f32> =
                (0..steps * columns).map(|i| transposed[i % columns * steps + i / columns]).collect();
            let of_rows = Matrix::of_rows(&by_rows, columns).expect("there is room");
            let matrix = Matrix::of_columns(&transposed, steps).expect("there is room");
            assert_eq!(matrix.numbers, of_rows.numbers);
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
