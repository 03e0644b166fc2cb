//! The elements of a stored tensor, from any field.
//!
//! ```
//! use onnx_ir::{ElemType, Tensor};
//!
//! let weights = Tensor::new([2, 2], vec![1.0f32, 2.0, 3.0, 4.0]);
//! assert_eq!(weights.view::<f32>().as_deref(), Ok(&[1.0, 2.0, 3.0, 4.0][..]));
//! let error = weights.view::<i64>().unwrap_err();
//! assert_eq!(error.to_string(), "a tensor of int64 is expected, but this one is of float");
//! ```
//!
//! [`Tensor::view`] borrows elements that are stored in the memory layout of the type, and copies them otherwise.
//! [`Tensor::bits`] yields bit patterns of any numeric type, including types that Rust lacks.

use super::{Field, Payload, Tensor};
use crate::diag::{Code, Diagnostic, Place, code, counted};
use crate::types::ElemType;
use std::borrow::Cow;
use std::fmt;

/// A Rust type whose values are the elements of tensors of one type.
pub trait TensorElement: Copy + 'static {
    /// The element type.
    const ELEM: ElemType;
    /// The element that has these bits, the first in the lowest.
    fn from_bits(bits: u64) -> Self;
    /// The elements as slices of bytes have them; `None` if they are not aligned, or the machine is not little-endian.
    fn cast(bytes: &[u8]) -> Option<&[Self]>;
    /// The elements as the field of their type stores them.
    fn payload(elements: Vec<Self>) -> Payload;
}

macro_rules! elements {
    ($($ty:ty: $elem:ident, $bits:pat => $from:expr, $list:pat => $payload:expr;)*) => {$(
        impl TensorElement for $ty {
            const ELEM: ElemType = ElemType::$elem;
            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "the bits are those of the type")]
            fn from_bits($bits: u64) -> Self {
                $from
            }
            fn cast(bytes: &[u8]) -> Option<&[Self]> {
                if cfg!(target_endian = "little") { bytemuck::try_cast_slice(bytes).ok() } else { None }
            }
            fn payload($list: Vec<Self>) -> Payload {
                $payload
            }
        }
    )*};
}

/// Entries of `int32_data`.
fn narrow<T: Into<i32>>(list: Vec<T>) -> Payload {
    Payload::int32s(list.into_iter().map(Into::into).collect())
}

elements! {
    f32: FLOAT, bits => f32::from_bits(bits as u32), list => Payload::floats(list);
    f64: DOUBLE, bits => f64::from_bits(bits), list => Payload::doubles(list);
    i8: INT8, bits => bits as i8, list => narrow(list);
    i16: INT16, bits => bits as i16, list => narrow(list);
    i32: INT32, bits => bits as i32, list => Payload::int32s(list);
    i64: INT64, bits => bits as i64, list => Payload::int64s(list);
    u8: UINT8, bits => bits as u8, list => narrow(list);
    u16: UINT16, bits => bits as u16, list => narrow(list);
    u32: UINT32, bits => bits as u32, list => Payload::uint64s(list.into_iter().map(u64::from).collect());
    u64: UINT64, bits => bits, list => Payload::uint64s(list);
}

impl TensorElement for bool {
    const ELEM: ElemType = ElemType::BOOL;
    fn from_bits(bits: u64) -> Self {
        bits != 0
    }
    fn cast(_bytes: &[u8]) -> Option<&[Self]> {
        None
    }
    fn payload(list: Vec<Self>) -> Payload {
        narrow(list)
    }
}

