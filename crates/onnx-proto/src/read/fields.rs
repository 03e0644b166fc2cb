//! Iterates over the fields of a message on the wire, for messages that are too many to be decoded to structs first.
//! Measured by `cargo xtask bench nodes/read`.

use crate::wire::{Cursor, Reason, WireType};
use bytes::Bytes;
use smallvec::SmallVec;

/// The value of a field.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum RawValue<'a> {
    /// A varint.
    Number(u64),
    /// Four bytes.
    Fixed32([u8; 4]),
    /// A field with a length: a string, a message, a packed list.
    Bytes(&'a [u8]),
    /// Anything else: no message of this format has it, or it cannot be read and is the last.
    Odd,
}

/// Fields with their numbers.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

/// The shift of the field number in a one-byte key.
const NUMBER: u32 = 3;

impl<'a> Fields<'a> {
    pub(super) fn new(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }

    /// A field whose key and number or length have a byte each: most are so.
    #[inline]
    fn short(&mut self) -> Option<(u32, RawValue<'a>)> {
        let [key @ 8..0x80, first @ ..0x80, rest @ ..] = self.rest else { return None };
        let value = match key & 7 {
            0 => RawValue::Number(u64::from(*first)),
            2 => {
                let (value, after) = rest.split_at_checked(usize::from(*first))?;
                self.rest = after;
                return Some((u32::from(*key) >> NUMBER, RawValue::Bytes(value)));
            }
            _ => return None,
        };
        self.rest = rest;
        Some((u32::from(*key) >> NUMBER, value))
    }

    fn long(&mut self) -> Result<(u32, RawValue<'a>), Reason> {
        let mut cursor = Cursor::new(self.rest, 0);
        let key = cursor.key()?;
        let value = match key.wire {
            WireType::Varint => RawValue::Number(cursor.varint()?.value),
            WireType::Bytes => {
                let (length, _) = cursor.length()?;
                RawValue::Bytes(cursor.take(length)?)
            }
            WireType::Fixed32 => {
                let bits = *cursor.rest().first_chunk().ok_or(Reason::Truncated)?;
                cursor.skip(4)?;
                RawValue::Fixed32(bits)
            }
            WireType::Fixed64 | WireType::StartGroup | WireType::EndGroup => {
                cursor.skip_value(key.number, key.wire, 0)?;
                RawValue::Odd
            }
        };
        self.rest = cursor.rest();
        Ok((key.number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, RawValue<'a>);

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
            (0, RawValue::Odd)
        }))
    }
}

impl<'a> Fields<'a> {
    /// The unread bytes.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Continues where `rest` begins, a suffix of the message.
    pub(super) fn continue_at(&mut self, rest: &'a [u8]) {
        self.rest = rest;
    }
}

/// The encoded value of a singular message field, from its occurrences in `whole`. On the wire it may be split; the occurrences
/// are concatenated.
pub(super) fn merged<'a>(mut pieces: impl Iterator<Item = &'a [u8]>, whole: &Bytes) -> Option<Bytes> {
    let first = pieces.next()?;
    match pieces.next() {
        None => Some(whole.slice_ref(first)),
        Some(second) => Some([first, second].into_iter().chain(pieces).flatten().copied().collect()),
    }
}

/// The message fields of a message, by number, and the buffer that they are slices of.
pub(super) struct Messages<'a> {
    fields: SmallVec<[(u32, &'a [u8]); 2]>,
    whole: &'a Bytes,
}

impl<'a> Messages<'a> {
    pub(super) fn new(whole: &'a Bytes) -> Messages<'a> {
        Messages { fields: SmallVec::new(), whole }
    }

    pub(super) fn push(&mut self, number: u32, message: &'a [u8]) {
        self.fields.push((number, message));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    fn of(&self, number: u32) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.fields.iter().filter(move |(field, _)| *field == number).map(|(_, message)| *message)
    }

    /// A message that is there once.
    pub(super) fn one(&self, number: u32) -> Option<Bytes> {
        merged(self.of(number), self.whole)
    }

    /// A list of messages, unless it is empty.
    pub(super) fn list<T>(&self, number: u32, mut read: impl FnMut(Bytes) -> T) -> Option<Vec<T>> {
        let list: Vec<T> = self.of(number).map(|message| read(self.whole.slice_ref(message))).collect();
        (!list.is_empty()).then_some(list)
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
            (1, RawValue::Number(150)),
            (2, RawValue::Bytes(b"a")),
            (3, RawValue::Fixed32([1, 0, 0, 0])),
            (4, RawValue::Odd),
            (5, RawValue::Odd),
        ];
        assert_eq!(fields, expected);
        let cut: Vec<_> = Fields::new(&message[..5]).collect();
        assert_eq!(cut, [(1, RawValue::Number(150)), (0, RawValue::Odd)]);
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
