//! Keeps the long lists of a message encoded, to decode one element at a time.
//!
//! A model of 100,000 nodes as structs takes ten times the memory of its file. So its nodes are decoded one by one, each
//! converted to the IR before the next.

use super::Bytes;
use super::fields::merged;
use crate::wire::{Cursor, Reason, WireType};
use std::ops::Range;

/// Fields for which there is room from the beginning.
const USUAL: usize = 64;

/// Fields of a message that are still encoded.
pub(super) struct Deferred {
    /// The message.
    pub(super) bytes: Bytes,
    /// Number and value, in the order of the bytes.
    fields: Vec<(u32, Range<usize>)>,
}

impl Deferred {
    /// Nothing is deferred.
    pub(super) fn none() -> Deferred {
        Deferred { bytes: Bytes::new(), fields: Vec::new() }
    }

    /// Separates the fields with these numbers from a message; the rest is decoded as usual.
    pub(super) fn split(bytes: &Bytes, deferred: &[u32]) -> Result<(Bytes, Deferred), Reason> {
        let mut rest = Vec::new();
        let mut fields = Vec::with_capacity(USUAL);
        let mut cursor = Cursor::new(bytes, 0);
        while !cursor.is_at_end() {
            let start = cursor.at;
            let key = cursor.key()?;
            if key.wire == WireType::Bytes && deferred.contains(&key.number) {
                let (length, _) = cursor.length()?;
                let value = cursor.at;
                cursor.skip(length)?;
                fields.push((key.number, value..cursor.at));
            } else {
                cursor.skip_value(key.number, key.wire, 0)?;
                rest.extend_from_slice(bytes.get(start..cursor.at).unwrap_or_default());
            }
        }
        Ok((rest.into(), Deferred { bytes: bytes.clone(), fields }))
    }

    /// The encoded values of a field, slices of [`bytes`](Self::bytes).
    pub(super) fn slices(&self, number: u32) -> impl Iterator<Item = &[u8]> + '_ {
        let fields = self.fields.iter().filter(move |(field, _)| *field == number);
        fields.map(|(_, range)| self.bytes.get(range.clone()).unwrap_or_default())
    }

    /// The encoded values of a field.
    pub(super) fn values(&self, number: u32) -> impl Iterator<Item = Bytes> + '_ {
        self.slices(number).map(|slice| self.bytes.slice_ref(slice))
    }

    /// The encoded value of a message field that is there once.
    pub(super) fn value(&self, number: u32) -> Option<Bytes> {
        merged(self.slices(number), &self.bytes)
    }
}
