//! The fields of a message one by one, as they are on the wire: for messages that are too many to become structs first.

use crate::wire::{Cursor, Reason, WireType};
use bytes::Bytes;

/// The value of a field.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Value<'a> {
    /// A varint.
    Number(u64),
    /// Four bytes.
    Fixed32([u8; 4]),
    /// What has a length: a string, a message, a packed list.
    Bytes(&'a [u8]),
    /// Anything else: no message of this format has it, or it cannot be read and is the last.
    Odd,
}

/// Fields with their numbers.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

/// Of a key of one byte, the number is above this bit.
const NUMBER: u32 = 3;

impl<'a> Fields<'a> {
    pub(super) fn new(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }

    /// A field whose key and number or length have a byte each: most are so.
    #[inline]
    fn short(&mut self) -> Option<(u32, Value<'a>)> {
        let [key @ 8..0x80, first @ ..0x80, rest @ ..] = self.rest else { return None };
        let value = match key & 7 {
            0 => Value::Number(u64::from(*first)),
            2 => {
                let (value, behind) = rest.split_at_checked(usize::from(*first))?;
                self.rest = behind;
                return Some((u32::from(*key) >> NUMBER, Value::Bytes(value)));
            }
            _ => return None,
        };
        self.rest = rest;
        Some((u32::from(*key) >> NUMBER, value))
    }

    fn long(&mut self) -> Result<(u32, Value<'a>), Reason> {
        let mut cursor = Cursor::new(self.rest, 0);
        let key = cursor.key()?;
        let value = match key.wire {
            WireType::Varint => Value::Number(cursor.varint()?.value),
            WireType::Bytes => {
                let (length, _) = cursor.length()?;
                Value::Bytes(cursor.take(length)?)
            }
            WireType::Fixed32 => {
                let bits = *cursor.rest().first_chunk().ok_or(Reason::Truncated)?;
                cursor.skip(4)?;
                Value::Fixed32(bits)
            }
            WireType::Fixed64 | WireType::StartGroup | WireType::EndGroup => {
                cursor.skip_value(key.number, key.wire, 0)?;
                Value::Odd
            }
        };
        self.rest = cursor.rest();
        Ok((key.number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(field) = self.short() {
            return Some(field);
        }
        if self.rest.is_empty() {
            return None;
        }
        Some(self.long().unwrap_or_else(|_| {
            self.rest = &[];
            (0, Value::Odd)
        }))
    }
}

/// Room that a list may have for more entries than it has.
const SPARE: usize = 16;

impl<'a> Fields<'a> {
    /// A string of a list, and those that come next, each with its key, as far as they are short.
    pub(super) fn strings<T>(
        &mut self,
        number: u8,
        first: &'a [u8],
        mut string: impl FnMut(&'a [u8]) -> T,
        strings: &mut Vec<T>,
    ) {
        let key = number << NUMBER | WireType::Bytes as u8;
        let more = Cursor::new(self.rest, 0).skip_run(key, WireType::Bytes);
        strings.reserve(1 + more as usize);
        strings.push(string(first));
        while let [next, length @ ..0x80, rest @ ..] = self.rest
            && *next == key
            && let Some((value, behind)) = rest.split_at_checked(usize::from(*length))
        {
            strings.push(string(value));
            self.rest = behind;
        }
    }

    /// A number of a list, and those that come next, each with its key.
    pub(super) fn ints(&mut self, number: u8, first: i64, ints: &mut Vec<i64>) {
        // Each takes two bytes at least.
        ints.reserve(1 + self.rest.len() / 2);
        ints.push(first);
        let mut cursor = Cursor::new(self.rest, 0);
        cursor.varint_run(number << NUMBER, ints);
        self.rest = cursor.rest();
        ints.shrink_to(ints.len() + SPARE);
    }

    /// The same for floats.
    pub(super) fn floats(&mut self, number: u8, first: f32, floats: &mut Vec<f32>) {
        floats.reserve(1 + self.rest.len() / 5);
        floats.push(first);
        let mut cursor = Cursor::new(self.rest, 0);
        let key = number << NUMBER | WireType::Fixed32 as u8;
        cursor.fixed32_run(key, |bits| floats.push(f32::from_le_bytes(bits)));
        self.rest = cursor.rest();
        floats.shrink_to(floats.len() + SPARE);
    }
}

/// The encoded value of a message field that is there once, from its occurrences in `whole`. On the wire it may come in
/// pieces; a message is the sum of its pieces.
pub(super) fn merged<'a>(mut pieces: impl Iterator<Item = &'a [u8]>, whole: &Bytes) -> Option<Bytes> {
    let first = pieces.next()?;
    match pieces.next() {
        None => Some(whole.slice_ref(first)),
        Some(second) => Some([first, second].into_iter().chain(pieces).flatten().copied().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_wire_type() {
        let message =
            [0x08, 0x96, 0x01, 0x12, 1, b'a', 0x1d, 1, 0, 0, 0, 0x23, 0x24, 0x29, 2, 0, 0, 0, 0, 0, 0, 0];
        let fields: Vec<_> = Fields::new(&message).collect();
        let expected = [
            (1, Value::Number(150)),
            (2, Value::Bytes(b"a")),
            (3, Value::Fixed32([1, 0, 0, 0])),
            (4, Value::Odd),
            (5, Value::Odd),
        ];
        assert_eq!(fields, expected);
        let cut: Vec<_> = Fields::new(&message[..5]).collect();
        assert_eq!(cut, [(1, Value::Number(150)), (0, Value::Odd)]);
    }

    #[test]
    fn pieces_of_a_message_are_one() {
        let whole = Bytes::from_static(b"abc");
        let merged = |pieces: &[(usize, usize)]| {
            merged(pieces.iter().filter_map(|&(start, end)| whole.get(start..end)), &whole)
        };
        assert_eq!(merged(&[]), None);
        assert_eq!(merged(&[(1, 2)]).as_deref(), Some(&b"b"[..]));
        assert_eq!(merged(&[(0, 1), (2, 3)]).as_deref(), Some(&b"ac"[..]));
    }
}
