//! Bytes of totals in registers of 256 bits.

#![allow(
    unsafe_code,
    reason = "instructions that not every processor has, and loads and stores through pointers, of places that were looked at before"
)]
#![allow(
    clippy::manual_map,
    reason = "a closure is compiled for every processor, without these instructions"
)]

use super::{Bytes, Rows, Total};
use std::arch::is_x86_feature_detected as has;
use std::arch::x86_64::{
    __m128i, __m256, __m256i, _CMP_GT_OQ, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _mm_add_epi32,
    _mm_loadu_ps, _mm_loadu_si128, _mm_set1_epi8, _mm_setzero_si128, _mm_storel_epi64, _mm_sub_epi32,
    _mm_unpacklo_epi32, _mm_xor_si128, _mm256_add_epi32, _mm256_add_pd, _mm256_add_ps, _mm256_andnot_ps,
    _mm256_castsi256_si128, _mm256_cmp_ps, _mm256_cvtepi32_pd, _mm256_cvtepi32_ps, _mm256_cvtpd_epi32,
    _mm256_cvtps_epi32, _mm256_cvtps_pd, _mm256_extracti128_si256, _mm256_loadu_ps, _mm256_loadu_si256,
    _mm256_max_pd, _mm256_max_ps, _mm256_min_pd, _mm256_min_ps, _mm256_movemask_ps, _mm256_mul_pd,
    _mm256_mul_ps, _mm256_packs_epi32, _mm256_packus_epi16, _mm256_permutevar8x32_epi32, _mm256_round_ps,
    _mm256_set_m128i, _mm256_set1_epi8, _mm256_set1_epi32, _mm256_set1_pd, _mm256_set1_ps, _mm256_setr_epi32,
    _mm256_setzero_si256, _mm256_storeu_si256, _mm256_sub_epi32, _mm256_sub_ps, _mm256_xor_si256,
};

/// Numbers of a register.
const LANES: usize = 8;
/// Bytes of a register.
const WIDE: usize = 32;
/// Single floats determine the nearest integer if they are at most this far from it: three roundings of numbers below 512 are less than
/// `2^-13`.
pub(super) const MAX_CERTAIN_ERROR: f32 = 0.5 - 1.0 / 8192.0;

/// How numbers are computed.
#[derive(Clone, Copy)]
pub(super) enum RoundingMethod {
    Single,
    /// As doubles say.
    Double,
    /// The same, by single floats where these tell.
    Told,
}

/// The values shared by all numbers.
#[derive(Clone, Copy)]
pub(super) struct Registers {
    /// Limits of what is rounded, and what is added then.
    pub(super) least: f32,
    pub(super) most: f32,
    pub(super) zero: i32,
    pub(super) is_signed: bool,
    pub(super) way: RoundingMethod,
}

/// Where the numbers of some columns begin. No closures here: what is in one is compiled for every processor.
#[derive(Clone, Copy)]
struct From<A> {
    totals: *const A,
    less: *const i32,
    sum: Option<*const i32>,
    scale: *const f32,
    bias: *const f32,
}

impl<A: Total> From<A> {
    /// The pointers advanced by `columns` columns.
    #[inline(always)]
    fn behind(self, at: usize) -> Self {
        From {
            totals: self.totals.wrapping_add(at),
            less: self.less.wrapping_add(at),
            sum: match self.sum {
                Some(sum) => Some(sum.wrapping_add(at)),
                None => None,
            },
            scale: self.scale.wrapping_add(at),
            bias: self.bias.wrapping_add(at),
        }
    }
}

impl Registers {
    /// Computes all rows, of which all that is read and written has to be there.
    pub(super) fn run<A: Total>(&self, bytes: &mut Bytes<'_, A>) {
        #[target_feature(enable = "avx2")]
        fn rows<A: Total, const WAY: u8>(registers: &Registers, bytes: &mut Bytes<'_, A>) {
            for row in 0..bytes.it.rows {
                // SAFETY: `Registers` are made only after the processor was checked for the instructions.
                unsafe { registers.row::<A, WAY>(bytes, row) };
            }
        }
        assert!(has!("avx2"), "instructions that the processor has not");
        // SAFETY: `Registers` are made only after the processor was checked for the instructions.
        unsafe {
            match self.way {
                RoundingMethod::Single => rows::<A, SINGLE>(self, bytes),
                RoundingMethod::Double => rows::<A, DOUBLE>(self, bytes),
                RoundingMethod::Told => rows::<A, SINGLE_IF_CERTAIN>(self, bytes),
            }
        }
    }

