//! The micro-kernel for NEON, which every 64-bit ARM processor has: 8 rows by 8 columns, 16 accumulator registers.

#![allow(unsafe_code, reason = "loads and stores through pointers, of places that were looked at before")]

use super::tile::{self, LineAt, Singles, Vectors};
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
    unsafe fn store(to: *mut f32, sum: float32x4_t, is_first: bool) {
        // SAFETY: the processor has the instructions, and `to` points to 4 numbers.
        unsafe {
            let sum = if is_first { sum } else { vaddq_f32(vld1q_f32(to), sum) };
            vst1q_f32(to, sum);
        }
    }

    type Singles = float32x4_t;

    #[inline(always)]
    unsafe fn singles(from: *const f32, _: Option<*const i32>) -> float32x4_t {
        // SAFETY: the processor has the instruction, and `from` points to 4 numbers.
        unsafe { vld1q_f32(from) }
    }
}

impl Singles for float32x4_t {
    #[inline(always)]
    unsafe fn line(self, line: &LineAt) -> float32x4_t {
        // SAFETY: the processor has the instructions, and the pointers point to 4 numbers.
        unsafe {
            // Not fused: no function is, for this processor.
            let y = vaddq_f32(vmulq_f32(self, vld1q_f32(line.scale)), vld1q_f32(line.bias));
            let y = vaddq_f32(y, vdupq_n_f32(line.of_row));
            let y = match line.other {
                Some(other) => vaddq_f32(y, vld1q_f32(other)),
                None => y,
            };
            // The instructions for the greatest and the least number change zeros.
            let (least, most) = (vdupq_n_f32(line.least), vdupq_n_f32(line.most));
            let y = vbslq_f32(vcltq_f32(y, least), least, y);
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
