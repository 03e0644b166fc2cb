//! Bytes of totals in registers of 512 bits, with masks for the last columns.

#![allow(
    unsafe_code,
    reason = "instructions that not every processor has, and loads and stores through pointers, of places that were looked at before"
)]

use super::avx2::{DOUBLE, MAX_CERTAIN_ERROR, Registers, RoundingMethod, SINGLE, SINGLE_IF_CERTAIN};
use super::{Bytes, Rows, Total};
use crate::lanes::multiversion::is_wide;
use crate::zip::zip;
use smallvec::SmallVec;
use std::arch::x86_64::{
    __m256, __m256i, __m512, __m512i, __mmask8, __mmask16, _CMP_GT_OQ, _MM_FROUND_NO_EXC,
    _MM_FROUND_TO_NEAREST_INT, _mm_mask_storeu_epi8, _mm256_add_epi32, _mm256_maskz_loadu_epi32,
    _mm256_maskz_loadu_ps, _mm512_abs_ps, _mm512_add_epi32, _mm512_add_pd, _mm512_add_ps, _mm512_adds_epi16,
    _mm512_castsi256_si512, _mm512_cmp_ps_mask, _mm512_cvtepi32_epi8, _mm512_cvtepi32_pd, _mm512_cvtepi32_ps,
    _mm512_cvtpd_epi32, _mm512_cvtps_epi32, _mm512_cvtps_pd, _mm512_inserti64x4, _mm512_mask_storeu_epi8,
    _mm512_maskz_loadu_epi32, _mm512_maskz_loadu_ps, _mm512_max_epi8, _mm512_max_epu8, _mm512_max_pd,
    _mm512_max_ps, _mm512_min_pd, _mm512_min_ps, _mm512_mul_pd, _mm512_mul_ps, _mm512_packs_epi16,
    _mm512_packs_epi32, _mm512_packus_epi16, _mm512_permutexvar_epi32, _mm512_range_ps, _mm512_reduce_ps,
    _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi32, _mm512_set1_pd, _mm512_set1_ps,
    _mm512_setr_epi32,
};

/// Numbers of a register.
const LANES: usize = 16;
/// Bytes of a register.
const BLOCK: usize = 64;

/// Computes all rows, of which all that is read and written has to be there; returns whether the processor can.
pub(super) fn run<A: Total>(registers: Registers, bytes: &mut Bytes<'_, A>) -> bool {
    if !is_wide() {
        return false;
    }
    // SAFETY: `Registers` of this kind are made only after the processor was checked for the instructions.
    unsafe {
        match registers.way {
            RoundingMethod::Single => rows::<A, SINGLE>(registers, bytes),
            RoundingMethod::Double => rows::<A, DOUBLE>(registers, bytes),
            RoundingMethod::Told => rows::<A, SINGLE_IF_CERTAIN>(registers, bytes),
        }
    }
    true
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
fn rows<A: Total, const WAY: u8>(registers: Registers, bytes: &mut Bytes<'_, A>) {
    let Rows { totals, of_totals, of_out, rows, scale, bias, less, .. } = bytes.it;
    let columns = scale.len();
    let (less, bias) = (&less[..columns], &bias[..columns]);
    let sum = bytes.sum.filter(|_| WAY != SINGLE).map(|sum| &sum[..columns]);
    // No closures: they would be calls.
    let mut more: SmallVec<[i32; 512]> = SmallVec::new();
    if A::IS_WHOLE {
        more.resize(columns, 0);
        for (more, less) in zip(&mut more[..], less) {
            *more = more.wrapping_sub(*less);
        }
        for (more, sum) in zip(&mut more[..], sum.unwrap_or(&[])) {
            *more = more.wrapping_add(*sum);
        }
    }
    let more = if A::IS_WHOLE { Some(&more[..]) } else { sum };
    for row in 0..rows {
        let totals = &totals[row * of_totals..][..columns];
        let out = &mut bytes.out[row * of_out..][..columns];
        let of = Columns { totals, more, scale, bias };
        for at in (0..columns).step_by(BLOCK) {
            let left = columns - at;
            let mask = u64::MAX >> (BLOCK - left.min(BLOCK));
            // SAFETY: `left` is the length of every slice from `at` on, and the mask has at most so many bits set.
            unsafe {
                let out = out.as_mut_ptr().add(at).cast();
                if left <= LANES {
                    let results = sixteen::<A, WAY>(registers, of, at, mask as u16);
                    _mm_mask_storeu_epi8(out, mask as u16, _mm512_cvtepi32_epi8(results));
                } else {
                    _mm512_mask_storeu_epi8(out, mask, block::<A, WAY>(registers, of, at, mask));
                }
            }
        }
    }
}

/// A row, and the numbers of its columns, of which there are equally many.
#[derive(Clone, Copy)]
struct Columns<'c, A> {
    totals: &'c [A],
    /// Addends of the totals.
    more: Option<&'c [i32]>,
    scale: &'c [f32],
    bias: &'c [f32],
}

