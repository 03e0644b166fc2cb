//! Casts to powers of two; the formats of floats are those of [`onnx_ir::float`].

use super::cast::Rounding;
pub(crate) use onnx_ir::float::{Format, Special, format};
use onnx_ir::float::{exponent_of, power};

/// The power of two that a number is cast to. One outside of what there is becomes the least or the greatest power if the cast
/// saturates, else it is no number. (The operator's documentation has a table; of negative numbers, ONNX Runtime has the same.)
pub(super) fn cast_to_power(x: f64, rounding: Rounding, saturates: bool) -> f64 {
    let (least, most) = (power(-127), power(127));
    // What is wider becomes a float first.
    let x = f64::from(x as f32);
    if x.is_nan() || !saturates && !(least..=most).contains(&x) {
        return f64::NAN;
    }
    let x = x.clamp(least, most);
    let floor = power(exponent_of(x));
    let goes_up = match rounding {
        Rounding::Up => x > floor,
        Rounding::Down => false,
        Rounding::Nearest => x >= 1.5 * floor,
    };
    if goes_up { 2.0 * floor } else { floor }
}
