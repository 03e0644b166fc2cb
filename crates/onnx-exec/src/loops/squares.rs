//! Transposition of squares of numbers in registers.

#![allow(unsafe_code, reason = "vector instructions, in functions that only run where they are there")]

use bytemuck::Pod;

/// Rows and columns of a square.
pub(super) const SIDE: usize = 16;

/// A square of numbers, row after row.
pub(super) type Square<T> = [[T; SIDE]; SIDE];

/// The instructions that a function is compiled for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Those of each processor of the architecture.
    Least,
    /// AVX2.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "there are no such instructions"))]
    Avx2,
    /// AVX-512.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "there are no such instructions"))]
    Avx512,
}

impl Level {
    /// That of [`Job::run`](super::widest::Job::run).
    pub(super) const fn of(is_fused: bool) -> Level {
        if is_fused && cfg!(target_arch = "x86_64") { Level::Avx2 } else { Level::Least }
    }
}

/// The transposed square.
///
/// # Safety
/// The processor has the instructions of the level.
#[inline(always)]
pub(super) unsafe fn transposed<T: Pod>(square: &Square<T>, level: Level) -> Square<T> {
    #[cfg(target_arch = "x86_64")]
    if size_of::<T>() == 4 {
        let mut out = [[T::zeroed(); SIDE]; SIDE];
        match level {
            Level::Least => {}
            Level::Avx2 => {
                // SAFETY: the processor has the instructions, as the caller asserts.
                unsafe { x86::avx2(bytemuck::cast_ref(square), bytemuck::cast_mut(&mut out)) };
                return out;
            }
            Level::Avx512 => {
                // SAFETY: the processor has the instructions, as the caller asserts.
                unsafe { x86::avx512(bytemuck::cast_ref(square), bytemuck::cast_mut(&mut out)) };
                return out;
            }
        }
    }
    let _ = level;
    let mut out = *square;
    for (row, out) in out.iter_mut().enumerate() {
        for column in 0..SIDE {
            out[column] = square[column][row];
        }
    }
    out
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{SIDE, Square};
    use std::arch::x86_64::*;
    use std::array;

    /// Pairs of rows are interleaved number by number, then those two apart pair by pair, then quarters of registers are exchanged.
    ///
    /// # Safety
    /// The processor has AVX-512.
    #[inline(always)]
    pub(super) unsafe fn avx512(square: &Square<i32>, out: &mut Square<i32>) {
        // SAFETY: the processor has the instructions, and a row has 16 numbers.
        unsafe {
            let rows: [__m512i; SIDE] = array::from_fn(|i| _mm512_loadu_epi32(square[i].as_ptr()));
            let mut pairs = rows;
            for i in 0..SIDE / 2 {
                pairs[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
                pairs[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
            }
            // Of each four rows, in each quarter of a register: a column.
            let mut fours = pairs;
            for i in 0..SIDE / 4 {
                for half in 0..2 {
                    let (a, b) = (pairs[4 * i + half], pairs[4 * i + 2 + half]);
                    fours[4 * i + 2 * half] = _mm512_unpacklo_epi64(a, b);
                    fours[4 * i + 2 * half + 1] = _mm512_unpackhi_epi64(a, b);
                }
            }
            for column in 0..4 {
                let of = |four: usize| fours[4 * four + column];
                let even = _mm512_shuffle_i32x4::<0x88>(of(0), of(1));
                let odd = _mm512_shuffle_i32x4::<0xdd>(of(0), of(1));
                let later_even = _mm512_shuffle_i32x4::<0x88>(of(2), of(3));
                let later_odd = _mm512_shuffle_i32x4::<0xdd>(of(2), of(3));
                let mut put = |quarter: usize, row: __m512i| {
                    _mm512_storeu_epi32(out[4 * quarter + column].as_mut_ptr(), row);
                };
                put(0, _mm512_shuffle_i32x4::<0x88>(even, later_even));
                put(1, _mm512_shuffle_i32x4::<0x88>(odd, later_odd));
                put(2, _mm512_shuffle_i32x4::<0xdd>(even, later_even));
                put(3, _mm512_shuffle_i32x4::<0xdd>(odd, later_odd));
            }
        }
    }

    /// The same for quarters of eight rows and columns.
    ///
    /// # Safety
    /// The processor has AVX2.
    #[inline(always)]
    pub(super) unsafe fn avx2(square: &Square<i32>, out: &mut Square<i32>) {
        const HALF: usize = SIDE / 2;
        for (top, left) in [(0, 0), (0, HALF), (HALF, 0), (HALF, HALF)] {
            // SAFETY: the processor has the instructions, and half a row has 8 numbers.
            unsafe {
                let row = |i: usize| _mm256_loadu_si256(square[top + i][left..].as_ptr().cast());
                let rows: [__m256i; HALF] = array::from_fn(row);
                let mut pairs = rows;
                for i in 0..HALF / 2 {
                    pairs[2 * i] = _mm256_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
                    pairs[2 * i + 1] = _mm256_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
                }
                let mut fours = pairs;
                for i in 0..HALF / 4 {
                    for half in 0..2 {
                        let (a, b) = (pairs[4 * i + half], pairs[4 * i + 2 + half]);
                        fours[4 * i + 2 * half] = _mm256_unpacklo_epi64(a, b);
                        fours[4 * i + 2 * half + 1] = _mm256_unpackhi_epi64(a, b);
                    }
                }
                for column in 0..4 {
                    let (a, b) = (fours[column], fours[4 + column]);
                    let mut put = |row: usize, numbers: __m256i| {
                        _mm256_storeu_si256(out[left + row][top..].as_mut_ptr().cast(), numbers);
                    };
                    put(column, _mm256_permute2x128_si256::<0x20>(a, b));
                    put(4 + column, _mm256_permute2x128_si256::<0x31>(a, b));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::widest::{Job, widest};

    struct Turn<T>(Square<T>);

    impl<T: Pod> Job for Turn<T> {
        type Out = Square<T>;

        #[inline(always)]
        fn run<const FUSED: bool>(self) -> Square<T> {
            // SAFETY: this runs where the instructions are there.
            unsafe { transposed(&self.0, Level::of(FUSED)) }
        }

        #[cfg(target_arch = "x86_64")]
        #[inline(always)]
        fn run_wide(self) -> Square<T> {
            // SAFETY: this runs where the instructions are there.
            unsafe { transposed(&self.0, Level::Avx512) }
        }
    }

    #[test]
    fn rows_become_columns() {
        fn check<T: Pod + PartialEq + std::fmt::Debug>(of: impl Fn(usize) -> T) {
            let square = std::array::from_fn(|row| std::array::from_fn(|column| of(row * SIDE + column)));
            let out = widest(Turn(square));
            for (row, column) in (0..SIDE).flat_map(|row| (0..SIDE).map(move |column| (row, column))) {
                assert_eq!(out[row][column], of(column * SIDE + row), "{row} {column}");
            }
        }
        check(|i| i as f32);
        check(|i| i as u8);
        check(|i| i as u64);
    }
}
