//! Micro-kernels for AVX2: 6 rows by 16 columns, 12 accumulator registers; or one or two rows by up to 64 columns.

#![allow(
    unsafe_code,
    reason = "instructions that not every processor has, and loads through pointers, of places that were looked at before"
)]

use super::tile::{self, Singles, Vectors};
use super::{Micro, Panels, Tile};
use std::arch::is_x86_feature_detected as has;
use std::arch::x86_64::{
    __m256, __m256i, _MM_HINT_T0, _mm_prefetch, _mm256_add_epi32, _mm256_add_ps, _mm256_and_si256,
    _mm256_cvtepi32_ps, _mm256_dpbusd_avx_epi32, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_max_ps, _mm256_min_ps, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_ps, _mm256_setzero_si256, _mm256_slli_epi16,
    _mm256_srai_epi16, _mm256_srli_epi16, _mm256_storeu_ps, _mm256_storeu_si256, _mm256_sub_epi32,
};

/// With 16 registers, only tiles of one or two rows have room for more panels.
const PANELS: Panels = [4, 2, 1, 1, 1, 1];

struct Floats;

impl Vectors for Floats {
    type Factor = f32;
    type Register = __m256;

    const LANES: usize = 8;
    const ROWS: usize = 6;
    const PANELS: Panels = PANELS;

