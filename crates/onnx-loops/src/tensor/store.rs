//! Conversion of tensors to and from their stored form.

use super::{Buffer, Data, Dims, Tensor, width};
use crate::budget;
use crate::failure::{Failure, fail};
use crate::list::{Listed as _, Strings};
use crate::pack_cache::PackedStore;
use bytes::Bytes;
use onnx_ir::{self as ir, ElemType, Field, Payload};

impl Tensor {
    /// Loads a tensor of a model, after its external data. Aligned weights are not copied.
    pub fn stored(tensor: &ir::Tensor) -> Result<Tensor, Failure> {
        Tensor::stored_in(tensor, None)
    }

    /// Like [`stored`](Self::stored). Large weights that are not aligned are copied into a store, if there is one, so that the programs
    /// of a machine share the copy.
    pub fn stored_in(tensor: &ir::Tensor, store: Option<&dyn PackedStore>) -> Result<Tensor, Failure> {
        let Some(elem) = tensor.elem.filter(|e| e.name().is_some()) else {
            fail!("a stored tensor has no element type");
        };
        if tensor.is_external() {
            fail!("the data of a stored tensor is in another file, which has not been read");
        }
        if tensor.extra().segment.is_some() {
            fail!("a stored tensor is one chunk of a larger one");
        }
        let dims: Option<Dims> = tensor.dims.iter().map(|&d| usize::try_from(d).ok()).collect();
        let count = tensor.element_count().and_then(|n| usize::try_from(n).ok());
        // A size in bytes that overflows cannot be in a file.
        let count = count.filter(|count| count.checked_mul(width(elem).unwrap_or(1)).is_some());
        let (Some(dims), Some(count)) = (dims, count) else {
            fail!("a stored tensor has extents that cannot be")
        };
        let entries = match &tensor.data[..] {
            [] if count == 0 => return Tensor::zeros(elem, &dims),
            [entries] => entries,
            [] => fail!("a stored tensor has no data"),
            _ => fail!("a stored tensor has data in several fields"),
        };
        let (field, bytes) = match entries {
            Payload::Strings(strings) if elem == ElemType::STRING => return strings_of(&dims, strings),
            Payload::Strings(_) => fail!("a stored tensor of numbers has strings"),
            Payload::Entries { field, bytes } => (*field, bytes),
        };
        let Some(width) = width(elem) else { fail!("a stored tensor of strings has numbers") };
        let bits = elem.bits().unwrap_or(8);
        let buffer = match field {
            Field::Raw if bits % 8 == 0 => Buffer::stored(bytes, width, store)?,
            Field::Raw => unpacked(elem, bytes, count)?,
            // The field has the width of the type, so its bytes are those of raw data.
            Field::Float | Field::Double | Field::Int64 => Buffer::stored(bytes, width, store)?,
            Field::Uint64 if width == 8 => Buffer::stored(bytes, width, store)?,
            Field::Uint64 => narrowed::<8>(bytes, width)?,
            Field::Int32 if width == 4 => Buffer::stored(bytes, width, store)?,
            Field::Int32 if matches!(bits, 2 | 4) => {
                let packed = bytes.chunks_exact(4).map(|entry| entry[0]).listed()?;
                unpacked(elem, &packed, count)?
            }
            Field::Int32 => narrowed::<4>(bytes, width)?,
            Field::String => fail!("a stored tensor has no data"),
        };
        if buffer.bytes().len() != count * width {
            fail!("a stored tensor of shape {:?} does not have as many elements", tensor.dims);
        }
        Ok(Tensor { elem, dims, data: Data::Numbers(buffer) })
    }

    /// The stored form without a name, in `raw_data` (strings in `string_data`). Numbers are shared; copies of strings and of
    /// packed elements must fit into the memory of the run.
    pub fn to_stored(&self) -> Result<ir::Tensor, Failure> {
        let size = |&d: &usize| {
            i64::try_from(d)
                .map_err(|_| Failure::new(format!("size {d} of an axis is too large for a model")))
        };
        let dims = self.dims.iter().map(size).collect::<Result<_, _>>()?;
        let mut stored = ir::Tensor { elem: Some(self.elem), dims, ..ir::Tensor::default() };
        if self.is_empty() {
            return Ok(stored);
        }
        stored.data.push(match &self.data {
            Data::Strings(strings) => Payload::Strings(shared(&strings.0)?),
            Data::Numbers(buffer) => {
                let bytes = match self.elem.bits() {
                    Some(bits @ (2 | 4 | 6)) => {
                        budget::has_room(buffer.bytes().len())?;
                        packed(buffer.bytes(), bits)
                    }
                    _ => buffer.shared(),
                };
                Payload::Entries { field: Field::Raw, bytes }
            }
        });
        Ok(stored)
    }
}

fn strings_of(dims: &[usize], strings: &[Bytes]) -> Result<Tensor, Failure> {
    let mut all = Strings::with_room(strings.len())?;
    for bytes in strings {
        let text = std::str::from_utf8(bytes).map_err(|_| Failure::new("a stored string is not UTF-8"))?;
        all.push_copy(text)?;
    }
    Tensor::of_texts(dims, all)
}

