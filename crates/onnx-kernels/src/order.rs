//! Ordering of elements of any type.

use onnx_formula::Number;
use onnx_ir::ElemType;
use onnx_loops::failure::Failure;
use onnx_loops::list::{List, Listed as _};
use onnx_loops::tensor::Tensor;
use std::cmp::Ordering;

/// The elements of a tensor in comparable form.
pub(crate) enum Keys<'t> {
    Integers(List<i64>),
    Floats(List<f64>),
    /// Real and imaginary parts.
    Complex(List<[f64; 2]>),
    Strings(&'t [String]),
}

impl<'t> Keys<'t> {
    pub(crate) fn of(tensor: &'t Tensor) -> Result<Keys<'t>, Failure> {
        use ElemType as E;
        Ok(match tensor.elem() {
            E::STRING => Keys::Strings(tensor.string_slice()?),
            // Shifted to keep the order.
            E::UINT64 => {
                let shifted = |&x: &u64| (x ^ (1 << 63)) as i64;
                Keys::Integers(tensor.words::<u64>().iter().map(shifted).listed()?)
            }
            E::COMPLEX64 => {
                let parts = tensor.words::<[f32; 2]>().iter();
                Keys::Complex(parts.map(|part| part.map(f64::from)).listed()?)
            }
            E::COMPLEX128 => Keys::Complex(List::copied(tensor.words::<[f64; 2]>())?),
            _ if is_integer(tensor.elem()) => Keys::Integers(tensor.ints()?),
            _ => Keys::Floats(tensor.floats()?),
        })
    }

    /// Compares numbers by value with NaN last, complex numbers by real part first, strings by characters.
    pub(crate) fn compare(&self, a: usize, b: usize) -> Ordering {
        match self {
            Keys::Integers(keys) => keys[a].cmp(&keys[b]),
            Keys::Floats(keys) => floats(keys[a], keys[b]),
            Keys::Complex(keys) => {
                let ([a, b], [c, d]) = (keys[a], keys[b]);
                floats(a, c).then_with(|| floats(b, d))
            }
            Keys::Strings(keys) => keys[a].cmp(&keys[b]),
        }
    }
}

/// Whether the elements are integers or booleans.
pub(crate) fn is_integer(elem: ElemType) -> bool {
    matches!(Number::from_bits(elem, 0), Some(Number::Int(_)))
}

fn floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}
