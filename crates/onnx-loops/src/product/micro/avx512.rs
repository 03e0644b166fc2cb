//! Micro-kernels for AVX-512: 12 rows by 32 columns, 24 accumulator registers; or few rows by up to 128 columns.

#![allow(
    unsafe_code,
    reason = "instructions that not every processor has, and loads through pointers, of places that were looked at before"
)]

use super::tile::{self, Singles, Vectors};
use super::{End, Micro, Panels, Tile};
use std::arch::is_x86_feature_detected as has;
use std::arch::x86_64::{
    __m512, __m512i, _MM_HINT_T0, _mm_prefetch, _mm512_add_epi32, _mm512_add_ps, _mm512_cvtepi32_ps,
    _mm512_dpbusd_epi32, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_max_ps, _mm512_min_ps,
    _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_ps, _mm512_setzero_si512, _mm512_storeu_ps,
    _mm512_storeu_si512, _mm512_sub_epi32,
};

struct Floats;

impl Vectors for Floats {
    type Factor = f32;
    type Register = __m512;

    const LANES: usize = 16;
    const ROWS: usize = 12;

    #[inline(always)]
    unsafe fn zero() -> __m512 {
        // SAFETY: the processor has the instruction.
        unsafe { _mm512_setzero_ps() }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        // SAFETY: the processor has the instruction, and `from` points to 16 numbers.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn spread(from: *const f32) -> __m512 {
        // SAFETY: the processor has the instruction, and the caller has checked that a number is within bounds at `from`.
        unsafe { _mm512_set1_ps(*from) }
    }

    #[inline(always)]
    unsafe fn add_products(sum: __m512, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the processor has the instruction.
        unsafe { _mm512_fmadd_ps(a, b, sum) }
    }

    #[inline(always)]
    unsafe fn sums(from: *const f32) -> __m512 {
        // SAFETY: the processor has the instruction, and `from` points to 16 numbers.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn plus(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the processor has the instruction.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn put(to: *mut f32, sums: __m512) {
        // SAFETY: the processor has the instruction, and `to` points to 16 numbers.
        unsafe { _mm512_storeu_ps(to, sums) }
    }

    #[inline(always)]
    fn fetch(from: *const f32) {
        // SAFETY: every processor of this architecture has the instruction, which fails for no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
    }

    type Singles = __m512;

    #[inline(always)]
    unsafe fn singles(sums: __m512, _: Option<*const i32>) -> __m512 {
        sums
    }
}

impl Singles for __m512 {
    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        // SAFETY: the processor has the instruction, and `from` points to 16 numbers.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn all(number: f32) -> __m512 {
        // SAFETY: the processor has the instruction.
        unsafe { _mm512_set1_ps(number) }
    }

    #[inline(always)]
    unsafe fn line(self, scale: __m512, bias: __m512) -> __m512 {
        // SAFETY: the processor has the instruction.
        unsafe { _mm512_fmadd_ps(self, scale, bias) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: __m512) -> __m512 {
        // SAFETY: the processor has the instruction.
        unsafe { _mm512_add_ps(self, other) }
    }

    #[inline(always)]
    unsafe fn clamped(self, least: __m512, most: __m512) -> __m512 {
        // NaN stays, as the second operand does.
        // SAFETY: the processor has the instructions.
        unsafe { _mm512_min_ps(most, _mm512_max_ps(least, self)) }
    }

    #[inline(always)]
    unsafe fn put(self, to: *mut f32) {
        // SAFETY: the processor has the instruction, and `to` points to 16 numbers.
        unsafe { _mm512_storeu_ps(to, self) }
    }
}

/// Whether the processor has the instructions of the float kernel.
fn has_floats() -> bool {
    has!("avx512f")
}

pub(super) fn floats() -> Option<Micro<f32>> {
    let micro = Micro::new([Floats::ROWS, Floats::COLUMNS], Floats::LANES, run_floats);
    has_floats().then_some(Micro { panels: Floats::PANELS, ..micro })
}

fn run_floats(tile: Tile<'_, f32>) {
    #[target_feature(enable = "avx512f")]
    fn run(tile: Tile<'_, f32>) {
        // SAFETY: the processor has the instructions.
        unsafe { tile::run::<Floats>(tile) }
    }
    assert!(has_floats(), "a kernel for instructions that the processor has not");
    // SAFETY: the processor has the instructions.
    unsafe { run(tile) }
}