/// Copies of strings in one allocation.
fn shared(strings: &[String]) -> Result<Vec<Bytes>, Failure> {
    let length = strings.iter().map(String::len).fold(0, usize::saturating_add);
    budget::has_room(length.saturating_add(strings.len().saturating_mul(size_of::<Bytes>())))?;
    let all = Bytes::from(strings.concat());
    let mut end = 0;
    let next = |string: &String| {
        let start = end;
        end += string.len();
        all.slice(start..end)
    };
    Ok(strings.iter().map(next).collect())
}

/// The low bytes of wider entries.
fn narrowed<const N: usize>(bytes: &[u8], width: usize) -> Result<Buffer, Failure> {
    let entries = bytes.as_chunks::<N>().0;
    let mut buffer = Buffer::zeroed(entries.len(), width)?;
    for (to, from) in buffer.bytes_mut()?.chunks_exact_mut(width).zip(entries) {
        to.copy_from_slice(&from[..width]);
    }
    Ok(buffer)
}

/// Unpacks elements of less than a byte, lowest bits first, into a byte each.
fn unpacked(elem: ElemType, bytes: &[u8], count: usize) -> Result<Buffer, Failure> {
    let bits = elem.bits().unwrap_or(8) as usize;
    if count.checked_mul(bits).is_none_or(|bits| bytes.len() < bits.div_ceil(8)) {
        fail!("a stored tensor has fewer elements than its shape says");
    }
    let is_signed = matches!(elem, ElemType::INT4 | ElemType::INT2);
    let mut buffer = Buffer::zeroed(count, 1)?;
    for (i, to) in buffer.bytes_mut()?.iter_mut().enumerate() {
        let at = i * bits;
        let low = u16::from(bytes[at / 8]);
        let high = u16::from(bytes.get(at / 8 + 1).copied().unwrap_or(0));
        let code = ((high << 8 | low) >> (at % 8)) as u8 & ((1 << bits) - 1);
        let is_negative = is_signed && code >> (bits - 1) == 1;
        *to = if is_negative { code | (u8::MAX << bits) } else { code };
    }
    Ok(buffer)
}

/// Packs such elements; the inverse of `unpacked`.
fn packed(bytes: &[u8], bits: u32) -> Bytes {
    let bits = bits as usize;
    let mut packed = vec![0u8; (bytes.len() * bits).div_ceil(8) + 1];
    for (i, &code) in bytes.iter().enumerate() {
        let at = i * bits;
        let code = u16::from(code & ((1 << bits) - 1)) << (at % 8);
        packed[at / 8] |= code as u8;
        packed[at / 8 + 1] |= (code >> 8) as u8;
    }
    packed.truncate((bytes.len() * bits).div_ceil(8));
    packed.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_less_than_a_byte_are_spread_and_packed() {
        for (elem, raw, expected) in [
            (ElemType::INT4, vec![0x2f, 0x08], vec![0xff, 0x02, 0xf8]),
            (ElemType::UINT4, vec![0x2f, 0x08], vec![0x0f, 0x02, 0x08]),
            (ElemType::INT2, vec![0b10_01_11], vec![0xff, 0x01, 0xfe]),
            (ElemType::FLOAT6E2M3, vec![0b11_000001, 0b0001_1111, 0b10], vec![0b1, 0b111111, 0b100001]),
        ] {
            let mut stored = ir::Tensor { elem: Some(elem), ..ir::Tensor::default() };
            stored.dims.push(3);
            stored.data.push(Payload::Entries { field: Field::Raw, bytes: raw.clone().into() });
            let tensor = Tensor::stored(&stored).expect("sound");
            assert_eq!(tensor.bytes(), expected, "{elem:?}");
            let [Payload::Entries { bytes, .. }] = &tensor.to_stored().expect("room").data[..] else {
                panic!("numbers")
            };
            assert_eq!(bytes[..], raw, "{elem:?}");
        }
    }

    #[test]
    fn a_number_of_bytes_that_wraps_around_is_refused() {
        for (elem, extent) in [
            (ElemType::FLOAT, (1 << 62) + 4),
            (ElemType::DOUBLE, (1 << 61) + 2),
            (ElemType::INT4, i64::MAX),
            (ElemType::FLOAT6E2M3, (1 << 62) + 4),
        ] {
            let mut stored = ir::Tensor { elem: Some(elem), ..ir::Tensor::default() };
            stored.dims.push(extent);
            stored.data.push(Payload::Entries { field: Field::Raw, bytes: vec![0; 16].into() });
            assert!(Tensor::stored(&stored).is_err(), "{elem:?}");
        }
    }

    #[test]
    fn typed_fields_are_read_at_their_width() {
        let mut stored = ir::Tensor { elem: Some(ElemType::INT8), ..ir::Tensor::default() };
        stored.dims.push(2);
        stored.data.push(Payload::int32s(vec![-1, 5]));
        assert_eq!(Tensor::stored(&stored).expect("sound").slice::<i8>().expect("int8"), [-1, 5]);
        stored.dims[0] = 3;
        assert!(Tensor::stored(&stored).is_err());
    }
}
