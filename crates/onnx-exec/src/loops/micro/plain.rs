//! The portable micro-kernel.

use super::{Factor, Micro, Tile};

const ROWS: usize = 4;
const COLUMNS: usize = 8;

pub(super) fn kernel<T: Factor>() -> Micro<T> {
    Micro { rows: ROWS, columns: COLUMNS, knows_narrow: false, run }
}

/// Adds products to the first rows of a tile.
fn run<T: Factor>(tile: Tile<'_, T>) {
    let Tile { a, b, c, stride, size, is_first } = tile;
    if size[1] == 0 {
        return;
    }
    let of_columns = COLUMNS * T::GROUP;
    assert!(b.numbers.len() >= b.steps.last.saturating_add(of_columns), "columns that are not all there");
    let mut sums = [[T::NO_TOTAL; COLUMNS]; ROWS];
    for (of_a, of_b) in a.steps.at.iter().zip(b.steps.at) {
        let columns = &b.numbers[*of_b..][..of_columns];
        for (row, sums) in sums.iter_mut().take(size[0]).enumerate() {
            let a = &a.numbers[of_a + row * a.apart..][..T::GROUP];
            for (sum, b) in sums.iter_mut().zip(columns.chunks_exact(T::GROUP)) {
                *sum = a.iter().zip(b).fold(*sum, |sum, (a, b)| T::add_product(sum, *a, *b));
            }
        }
    }
    for (c, sums) in c.chunks_mut(stride).zip(&sums).take(size[0]) {
        for (c, sum) in c.iter_mut().zip(sums) {
            *c = if is_first { *sum } else { T::add(*c, *sum) };
        }
    }
}