/// Results of a block from a column on.
///
/// # Safety
/// The slices of `of` must be readable at `at + i` for every set bit `i` of `mask`.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn block<A: Total, const WAY: u8>(
    registers: Registers,
    of: Columns<'_, A>,
    at: usize,
    mask: u64,
) -> __m512i {
    if WAY == DOUBLE {
        // SAFETY: the caller has checked that the slices of `of` are readable at `at + i` for every set bit `i` of `mask`.
        return unsafe { one_by_one::<A, WAY>(registers, of, at, mask) };
    }
    let (most, zero) = (_mm512_set1_ps(registers.most), _mm512_set1_epi16(registers.zero as i16));
    // SAFETY: the caller has checked that the slices of `of` are readable at `at + i` for every set bit `i` of `mask`.
    let [a, b, c, d] = unsafe {
        [
            single::<A, WAY>(of, at, mask as u16),
            single::<A, WAY>(of, at + LANES, (mask >> 16) as u16),
            single::<A, WAY>(of, at + 2 * LANES, (mask >> 32) as u16),
            single::<A, WAY>(of, at + 3 * LANES, (mask >> 48) as u16),
        ]
    };
    // NaN, the second operand, stays; as an integer it is the least, as what is too small.
    let [a, b] = [_mm512_min_ps(most, a), _mm512_min_ps(most, b)];
    let [c, d] = [_mm512_min_ps(most, c), _mm512_min_ps(most, d)];
    if WAY == SINGLE_IF_CERTAIN {
        let [ab, cd] = [farthest(apart(a), apart(b)), farthest(apart(c), apart(d))];
        if !are_near(farthest(ab, cd)) {
            // SAFETY: the caller has checked that the slices of `of` are readable at `at + i` for every set bit `i` of `mask`.
            return unsafe { one_by_one::<A, WAY>(registers, of, at, mask) };
        }
    }
    let low = _mm512_packs_epi32(_mm512_cvtps_epi32(a), _mm512_cvtps_epi32(b));
    let high = _mm512_packs_epi32(_mm512_cvtps_epi32(c), _mm512_cvtps_epi32(d));
    bytes(registers, _mm512_adds_epi16(low, zero), _mm512_adds_epi16(high, zero))
}

/// The same, each register by itself.
///
/// # Safety
/// The slices of `of` must be readable at `at + i` for every set bit `i` of `mask`.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn one_by_one<A: Total, const WAY: u8>(
    registers: Registers,
    of: Columns<'_, A>,
    at: usize,
    mask: u64,
) -> __m512i {
    // SAFETY: the caller has checked that the slices of `of` are readable at `at + i` for every set bit `i` of `mask`.
    unsafe {
        let a = sixteen::<A, WAY>(registers, of, at, mask as u16);
        let b = sixteen::<A, WAY>(registers, of, at + LANES, (mask >> 16) as u16);
        let c = sixteen::<A, WAY>(registers, of, at + 2 * LANES, (mask >> 32) as u16);
        let d = sixteen::<A, WAY>(registers, of, at + 3 * LANES, (mask >> 48) as u16);
        bytes(registers, _mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d))
    }
}

