//! Bytes of totals in registers of 512 bits, with masks for the last columns.

#![allow(
    unsafe_code,
    reason = "instructions that not every processor has, and loads and stores through pointers, of places that were looked at before"
)]

use super::avx2::{DOUBLE, Registers, RoundingMethod, SINGLE, TELLABLE, TOLD};
use super::{Bytes, Rows, Total};
use crate::loops::widest::is_wide;
use std::arch::x86_64::{
    __m256, __m256i, __m512, __m512i, __mmask8, __mmask16, _CMP_GT_OQ, _MM_FROUND_NO_EXC,
    _MM_FROUND_TO_NEAREST_INT, _mm_mask_storeu_epi8, _mm256_add_epi32, _mm256_maskz_loadu_epi32,
    _mm256_maskz_loadu_ps, _mm256_sub_epi32, _mm512_abs_ps, _mm512_add_epi32, _mm512_add_pd, _mm512_add_ps,
    _mm512_castsi256_si512, _mm512_cmp_ps_mask, _mm512_cvtepi32_epi8, _mm512_cvtepi32_pd, _mm512_cvtepi32_ps,
    _mm512_cvtpd_epi32, _mm512_cvtps_epi32, _mm512_cvtps_pd, _mm512_inserti64x4, _mm512_maskz_loadu_epi32,
    _mm512_maskz_loadu_ps, _mm512_max_pd, _mm512_max_ps, _mm512_min_pd, _mm512_min_ps, _mm512_mul_pd,
    _mm512_mul_ps, _mm512_roundscale_ps, _mm512_set1_epi32, _mm512_set1_pd, _mm512_set1_ps, _mm512_sub_epi32,
    _mm512_sub_ps,
};

/// Numbers of a register.
const LANES: usize = 16;

/// Computes all rows, of which all that is read and written has to be there; returns whether the processor can.
pub(super) fn run<A: Total>(registers: Registers, bytes: &mut Bytes<'_, A>) -> bool {
    if !is_wide() {
        return false;
    }
    // SAFETY: the processor has the instructions.
    unsafe {
        match registers.way {
            RoundingMethod::Single => rows::<A, SINGLE>(registers, bytes),
            RoundingMethod::Double => rows::<A, DOUBLE>(registers, bytes),
            RoundingMethod::Told => rows::<A, TOLD>(registers, bytes),
        }
    }
    true
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
fn rows<A: Total, const WAY: u8>(registers: Registers, bytes: &mut Bytes<'_, A>) {
    let Rows { totals, of_totals, of_out, rows, scale, bias, less, .. } = bytes.it;
    let columns = scale.len();
    let (less, bias) = (&less[..columns], &bias[..columns]);
    let sum = bytes.sum.map(|sum| &sum[..columns]);
    for row in 0..rows {
        let totals = &totals[row * of_totals..][..columns];
        let out = &mut bytes.out[row * of_out..][..columns];
        let of = Columns { totals, less, sum, scale, bias };
        for at in (0..columns).step_by(LANES) {
            let mask = u16::MAX >> (LANES - (columns - at).min(LANES));
            // SAFETY: there are so many columns, in all slices, that the mask has no more.
            unsafe {
                let results = sixteen::<A, WAY>(registers, of, at, mask);
                _mm_mask_storeu_epi8(out.as_mut_ptr().add(at).cast(), mask, _mm512_cvtepi32_epi8(results));
            }
        }
    }
}

/// A row, and the numbers of its columns, of which there are equally many.
#[derive(Clone, Copy)]
struct Columns<'c, A> {
    totals: &'c [A],
    less: &'c [i32],
    sum: Option<&'c [i32]>,
    scale: &'c [f32],
    bias: &'c [f32],
}

/// Results from a column on, as integers of 32 bits.
///
/// # Safety
/// There are all columns of the mask, from this one on.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn sixteen<A: Total, const WAY: u8>(
    registers: Registers,
    of: Columns<'_, A>,
    at: usize,
    mask: __mmask16,
) -> __m512i {
    let Registers { least, most, zero, .. } = registers;
    // SAFETY: the columns are there.
    unsafe {
        let whole = if WAY == DOUBLE {
            doubles(registers, of, at, mask)
        } else {
            let y = _mm512_mul_ps(singles::<A, WAY>(of, at, mask), floats(of.scale, at, mask));
            // In the other way, no bias is anything but 0.
            let y = if WAY == SINGLE { _mm512_add_ps(y, floats(of.bias, at, mask)) } else { y };
            // NaN becomes the second operand.
            let y = _mm512_max_ps(y, _mm512_set1_ps(least));
            let y = _mm512_min_ps(y, _mm512_set1_ps(most));
            if WAY == TOLD && !are_tellable(y) {
                doubles(registers, of, at, mask)
            } else {
                _mm512_cvtps_epi32(y)
            }
        };
        _mm512_add_epi32(whole, _mm512_set1_epi32(zero))
    }
}

