//! Stored tensors as numbers, and back.

use super::number::{Number, is_number};
use onnx_ir::{ElemType, Field, Payload, Tensor};
use smallvec::SmallVec;

/// A tensor of numbers, in row-major order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Dense {
    pub(crate) elem: ElemType,
    pub(crate) dims: Vec<usize>,
    pub(crate) numbers: Vec<Number>,
}

impl Dense {
    /// What a tensor stores in the model itself, if it is sound, of numbers, and not larger than so many elements.
    pub(crate) fn of(tensor: &Tensor, most: usize) -> Option<Dense> {
        use ElemType as E;
        let elem = tensor.elem.filter(|e| is_number(*e))?;
        let dims: Vec<usize> = tensor.dims.iter().map(|d| usize::try_from(*d).ok()).collect::<Option<_>>()?;
        let count = usize::try_from(tensor.element_count()?).ok().filter(|n| *n <= most)?;
        if tensor.is_external() || tensor.extra().segment.is_some() {
            return None;
        }
        if count == 0 {
            return Some(Dense { elem, dims, numbers: Vec::new() });
        }
        let [Payload::Entries { field, bytes }] = &tensor.data[..] else { return None };
        let int = |n: i128| Number::Int(n);
        let numbers: Vec<Number> = match (elem, field) {
            (E::FLOAT, Field::Raw | Field::Float) => {
                words(bytes, |b| Number::Float(f32::from_le_bytes(b).into()))
            }
            (E::DOUBLE, Field::Raw | Field::Double) => words(bytes, |b| Number::Float(f64::from_le_bytes(b))),
            (E::FLOAT16, Field::Raw) => words(bytes, |b| Number::Float(half::f16::from_le_bytes(b).to_f64())),
            (E::BFLOAT16, Field::Raw) => {
                words(bytes, |b| Number::Float(half::bf16::from_le_bytes(b).to_f64()))
            }
            (E::FLOAT16, Field::Int32) => {
                words(bytes, |b| Number::Float(half::f16::from_bits(i32::from_le_bytes(b) as u16).to_f64()))
            }
            (E::BFLOAT16, Field::Int32) => {
                words(bytes, |b| Number::Float(half::bf16::from_bits(i32::from_le_bytes(b) as u16).to_f64()))
            }
            (E::INT64, Field::Raw | Field::Int64) => words(bytes, |b| int(i64::from_le_bytes(b).into())),
            (E::UINT64, Field::Raw | Field::Uint64) | (E::UINT32, Field::Uint64) => {
                words(bytes, |b| int(u64::from_le_bytes(b).into()))
            }
            (E::INT32, Field::Raw) => words(bytes, |b| int(i32::from_le_bytes(b).into())),
            (E::UINT32, Field::Raw) => words(bytes, |b| int(u32::from_le_bytes(b).into())),
            (E::INT16, Field::Raw) => words(bytes, |b| int(i16::from_le_bytes(b).into())),
            (E::UINT16, Field::Raw) => words(bytes, |b| int(u16::from_le_bytes(b).into())),
            (E::INT8, Field::Raw) => words(bytes, |b| int(i8::from_le_bytes(b).into())),
            (E::UINT8 | E::BOOL, Field::Raw) => words(bytes, |b| int(u8::from_le_bytes(b).into())),
            (_, Field::Int32) => words(bytes, |b| int(i32::from_le_bytes(b).into())),
            _ => return None,
        };
        // A stored number that the type has not is a mistake, which is told elsewhere.
        let is_sound = numbers.len() == count
            && numbers.iter().all(|n| match elem {
                E::BOOL => matches!(n, Number::Int(0 | 1)),
                _ => matches!(n, Number::Float(_)) || n.wrap(elem) == *n,
            });
        is_sound.then_some(Dense { elem, dims, numbers })
    }

    /// As a tensor without a name.
    pub(crate) fn tensor(&self) -> Option<Tensor> {
        use ElemType as E;
        let dims: SmallVec<[i64; 4]> =
            self.dims.iter().map(|d| i64::try_from(*d).ok()).collect::<Option<_>>()?;
        let mut tensor = Tensor { elem: Some(self.elem), dims, ..Tensor::default() };
        if self.numbers.is_empty() {
            return Some(tensor);
        }
        let ints = || {
            self.numbers.iter().map(|n| match n {
                Number::Int(n) => *n,
                Number::Float(x) => *x as i128,
            })
        };
        let floats = || {
            self.numbers.iter().map(|n| match n {
                Number::Int(n) => *n as f64,
                Number::Float(x) => *x,
            })
        };
        tensor.data.push(match self.elem {
            E::FLOAT => Payload::floats(floats().map(|x| x as f32).collect()),
            E::DOUBLE => Payload::doubles(floats().collect()),
            E::FLOAT16 => {
                Payload::int32s(floats().map(|x| half::f16::from_f64(x).to_bits().into()).collect())
            }
            E::BFLOAT16 => {
                Payload::int32s(floats().map(|x| half::bf16::from_f64(x).to_bits().into()).collect())
            }
            E::INT64 => Payload::int64s(ints().map(|n| n as i64).collect()),
            E::UINT32 | E::UINT64 => Payload::uint64s(ints().map(|n| n as u64).collect()),
            _ => Payload::int32s(ints().map(|n| n as i32).collect()),
        });
        Some(tensor)
    }

    /// The numbers, if they are integers of 64 bits.
    pub(crate) fn ints(&self) -> Option<Vec<i64>> {
        let int = |n: &Number| match n {
            Number::Int(n) => i64::try_from(*n).ok(),
            Number::Float(_) => None,
        };
        self.numbers.iter().map(int).collect()
    }
}

fn words<const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> Number) -> Vec<Number> {
    bytes.as_chunks::<N>().0.iter().map(|&b| read(b)).collect()
}
