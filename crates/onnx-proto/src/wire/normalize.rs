//! Rewrites a message so that the structs read from it what other decoders do.
//!
//! The structs hold packed lists as bytes and alternatives as separate fields. That is exact for what standard encoders
//! write; for the rest, which the walker reports, this pass packs lists that are not packed or come in pieces, drops
//! alternatives that a later one replaced, and drops fields of the wrong wire type. It copies, and is hardly ever needed.

use super::cursor::{Cursor, Reason, WireType};
use super::schema::{Kind, Message, Repeat};
use super::walk::fits;
use super::{MAX_DEPTH, What};
use prost::encoding::encode_varint;

/// Whether the structs would misread a message with such a finding.
pub(crate) fn is_misread(what: What) -> bool {
    match what {
        What::WrongType | What::Unpacked | What::Pieces | What::OtherAlternative => true,
        What::Unknown
        | What::OutOfOrder
        | What::Again
        | What::Packed
        | What::EmptyPacked
        | What::LongNumber => false,
    }
}

/// The same message, readable for the structs. Unknown fields are left out.
pub(crate) fn normalize(bytes: &[u8], root: &'static Message) -> Result<Vec<u8>, Reason> {
    message(Cursor::new(bytes, 0), root, 0)
}

fn message(mut cursor: Cursor<'_>, schema: &'static Message, depth: usize) -> Result<Vec<u8>, Reason> {
    if depth > MAX_DEPTH {
        return Err(Reason::TooDeep);
    }
    let alternative = last_alternative(cursor.clone(), schema, depth)?;
    let mut out = Vec::with_capacity(cursor.rest().len());
    // Packed lists, by position in the schema.
    let mut lists: Vec<(u32, Vec<u8>)> = Vec::new();
    while !cursor.is_at_end() {
        let start = cursor.clone();
        let key = cursor.key()?;
        let value = cursor.clone();
        cursor.skip_value(key.number, key.wire, depth)?;
        let Some(field) = schema.field(key.number).filter(|field| fits(field, key.wire)) else { continue };
        if field.oneof && alternative != Some(field.number) {
            continue;
        }
        let between = |from: &Cursor<'_>| from.rest().len() - cursor.rest().len();
        if field.repeat == Repeat::Packed {
            let mut value = value;
            if key.wire == WireType::Bytes {
                value.length()?;
            }
            let entries = value.rest().get(..between(&value)).unwrap_or_default();
            match lists.iter_mut().find(|(number, _)| *number == field.number) {
                Some((_, list)) => list.extend_from_slice(entries),
                None => lists.push((field.number, entries.to_vec())),
            }
        } else if let Kind::Message(inner) = field.kind {
            let mut value = value;
            let (length, _) = value.length()?;
            let inner = message(value.split(length)?, inner, depth + 1)?;
            push_bytes(field.number, &inner, &mut out);
        } else {
            out.extend_from_slice(start.rest().get(..between(&start)).unwrap_or_default());
        }
    }
    for (number, list) in lists {
        push_bytes(number, &list, &mut out);
    }
    Ok(out)
}

fn last_alternative(
    mut cursor: Cursor<'_>,
    schema: &'static Message,
    depth: usize,
) -> Result<Option<u32>, Reason> {
    let mut last = None;
    if schema.fields.iter().any(|field| field.oneof) {
        while !cursor.is_at_end() {
            let key = cursor.key()?;
            cursor.skip_value(key.number, key.wire, depth)?;
            if schema.field(key.number).is_some_and(|field| field.oneof && fits(field, key.wire)) {
                last = Some(key.number);
            }
        }
    }
    Ok(last)
}

fn push_bytes(number: u32, value: &[u8], out: &mut Vec<u8>) {
    encode_varint(u64::from(number << 3 | 2), out);
    encode_varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::super::table::{TENSOR_PROTO, TYPE_PROTO};
    use super::*;

    #[test]
    fn packs_what_is_not_packed() {
        let tensor =
            [&[0x28, 1, 0x08, 3, 0x28, 0x80, 0x01, 0x2a, 2, 5, 6, 0x42, 1, b'n'][..], &[0x4d, 0, 0, 0, 0]]
                .concat();
        let packed = normalize(&tensor, &TENSOR_PROTO).unwrap();
        assert_eq!(packed, [0x08, 3, 0x42, 1, b'n', 0x2a, 5, 1, 0x80, 0x01, 5, 6]);
    }

    #[test]
    fn keeps_the_last_alternative() {
        let two = [0x0a, 0, 0x32, 1, b'I', 0x3a, 2, 0x12, 0];
        assert_eq!(normalize(&two, &TYPE_PROTO).unwrap(), [0x32, 1, b'I', 0x3a, 2, 0x12, 0]);
    }
}