    #[inline(always)]
    unsafe fn zero() -> __m256 {
        // SAFETY: the processor has the instruction.
        unsafe { _mm256_setzero_ps() }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m256 {
        // SAFETY: the processor has the instruction, and `from` points to 8 numbers.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn spread(from: *const f32) -> __m256 {
        // SAFETY: the processor has the instruction, and the caller has checked that a number is within bounds at `from`.
        unsafe { _mm256_set1_ps(*from) }
    }

    #[inline(always)]
    unsafe fn add_products(sum: __m256, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the processor has the instruction.
        unsafe { _mm256_fmadd_ps(a, b, sum) }
    }

    #[inline(always)]
    unsafe fn sums(from: *const f32) -> __m256 {
        // SAFETY: the processor has the instruction, and `from` points to 8 numbers.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn plus(a: __m256, b: __m256) -> __m256 {
        // SAFETY: the processor has the instruction.
        unsafe { _mm256_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn put(to: *mut f32, sums: __m256) {
        // SAFETY: the processor has the instruction, and `to` points to 8 numbers.
        unsafe { _mm256_storeu_ps(to, sums) }
    }

    #[inline(always)]
    fn fetch(from: *const f32) {
        // SAFETY: every processor of this architecture has the instruction, which fails for no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
    }

    type Singles = __m256;

    #[inline(always)]
    unsafe fn singles(sums: __m256, _: Option<*const i32>) -> __m256 {
        sums
    }
}

impl Singles for __m256 {
    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m256 {
        // SAFETY: the processor has the instruction, and `from` points to 8 numbers.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn all(number: f32) -> __m256 {
        // SAFETY: the processor has the instruction.
        unsafe { _mm256_set1_ps(number) }
    }

    #[inline(always)]
    unsafe fn line(self, scale: __m256, bias: __m256) -> __m256 {
        // SAFETY: the processor has the instruction.
        unsafe { _mm256_fmadd_ps(self, scale, bias) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: __m256) -> __m256 {
        // SAFETY: the processor has the instruction.
        unsafe { _mm256_add_ps(self, other) }
    }

    #[inline(always)]
    unsafe fn clamped(self, least: __m256, most: __m256) -> __m256 {
        // NaN stays, as the second operand does.
        // SAFETY: the processor has the instructions.
        unsafe { _mm256_min_ps(most, _mm256_max_ps(least, self)) }
    }

    #[inline(always)]
    unsafe fn put(self, to: *mut f32) {
        // SAFETY: the processor has the instruction, and `to` points to 8 numbers.
        unsafe { _mm256_storeu_ps(to, self) }
    }
}

/// Whether the processor has these registers with fused multiply-add, which all kernels of this module use.
fn has_fused() -> bool {
    has!("avx2") && has!("fma")
}

pub(super) fn floats() -> Option<Micro<f32>> {
    let micro = Micro::new([Floats::ROWS, Floats::COLUMNS], Floats::LANES, run_floats);
    has_fused().then_some(Micro { panels: Floats::PANELS, ..micro })
}

fn run_floats(tile: Tile<'_, f32>) {
    #[target_feature(enable = "avx2,fma")]
    fn run(tile: Tile<'_, f32>) {
        // SAFETY: the processor has the instructions.
        unsafe { tile::run::<Floats>(tile) }
    }
    assert!(has_fused(), "a kernel for instructions that the processor has not");
    // SAFETY: the processor has the instructions.
    unsafe { run(tile) }
}

/// Bytes. `AT_ONCE` uses an instruction for a group of four; otherwise a group is two pairs of 16-bit products, because the
/// instruction for pairs of bytes saturates.
struct Bytes<const AT_ONCE: bool>;

impl<const AT_ONCE: bool> Vectors for Bytes<AT_ONCE> {
    type Factor = u8;
    type Register = __m256i;

    const LANES: usize = 8;
    const ROWS: usize = 6;
    const PANELS: Panels = PANELS;

    #[inline(always)]
    unsafe fn zero() -> __m256i {
        // SAFETY: the processor has the instruction.
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> __m256i {
        // SAFETY: the processor has the instruction, and `from` points to 32 bytes.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn spread(from: *const u8) -> __m256i {
        // SAFETY: the processor has the instruction, and `from` points to 4 bytes.
        unsafe { _mm256_set1_epi32(from.cast::<i32>().read_unaligned()) }
    }

    #[inline(always)]
    unsafe fn add_products(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the processor has the instructions.
        unsafe {
            if AT_ONCE {
                return _mm256_dpbusd_avx_epi32(sum, a, b);
            }
            let even = _mm256_and_si256(a, _mm256_set1_epi16(0xff));
            let even = _mm256_madd_epi16(even, _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(b)));
            let odd = _mm256_madd_epi16(_mm256_srli_epi16::<8>(a), _mm256_srai_epi16::<8>(b));
            _mm256_add_epi32(sum, _mm256_add_epi32(even, odd))
        }
    }

    const KNOWS_NARROW: bool = !AT_ONCE;

    #[inline(always)]
    unsafe fn add_narrow_products(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the processor has the instructions.
        unsafe {
            if AT_ONCE {
                return _mm256_dpbusd_avx_epi32(sum, a, b);
            }
            // No sum of a pair is too large for its 16 bits.
            let pairs = _mm256_maddubs_epi16(a, b);
            _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
        }
    }

    #[inline(always)]
    unsafe fn sums(from: *const i32) -> __m256i {
        // SAFETY: the processor has the instruction, and `from` points to 8 numbers.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn plus(a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the processor has the instruction.
        unsafe { _mm256_add_epi32(a, b) }
    }

    #[inline(always)]
    unsafe fn put(to: *mut i32, sums: __m256i) {
        // SAFETY: the processor has the instruction, and `to` points to 8 numbers.
        unsafe { _mm256_storeu_si256(to.cast(), sums) }
    }

    #[inline(always)]
    fn fetch(from: *const u8) {
        // SAFETY: every processor of this architecture has the instruction, which fails for no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
    }

    type Singles = __m256;

    #[inline(always)]
    unsafe fn singles(sums: __m256i, less: Option<*const i32>) -> __m256 {
        // SAFETY: the processor has the instructions, and `less` points to 8 numbers.
        unsafe {
            _mm256_cvtepi32_ps(match less {
                Some(less) => _mm256_sub_epi32(sums, _mm256_loadu_si256(less.cast())),
                None => sums,
            })
        }
    }
}

pub(super) fn bytes() -> Option<Micro<u8>> {
    let (size, lanes) = ([Bytes::<false>::ROWS, Bytes::<false>::COLUMNS], Bytes::<false>::LANES);
    let panels = Bytes::<false>::PANELS;
    has_fused().then_some(Micro { knows_narrow: true, panels, ..Micro::new(size, lanes, run_bytes) })
}

fn run_bytes(tile: Tile<'_, u8>) {
    #[target_feature(enable = "avx2,fma")]
    fn run(tile: Tile<'_, u8>) {
        // SAFETY: the processor has the instructions.
        unsafe { tile::run::<Bytes<false>>(tile) }
    }
    assert!(has_fused(), "a kernel for instructions that the processor has not");
    // SAFETY: the processor has the instructions.
    unsafe { run(tile) }
}

/// Whether the processor has the instruction for groups of bytes at this register width.
fn has_bytes_at_once() -> bool {
    has_fused() && has!("avxvnni")
}

pub(super) fn bytes_at_once() -> Option<Micro<u8>> {
    let (size, lanes) = ([Bytes::<true>::ROWS, Bytes::<true>::COLUMNS], Bytes::<true>::LANES);
    let micro = Micro::new(size, lanes, run_bytes_at_once);
    has_bytes_at_once().then_some(Micro { panels: Bytes::<true>::PANELS, ..micro })
}

fn run_bytes_at_once(tile: Tile<'_, u8>) {
    #[target_feature(enable = "avx2,fma,avxvnni")]
    fn run(tile: Tile<'_, u8>) {
        // SAFETY: the processor has the instructions.
        unsafe { tile::run::<Bytes<true>>(tile) }
    }
    assert!(has_bytes_at_once(), "a kernel for instructions that the processor has not");
    // SAFETY: the processor has the instructions.
    unsafe { run(tile) }
}

/// The operations of `rounds` rounds of [`tile::peak`], if the processor has the instructions.
pub(super) fn peak_of_floats(rounds: usize) -> Option<u64> {
    #[target_feature(enable = "avx2,fma")]
    fn run(rounds: usize) -> u64 {
        // SAFETY: the processor has the instructions.
        unsafe { tile::peak::<Floats>(rounds) }
    }
    // SAFETY: the processor has the instructions.
    has_fused().then(|| unsafe { run(rounds) })
}

/// The operations of `rounds` rounds of [`tile::peak`], if the processor has the instructions.
pub(super) fn peak_of_bytes(rounds: usize) -> Option<u64> {
    #[target_feature(enable = "avx2")]
    fn run(rounds: usize) -> u64 {
        // SAFETY: the processor has the instructions.
        unsafe { tile::peak::<Bytes<false>>(rounds) }
    }
    // SAFETY: the processor has the instructions.
    has!("avx2").then(|| unsafe { run(rounds) })
}

/// The operations of `rounds` rounds of [`tile::peak`], if the processor has the instructions.
pub(super) fn peak_of_bytes_at_once(rounds: usize) -> Option<u64> {
    #[target_feature(enable = "avx2,avxvnni")]
    fn run(rounds: usize) -> u64 {
        // SAFETY: the processor has the instructions.
        unsafe { tile::peak::<Bytes<true>>(rounds) }
    }
    // SAFETY: the processor has the instructions.
    has_bytes_at_once().then(|| unsafe { run(rounds) })
}