    /// Computes a row.
    ///
    /// # Safety
    /// The processor has the instructions.
    #[inline(always)]
    unsafe fn row<A: Total, const WAY: u8>(&self, bytes: &mut Bytes<'_, A>, row: usize) {
        let Rows { totals, of_totals, of_out, scale, bias, less, .. } = bytes.it;
        let columns = scale.len();
        let totals = &totals[row * of_totals..][..columns];
        let out = &mut bytes.out[row * of_out..][..columns];
        let (less, bias) = (&less[..columns], &bias[..columns]);
        let sum = match bytes.sum {
            Some(sum) => Some(&sum[..columns]),
            None => None,
        };
        let from = From {
            totals: totals.as_ptr(),
            less: less.as_ptr(),
            sum: match sum {
                Some(sum) => Some(sum.as_ptr()),
                None => None,
            },
            scale: scale.as_ptr(),
            bias: bias.as_ptr(),
        };
        // SAFETY: the caller has checked the instructions; every slice that is read or written has a length of at least `columns`, and
        // `at` plus the lanes of a step stays within it.
        unsafe {
            let mut at = 0;
            while at + WIDE <= columns {
                let a = self.eight::<A, WAY>(from.behind(at));
                let b = self.eight::<A, WAY>(from.behind(at + LANES));
                let c = self.eight::<A, WAY>(from.behind(at + 2 * LANES));
                let d = self.eight::<A, WAY>(from.behind(at + 3 * LANES));
                let words = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
                // Registers are packed by halves.
                let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
                let packed = _mm256_permutevar8x32_epi32(words, order);
                let packed = _mm256_xor_si256(packed, _mm256_set1_epi8(self.flip()));
                _mm256_storeu_si256(out.as_mut_ptr().add(at).cast(), packed);
                at += WIDE;
            }
            while at + LANES <= columns {
                self.store_eight(self.eight::<A, WAY>(from.behind(at)), out.as_mut_ptr().add(at));
                at += LANES;
            }
            if at == columns {
                return;
            }
            if let Some(last) = columns.checked_sub(LANES) {
                // Some are computed again.
                self.store_eight(self.eight::<A, WAY>(from.behind(last)), out.as_mut_ptr().add(last));
                return;
            }
            // Fewer columns than a register has are computed in copies that fill one.
            let totals = filled(totals);
            let (less, bias, scale) = (filled(less), filled(bias), filled(scale));
            let sum = match sum {
                Some(sum) => Some(filled(sum)),
                None => None,
            };
            let from = From {
                totals: totals.as_ptr(),
                less: less.as_ptr(),
                sum: match &sum {
                    Some(sum) => Some(sum.as_ptr()),
                    None => None,
                },
                scale: scale.as_ptr(),
                bias: bias.as_ptr(),
            };
            let mut eight = [0; LANES];
            self.store_eight(self.eight::<A, WAY>(from), eight.as_mut_ptr());
            out.copy_from_slice(&eight[..columns]);
        }
    }

    /// The bits that change in the end: bytes with a sign are packed as such without one.
    #[inline(always)]
    fn flip(&self) -> i8 {
        if self.is_signed { i8::MIN } else { 0 }
    }

    /// Eight results, as integers of 32 bits.
    ///
    /// # Safety
    /// The processor has the instructions, and each pointer of `from` is readable for 8 elements.
    #[inline(always)]
    unsafe fn eight<A: Total, const WAY: u8>(&self, from: From<A>) -> __m256i {
        // SAFETY: the caller has checked the instructions, and that each pointer of `from` is readable within the stated length.
        unsafe {
            let whole = if WAY == DOUBLE {
                self.doubles(from)
            } else {
                let y = _mm256_mul_ps(singles::<A, WAY>(&from), _mm256_loadu_ps(from.scale));
                // In the other way, no bias is anything but 0.
                let y = if WAY == SINGLE { _mm256_add_ps(y, _mm256_loadu_ps(from.bias)) } else { y };
                // NaN becomes the second operand.
                let y = _mm256_max_ps(y, _mm256_set1_ps(self.least));
                let y = _mm256_min_ps(y, _mm256_set1_ps(self.most));
                if WAY == SINGLE_IF_CERTAIN && !are_tellable(y) {
                    self.doubles(from)
                } else {
                    _mm256_cvtps_epi32(y)
                }
            };
            let zero = self.zero + if self.is_signed { 128 } else { 0 };
            _mm256_add_epi32(whole, _mm256_set1_epi32(zero))
        }
    }

    /// Rounded results computed in doubles, without the zero point.
    ///
    /// # Safety
    /// The processor has the instructions, and each pointer of `from` is readable for 8 elements.
    #[inline(always)]
    unsafe fn doubles<A: Total>(&self, from: From<A>) -> __m256i {
        // SAFETY: the caller has checked the instructions, and that each pointer of `from` is readable within the stated length.
        unsafe {
            let (low, high) = (self.half(&from), self.half(&from.behind(LANES / 2)));
            _mm256_set_m128i(high, low)
        }
    }

