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
pub(super) struct Fields<'a>(Cursor<'a>);

impl<'a> Fields<'a> {
    pub(super) fn new(message: &'a [u8]) -> Fields<'a> {
        Fields(Cursor::new(message, 0))
    }

    fn field(&mut self) -> Result<(u32, Value<'a>), Reason> {
        let key = self.0.key()?;
        let value = match key.wire {
            WireType::Varint => Value::Number(self.0.varint()?.value),
            WireType::Bytes => {
                let (length, _) = self.0.length()?;
                Value::Bytes(self.0.take(length)?)
            }
            WireType::Fixed32 => {
                let bits = *self.0.rest().first_chunk().ok_or(Reason::Truncated)?;
                self.0.skip(4)?;
                Value::Fixed32(bits)
            }
            WireType::Fixed64 | WireType::StartGroup | WireType::EndGroup => {
                self.0.skip_value(key.number, key.wire, 0)?;
                Value::Odd
            }
        };
        Ok((key.number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_at_end() {
            return None;
        }
        Some(self.field().unwrap_or_else(|_| {
            self.0 = Cursor::new(&[], 0);
            (0, Value::Odd)
        }))
    }
}

impl Fields<'_> {
    /// The numbers of a list that come next, each with its key.
    pub(super) fn more_ints(&mut self, number: u8, ints: &mut Vec<i64>) {
        self.0.varint_run(number << 3, |int| ints.push(int as i64));
    }

    /// The same for floats.
    pub(super) fn more_floats(&mut self, number: u8, floats: &mut Vec<f32>) {
        self.0
            .fixed32_run(number << 3 | WireType::Fixed32 as u8, |bits| floats.push(f32::from_le_bytes(bits)));
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
