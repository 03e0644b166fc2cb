//! Code that is compiled several times, for registers of different widths, and run as the widest that the processor has.
//!
//! What is compiled so is a [`Job`]: its `run`, and all that this calls, is put into one function for each width, in which the
//! compiler makes of its loops what the registers allow.

#![allow(
    unsafe_code,
    reason = "functions for instructions that not every processor has, called where they are there"
)]

use std::sync::OnceLock;

/// Something to be done.
pub(crate) trait Job {
    /// What it gives.
    type Out;

    /// Does it; `FUSED` where a product can be added to a number in one step. To be inlined always, as all that it calls.
    fn run<const FUSED: bool>(self) -> Self::Out;

    /// Does it in registers of 512 bits, of which there are twice as many.
    #[inline(always)]
    fn run_wide(self) -> Self::Out
    where
        Self: Sized,
    {
        self.run::<true>()
    }
}

/// How wide registers are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Width {
    /// Those that every processor of the architecture has.
    Least,
    /// 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512 bits.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The widest that this processor has.
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
pub(super) fn is_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    return width() == Width::Avx512;
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Does something in the widest registers.
#[inline]
pub(crate) fn widest<J: Job>(job: J) -> J::Out {
    match width() {
        Width::Least => job.run::<false>(),
        // SAFETY: `width` has seen that the processor has these instructions.
        #[cfg(target_arch = "x86_64")]
        Width::Avx2 => unsafe { avx2(job) },
        // SAFETY: `width` has seen that the processor has these instructions.
        #[cfg(target_arch = "x86_64")]
        Width::Avx512 => unsafe { avx512(job) },
    }
}

/// Asks for the memory that begins so many elements behind the first, into the second cache: whoever reads it soon need not wait.
#[inline(always)]
pub(crate) fn fetch<T>(from: &[T], ahead: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        let place = from.as_ptr().wrapping_add(ahead).cast();
        // SAFETY: nothing is read: where there is no memory, nothing happens.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(place) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, ahead);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<J: Job>(job: J) -> J::Out {
    job.run::<true>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512bw,avx512dq")]
fn avx512<J: Job>(job: J) -> J::Out {
    job.run_wide()
}
