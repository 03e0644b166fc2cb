//! The portable micro-kernel.

use super::{Factor, Micro, Tile};
use crate::zip::zip;

const ROWS: usize = 4;
const COLUMNS: usize = 8;

pub(super) fn kernel<T: Factor>() -> Micro<T> {
    Micro::new([ROWS, COLUMNS], COLUMNS, run)
}

/// Adds products to the first rows of a tile.
fn run<T: Factor>(tile: Tile<'_, T>) {
    let Tile { a, b, c, stride, size, is_first, end } = tile;
    if size[1] == 0 {
        return;
    }
    let of_columns = COLUMNS * T::GROUP;
    assert!(a.line_break.later == 0, "rows of two lines");
    assert!(b.numbers.len() >= b.steps.last.saturating_add(of_columns), "columns that are not all there");
    let mut sums = [[T::NO_TOTAL; COLUMNS]; ROWS];
    for (of_a, of_b) in zip(a.steps.at, b.steps.at) {
        let columns = &b.numbers[*of_b..][..of_columns];
        for (row, sums) in sums.iter_mut().take(size[0]).enumerate() {
            let a = &a.numbers[of_a + row * a.apart..][..T::GROUP];
            for (column, sum) in sums.iter_mut().enumerate() {
                let b = &columns[column * T::GROUP..][..T::GROUP];
                *sum = zip(a, b).into_iter().fold(*sum, |sum, (a, b)| T::add_product(sum, *a, *b));
            }
        }
    }
    let Some(end) = end else {
        for (c, sums) in c.chunks_mut(stride).zip(&sums).take(size[0]) {
            for (c, sum) in zip(c, sums) {
                *c = if is_first { *sum } else { T::add(*c, *sum) };
            }
        }
        return;
    };
    for (row, sums) in sums.iter().enumerate().take(size[0]) {
        for (column, sum) in sums.iter().enumerate() {
            let total = if is_first { *sum } else { T::add(c[row * stride + column], *sum) };
            let mut y = T::single(total, end.less.map_or(0, |less| less[column]));
            let at = row * end.stride + column;
            if let Some(line) = &end.line {
                y = y * line.scale[column]
                    + line.bias[column]
                    + line.of_rows.map_or(-0.0, |of_rows| of_rows[row]);
                if let Some(other) = line.other {
                    y += other[at];
                }
                y = if y < line.least { line.least } else { y };
                y = if y > line.most { line.most } else { y };
            }
            end.out[at] = y;
        }
    }
}