/// The same by doubles, without what is added in the end.
///
/// # Safety
/// There are all columns of the mask, from this one on.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn doubles<A: Total>(registers: Registers, of: Columns<'_, A>, at: usize, mask: __mmask16) -> __m512i {
    // SAFETY: the columns are there.
    unsafe {
        let low = eight(registers, of, at, mask as u8);
        let high = eight(registers, of, at + LANES / 2, (mask >> 8) as u8);
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
    }
}

/// Eight of these.
///
/// # Safety
/// There are all columns of the mask, from this one on.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn eight<A: Total>(registers: Registers, of: Columns<'_, A>, at: usize, mask: __mmask8) -> __m256i {
    // SAFETY: the columns are there.
    unsafe {
        let x = if A::IS_WHOLE {
            let x = half_ints(of.totals.as_ptr().cast(), at, mask);
            let x = _mm256_sub_epi32(x, half_ints(of.less.as_ptr(), at, mask));
            _mm512_cvtepi32_pd(match of.sum {
                Some(sum) => _mm256_add_epi32(x, half_ints(sum.as_ptr(), at, mask)),
                None => x,
            })
        } else {
            let x = _mm512_cvtps_pd(half_floats(of.totals.as_ptr().cast(), at, mask));
            match of.sum {
                Some(sum) => _mm512_add_pd(x, _mm512_cvtepi32_pd(half_ints(sum.as_ptr(), at, mask))),
                None => x,
            }
        };
        let y = _mm512_mul_pd(x, _mm512_cvtps_pd(half_floats(of.scale.as_ptr(), at, mask)));
        let y = _mm512_add_pd(y, _mm512_cvtps_pd(half_floats(of.bias.as_ptr(), at, mask)));
        let y = _mm512_max_pd(y, _mm512_set1_pd(registers.least.into()));
        _mm512_cvtpd_epi32(_mm512_min_pd(y, _mm512_set1_pd(registers.most.into())))
    }
}

/// Totals as single floats.
///
/// # Safety
/// There are all columns of the mask, from this one on.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
unsafe fn singles<A: Total, const WAY: u8>(of: Columns<'_, A>, at: usize, mask: __mmask16) -> __m512 {
    // SAFETY: the columns are there.
    unsafe {
        let sum = match of.sum {
            Some(sum) if WAY != SINGLE => Some(ints(sum.as_ptr(), at, mask)),
            Some(_) | None => None,
        };
        if A::IS_WHOLE {
            let x = ints(of.totals.as_ptr().cast(), at, mask);
            let x = _mm512_sub_epi32(x, ints(of.less.as_ptr(), at, mask));
            return _mm512_cvtepi32_ps(match sum {
                Some(sum) => _mm512_add_epi32(x, sum),
                None => x,
            });
        }
        let x = _mm512_maskz_loadu_ps(mask, of.totals.as_ptr().add(at).cast());
        match sum {
            Some(sum) => _mm512_add_ps(x, _mm512_cvtepi32_ps(sum)),
            None => x,
        }
    }
}

/// Whether each number is so near to a whole one that doubles would be rounded to the same.
#[inline]
#[target_feature(enable = "avx512f")]
fn are_tellable(y: __m512) -> bool {
    let whole = _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(y);
    let apart = _mm512_abs_ps(_mm512_sub_ps(y, whole));
    _mm512_cmp_ps_mask::<_CMP_GT_OQ>(apart, _mm512_set1_ps(TELLABLE)) == 0
}

/// # Safety
/// There are all columns of the mask, from this one on.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn floats(from: &[f32], at: usize, mask: __mmask16) -> __m512 {
    // SAFETY: the columns are there.
    unsafe { _mm512_maskz_loadu_ps(mask, from.as_ptr().add(at)) }
}

/// # Safety
/// There are all columns of the mask, from this one on.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn ints(from: *const i32, at: usize, mask: __mmask16) -> __m512i {
    // SAFETY: the columns are there.
    unsafe { _mm512_maskz_loadu_epi32(mask, from.add(at)) }
}

/// # Safety
/// There are all columns of the mask, from this one on.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
unsafe fn half_floats(from: *const f32, at: usize, mask: __mmask8) -> __m256 {
    // SAFETY: the columns are there; the first of none may be behind all.
    unsafe { _mm256_maskz_loadu_ps(mask, from.wrapping_add(at)) }
}

/// # Safety
/// There are all columns of the mask, from this one on.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
unsafe fn half_ints(from: *const i32, at: usize, mask: __mmask8) -> __m256i {
    // SAFETY: the columns are there; the first of none may be behind all.
    unsafe { _mm256_maskz_loadu_epi32(mask, from.wrapping_add(at)) }
}
