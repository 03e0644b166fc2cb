//! The micro-kernel for processors with AVX2: 6 rows by 16 columns, 12 registers of sums.

#![allow(
    unsafe_code,
    reason = "instructions that not every processor has, and loads through pointers, of places that were looked at before"
)]

use std::arch::x86_64::{
    _mm256_add_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps,
};

pub(super) const ROWS: usize = 6;
pub(super) const COLUMNS: usize = 16;
/// Lanes of a register.
const LANES: usize = 8;

/// Whether this processor has the instructions.
pub(super) fn is_there() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

/// Adds products to the first rows and columns of a tile; the columns behind, up to a whole register, get something.
pub(super) fn run(a: &[f32], b: &[f32], c: &mut [f32], stride: usize, size: [usize; 2], is_first: bool) {
    assert!(is_there(), "a kernel for instructions that the processor has not");
    // SAFETY: the processor has the instructions.
    unsafe {
        match size[1] {
            0 => {}
            1..=LANES => rows_of::<1>(a, b, c, stride, size[0], is_first),
            _ => rows_of::<2>(a, b, c, stride, size[0], is_first),
        }
    }
}

#[target_feature(enable = "avx2,fma")]
fn rows_of<const V: usize>(a: &[f32], b: &[f32], c: &mut [f32], stride: usize, rows: usize, is_first: bool) {
    match rows {
        0 => {}
        1 => tile::<1, V>(a, b, c, stride, is_first),
        2 => tile::<2, V>(a, b, c, stride, is_first),
        3 => tile::<3, V>(a, b, c, stride, is_first),
        4 => tile::<4, V>(a, b, c, stride, is_first),
        5 => tile::<5, V>(a, b, c, stride, is_first),
        _ => tile::<ROWS, V>(a, b, c, stride, is_first),
    }
}

/// `R` rows by `V` registers.
#[target_feature(enable = "avx2,fma")]
fn tile<const R: usize, const V: usize>(a: &[f32], b: &[f32], c: &mut [f32], stride: usize, is_first: bool) {
    const { assert!(R >= 1 && R <= ROWS && V * LANES <= COLUMNS) };
    let steps = (a.len() / ROWS).min(b.len() / COLUMNS);
    assert!(c.len() >= (R - 1) * stride + V * LANES, "a tile that is not all there");
    let mut sums = [[_mm256_setzero_ps(); V]; R];
    let (mut from_a, mut from_b) = (a.as_ptr(), b.as_ptr());
    for _ in 0..steps {
        let mut row = [_mm256_setzero_ps(); V];
        for (v, row) in row.iter_mut().enumerate() {
            // SAFETY: this is one of `steps` steps, each of `COLUMNS` numbers in `b`, and `V * LANES <= COLUMNS`.
            *row = unsafe { _mm256_loadu_ps(from_b.add(v * LANES)) };
        }
        for (r, sums) in sums.iter_mut().enumerate() {
            // SAFETY: this is one of `steps` steps, each of `ROWS` numbers in `a`, and `R <= ROWS`.
            let x = _mm256_set1_ps(unsafe { *from_a.add(r) });
            for (sum, row) in sums.iter_mut().zip(&row) {
                *sum = _mm256_fmadd_ps(x, *row, *sum);
            }
        }
        // SAFETY: both have `steps` steps, so that these are at most their ends.
        (from_a, from_b) = unsafe { (from_a.add(ROWS), from_b.add(COLUMNS)) };
    }
    for (r, sums) in sums.iter().enumerate() {
        for (v, sum) in sums.iter().enumerate() {
            // SAFETY: the last row, and with it every row, has `V * LANES` numbers in `c`, as was asserted.
            unsafe {
                let to = c.as_mut_ptr().add(r * stride + v * LANES);
                let sum = if is_first { *sum } else { _mm256_add_ps(_mm256_loadu_ps(to), *sum) };
                _mm256_storeu_ps(to, sum);
            }
        }
    }
}