struct Bytes;

impl Vectors for Bytes {
    type Factor = u8;
    type Register = __m512i;

    const LANES: usize = 16;
    const ROWS: usize = 12;

    #[inline(always)]
    unsafe fn zero() -> __m512i {
        // SAFETY: the processor has the instruction.
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> __m512i {
        // SAFETY: the processor has the instruction, and `from` points to 64 bytes.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn spread(from: *const u8) -> __m512i {
        // SAFETY: the processor has the instruction, and `from` points to 4 bytes.
        unsafe { _mm512_set1_epi32(from.cast::<i32>().read_unaligned()) }
    }

    #[inline(always)]
    unsafe fn add_products(sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the processor has the instruction.
        unsafe { _mm512_dpbusd_epi32(sum, a, b) }
    }

    #[inline(always)]
    unsafe fn sums(from: *const i32) -> __m512i {
        // SAFETY: the processor has the instruction, and `from` points to 16 numbers.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn plus(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the processor has the instruction.
        unsafe { _mm512_add_epi32(a, b) }
    }

    #[inline(always)]
    unsafe fn put(to: *mut i32, sums: __m512i) {
        // SAFETY: the processor has the instruction, and `to` points to 16 numbers.
        unsafe { _mm512_storeu_si512(to.cast(), sums) }
    }

    #[inline(always)]
    fn fetch(from: *const u8) {
        // SAFETY: every processor of this architecture has the instruction, which fails for no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
    }

    type Singles = __m512;

    #[inline(always)]
    unsafe fn singles(sums: __m512i, less: Option<*const i32>) -> __m512 {
        // SAFETY: the processor has the instructions, and `less` points to 16 numbers.
        unsafe {
            _mm512_cvtepi32_ps(match less {
                Some(less) => _mm512_sub_epi32(sums, _mm512_loadu_si512(less.cast())),
                None => sums,
            })
        }
    }
}

/// The rows of a tile of bytes, and the panels of tiles of few rows.
pub(super) const ROWS_OF_BYTES: usize = Bytes::ROWS;
pub(super) const PANELS_OF_BYTES: Panels = Bytes::PANELS;

/// Whether the processor has the instructions of the byte kernel.
pub(super) fn has_bytes() -> bool {
    has!("avx512f") && has!("avx512vnni")
}

pub(super) fn bytes() -> Option<Micro<u8>> {
    let micro = Micro::new([Bytes::ROWS, Bytes::COLUMNS], Bytes::LANES, run_bytes);
    has_bytes().then_some(Micro { panels: Bytes::PANELS, ..micro })
}

pub(super) fn run_bytes(tile: Tile<'_, u8>) {
    #[target_feature(enable = "avx512f,avx512vnni")]
    fn run(tile: Tile<'_, u8>) {
        // SAFETY: the processor has the instructions.
        unsafe { tile::run::<Bytes>(tile) }
    }
    assert!(has_bytes(), "a kernel for instructions that the processor has not");
    // SAFETY: the processor has the instructions.
    unsafe { run(tile) }
}

/// Computes results from sums of bytes, see [`tile::finish`].
///
/// # Safety
/// The processor has the instructions.
#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) unsafe fn finish(c: &[i32], stride: usize, size: [usize; 2], end: &mut End<'_>) {
    // SAFETY: the processor has the instructions.
    unsafe { tile::finish::<Bytes>(c, stride, size, end) }
}

/// The operations of `rounds` rounds of [`tile::peak`], if the processor has the instructions.
pub(super) fn peak_of_floats(rounds: usize) -> Option<u64> {
    #[target_feature(enable = "avx512f")]
    fn run(rounds: usize) -> u64 {
        // SAFETY: the processor has the instructions.
        unsafe { tile::peak::<Floats>(rounds) }
    }
    // SAFETY: the processor has the instructions.
    has_floats().then(|| unsafe { run(rounds) })
}

/// The operations of `rounds` rounds of [`tile::peak`], if the processor has the instructions.
pub(super) fn peak_of_bytes(rounds: usize) -> Option<u64> {
    #[target_feature(enable = "avx512f,avx512vnni")]
    fn run(rounds: usize) -> u64 {
        // SAFETY: the processor has the instructions.
        unsafe { tile::peak::<Bytes>(rounds) }
    }
    // SAFETY: the processor has the instructions.
    has_bytes().then(|| unsafe { run(rounds) })
}
