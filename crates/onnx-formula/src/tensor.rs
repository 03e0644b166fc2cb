//! Conversion between stored tensors and numbers.

use crate::Number;
use onnx_ir::{ElemType, Field, Payload, Tensor};
use smallvec::SmallVec;

/// A source of elements for formulas.
pub trait Elements {
    /// The sizes of the axes.
    fn dims(&self) -> &[usize];
    /// The element at a row-major index; `None` if it does not exist or is not a number.
    fn number(&self, offset: usize) -> Option<Number>;
}

/// A tensor of numbers, in row-major order.
#[derive(Clone, PartialEq, Debug)]
pub struct Dense {
    /// The element type.
    pub elem: ElemType,
    /// The sizes of the axes.
    pub dims: Vec<usize>,
    /// The elements; their number matches the shape.
    pub numbers: Vec<Number>,
}

impl Elements for Dense {
    fn dims(&self) -> &[usize] {
        &self.dims
    }

    fn number(&self, offset: usize) -> Option<Number> {
        self.numbers.get(offset).copied()
    }
}

impl Dense {
    /// The elements of a tensor stored in the model, if it is valid, numeric, and has at most `most` elements.
    pub fn of(tensor: &Tensor, most: usize) -> Option<Dense> {
        let elem = tensor.elem?;
        let dims: Vec<usize> = tensor.dims.iter().map(|d| usize::try_from(*d).ok()).collect::<Option<_>>()?;
        let total = count(&dims).filter(|n| *n <= most)?;
        let numbers: Option<Vec<Number>> =
            tensor.bits().ok()?.map(|bits| Number::from_bits(elem, bits)).collect();
        let numbers = numbers.filter(|numbers| numbers.len() == total)?;
        Some(Dense { elem, dims, numbers })
    }

    /// A tensor without a name; `None` if it is too large.
    pub fn tensor(&self) -> Option<Tensor> {
        let dims: SmallVec<[i64; 4]> =
            self.dims.iter().map(|d| i64::try_from(*d).ok()).collect::<Option<_>>()?;
        let mut tensor = Tensor { elem: Some(self.elem), dims, ..Tensor::default() };
        if self.numbers.is_empty() {
            return Some(tensor);
        }
        let bits: Vec<u64> = self.numbers.iter().map(|n| n.to_bits(self.elem)).collect::<Option<_>>()?;
        let bits = bits.into_iter();
        let width = self.elem.bits()?;
        tensor.data.push(match self.elem.field()? {
            Field::Float => Payload::floats(bits.map(|b| f32::from_bits(b as u32)).collect()),
            Field::Double => Payload::doubles(bits.map(f64::from_bits).collect()),
            Field::Int64 => Payload::int64s(bits.map(|b| b as i64).collect()),
            Field::Uint64 => Payload::uint64s(bits.collect()),
            Field::Int32 if width < 6 => {
                let each = 8 / width as usize;
                let byte = |part: &[u64]| part.iter().rev().fold(0, |byte, b| byte << width | *b as i32);
                Payload::int32s(bits.collect::<Vec<_>>().chunks(each).map(byte).collect())
            }
            Field::Int32 => {
                let entry = |b: u64| match self.elem {
                    ElemType::INT8 => i32::from(b as i8),
                    ElemType::INT16 => i32::from(b as i16),
                    _ => b as i32,
                };
                Payload::int32s(bits.map(entry).collect())
            }
            Field::Raw | Field::String => return None,
        });
        Some(tensor)
    }

    /// The numbers, if they are 64-bit integers.
    pub fn ints(&self) -> Option<Vec<i64>> {
        let int = |n: &Number| match n {
            Number::Int(n) => i64::try_from(*n).ok(),
            Number::Float(_) => None,
        };
        self.numbers.iter().map(int).collect()
    }
}

/// The product of sizes; `None` if it overflows.
pub fn count(dims: &[usize]) -> Option<usize> {
    dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d))
}
