//! Stored tensors as numbers, and back.

use super::cx::count;
use super::number::{Kind, Number};
use onnx_ir::{ElemType, Field, Payload, Tensor};
use smallvec::SmallVec;

/// What formulas load from.
pub trait Elements {
    /// The extents.
    fn dims(&self) -> &[usize];
    /// The element at a place in row-major order; `None` if there is none, or it is no number.
    fn number(&self, offset: usize) -> Option<Number>;
}

/// A tensor of numbers, in row-major order.
#[derive(Clone, PartialEq, Debug)]
pub struct Dense {
    /// The element type.
    pub elem: ElemType,
    /// The extents.
    pub dims: Vec<usize>,
    /// The elements, as many as the extents say.
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
    /// What a tensor stores in the model itself, if it is sound, of numbers, and not larger than so many elements.
    pub fn of(tensor: &Tensor, most: usize) -> Option<Dense> {
        let elem = tensor.elem?;
        let kind = Kind::of(elem)?;
        let dims: Vec<usize> = tensor.dims.iter().map(|d| usize::try_from(*d).ok()).collect::<Option<_>>()?;
        let total = count(&dims).filter(|n| *n <= most)?;
        if tensor.is_external() || tensor.extra().segment.is_some() {
            return None;
        }
        if total == 0 {
            return Some(Dense { elem, dims, numbers: Vec::new() });
        }
        let [Payload::Entries { field, bytes }] = &tensor.data[..] else { return None };
        let numbers = numbers(elem, kind, *field, bytes, total)?;
        Some(Dense { elem, dims, numbers })
    }

    /// As a tensor without a name; `None` if it is too large for one.
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

    /// The numbers, if they are integers of 64 bits.
    pub fn ints(&self) -> Option<Vec<i64>> {
        let int = |n: &Number| match n {
            Number::Int(n) => i64::try_from(*n).ok(),
            Number::Float(_) => None,
        };
        self.numbers.iter().map(int).collect()
    }
}

/// The elements of a payload; `None` if there are not as many, or one is none of the type's.
fn numbers(elem: ElemType, kind: Kind, field: Field, bytes: &[u8], total: usize) -> Option<Vec<Number>> {
    let width = elem.bits()?;
    let of = |bits| Number::from_bits(elem, bits);
    match field {
        Field::Raw => packed(bytes, width, total, |bits| match kind {
            Kind::Bool if bits > 1 => None,
            Kind::Bool | Kind::Int(..) | Kind::Float(_) => of(bits),
        }),
        _ if elem.field() != Some(field) => None,
        Field::Float => entries(bytes, total, |b| of(u32::from_le_bytes(b).into())),
        Field::Int32 if width < 6 => {
            let bytes: Option<Vec<u8>> = (bytes.as_chunks::<4>().0.iter())
                .map(|b| u8::try_from(i32::from_le_bytes(*b)).ok())
                .collect();
            packed(&bytes?, width, total, of)
        }
        Field::Int32 => entries(bytes, total, |b| {
            let entry = i64::from(i32::from_le_bytes(b));
            let (least, most) = match kind {
                Kind::Bool => (0, 1),
                Kind::Int(width, true) => (-1 << (width - 1), (1 << (width - 1)) - 1),
                Kind::Int(..) | Kind::Float(_) => (0, (1 << width) - 1),
            };
            (least..=most).contains(&entry).then(|| of(entry as u64))?
        }),
        Field::Int64 | Field::Double => entries(bytes, total, |b| of(u64::from_le_bytes(b))),
        Field::Uint64 => entries(bytes, total, |b| {
            let entry = u64::from_le_bytes(b);
            (width == 64 || entry >> width == 0).then(|| of(entry))?
        }),
        Field::String => None,
    }
}

fn entries<const N: usize>(
    bytes: &[u8],
    total: usize,
    read: impl Fn([u8; N]) -> Option<Number>,
) -> Option<Vec<Number>> {
    let (entries, rest) = bytes.as_chunks::<N>();
    let is_sound = entries.len() == total && rest.is_empty();
    is_sound.then(|| entries.iter().map(|&b| read(b)).collect())?
}

/// Elements one after the other, the first in the lowest bits.
fn packed(
    bytes: &[u8],
    width: u32,
    total: usize,
    read: impl Fn(u64) -> Option<Number>,
) -> Option<Vec<Number>> {
    let width = width as usize;
    if bytes.len() != total.checked_mul(width)?.div_ceil(8) {
        return None;
    }
    let element = |i: usize| {
        let (first, shift) = (i * width / 8, i * width % 8);
        let part = bytes.get(first..)?;
        let part = part.get(..(shift + width).div_ceil(8))?;
        let bits = part.iter().rev().fold(0u64, |bits, b| bits << 8 | u64::from(*b)) >> shift;
        read(bits & (u64::MAX >> (64 - width)))
    };
    (0..total).map(element).collect()
}
