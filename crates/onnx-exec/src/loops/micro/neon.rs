//! The micro-kernel for processors with NEON, which every one of 64 bits of the architecture has: 8 rows by 8 columns, 16
//! registers of sums.

#![allow(unsafe_code, reason = "loads and stores through pointers, of places that were looked at before")]

use super::tile::{self, Vectors};
use super::{Micro, Tile};
use std::arch::aarch64::{float32x4_t, vaddq_f32, vdupq_n_f32, vfmaq_f32, vld1q_f32, vst1q_f32};

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
        // SAFETY: the processor has the instruction, and 4 numbers are there.
        unsafe { vld1q_f32(from) }
    }

    #[inline(always)]
    unsafe fn spread(from: *const f32) -> float32x4_t {
        // SAFETY: the processor has the instruction, and the number is there.
        unsafe { vdupq_n_f32(*from) }
    }

    #[inline(always)]
    unsafe fn add_products(sum: float32x4_t, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: the processor has the instruction.
        unsafe { vfmaq_f32(sum, a, b) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, sum: float32x4_t, is_first: bool) {
        // SAFETY: the processor has the instructions, and there is room for 4 numbers.
        unsafe {
            let sum = if is_first { sum } else { vaddq_f32(vld1q_f32(to), sum) };
            vst1q_f32(to, sum);
        }
    }
}

pub(super) fn floats() -> Micro<f32> {
    Micro { rows: Floats::ROWS, columns: Floats::COLUMNS, run }
}

fn run(tile: Tile<'_, f32>) {
    // SAFETY: every processor of this architecture that the standard library is built for has the instructions.
    unsafe { tile::run::<Floats>(tile) }
}

/// The operations of so many rounds of [`tile::peak`].
pub(super) fn peak_of_floats(rounds: usize) -> u64 {
    // SAFETY: every processor of this architecture that the standard library is built for has the instructions.
    unsafe { tile::peak::<Floats>(rounds) }
}
