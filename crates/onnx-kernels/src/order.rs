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

/// A number that is ordered among those of other floats as [`Keys`] order them: NaN last, and both zeros equal.
pub(crate) fn rank(x: f64) -> i64 {
    if x.is_nan() {
        return i64::MAX;
    }
    // Negative zero becomes zero.
    let bits = (x + 0.0).to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// [`rank`] of single floats, in half the bits.
pub(crate) fn short_rank(x: f32) -> i32 {
    if x.is_nan() {
        return i32::MAX;
    }
    let bits = (x + 0.0).to_bits() as i32;
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

fn floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_ordered_like_keys() {
        let numbers = [
            f32::NEG_INFINITY,
            -2.5,
            -f32::MIN_POSITIVE,
            -0.0,
            0.0,
            1.0e-40,
            1.0,
            f32::INFINITY,
            f32::NAN,
            -f32::NAN,
        ];
        for (a, b) in numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))) {
            let expected = floats(a.into(), b.into());
            assert_eq!(rank(a.into()).cmp(&rank(b.into())), expected, "{a} and {b}");
            assert_eq!(short_rank(a).cmp(&short_rank(b)), expected, "{a} and {b}");
        }
    }
}
