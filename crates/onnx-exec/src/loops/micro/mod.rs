//! Micro-kernels: a small tile of a matrix product, its sums in registers from the first to the last product.
//!
//! `a` has `rows` numbers for each step, `b` has `columns`; the tile `c` gets the sums of their products added. The fastest that
//! the processor has is chosen when the program runs; the plain one needs nothing, and says what the others have to give.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod plain;

/// A micro-kernel and the tile that it computes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Micro {
    pub(super) rows: usize,
    pub(super) columns: usize,
    run: Kernel,
}

/// What [`Micro::run`] does.
type Kernel = fn(&[f32], &[f32], &mut [f32], usize, [usize; 2], bool);

impl Micro {
    /// The fastest that this processor has.
    pub(super) fn best() -> Micro {
        #[cfg(target_arch = "x86_64")]
        {
            if avx512::is_there() {
                return Micro { rows: avx512::ROWS, columns: avx512::COLUMNS, run: avx512::run };
            }
            if avx2::is_there() {
                return Micro { rows: avx2::ROWS, columns: avx2::COLUMNS, run: avx2::run };
            }
        }
        Micro::plain()
    }

    fn plain() -> Micro {
        Micro { rows: plain::ROWS, columns: plain::COLUMNS, run: plain::run }
    }

    /// Adds the products of as many steps as there are in `a` and `b` to a tile whose rows begin `stride` apart, or sets it to
    /// their sums if they are the first. At least `size` rows and columns are computed; `c` has at least that many rows, each of
    /// the columns of a whole tile.
    pub(super) fn run(
        self,
        a: &[f32],
        b: &[f32],
        c: &mut [f32],
        stride: usize,
        size: [usize; 2],
        is_first: bool,
    ) {
        (self.run)(a, b, c, stride, size, is_first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Micro> {
        let mut all = vec![Micro::plain()];
        #[cfg(target_arch = "x86_64")]
        {
            if avx512::is_there() {
                all.push(Micro { rows: avx512::ROWS, columns: avx512::COLUMNS, run: avx512::run });
            }
            if avx2::is_there() {
                all.push(Micro { rows: avx2::ROWS, columns: avx2::COLUMNS, run: avx2::run });
            }
        }
        all
    }

    #[test]
    fn all_kernels_give_sums_of_products_for_tiles_of_all_sizes() {
        let steps = 37;
        for micro in all() {
            let (all_rows, all_columns) = (micro.rows, micro.columns);
            let a: Vec<f32> = (0..steps * all_rows).map(|i| (i % 7) as f32 - 3.0).collect();
            let b: Vec<f32> = (0..steps * all_columns).map(|i| (i % 5) as f32 - 2.0).collect();
            for (rows, columns) in (0..=all_rows).flat_map(|r| (0..=all_columns).map(move |c| (r, c))) {
                let stride = all_columns + 3;
                let mut c = vec![1.0; all_rows * stride];
                micro.run(&a, &b, &mut c, stride, [rows, columns], false);
                for (row, column) in (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))) {
                    let product = |k: usize| a[k * all_rows + row] * b[k * all_columns + column];
                    let sum: f32 = (0..steps).map(product).sum();
                    assert_eq!(c[row * stride + column], 1.0 + sum, "{micro:?} {row} {column}");
                }
                assert!(c[rows * stride..].iter().all(|c| *c == 1.0), "{micro:?} {rows}");
                let mut first = vec![f32::NAN; all_rows * stride];
                micro.run(&a, &b, &mut first, stride, [rows, columns], true);
                let is_one_less = |i: usize| first[i] == c[i] - 1.0;
                assert!((0..rows * stride).filter(|i| i % stride < columns).all(is_one_less), "{micro:?}");
            }
        }
    }
}
