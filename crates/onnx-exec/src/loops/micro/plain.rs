//! The micro-kernel that needs nothing of the processor.

pub(super) const ROWS: usize = 4;
pub(super) const COLUMNS: usize = 8;

/// Adds products to the first rows of a tile.
pub(super) fn run(a: &[f32], b: &[f32], c: &mut [f32], stride: usize, size: [usize; 2], is_first: bool) {
    if size[1] == 0 {
        return;
    }
    let mut sums = [[0.0f32; COLUMNS]; ROWS];
    for (a, b) in a.as_chunks::<ROWS>().0.iter().zip(b.as_chunks::<COLUMNS>().0) {
        for (sums, a) in sums.iter_mut().zip(a) {
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += *a * *b;
            }
        }
    }
    for (c, sums) in c.chunks_mut(stride).zip(&sums).take(size[0]) {
        for (c, sum) in c.iter_mut().zip(sums) {
            *c = if is_first { *sum } else { *c + sum };
        }
    }
}
