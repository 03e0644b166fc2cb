//! Products of matrices of bytes less zero points, exact and in single floats: so many products at a time that their sum has no
//! more than 24 bits.

use crate::failure::Failure;
use crate::list::{List, filled};
use crate::loops::Matrix;

/// `255 * 255` so many times is less than `2^24`.
const STEPS: usize = 256;

/// A matrix of whole numbers of up to 9 bits, laid out for products.
pub(super) struct WholeMatrix {
    steps: usize,
    columns: usize,
    /// So many steps each.
    blocks: Vec<Matrix>,
}

impl WholeMatrix {
    /// The matrix that has these numbers, `columns` after `columns`, as its rows.
    pub(super) fn of_rows(numbers: &[f32], columns: usize) -> Result<WholeMatrix, Failure> {
        let steps = numbers.len().checked_div(columns).unwrap_or(0);
        let block = STEPS.saturating_mul(columns).max(1);
        let blocks =
            numbers.chunks(block).map(|rows| Matrix::of_rows(rows, columns)).collect::<Result<_, _>>()?;
        Ok(WholeMatrix { steps, columns, blocks })
    }

    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// The products of `count` rows with the matrix.
    pub(super) fn product(&self, rows: &[f32], count: usize) -> Result<List<f64>, Failure> {
        let mut all = filled(count * self.columns, 0.0)?;
        let mut sums = filled(count * self.columns, 0.0f32)?;
        let mut part = filled(count * STEPS.min(self.steps), 0.0f32)?;
        for (block, matrix) in self.blocks.iter().enumerate() {
            let first = block * STEPS;
            let n = STEPS.min(self.steps - first);
            for (to, row) in part.chunks_exact_mut(n).zip(rows.chunks_exact(self.steps)) {
                to.copy_from_slice(&row[first..first + n]);
            }
            sums.fill(0.0);
            matrix.add_products(&part[..count * n], &mut sums)?;
            all.iter_mut().zip(&*sums).for_each(|(all, sum)| *all += f64::from(*sum));
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_the_greatest_numbers_are_exact() {
        for (steps, columns, count) in [(1, 1, 1), (256, 33, 3), (257, 5, 13), (1280, 40, 2)] {
            let of = |i: usize| [255.0, -255.0, 254.0][i * 7 % 3];
            let matrix: Vec<f32> = (0..steps * columns).map(of).collect();
            let rows: Vec<f32> = (0..count * steps).map(|i| of(i + i / 5)).collect();
            let made = WholeMatrix::of_rows(&matrix, columns).expect("there is room");
            let product = made.product(&rows, count).expect("there is room");
            for (i, x) in product.iter().enumerate() {
                let (row, column) = (i / columns, i % columns);
                let each = |step: usize| {
                    f64::from(rows[row * steps + step]) * f64::from(matrix[step * columns + column])
                };
                assert_eq!(*x, (0..steps).map(each).sum::<f64>(), "{steps} {columns} {i}");
            }
        }
    }
}