/// Why the elements of a tensor cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TensorError {
    /// The element type is not set, unknown, or not numeric with at most 64 bits.
    Elem(Option<ElemType>),
    /// The elements are of another type.
    Type {
        /// The type that was asked for.
        expected: ElemType,
        /// The type of the tensor.
        found: ElemType,
    },
    /// The elements are external data.
    External,
    /// The tensor is a chunk of a larger one.
    Segment,
    /// A dimension is negative, or there are too many elements.
    Dims,
    /// This many fields have elements instead of one.
    Fields(usize),
    /// The elements are in a field that is not the one of their type.
    Field(Field),
    /// The number of bytes or entries of the field does not match the shape.
    Size {
        /// The expected size.
        expected: u64,
        /// The size of the field.
        found: u64,
    },
    /// An entry is not a value of the element type.
    Range {
        /// Which entry, from 0.
        entry: usize,
        /// Its value.
        value: i128,
    },
}

impl TensorError {
    /// The code of the finding that the verifier has for it.
    pub fn code(self) -> &'static Code {
        match self {
            TensorError::Elem(_) | TensorError::Type { .. } => &code::DATA_TYPE,
            TensorError::External => &code::LOCATION_NOT_A_FILE,
            TensorError::Segment => &code::SEGMENT,
            TensorError::Dims => &code::DIMS,
            TensorError::Fields(_) => &code::ONE_VALUE_FIELD,
            TensorError::Field(_) => &code::VALUE_FIELD_FOR_TYPE,
            TensorError::Size { expected, found } if found < expected => &code::PAYLOAD_SHORT,
            TensorError::Size { .. } => &code::PAYLOAD_LONG,
            TensorError::Range { .. } => &code::VALUE_RANGE,
        }
    }

    /// A finding at the place of the tensor.
    pub fn at(self, place: impl Into<Place>) -> Diagnostic {
        Diagnostic::new(self.code(), place, self.to_string())
    }
}

impl fmt::Display for TensorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |elem: ElemType| elem.name().unwrap_or("an unknown type");
        match *self {
            TensorError::Elem(None) => f.write_str("the tensor has no element type"),
            TensorError::Elem(Some(elem)) => write!(f, "a tensor of {} has no numbers to read", name(elem)),
            TensorError::Type { expected, found } => {
                write!(f, "a tensor of {} is expected, but this one is of {}", name(expected), name(found))
            }
            TensorError::External => {
                f.write_str("the elements are in a file beside the model, which has not been read")
            }
            TensorError::Segment => f.write_str("the tensor is a chunk of a larger one"),
            TensorError::Dims => f.write_str("the shape of the tensor is not valid"),
            TensorError::Fields(0) => f.write_str("the tensor has no elements"),
            TensorError::Fields(count) => write!(f, "the tensor has elements in {}", counted(count, "field")),
            TensorError::Field(field) => write!(
                f,
                "the tensor has elements in `{}`, which is not the field of their type",
                field.name()
            ),
            TensorError::Size { expected, found } => {
                write!(f, "the shape of the tensor needs {}, but it has {found}", counted(expected, "byte"))
            }
            TensorError::Range { entry, value } => {
                write!(f, "entry {entry} of the tensor is {value}, which its element type does not have")
            }
        }
    }
}

impl std::error::Error for TensorError {}

/// The bit patterns of the elements of a tensor, each in the lowest bits, in row-major order.
#[derive(Clone, Debug)]
pub struct Bits<'a> {
    bytes: &'a [u8],
    /// Bits of one element.
    width: usize,
    /// The distance of consecutive bytes or elements.
    step: BitLayout,
    next: usize,
    len: usize,
}

/// The layout of elements in the bytes of a field.
#[derive(Clone, Copy, Debug)]
enum BitLayout {
    /// One in each entry of this many bytes.
    Entry(usize),
    /// Consecutive, in bytes at this distance.
    Packed(usize),
}