/// Bytes, not less than the least, of integers of 16 bits that were packed from quarters of two registers each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn bytes(registers: Registers, low: __m512i, high: __m512i) -> __m512i {
    let least = _mm512_set1_epi8((registers.least as i32 + registers.zero) as i8);
    let bytes = if registers.is_signed {
        _mm512_max_epi8(_mm512_packs_epi16(low, high), least)
    } else {
        _mm512_max_epu8(_mm512_packus_epi16(low, high), least)
    };
    // The quarters of the first of the four, then those of the others.
    let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_permutexvar_epi32(order, bytes)
}

/// Results from a column on, as integers of 32 bits.
///
/// # Safety
/// The slices of `of` must be readable at `at + i` for every set bit `i` of `mask`.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn sixteen<A: Total, const WAY: u8>(
    registers: Registers,
    of: Columns<'_, A>,
    at: usize,
    mask: __mmask16,
) -> __m512i {
    // SAFETY: the caller has checked that the slices of `of` are readable at `at + i` for every set bit `i` of `mask`.
    unsafe {
        let whole = if WAY == DOUBLE {
            doubles(registers, of, at, mask)
        } else {
            let y = single::<A, WAY>(of, at, mask);
            // NaN becomes the second operand.
            let y = _mm512_max_ps(y, _mm512_set1_ps(registers.least));
            let y = _mm512_min_ps(y, _mm512_set1_ps(registers.most));
            if WAY == SINGLE_IF_CERTAIN && !are_near(_mm512_abs_ps(apart(y))) {
                doubles(registers, of, at, mask)
            } else {
                _mm512_cvtps_epi32(y)
            }
        };
        _mm512_add_epi32(whole, _mm512_set1_epi32(registers.zero))
    }
}

/// Numbers before they are limited and rounded, in single floats.
///
/// # Safety
/// The slices of `of` must be readable at `at + i` for every set bit `i` of `mask`.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn single<A: Total, const WAY: u8>(of: Columns<'_, A>, at: usize, mask: __mmask16) -> __m512 {
    // SAFETY: the caller has checked that the slices of `of` are readable at `at + i` for every set bit `i` of `mask`.
    unsafe {
        let totals = of.totals.as_ptr().wrapping_add(at);
        let x = match of.more {
            Some(more) if A::IS_WHOLE => _mm512_cvtepi32_ps(_mm512_add_epi32(
                ints(totals.cast(), mask),
                ints(of_column(more, at), mask),
            )),
            None if A::IS_WHOLE => _mm512_cvtepi32_ps(ints(totals.cast(), mask)),
            Some(more) => {
                let more = _mm512_cvtepi32_ps(ints(of_column(more, at), mask));
                _mm512_add_ps(floats(totals.cast(), mask), more)
            }
            None => floats(totals.cast(), mask),
        };
        let y = _mm512_mul_ps(x, floats(of_column(of.scale, at), mask));
        // In the other way, no bias is anything but 0.
        if WAY == SINGLE { _mm512_add_ps(y, floats(of_column(of.bias, at), mask)) } else { y }
    }
}

/// Rounded results computed in doubles, without the zero point.
///
/// # Safety
/// The slices of `of` must be readable at `at + i` for every set bit `i` of `mask`.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn doubles<A: Total>(registers: Registers, of: Columns<'_, A>, at: usize, mask: __mmask16) -> __m512i {
    // SAFETY: the caller has checked that the slices of `of` are readable at `at + i` for every set bit `i` of `mask`.
    unsafe {
        let low = eight(registers, of, at, mask as u8);
        let high = eight(registers, of, at + LANES / 2, (mask >> 8) as u8);
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
    }
}

