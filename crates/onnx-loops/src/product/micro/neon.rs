//! The micro-kernel for NEON, which every 64-bit ARM processor has: 8 rows by 8 columns, 16 accumulator registers.

#![allow(unsafe_code, reason = "loads and stores through pointers, of places that were looked at before")]

use super::tile::{self, Singles, Vectors};
use super::{Micro, Tile};
use std::arch::aarch64::{
    float32x4_t, vaddq_f32, vbslq_f32, vcgtq_f32, vcltq_f32, vdupq_n_f32, vfmaq_f32, vld1q_f32, vmulq_f32,
    vst1q_f32,
};

struct Floats;

impl Vectors for Floats {
    type Factor = f32;
    type Register = float32x4_t;

    const LANES: usize = 4;
    const ROWS: usize = 8;

    #[inline(always)]
    unsafe fn zero() -> float32x4_t {
        // SAFETY: the processor has the instruction.
        unsafe { vdupq_n_f32(0.0) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> float32x4_t {
        // SAFETY: the processor has the instruction, and `from` points to 4 numbers.
        unsafe { vld1q_f32(from) }
    }

    #[inline(always)]
    unsafe fn spread(from: *const f32) -> float32x4_t {
        // SAFETY: the processor has the instruction, and the caller has checked that a number is within bounds at `from`.
        unsafe { vdupq_n_f32(*from) }
    }

    #[inline(always)]
    unsafe fn add_products(sum: float32x4_t, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: the processor has the instruction.
        unsafe { vfmaq_f32(sum, a, b) }
    }

    #[inline(always)]
    unsafe fn sums(from: *const f32) -> float32x4_t {
        // SAFETY: the processor has the instruction, and `from` points to 4 numbers.
        unsafe { vld1q_f32(from) }
    }

    #[inline(always)]
    unsafe fn plus(a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: the processor has the instruction.
        unsafe { vaddq_f32(a, b) }
    }

    #[inline(always)]
    unsafe fn put(to: *mut f32, sums: float32x4_t) {
        // SAFETY: the processor has the instruction, and `to` points to 4 numbers.
        unsafe { vst1q_f32(to, sums) }
    }

    type Singles = float32x4_t;

    #[inline(always)]
    unsafe fn singles(sums: float32x4_t, _: Option<*const i32>) -> float32x4_t {
        sums
    }
}

impl Singles for float32x4_t {
    #[inline(always)]
    unsafe fn load(from: *const f32) -> float32x4_t {
        // SAFETY: the processor has the instruction, and `from` points to 4 numbers.
        unsafe { vld1q_f32(from) }
    }

    #[inline(always)]
    unsafe fn all(number: f32) -> float32x4_t {
        // SAFETY: the processor has the instruction.
        unsafe { vdupq_n_f32(number) }
    }

    #[inline(always)]
    unsafe fn line(self, scale: float32x4_t, bias: float32x4_t) -> float32x4_t {
        // SAFETY: the processor has the instructions.
        // Not fused: no function is, for this processor.
        unsafe { vaddq_f32(vmulq_f32(self, scale), bias) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: float32x4_t) -> float32x4_t {
        // SAFETY: the processor has the instruction.
        unsafe { vaddq_f32(self, other) }
    }

    #[inline(always)]
    unsafe fn clamped(self, least: float32x4_t, most: float32x4_t) -> float32x4_t {
        // SAFETY: the processor has the instructions.
        unsafe {
            // The instructions for the greatest and the least number change zeros.
            let y = vbslq_f32(vcltq_f32(self, least), least, self);
            vbslq_f32(vcgtq_f32(y, most), most, y)
        }
    }

    #[inline(always)]
    unsafe fn put(self, to: *mut f32) {
        // SAFETY: the processor has the instruction, and `to` points to 4 numbers.
        unsafe { vst1q_f32(to, self) }
    }
}

pub(super) fn floats() -> Micro<f32> {
    let micro = Micro::new([Floats::ROWS, Floats::COLUMNS], Floats::LANES, run);
    Micro { panels: Floats::PANELS, ..micro }
}

fn run(tile: Tile<'_, f32>) {
    // SAFETY: every supported 64-bit ARM processor has the instructions.
    unsafe { tile::run::<Floats>(tile) }
}

/// The operations of `rounds` rounds of [`tile::peak`].
pub(super) fn peak_of_floats(rounds: usize) -> u64 {
    // SAFETY: every supported 64-bit ARM processor has the instructions.
    unsafe { tile::peak::<Floats>(rounds) }
}