impl Bits<'_> {
    fn get(&self, i: usize) -> u64 {
        let little = |bytes: &[u8], apart: usize| {
            bytes.iter().step_by(apart).take(9).rev().fold(0u128, |bits, &byte| bits << 8 | u128::from(byte))
        };
        let mask = u64::MAX >> (64 - self.width);
        let bits = match self.step {
            BitLayout::Entry(size) => little(self.bytes.get(i * size..(i + 1) * size).unwrap_or_default(), 1),
            BitLayout::Packed(apart) => {
                let (first, shift) = (i * self.width / 8, i * self.width % 8);
                let last = first + (shift + self.width).div_ceil(8);
                let end = self.bytes.len().min(last * apart);
                little(self.bytes.get(first * apart..end).unwrap_or_default(), apart) >> shift
            }
        };
        bits as u64 & mask
    }
}

impl Iterator for Bits<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.next == self.len {
            return None;
        }
        self.next += 1;
        Some(self.get(self.next - 1))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len - self.next, Some(self.len - self.next))
    }
}

impl ExactSizeIterator for Bits<'_> {}

impl Tensor {
    /// A tensor without a name, of elements in row-major order.
    pub fn new<T: TensorElement>(dims: impl IntoIterator<Item = i64>, elements: Vec<T>) -> Tensor {
        let mut tensor =
            Tensor { elem: Some(T::ELEM), dims: dims.into_iter().collect(), ..Tensor::default() };
        if !elements.is_empty() {
            tensor.data.push(T::payload(elements));
        }
        tensor
    }

    /// A tensor of rank 0.
    pub fn scalar<T: TensorElement>(element: T) -> Tensor {
        Tensor::new([], vec![element])
    }

    /// A tensor of rank 1.
    pub fn list<T: TensorElement>(elements: Vec<T>) -> Tensor {
        let len = i64::try_from(elements.len()).unwrap_or(i64::MAX);
        Tensor::new([len], elements)
    }

    /// The elements of a tensor of `T`, without a copy if they are aligned in memory and their field has no wider entries.
    ///
    /// # Errors
    /// The tensor is of another type, its elements are not in the model itself, or it is broken.
    pub fn view<T: TensorElement>(&self) -> Result<Cow<'_, [T]>, TensorError> {
        if let Some(found) = self.elem.filter(|elem| *elem != T::ELEM) {
            return Err(TensorError::Type { expected: T::ELEM, found });
        }
        let bits = self.bits()?;
        let is_plain = match bits.step {
            BitLayout::Entry(size) => size == size_of::<T>(),
            BitLayout::Packed(apart) => apart == 1 && bits.width == 8 * size_of::<T>(),
        };
        if is_plain && let Some(elements) = T::cast(bits.bytes) {
            return Ok(Cow::Borrowed(elements));
        }
        Ok(Cow::Owned(bits.map(T::from_bits).collect()))
    }

    /// The bit patterns of the elements of a tensor of numbers.
    ///
    /// # Errors
    /// The elements are strings or wider than 64 bits, they are not in the model itself, or the tensor is broken.
    pub fn bits(&self) -> Result<Bits<'_>, TensorError> {
        let elem = self.elem.ok_or(TensorError::Elem(None))?;
        let width = elem.bits().filter(|&width| width <= 64).ok_or(TensorError::Elem(Some(elem)))?;
        if self.is_external() {
            return Err(TensorError::External);
        }
        if self.extra().segment.is_some() {
            return Err(TensorError::Segment);
        }
        let count = self.element_count().ok_or(TensorError::Dims)?;
        let (field, bytes) = match &self.data[..] {
            [] if count == 0 => (Field::Raw, &[][..]),
            [Payload::Entries { field, bytes }] => (*field, &bytes[..]),
            [Payload::Strings(_)] => return Err(TensorError::Field(Field::String)),
            fields => return Err(TensorError::Fields(fields.len())),
        };
        let step = match field {
            Field::Raw => BitLayout::Packed(1),
            field if elem.field() != Some(field) => return Err(TensorError::Field(field)),
            // Each entry has a byte of them.
            Field::Int32 if width < 6 => BitLayout::Packed(4),
            // A complex number is two entries.
            Field::Float | Field::Double => BitLayout::Entry(width as usize / 8),
            Field::Int32 | Field::Int64 | Field::Uint64 | Field::String => {
                BitLayout::Entry(field.entry_size())
            }
        };
        let expected = match step {
            BitLayout::Entry(size) => count.checked_mul(size as u64),
            BitLayout::Packed(apart) => elem.raw_size(count).and_then(|size| size.checked_mul(apart as u64)),
        };
        let (expected, found) = (expected.ok_or(TensorError::Dims)?, bytes.len() as u64);
        if expected != found {
            return Err(TensorError::Size { expected, found });
        }
        if let Some((entry, value)) = first_out_of_range(elem, field, bytes) {
            return Err(TensorError::Range { entry, value });
        }
        let len = usize::try_from(count).map_err(|_| TensorError::Dims)?;
        Ok(Bits { bytes, width: width as usize, step, next: 0, len })
    }
}

