//! Whether two values are close enough, and how they differ if they are not.

use super::tolerance::Tolerance;
use onnx_exec::{Tensor, Value};
use onnx_ir::diag::counted;
use onnx_text::number_text;

/// Whether two values without a difference are close only as a whole.
#[must_use]
pub fn is_close_as_a_whole(result: &Value, expected: &Value, tolerance: &Tolerance) -> bool {
    tolerance.of_elements().is_some_and(|elements| difference(result, expected, &elements).is_some())
}

/// Describes how two values differ, if they do.
#[must_use]
pub fn difference(result: &Value, expected: &Value, tolerance: &Tolerance) -> Option<String> {
    match (result, expected) {
        (Value::Tensor(a), Value::Tensor(b)) => tensors(a, b, tolerance),
        (Value::Sequence(a), Value::Sequence(b)) => {
            if a.len() != b.len() {
                return Some(format!("{}, expected {}", counted(a.len(), "element"), b.len()));
            }
            a.iter().zip(b.iter()).find_map(|(a, b)| difference(a, b, tolerance))
        }
        (Value::Map(a), Value::Map(b)) => {
            let keys = tensors(&a.keys, &b.keys, tolerance);
            keys.or_else(|| a.values.iter().zip(&b.values).find_map(|(a, b)| difference(a, b, tolerance)))
        }
        (Value::Optional(Some(a)), Value::Optional(Some(b))) => difference(a, b, tolerance),
        (Value::Optional(None), Value::Optional(None)) => None,
        (a, Value::Optional(Some(b))) => difference(a, b, tolerance),
        (a, b) => Some(format!("{}, expected {}", a.kind(), b.kind())),
    }
}

fn tensors(a: &Tensor, b: &Tensor, tolerance: &Tolerance) -> Option<String> {
    let name = |t: &Tensor| t.elem().name().unwrap_or("?");
    if (a.elem(), a.dims()) != (b.elem(), b.dims()) {
        return Some(format!("{}{:?}, expected {}{:?}", name(a), a.dims(), name(b), b.dims()));
    }
    if tolerance.is_random {
        return None;
    }
    if let (Ok(a), Ok(b)) = (a.string_slice(), b.string_slice()) {
        let at = (0..a.len()).find(|&i| a[i] != b[i])?;
        return Some(format!("element {at} is {:?}, expected {:?}", a[at], b[at]));
    }
    let (Ok(xs), Ok(ys)) = (a.floats(), b.floats()) else {
        let at = a.bytes().iter().zip(b.bytes()).position(|(a, b)| a != b)?;
        return Some(format!("byte {at} is {:#04x}, expected {:#04x}", a.bytes()[at], b.bytes()[at]));
    };
    let tolerance = tolerance.of_type(b.elem());
    let at = (0..xs.len()).find(|&i| !tolerance.allows(xs[i], ys[i]))?;
    if tolerance.allows_all(b.elem(), &xs, &ys) {
        return None;
    }
    let worst = xs.iter().zip(&ys).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    let (x, y) = (number_text(a.elem(), xs[at]), number_text(b.elem(), ys[at]));
    Some(format!("element {at} is {x}, expected {y}; the largest difference is {worst:e}"))
}
