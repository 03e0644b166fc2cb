//! Conversions of `float16` and `bfloat16` without branches and calls, so that loops over lanes are vectorized.

/// Converts `float16` to a single float.
#[inline(always)]
pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    let bits = u32::from(bits);
    let (sign, rest) = ((bits & 0x8000) << 16, bits & 0x7fff);
    // Multiplication by 2^112 adjusts the exponent, also for subnormal numbers.
    let finite = f32::from_bits(rest << 13) * f32::from_bits((127 + 112) << 23);
    let quiet = if rest > 0x7c00 { 0x0040_0000 } else { 0 };
    let other = rest << 13 | 0x7f80_0000 | quiet;
    f32::from_bits(sign | if rest >= 0x7c00 { other } else { finite.to_bits() })
}

/// Rounds a single float to `float16`.
#[inline(always)]
pub(crate) fn f32_to_f16(x: f32) -> u16 {
    let x = round_to_f16(x);
    let (sign, rest) = (x.to_bits() >> 16 & 0x8000, x.to_bits() & 0x7fff_ffff);
    // After rounding no set bits are lost here; multiplication by 2^-112 produces the subnormal numbers of `float16`.
    let finite = (f32::from_bits(rest) * f32::from_bits((127 - 112) << 23)).to_bits() >> 13;
    let other = if rest > 0x7f80_0000 { 0x7e00 | rest >> 13 & 0x3ff } else { 0x7c00 };
    (sign | if rest >= 0x7f80_0000 { other } else { finite }) as u16
}

/// Rounds a single float to a value of `float16`, ties to even.
#[inline(always)]
pub(crate) fn round_to_f16(x: f32) -> f32 {
    let bits = x.to_bits();
    let size = x.abs();
    let normal = f32::from_bits((bits & 0x7fff_ffff).wrapping_add(0xfff + (bits >> 13 & 1)) & !0x1fff);
    // Floats near 0.75 have the spacing of `float16` subnormals.
    let small = size + 0.75 - 0.75;
    let rounded = if size < 6.103_515_6e-5 { small } else { normal };
    let rounded = if rounded > 65_504.0 { f32::INFINITY } else { rounded };
    let rounded = rounded.copysign(x);
    if x.is_nan() { quiet(x) } else { rounded }
}

/// Converts `bfloat16` to a single float.
#[inline(always)]
pub(crate) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Rounds a single float to `bfloat16`.
#[inline(always)]
pub(crate) fn f32_to_bf16(x: f32) -> u16 {
    (round_to_bf16(x).to_bits() >> 16) as u16
}

/// Rounds a single float to a value of `bfloat16`, ties to even.
#[inline(always)]
pub(crate) fn round_to_bf16(x: f32) -> f32 {
    let bits = x.to_bits();
    let rounded = f32::from_bits(bits.wrapping_add(0x7fff + (bits >> 16 & 1)) & !0xffff);
    if x.is_nan() { f32::from_bits(quiet(x).to_bits() & !0xffff) } else { rounded }
}

#[inline(always)]
fn quiet(x: f32) -> f32 {
    f32::from_bits(x.to_bits() | 0x0040_0000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn all_elements_become_the_single_floats_that_they_are() {
        for bits in 0..=u16::MAX {
            assert_eq!(f16_to_f32(bits).to_bits(), f16::from_bits(bits).to_f32().to_bits(), "{bits:#x}");
            let brain = bf16::from_bits(bits).to_f32();
            assert!(bf16_to_f32(bits).to_bits() == brain.to_bits() || brain.is_nan(), "{bits:#x}");
        }
    }

    /// Every value, the midpoint to the next, and the single floats next to the midpoint.
    #[test]
    fn single_floats_are_rounded_to_the_nearest() {
        let near = |x: f32| [-1, 0, 1].map(|by| f32::from_bits(x.to_bits().wrapping_add_signed(by)));
        for bits in 0..=u16::MAX {
            let halves = [f16::from_bits(bits), f16::from_bits(bits.wrapping_add(1))].map(f16::to_f32);
            let brains = [bf16::from_bits(bits), bf16::from_bits(bits.wrapping_add(1))].map(bf16::to_f32);
            for [a, b] in [halves, brains] {
                for x in near(a).into_iter().chain(near(a / 2.0 + b / 2.0)) {
                    let (half, brain) = (f16::from_f32(x), bf16::from_f32(x));
                    if x.is_nan() {
                        assert!(round_to_f16(x).is_nan() && round_to_bf16(x).is_nan());
                        assert!(
                            f16::from_bits(f32_to_f16(x)).is_nan()
                                && bf16::from_bits(f32_to_bf16(x)).is_nan()
                        );
                        continue;
                    }
                    assert_eq!(f32_to_f16(x), half.to_bits(), "{x:e}");
                    assert_eq!(round_to_f16(x).to_bits(), half.to_f32().to_bits(), "{x:e}");
                    assert_eq!(f32_to_bf16(x), brain.to_bits(), "{x:e}");
                    assert_eq!(round_to_bf16(x).to_bits(), brain.to_f32().to_bits(), "{x:e}");
                }
            }
        }
    }
}
