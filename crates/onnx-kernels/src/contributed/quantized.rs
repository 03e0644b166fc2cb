//! Dynamic quantization and dequantization of operands.

use crate::real::Real;

/// Quantizes numbers to 8 bits by their own range and dequantizes them.
pub(crate) fn through_bytes<T: Real>(numbers: &mut [T]) {
    let single = |x: T| -> f32 { x.into() as f32 };
    let (low, high) =
        numbers.iter().fold((0.0f32, 0.0f32), |(l, h), &x| (l.min(single(x)), h.max(single(x))));
    let scale = if high == low { 1.0 } else { (high - low) / 255.0 };
    let zero = (-low / scale).round_ties_even().clamp(0.0, 255.0);
    for x in numbers {
        let code = ((single(*x) / scale).round_ties_even() + zero).clamp(0.0, 255.0);
        *x = T::of(f64::from(code - zero) * f64::from(scale));
    }
}
