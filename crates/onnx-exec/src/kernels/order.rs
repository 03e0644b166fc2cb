//! Elements in order, whatever their type.

use crate::failure::Failure;
use crate::tensor::Tensor;
use onnx_ir::ElemType;
use std::cmp::Ordering;

/// The elements of a tensor as they are compared.
pub(super) enum Keys<'t> {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    /// Real and imaginary parts.
    Complex(Vec<[f64; 2]>),
    Strings(&'t [String]),
}

impl<'t> Keys<'t> {
    pub(super) fn of(tensor: &'t Tensor) -> Result<Keys<'t>, Failure> {
        use ElemType as E;
        Ok(match tensor.elem() {
            E::STRING => Keys::Strings(tensor.string_slice()?),
            // The same order, shifted.
            E::UINT64 => {
                let shifted = |&x: &u64| (x ^ (1 << 63)) as i64;
                Keys::Integers(tensor.words::<u64>().iter().map(shifted).collect())
            }
            E::COMPLEX64 => {
                let parts = tensor.words::<[f32; 2]>().iter();
                Keys::Complex(parts.map(|part| part.map(f64::from)).collect())
            }
            E::COMPLEX128 => Keys::Complex(tensor.words::<[f64; 2]>().to_vec()),
            _ => match tensor.ints() {
                Ok(integers) => Keys::Integers(integers),
                Err(_) => Keys::Floats(tensor.floats()?),
            },
        })
    }

    /// Numbers by size, what is no number behind them; complex ones by their real part first; strings by their characters.
    pub(super) fn compare(&self, a: usize, b: usize) -> Ordering {
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

fn floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}
