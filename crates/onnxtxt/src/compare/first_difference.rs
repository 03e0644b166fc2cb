//! The first element that differs.

use super::tolerance::Tolerance;
use onnx_exec::{Tensor, Value};
use onnx_ir::ElemType;
use onnx_text::number_text;

/// Describes the first element that differs too much between two tensors of numbers. `None` for other values, and if types or
/// shapes differ.
#[must_use]
pub fn first_difference(result: &Value, other: &Value, tolerance: &Tolerance) -> Option<String> {
    let (a, b) = (result.tensor().ok()?, other.tensor().ok()?);
    if (a.elem(), a.dims()) != (b.elem(), b.dims()) {
        return None;
    }
    let tolerance = tolerance.of_type(b.elem());
    let (xs, ys) = (a.floats().ok()?, b.floats().ok()?);
    let is_close = |&(x, y): &(&f64, &f64)| tolerance.allows(*x, *y);
    let at = xs.iter().zip(&ys).position(|pair| !is_close(&pair))?;
    let (x, y) = (xs[at], ys[at]);
    let many = xs.iter().zip(&ys).filter(|pair| !is_close(pair)).count();
    let text = |x: f64| number_text(a.elem(), x);
    let mut text =
        format!("element {} is {} and {}: {:e} absolute", place(a, at), text(x), text(y), (x - y).abs());
    if y != 0.0 {
        text += &format!(", {:e} relative", ((x - y) / y).abs());
    }
    if let Some(units) = units(a.elem(), x, y) {
        text += &format!(", {units} ULP");
    }
    Some(text + &format!("; {many} of {} elements differ", xs.len()))
}

/// `[1,2]`
fn place(tensor: &Tensor, mut at: usize) -> String {
    let mut indices = Vec::with_capacity(tensor.rank());
    for &d in tensor.dims().iter().rev() {
        indices.push((at % d.max(1)).to_string());
        at /= d.max(1);
    }
    indices.reverse();
    format!("[{}]", indices.join(","))
}

/// The distance in units of the last place of the second number.
fn units(elem: ElemType, x: f64, y: f64) -> Option<u64> {
    let (digits, least) = match elem {
        ElemType::DOUBLE => (52, -1022),
        ElemType::FLOAT => (23, -126),
        ElemType::FLOAT16 => (10, -14),
        ElemType::BFLOAT16 => (7, -126),
        _ => return None,
    };
    if !(x.is_finite() && y.is_finite()) {
        return None;
    }
    // Uses the stored exponent: a logarithm may be rounded up.
    let exponent = if y == 0.0 { least } else { ((y.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(least) };
    let unit = 2f64.powi(exponent) / 2f64.powi(digits);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let units = ((x - y).abs() / unit).round() as u64;
    Some(units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_unit_apart() {
        let next = |x: f32| f64::from(f32::from_bits(x.to_bits() + 1));
        for x in [1.0f32, 1.5, 0.1, 1e30, 1e-42, f32::from_bits(1.0f32.to_bits() - 1)] {
            assert_eq!(units(ElemType::FLOAT, next(x), f64::from(x)), Some(1), "{x}");
        }
        assert_eq!(units(ElemType::FLOAT16, 1.0 + 2f64.powi(-9), 1.0), Some(2));
        assert_eq!(units(ElemType::INT64, 1.0, 2.0), None);
        assert_eq!(units(ElemType::FLOAT, f64::NAN, 2.0), None);
    }
}
