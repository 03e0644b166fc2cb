//! Conversions to powers of two; float formats are in [`onnx_ir::float`].

pub use onnx_ir::float::{Format, Special, format};
use onnx_ir::float::{exponent_of, power};

/// The direction of rounding to a power of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of the attribute")]
pub enum Rounding {
    Up,
    Down,
    Nearest,
}

/// Rounds a number to a power of two. Out of range, it becomes the least or greatest power if the cast saturates, otherwise NaN.
/// (The operator's documentation has a table; ONNX Runtime behaves the same for negative numbers.)
pub(crate) fn cast_to_power(x: f64, rounding: Rounding, saturates: bool) -> f64 {
    let (least, most) = (power(-127), power(127));
    // Wider numbers become floats first.
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
