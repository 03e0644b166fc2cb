//! The micro-kernel that needs nothing of the processor.

use super::{Factor, Micro};

const ROWS: usize = 4;
const COLUMNS: usize = 8;

pub(super) fn kernel<T: Factor>() -> Micro<T> {
    Micro { rows: ROWS, columns: COLUMNS, run }
}

/// Adds products to the first rows of a tile.
fn run<T: Factor>(a: &[T], b: &[T], c: &mut [T::Total], stride: usize, size: [usize; 2], is_first: bool) {
    if size[1] == 0 {
        return;
    }
    let mut sums = [[T::NO_TOTAL; COLUMNS]; ROWS];
    for (a, b) in a.chunks_exact(ROWS * T::GROUP).zip(b.chunks_exact(COLUMNS * T::GROUP)) {
        for (sums, a) in sums.iter_mut().zip(a.chunks_exact(T::GROUP)) {
            for (sum, b) in sums.iter_mut().zip(b.chunks_exact(T::GROUP)) {
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
