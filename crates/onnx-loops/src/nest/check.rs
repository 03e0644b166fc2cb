//! Compares the results of loops with the reference evaluation, element by element.

use crate::failure::{Failure, fail};
use crate::tensor::Tensor;
use onnx_formula::{Elements, Number};
use onnx_ir::ElemType;

/// The relative tolerance: loops round single floats after each operation, the reference once at the end.
fn tolerance(elem: ElemType) -> f64 {
    use ElemType as E;
    match elem {
        E::DOUBLE => 1e-10,
        E::FLOAT => 1e-4,
        E::FLOAT16 => 2e-3,
        E::BFLOAT16 => 1.6e-2,
        // Types with at most three bits of precision.
        _ => 0.25,
    }
}

/// The least magnitude for relative errors: numbers around 1 that cancel leave only rounding errors.
const MIN_MAGNITUDE: f64 = 1e-3;

/// Fails unless two tensors are equal within tolerance.
pub fn agree(loops: &Tensor, formula: &Tensor) -> Result<(), Failure> {
    let elem = loops.elem();
    // A sum near 0 has an absolute error like those of the largest elements.
    let largest = (0..formula.len()).filter_map(|i| match formula.number(i) {
        Some(Number::Float(x)) if x.is_finite() => Some(x.abs()),
        Some(Number::Float(_) | Number::Int(_)) | None => None,
    });
    let scale = largest.fold(0.0, f64::max);
    for i in 0..formula.len() {
        let (a, b) = (loops.number(i), formula.number(i));
        let is_same = match (a, b) {
            (Some(Number::Float(a)), Some(Number::Float(b))) => {
                let apart = (a - b).abs();
                a == b
                    || a.is_nan() && b.is_nan()
                    || apart <= tolerance(elem) * (b.abs() + 1e-2 * scale + MIN_MAGNITUDE)
            }
            // A rounded quotient may fall on either side.
            (Some(Number::Int(a)), Some(Number::Int(b))) => {
                (a - b).abs() <= i128::from(elem.bits() == Some(8))
            }
            (a, b) => a == b,
        };
        if !is_same {
            fail!("element {i} is {a:?} by its loops and {b:?} by its formula");
        }
    }
    Ok(())
}