/// Eight of these.
///
/// # Safety
/// The slices of `of` must be readable at `at + i` for every set bit `i` of `mask`.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn eight<A: Total>(registers: Registers, of: Columns<'_, A>, at: usize, mask: __mmask8) -> __m256i {
    // SAFETY: the caller has checked that the slices of `of` are readable at `at + i` for every set bit `i` of `mask`.
    unsafe {
        let totals = of.totals.as_ptr().wrapping_add(at);
        let x = match of.more {
            Some(more) if A::IS_WHOLE => {
                let x =
                    _mm256_add_epi32(half_ints(totals.cast(), mask), half_ints(of_column(more, at), mask));
                _mm512_cvtepi32_pd(x)
            }
            None if A::IS_WHOLE => _mm512_cvtepi32_pd(half_ints(totals.cast(), mask)),
            Some(more) => {
                let more = _mm512_cvtepi32_pd(half_ints(of_column(more, at), mask));
                _mm512_add_pd(_mm512_cvtps_pd(half_floats(totals.cast(), mask)), more)
            }
            None => _mm512_cvtps_pd(half_floats(totals.cast(), mask)),
        };
        let (scale, bias) = (of_column(of.scale, at), of_column(of.bias, at));
        let y = _mm512_mul_pd(x, _mm512_cvtps_pd(half_floats(scale, mask)));
        let y = _mm512_add_pd(y, _mm512_cvtps_pd(half_floats(bias, mask)));
        let y = _mm512_max_pd(y, _mm512_set1_pd(registers.least.into()));
        _mm512_cvtpd_epi32(_mm512_min_pd(y, _mm512_set1_pd(registers.most.into())))
    }
}

/// The place of a column; the first of no columns may be behind all.
#[inline]
fn of_column<T>(of: &[T], at: usize) -> *const T {
    of.as_ptr().wrapping_add(at)
}

/// Each number less the nearest whole one.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn apart(y: __m512) -> __m512 {
    _mm512_reduce_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(y)
}

/// The greater of two numbers without their signs; a number rather than NaN.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn farthest(a: __m512, b: __m512) -> __m512 {
    const GREATER_OF_SIZES: i32 = 0b0011;
    const WITHOUT_SIGN: i32 = 0b1000;
    _mm512_range_ps::<{ GREATER_OF_SIZES | WITHOUT_SIGN }>(a, b)
}

/// Whether numbers are so near to whole ones that doubles would be rounded to the same.
#[inline]
#[target_feature(enable = "avx512f")]
fn are_near(apart: __m512) -> bool {
    _mm512_cmp_ps_mask::<_CMP_GT_OQ>(apart, _mm512_set1_ps(MAX_CERTAIN_ERROR)) == 0
}

/// # Safety
/// `from.add(i)` must be readable for every set bit `i` of `mask`.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn floats(from: *const f32, mask: __mmask16) -> __m512 {
    // SAFETY: a masked load reads only the lanes of set bits, which are readable as the caller has checked.
    unsafe { _mm512_maskz_loadu_ps(mask, from) }
}

/// # Safety
/// `from.add(i)` must be readable for every set bit `i` of `mask`.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn ints(from: *const i32, mask: __mmask16) -> __m512i {
    // SAFETY: a masked load reads only the lanes of set bits, which are readable as the caller has checked.
    unsafe { _mm512_maskz_loadu_epi32(mask, from) }
}

/// # Safety
/// `from.add(i)` must be readable for every set bit `i` of `mask`.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
unsafe fn half_floats(from: *const f32, mask: __mmask8) -> __m256 {
    // SAFETY: a masked load reads only the lanes of set bits, which are readable as the caller has checked.
    unsafe { _mm256_maskz_loadu_ps(mask, from) }
}

/// # Safety
/// `from.add(i)` must be readable for every set bit `i` of `mask`.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
unsafe fn half_ints(from: *const i32, mask: __mmask8) -> __m256i {
    // SAFETY: a masked load reads only the lanes of set bits, which are readable as the caller has checked.
    unsafe { _mm256_maskz_loadu_epi32(mask, from) }
}
