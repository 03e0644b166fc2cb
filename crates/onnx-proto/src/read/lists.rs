//! Lists of attributes: short ones are decoded, long ones stay in the bytes of the file.
//! Measured by `cargo xtask bench real/check`.

use super::fields::Fields;
use crate::wire::{Cursor, WireType, bytes_run, fixed32_run, varint_run};
use bytes::Bytes;
use onnx_ir::list::{CHUNK, Chunk, Element, List, StoredList};
use std::sync::OnceLock;

/// A list of more elements stays in its file. Of fewer, no chunk was full: numbers are decoded where there is room for four.
const LONG: usize = CHUNK - 4;

/// An element type of attributes, and the field of `AttributeProto` that has lists of it.
pub(super) trait ListElement: Element {
    const FIELD: u32;
    const WIRE: WireType;
    /// The key of an element, one byte.
    const KEY: u8 = (Self::FIELD as u8) << 3 | Self::WIRE as u8;
    /// Decodes elements from the front of the bytes and advances them; returns the number of elements in the chunk, 0 only at
    /// the end of the elements that `Cursor::skip_run` steps over.
    fn decode<'a>(rest: &mut &'a [u8], chunk: &mut Chunk<'a, Self>) -> usize;
    /// The element to keep; a string is a slice of `file`.
    fn keep(element: Self::Ref<'_>, file: &Bytes) -> Self;
}

impl ListElement for f32 {
    const FIELD: u32 = 7;
    const WIRE: WireType = WireType::Fixed32;
    fn decode<'a>(rest: &mut &'a [u8], chunk: &mut Chunk<'a, f32>) -> usize {
        fixed32_run(rest, Self::KEY, chunk)
    }
    fn keep(element: f32, _file: &Bytes) -> f32 {
        element
    }
}

impl ListElement for i64 {
    const FIELD: u32 = 8;
    const WIRE: WireType = WireType::Varint;
    fn decode<'a>(rest: &mut &'a [u8], chunk: &mut Chunk<'a, i64>) -> usize {
        varint_run(rest, Self::KEY, chunk)
    }
    fn keep(element: i64, _file: &Bytes) -> i64 {
        element
    }
}

impl ListElement for Bytes {
    const FIELD: u32 = 9;
    const WIRE: WireType = WireType::Bytes;
    fn decode<'a>(rest: &mut &'a [u8], chunk: &mut Chunk<'a, Bytes>) -> usize {
        bytes_run(rest, Self::KEY, chunk)
    }
    fn keep(element: &[u8], file: &Bytes) -> Bytes {
        file.slice_ref(element)
    }
}

/// Consecutive elements, each with its key.
struct Run<T> {
    encoded: Bytes,
    count: usize,
    elements: OnceLock<Vec<T>>,
}

impl<T: ListElement> StoredList<T> for Run<T> {
    fn count(&self) -> usize {
        self.count
    }

    fn decode<'a>(&'a self, offset: &mut usize, chunk: &mut Chunk<'a, T>) -> usize {
        let mut rest = &self.encoded[*offset..];
        let filled = T::decode(&mut rest, chunk);
        *offset = self.encoded.len() - rest.len();
        filled
    }

    fn as_slice(&self) -> &[T] {
        self.elements.get_or_init(|| {
            let mut elements = Vec::with_capacity(self.count);
            let (mut rest, mut chunk) = (&*self.encoded, [T::Ref::default(); CHUNK]);
            loop {
                let filled = T::decode(&mut rest, &mut chunk);
                elements.extend(chunk[..filled].iter().map(|&element| T::keep(element, &self.encoded)));
                if filled == 0 {
                    return elements;
                }
            }
        })
    }

    /// The keys between the strings are ASCII, lengths are not always.
    fn is_ascii(&self) -> bool {
        self.encoded.is_ascii()
    }
}

/// Appends the last read element of an unpacked list and the directly following ones, as long as they are short; `from` are
/// the bytes from that element on, a slice of `whole`.
pub(super) fn read_list<'a, T: ListElement>(
    fields: &mut Fields<'a>,
    (from, whole): (&'a [u8], &Bytes),
    last: T,
    list: &mut List<T>,
) {
    let (mut rest, mut chunk) = (from, [T::Ref::default(); CHUNK]);
    let mut filled = T::decode(&mut rest, &mut chunk);
    if filled == 0 {
        list.to_mut().push(last);
        return;
    }
    if filled <= LONG || !list.is_empty() {
        let list = list.to_mut();
        while filled > 0 {
            list.extend(chunk[..filled].iter().map(|&element| T::keep(element, whole)));
            filled = if filled > LONG { T::decode(&mut rest, &mut chunk) } else { 0 };
        }
    } else {
        let mut others = Cursor::new(rest, 0);
        let count = filled + others.skip_run(T::KEY, T::WIRE);
        rest = others.rest();
        let encoded = whole.slice_ref(&from[..from.len() - rest.len()]);
        *list = List::stored(Run { encoded, count, elements: OnceLock::new() });
    }
    fields.continue_at(rest);
}
