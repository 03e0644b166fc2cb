//! Multiversioned functions: compiled for several vector widths, and dispatched to the widest one of the processor.
//!
//! A [`Body`] is compiled this way: its `run`, with everything that it inlines, becomes one function for each width, in which the
//! compiler vectorizes its loops.
//!
//! On Linux, these functions are in sections of their own, so that `cargo xtask machine-code` finds them in a program without symbols and
//! sees whether they were vectorized: link-time optimization vectorizes by the optimization level of the program, not by that of this
//! crate.

#![allow(
    unsafe_code,
    reason = "functions for instructions that not every processor has, called where they are there, in sections of their own"
)]

use std::sync::OnceLock;

/// A multiversioned function with its arguments.
pub trait Body {
    /// The result.
    type Out;

    /// Whether it is compiled for 512 bits, too: it is not where measuring has shown no gain (see [`Lane`]).
    const WIDE: bool = true;

    /// Computes the result; `FUSED` with fused multiply-add. This and all callees must be inlined always.
    fn run<const FUSED: bool>(self) -> Self::Out;

    /// Does it in registers of 512 bits, of which there are twice as many.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn run_wide(self) -> Self::Out
    where
        Self: Sized,
    {
        self.run::<true>()
    }
}

/// An element type, and whether reductions and recurrent cells are faster in registers of 512 bits than in those of 256.
///
/// A vector of 512 bits loads, converts and combines as many elements per cycle as two of 256 where the elements have 64 bits, and costs
/// more where rows begin and end. Measured on Emerald Rapids as the time of 256 bits for each unit of time of 512, least of many
/// runs: floats 1.1 to 1.7; doubles 0.65 to 1.0, only their maxima of rows 1.2; integers 0.5 to 0.9, their maxima of columns 1.1.
pub trait Lane {
    /// Whether 512 bits are faster.
    const IS_FASTER_WIDE: bool;
}

impl Lane for f32 {
    const IS_FASTER_WIDE: bool = true;
}

impl Lane for f64 {
    const IS_FASTER_WIDE: bool = false;
}

impl Lane for i64 {
    const IS_FASTER_WIDE: bool = false;
}

/// The vector width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Width {
    /// The baseline of the architecture.
    Least,
    /// 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512 bits.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The instruction set on which the bits of results may depend.
pub(crate) fn isa() -> String {
    format!("{} {:?}", std::env::consts::ARCH, width())
}

/// The widest of this processor.
fn width() -> Width {
    static WIDTH: OnceLock<Width> = OnceLock::new();
    *WIDTH.get_or_init(|| {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let has_fused = has!("avx2") && has!("fma");
            let has_masks = has!("avx512f") && has!("avx512vl") && has!("avx512bw") && has!("avx512dq");
            if has_fused && has_masks {
                return Width::Avx512;
            }
            if has_fused {
                return Width::Avx2;
            }
        }
        Width::Least
    })
}

/// Whether registers have 512 bits.
pub(crate) fn is_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    return width() == Width::Avx512;
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Runs a body compiled for the widest registers of this processor.
#[inline]
pub fn widest<J: Body>(job: J) -> J::Out {
    match width() {
        Width::Least => job.run::<false>(),
        // SAFETY: `width` has checked for these instructions.
        #[cfg(target_arch = "x86_64")]
        Width::Avx512 if J::WIDE => unsafe { avx512(job) },
        // SAFETY: `width` has checked for these instructions, which every processor with 512 bits has.
        #[cfg(target_arch = "x86_64")]
        Width::Avx2 | Width::Avx512 => unsafe { avx2(job) },
    }
}

/// Prefetches memory `ahead` elements after the first into the second-level cache.
#[inline(always)]
pub(crate) fn fetch<T>(from: &[T], ahead: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        let place = from.as_ptr().wrapping_add(ahead).cast();
        // SAFETY: a prefetch of an invalid address does nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(place) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, ahead);
}

#[cfg(target_arch = "x86_64")]
#[cfg_attr(target_os = "linux", unsafe(link_section = "onnxtxt.avx2"))]
#[target_feature(enable = "avx2,fma")]
fn avx2<J: Body>(job: J) -> J::Out {
    job.run::<true>()
}

#[cfg(target_arch = "x86_64")]
#[cfg_attr(target_os = "linux", unsafe(link_section = "onnxtxt.avx512"))]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512bw,avx512dq")]
fn avx512<J: Body>(job: J) -> J::Out {
    job.run_wide()
}
