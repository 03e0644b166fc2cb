//! Products of few rows with 4-bit weights, read as stored: the dequantized matrix would be eight times as large.
//!
//! Weights are stored column by column, in blocks with a scale and a zero point each. A byte holds two adjacent weights, the
//! first in its low bits; therefore the elements of rows are permuted so that 16 even ones precede 16 odd ones.

use onnx_loops::failure::Failure;
use onnx_loops::list::{List, filled};
use onnx_loops::parallel::parallel;
use onnx_loops::pool;
use onnx_loops::{Body, widest};

/// With more rows, dequantizing the weights once is faster.
pub(super) const MAX_ROWS: usize = 8;
/// Bytes that are unpacked at a time, and the weights in them.
const BYTES: usize = 16;
const STEP: usize = 2 * BYTES;
/// With at least this many weights, several threads are used.
const MIN_PARALLEL_WEIGHTS: usize = 1 << 16;

/// Scales and zero points of blocks, column by column.
pub(super) struct Blocks {
    scales: List<f32>,
    zeros: List<f32>,
    /// Blocks per column, and weights per block.
    count: usize,
    size: usize,
}

impl Blocks {
    /// `None` if blocks are not a multiple of the step.
    pub(super) fn of(
        scales: &[f64],
        zeros: &[f64],
        count: usize,
        size: usize,
    ) -> Result<Option<Blocks>, Failure> {
        if !size.is_multiple_of(STEP) || count == 0 {
            return Ok(None);
        }
        let narrow = |numbers: &[f64]| -> Result<List<f32>, Failure> {
            let mut list = List::with_room(numbers.len())?;
            list.extend(numbers.iter().map(|x| *x as f32))?;
            Ok(list)
        };
        Ok(Some(Blocks { scales: narrow(scales)?, zeros: narrow(zeros)?, count, size }))
    }

    /// Adds to each row of `out` the product of a row of `k` numbers with the weights.
    pub(super) fn add_products(
        &self,
        codes: &[u8],
        rows: &[f32],
        k: usize,
        out: &mut [f32],
    ) -> Result<(), Failure> {
        let columns = self.scales.len() / self.count;
        let depth = self.count * self.size;
        let threads = if columns.saturating_mul(depth) < MIN_PARALLEL_WEIGHTS { 1 } else { pool::threads() };
        let each = columns.div_ceil(threads.max(1));
        let mut apart = filled(depth, 0.0f32)?;
        for (row, out) in rows.chunks_exact(k).zip(out.chunks_exact_mut(columns)) {
            for (step, apart) in row.chunks(STEP).zip(apart.chunks_exact_mut(STEP)) {
                step.iter().enumerate().for_each(|(i, x)| apart[i / 2 + i % 2 * BYTES] = *x);
            }
            let row = &apart[..];
            let parts: Vec<(usize, &mut [f32])> = out.chunks_mut(each.max(1)).enumerate().collect();
            parallel(parts, |(part, out)| {
                widest(ColumnRange { blocks: self, codes, row, first: part * each, out });
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// A range of columns.
struct ColumnRange<'p> {
    blocks: &'p Blocks,
    codes: &'p [u8],
    row: &'p [f32],
    first: usize,
    out: &'p mut [f32],
}

impl Body for ColumnRange<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let ColumnRange { blocks, codes, row, first, out } = self;
        let Blocks { scales, zeros, count, size } = blocks;
        let depth = count * size;
        for (column, out) in (first..).zip(out) {
            let codes = codes[column * depth / 2..][..depth / 2].chunks_exact(size / 2);
            let scales = scales[column * count..][..*count].iter();
            let zeros = zeros[column * count..][..*count].iter();
            let mut total = [0.0; BYTES];
            for (((codes, row), scale), zero) in codes.zip(row.chunks_exact(*size)).zip(scales).zip(zeros) {
                let (mut low, mut high) = ([0.0; BYTES], [0.0; BYTES]);
                let steps =
                    codes.as_chunks::<BYTES>().0.iter().zip(row.as_chunks::<BYTES>().0.as_chunks::<2>().0);
                for (codes, [even, odd]) in steps {
                    low = added::<FUSED>(low, less(codes, |code| code & 15, *zero), even);
                    high = added::<FUSED>(high, less(codes, |code| code >> 4, *zero), odd);
                }
                total = added::<FUSED>(added::<FUSED>(total, low, &[*scale; BYTES]), high, &[*scale; BYTES]);
            }
            *out += total.iter().sum::<f32>();
        }
    }
}

// New arrays instead of modified ones stay in registers.

/// Parts of bytes minus a zero point.
#[inline(always)]
fn less(codes: &[u8; BYTES], part: impl Fn(u8) -> u8, zero: f32) -> [f32; BYTES] {
    let mut numbers = [0.0; BYTES];
    for lane in 0..BYTES {
        numbers[lane] = f32::from(part(codes[lane])) - zero;
    }
    numbers
}

#[inline(always)]
fn added<const FUSED: bool>(sums: [f32; BYTES], a: [f32; BYTES], b: &[f32; BYTES]) -> [f32; BYTES] {
    let mut next = sums;
    for lane in 0..BYTES {
        next[lane] =
            if FUSED { a[lane].mul_add(b[lane], sums[lane]) } else { a[lane] * b[lane] + sums[lane] };
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_with_codes_are_those_with_what_they_stand_for() {
        for (k, size, columns) in [(32, 32, 1), (50, 32, 3), (256, 64, 40), (700, 128, 17)] {
            let count = usize::div_ceil(k, size);
            let codes: Vec<u8> = (0..columns * count * size / 2).map(|i| (i * 37 + i / 7) as u8).collect();
            let scales: Vec<f64> =
                (0..columns * count).map(|i| f64::from((i % 5) as u8) * 0.25 + 0.5).collect();
            let zeros: Vec<f64> = (0..columns * count).map(|i| f64::from((i * 3 % 16) as u8)).collect();
            let blocks =
                Blocks::of(&scales, &zeros, count, size).expect("there is room").expect("whole steps");
            for rows in 1..=MAX_ROWS {
                let a: Vec<f32> = (0..rows * k).map(|i| ((i * 7 + i / 5) % 11) as f32 - 5.0).collect();
                let mut out = vec![1.0; rows * columns];
                blocks.add_products(&codes, &a, k, &mut out).expect("there is room");
                for (at, out) in out.iter().enumerate() {
                    let (row, column) = (at / columns, at % columns);
                    let weight = |i: usize| {
                        let byte = codes[(column * count * size + i) / 2];
                        let (code, block) = (byte >> (i % 2 * 4) & 15, column * count + i / size);
                        (f64::from(code) - zeros[block]) * scales[block]
                    };
                    let sum: f64 = (0..k).map(|i| f64::from(a[row * k + i]) * weight(i)).sum();
                    assert!((f64::from(*out) - 1.0 - sum).abs() < 1e-2, "{k} {size} {at}: {out} {sum}");
                }
            }
        }
    }
}