/// The range of an entry for an element type; `None` if every entry is valid.
fn range(elem: ElemType, field: Field) -> Option<(i128, i128)> {
    use ElemType as E;
    match (field, elem) {
        (Field::Raw | Field::Int32, E::BOOL) => Some((0, 1)),
        (Field::Int32, E::INT8) => Some((i8::MIN.into(), i8::MAX.into())),
        (Field::Int32, E::INT16) => Some((i16::MIN.into(), i16::MAX.into())),
        (Field::Int32, E::INT32) => None,
        // Float6 keeps one element in an entry, the other narrow types whole bytes.
        (Field::Int32, _) => match elem.bits()? {
            6 => Some((0, 63)),
            16 => Some((0, u16::MAX.into())),
            2 | 4 | 8 => Some((0, u8::MAX.into())),
            _ => None,
        },
        (Field::Uint64, E::UINT32) => Some((0, u32::MAX.into())),
        (Field::Raw | Field::Float | Field::Int64 | Field::Double | Field::Uint64 | Field::String, _) => None,
    }
}

/// The first entry, or byte of `raw_data`, that is not a value of the element type. Floats, wide integers and raw bytes of full
/// size are not read, because every bit pattern is valid.
pub(crate) fn first_out_of_range(elem: ElemType, field: Field, bytes: &[u8]) -> Option<(usize, i128)> {
    let (low, high) = range(elem, field)?;
    let first = |entries: &mut dyn Iterator<Item = i128>| {
        entries.enumerate().find(|(_, entry)| !(low..=high).contains(entry))
    };
    match field {
        Field::Raw => first(&mut bytes.iter().map(|&byte| byte.into())),
        Field::Int32 => first(&mut bytes.as_chunks().0.iter().map(|&entry| i32::from_le_bytes(entry).into())),
        Field::Uint64 => {
            first(&mut bytes.as_chunks().0.iter().map(|&entry| u64::from_le_bytes(entry).into()))
        }
        Field::Float | Field::Int64 | Field::Double | Field::String => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn raw(elem: ElemType, len: i64, bytes: &'static [u8]) -> Tensor {
        let mut tensor = Tensor { elem: Some(elem), ..Tensor::default() };
        tensor.dims.push(len);
        tensor.data.push(Payload::Entries { field: Field::Raw, bytes: Bytes::from_static(bytes) });
        tensor
    }

    fn bits(tensor: &Tensor) -> Vec<u64> {
        tensor.bits().expect("a sound tensor").collect()
    }

    #[test]
    fn elements_come_back_from_the_field_of_their_type() {
        fn holds<T: TensorElement + PartialEq + std::fmt::Debug>(elements: Vec<T>) {
            let tensor = Tensor::list(elements.clone());
            assert_eq!(tensor.view::<T>().as_deref(), Ok(&elements[..]));
        }
        holds(vec![1.5f32, -0.0]);
        holds(vec![1.5f64, f64::MIN]);
        holds(vec![i8::MIN, 0, i8::MAX]);
        holds(vec![i16::MIN, 0, i16::MAX]);
        holds(vec![i32::MIN, 0, i32::MAX]);
        holds(vec![i64::MIN, 0, i64::MAX]);
        holds(vec![0u8, u8::MAX]);
        holds(vec![0u16, u16::MAX]);
        holds(vec![0u32, u32::MAX]);
        holds(vec![0u64, u64::MAX]);
        holds(vec![true, false]);
        holds(Vec::<f32>::new());
    }

    #[test]
    fn wide_fields_are_not_copied() {
        assert!(matches!(Tensor::list(vec![1i64]).view::<i64>(), Ok(Cow::Borrowed(_))));
        assert!(matches!(Tensor::list(vec![1i8]).view::<i8>(), Ok(Cow::Owned(_))));
        assert!(matches!(raw(ElemType::INT8, 2, &[1, 2]).view::<i8>(), Ok(Cow::Borrowed(&[1, 2]))));
    }

    #[test]
    fn narrow_elements_are_unpacked() {
        assert_eq!(bits(&raw(ElemType::INT4, 3, &[0x21, 0x0f])), [1, 2, 15]);
        assert_eq!(bits(&raw(ElemType::UINT2, 5, &[0b11_10_01_00, 0b10])), [0, 1, 2, 3, 2]);
        assert_eq!(bits(&raw(ElemType::FLOAT6E2M3, 4, &[0xff, 0x0f, 0x00])), [0x3f, 0x3f, 0, 0]);
        let mut entries = raw(ElemType::INT4, 3, &[]);
        entries.data[0] = Payload::int32s(vec![0x21, 0x0f]);
        assert_eq!(bits(&entries), [1, 2, 15]);
        let mut single = raw(ElemType::FLOAT6E2M3, 2, &[]);
        single.data[0] = Payload::int32s(vec![63, 1]);
        assert_eq!(bits(&single), [63, 1]);
        let mut complex = raw(ElemType::COMPLEX64, 1, &[]);
        complex.data[0] = Payload::floats(vec![1.0, 0.0]);
        assert_eq!(bits(&complex), [u64::from(1f32.to_bits())]);
    }

    #[test]
    fn what_is_broken_is_an_error() {
        let error = |tensor: &Tensor| tensor.bits().map(|_| ()).unwrap_err();
        assert_eq!(error(&raw(ElemType::FLOAT, 2, &[0; 4])), TensorError::Size { expected: 8, found: 4 });
        assert_eq!(error(&raw(ElemType::FLOAT, -1, &[])), TensorError::Dims);
        assert_eq!(error(&raw(ElemType::FLOAT, i64::MAX, &[0; 4])), TensorError::Dims);
        assert_eq!(error(&raw(ElemType::BOOL, 2, &[1, 7])), TensorError::Range { entry: 1, value: 7 });
        assert_eq!(error(&raw(ElemType::STRING, 0, &[])), TensorError::Elem(Some(ElemType::STRING)));
        assert_eq!(error(&raw(ElemType(99), 0, &[])), TensorError::Elem(Some(ElemType(99))));
        let mut tensor = Tensor::list(vec![1i8]);
        tensor.data[0] = Payload::int32s(vec![128]);
        assert_eq!(error(&tensor), TensorError::Range { entry: 0, value: 128 });
        tensor.data[0] = Payload::floats(vec![1.0]);
        assert_eq!(error(&tensor), TensorError::Field(Field::Float));
        tensor.data.clear();
        assert_eq!(error(&tensor), TensorError::Fields(0));
        tensor.extra_mut().location = Some(super::super::DataLocation::EXTERNAL);
        assert_eq!(error(&tensor), TensorError::External);
        assert_eq!(error(&tensor).at(Place::Nowhere).code.id, code::LOCATION_NOT_A_FILE.id);
    }
}