    /// Four of these.
    ///
    /// # Safety
    /// The processor has the instructions, and each pointer of `from` is readable for 4 elements.
    #[inline(always)]
    unsafe fn half<A: Total>(&self, from: &From<A>) -> __m128i {
        // SAFETY: the caller has checked the instructions, and that each pointer of `from` is readable within the stated length.
        unsafe {
            let sum = match from.sum {
                Some(sum) => _mm_loadu_si128(sum.cast()),
                None => _mm_setzero_si128(),
            };
            let x = if A::IS_WHOLE {
                let x = _mm_loadu_si128(from.totals.cast());
                let x = _mm_sub_epi32(x, _mm_loadu_si128(from.less.cast()));
                _mm256_cvtepi32_pd(_mm_add_epi32(x, sum))
            } else {
                let x = _mm256_cvtps_pd(_mm_loadu_ps(from.totals.cast()));
                _mm256_add_pd(x, _mm256_cvtepi32_pd(sum))
            };
            let y = _mm256_mul_pd(x, _mm256_cvtps_pd(_mm_loadu_ps(from.scale)));
            let y = _mm256_add_pd(y, _mm256_cvtps_pd(_mm_loadu_ps(from.bias)));
            let y = _mm256_max_pd(y, _mm256_set1_pd(self.least as f64));
            _mm256_cvtpd_epi32(_mm256_min_pd(y, _mm256_set1_pd(self.most as f64)))
        }
    }

    /// Stores eight results as bytes.
    ///
    /// # Safety
    /// The processor has the instructions, and `to` is writable for 8 bytes.
    #[inline(always)]
    unsafe fn store_eight(&self, results: __m256i, to: *mut u8) {
        // SAFETY: the caller has checked the instructions, and that `to` is writable for 8 bytes.
        unsafe {
            let words = _mm256_packs_epi32(results, results);
            let bytes = _mm256_packus_epi16(words, words);
            let (low, high) = (_mm256_castsi256_si128(bytes), _mm256_extracti128_si256::<1>(bytes));
            let both = _mm_xor_si128(_mm_unpacklo_epi32(low, high), _mm_set1_epi8(self.flip()));
            _mm_storel_epi64(to.cast(), both);
        }
    }
}

/// [`RoundingMethod`] as a number.
pub(super) const SINGLE: u8 = 0;
pub(super) const DOUBLE: u8 = 1;
pub(super) const SINGLE_IF_CERTAIN: u8 = 2;

/// Eight totals as single floats.
///
/// # Safety
/// The processor has the instructions, and each pointer of `from` is readable for 8 elements.
#[inline(always)]
unsafe fn singles<A: Total, const WAY: u8>(from: &From<A>) -> __m256 {
    // SAFETY: the caller has checked the instructions, and that each pointer of `from` is readable within the stated length.
    unsafe {
        let sum = match from.sum {
            Some(sum) if WAY != SINGLE => _mm256_loadu_si256(sum.cast()),
            Some(_) | None => _mm256_setzero_si256(),
        };
        if A::IS_WHOLE {
            let x = _mm256_loadu_si256(from.totals.cast());
            let x = _mm256_sub_epi32(x, _mm256_loadu_si256(from.less.cast()));
            return _mm256_cvtepi32_ps(if WAY == SINGLE { x } else { _mm256_add_epi32(x, sum) });
        }
        let x = _mm256_loadu_ps(from.totals.cast());
        if WAY == SINGLE { x } else { _mm256_add_ps(x, _mm256_cvtepi32_ps(sum)) }
    }
}

/// Whether each of eight numbers is so near to a whole one that doubles would be rounded to the same.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
unsafe fn are_tellable(y: __m256) -> bool {
    // SAFETY: `Registers` are made only after the processor was checked for the instructions.
    unsafe {
        let whole = _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(y);
        let apart = _mm256_andnot_ps(_mm256_set1_ps(-0.0), _mm256_sub_ps(y, whole));
        _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(apart, _mm256_set1_ps(MAX_CERTAIN_ERROR))) == 0
    }
}

/// Fewer than eight numbers, and the last one again.
#[inline(always)]
fn filled<T: Copy>(numbers: &[T]) -> [T; LANES] {
    let last = numbers.len() - 1;
    let mut filled = [numbers[last]; LANES];
    for (at, number) in filled.iter_mut().enumerate() {
        *number = numbers[at.min(last)];
    }
    filled
}
