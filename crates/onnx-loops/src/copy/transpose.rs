//! Transposition of squares of numbers in registers.

#![allow(unsafe_code, reason = "vector instructions, in functions that only run where they are there")]

use crate::lanes::multiversion::{Body, widest};
use bytemuck::Pod;

/// Rows and columns of a square.
pub(crate) const SIDE: usize = 16;

/// A square of numbers, row after row.
pub(crate) type Square<T> = [[T; SIDE]; SIDE];

/// Transposes squares with the widest instructions of the processor. It exists only where those are there.
#[derive(Clone, Copy)]
pub(crate) struct Transposer(Level);

#[derive(Clone, Copy)]
enum Level {
    /// The instructions of each processor of the architecture.
    Least,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Work that transposes squares.
pub(crate) trait TransposeBody {
    /// The result.
    type Out;

    /// Does the work. This and all callees must be inlined always.
    fn with(self, transposer: Transposer) -> Self::Out;
}

/// Does work that transposes squares in the widest registers.
pub(crate) fn transposing<W: TransposeBody>(work: W) -> W::Out {
    widest(Widest(work))
}

struct Widest<W>(W);

impl<W: TransposeBody> Body for Widest<W> {
    type Out = W::Out;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> W::Out {
        #[cfg(target_arch = "x86_64")]
        if FUSED {
            return self.0.with(Transposer(Level::Avx2));
        }
        self.0.with(Transposer(Level::Least))
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn run_wide(self) -> W::Out {
        self.0.with(Transposer(Level::Avx512))
    }
}

impl Transposer {
    /// The transposed square.
    #[inline(always)]
    pub(crate) fn square<T: Pod>(self, square: &Square<T>) -> Square<T> {
        let mut out = *square;
        match self.0 {
            // SAFETY: a `Transposer` of this level exists only where a job runs with these instructions.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if size_of::<T>() == 4 => unsafe {
                x86::avx2(bytemuck::cast_ref(square), bytemuck::cast_mut(&mut out));
            },
            // SAFETY: a `Transposer` of this level exists only where a body runs with these instructions; both squares have exactly
            // `SIDE` lines of 4-byte numbers.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if size_of::<T>() == 4 => unsafe {
                x86::avx512(bytemuck::cast_ref(square), bytemuck::cast_mut(&mut out));
            },
            _ => {
                for (row, out) in out.iter_mut().enumerate() {
                    for column in 0..SIDE {
                        out[column] = square[column][row];
                    }
                }
            }
        }
        out
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{SIDE, Square};
    use crate::zip::zip;
    use std::arch::x86_64::*;

    /// Pairs of rows are interleaved number by number, then those two apart pair by pair, then quarters of registers are exchanged.
    ///
    /// # Safety
    /// The processor has AVX-512.
    #[inline(always)]
    pub(super) unsafe fn avx512(square: &Square<i32>, out: &mut Square<i32>) {
        // SAFETY: the processor has the instructions, and a row has 16 numbers.
        unsafe {
            let mut rows = [_mm512_setzero_si512(); SIDE];
            for (row, from) in zip(&mut rows, square) {
                *row = _mm512_loadu_epi32(from.as_ptr());
            }
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

    /// Transposes quarters of eight rows and columns.
    ///
    /// # Safety
    /// The processor has AVX2.
    #[inline(always)]
    pub(super) unsafe fn avx2(square: &Square<i32>, out: &mut Square<i32>) {
        const HALF: usize = SIDE / 2;
        for (top, left) in [(0, 0), (0, HALF), (HALF, 0), (HALF, HALF)] {
            // SAFETY: the processor has the instructions, and half a row has 8 numbers.
            unsafe {
                let mut rows = [_mm256_setzero_si256(); HALF];
                for (row, from) in zip(&mut rows, &square[top..]) {
                    *row = _mm256_loadu_si256(from[left..].as_ptr().cast());
                }
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

    struct Once<T>(Square<T>);

    impl<T: Pod> TransposeBody for Once<T> {
        type Out = Square<T>;

        #[inline(always)]
        fn with(self, transposer: Transposer) -> Square<T> {
            transposer.square(&self.0)
        }
    }

    #[test]
    fn rows_become_columns() {
        fn check<T: Pod + PartialEq + std::fmt::Debug>(of: impl Fn(usize) -> T) {
            let square = std::array::from_fn(|row| std::array::from_fn(|column| of(row * SIDE + column)));
            let least = Transposer(Level::Least).square(&square);
            let mut ways = vec![least, transposing(Once(square))];
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                ways.push(Transposer(Level::Avx2).square(&square));
            }
            for (way, row, column) in ways.iter().flat_map(|way| {
                (0..SIDE).flat_map(move |row| (0..SIDE).map(move |column| (way, row, column)))
            }) {
                assert_eq!(way[row][column], of(column * SIDE + row), "{row} {column}");
            }
        }
        check(|i| i as f32);
        check(|i| i as u8);
        check(|i| i as u64);
    }
}
