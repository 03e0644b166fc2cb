//! Micro-kernels: a small tile of a matrix product, its sums in registers from the first to the last product.
//!
//! `a` has `MR` numbers for each step, `b` has `NR`; the tile `c` of `MR` by `NR` gets the sums of their products added. The
//! code is the same for every processor; compiled for those that have wider registers, it is chosen when the program runs.

#![allow(
    unsafe_code,
    reason = "functions for instructions that not every processor has, called where they are there"
)]

/// A micro-kernel and the tile that it computes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Micro {
    pub(super) rows: usize,
    pub(super) columns: usize,
    run: fn(&[f32], &[f32], &mut [f32], usize),
}

impl Micro {
    /// The fastest that this processor has.
    pub(super) fn best() -> Micro {
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") {
                return Micro { rows: 12, columns: 32, run: wide };
            }
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                return Micro { rows: 6, columns: 16, run: medium };
            }
        }
        Micro { rows: 4, columns: 8, run: narrow }
    }

    /// The one that needs nothing.
    #[cfg(test)]
    pub(super) fn plain() -> Micro {
        Micro { rows: 4, columns: 8, run: narrow }
    }

    /// Adds the products of as many steps as there are in `a` and `b` to a tile whose rows begin `stride` apart.
    pub(super) fn run(self, a: &[f32], b: &[f32], c: &mut [f32], stride: usize) {
        (self.run)(a, b, c, stride);
    }
}

fn narrow(a: &[f32], b: &[f32], c: &mut [f32], stride: usize) {
    tile::<4, 8>(a, b, c, stride, |a, b, c| a * b + c);
}

#[cfg(target_arch = "x86_64")]
fn medium(a: &[f32], b: &[f32], c: &mut [f32], stride: usize) {
    #[target_feature(enable = "avx2,fma")]
    fn run(a: &[f32], b: &[f32], c: &mut [f32], stride: usize) {
        tile::<6, 16>(a, b, c, stride, f32::mul_add);
    }
    // SAFETY: `best` has seen that the processor has these instructions, and nobody else names this function.
    unsafe { run(a, b, c, stride) }
}

#[cfg(target_arch = "x86_64")]
fn wide(a: &[f32], b: &[f32], c: &mut [f32], stride: usize) {
    #[target_feature(enable = "avx512f,fma")]
    fn run(a: &[f32], b: &[f32], c: &mut [f32], stride: usize) {
        tile::<12, 32>(a, b, c, stride, f32::mul_add);
    }
    // SAFETY: `best` has seen that the processor has these instructions, and nobody else names this function.
    unsafe { run(a, b, c, stride) }
}

#[inline(always)]
fn tile<const MR: usize, const NR: usize>(
    a: &[f32],
    b: &[f32],
    c: &mut [f32],
    stride: usize,
    product: impl Fn(f32, f32, f32) -> f32,
) {
    let mut sums = [[0.0f32; NR]; MR];
    for (a, b) in a.as_chunks::<MR>().0.iter().zip(b.as_chunks::<NR>().0) {
        for (sums, a) in sums.iter_mut().zip(a) {
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum = product(*a, *b, *sum);
            }
        }
    }
    for (c, sums) in c.chunks_mut(stride).zip(&sums) {
        for (c, sum) in c.iter_mut().zip(sums) {
            *c += sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kernels_give_what_the_plain_one_gives() {
        let steps = 37;
        for micro in [Micro::best(), Micro::plain()] {
            let (rows, columns) = (micro.rows, micro.columns);
            let a: Vec<f32> = (0..steps * rows).map(|i| (i % 7) as f32 - 3.0).collect();
            let b: Vec<f32> = (0..steps * columns).map(|i| (i % 5) as f32 - 2.0).collect();
            let mut c = vec![1.0; rows * columns];
            micro.run(&a, &b, &mut c, columns);
            for (i, c) in c.iter().enumerate() {
                let (row, column) = (i / columns, i % columns);
                let sum: f32 = (0..steps).map(|k| a[k * rows + row] * b[k * columns + column]).sum();
                assert_eq!(*c, 1.0 + sum, "{row} {column}");
            }
        }
    }
}
