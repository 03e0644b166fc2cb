//! Rewrites a message in the standard encoding.
//!
//! Most files are encoded this way already. For the rest, which the walker reports, this pass does what decoders do: it sorts
//! fields, packs and unpacks lists, merges repeated messages, and drops replaced alternatives and unknown fields. It copies.

use super::cursor::{Cursor, Reason, WireType};
use super::schema::{Field, Kind, Message, Repeat};
use super::{AnomalyKind, MAX_DEPTH};
use prost::encoding::encode_varint;

/// Whether the structs would decode a message with such a finding incorrectly: they store packed lists as bytes and alternatives
/// as separate fields.
pub(crate) fn is_misread(kind: AnomalyKind) -> bool {
    match kind {
        AnomalyKind::WrongType
        | AnomalyKind::Unpacked
        | AnomalyKind::Pieces
        | AnomalyKind::OtherAlternative => true,
        AnomalyKind::Unknown
        | AnomalyKind::OutOfOrder
        | AnomalyKind::Again
        | AnomalyKind::Packed
        | AnomalyKind::EmptyPacked
        | AnomalyKind::LongNumber => false,
    }
}

/// A message in the standard encoding, without unknown fields.
pub(crate) fn canonical(bytes: &[u8], root: &'static Message) -> Result<Vec<u8>, Reason> {
    let mut out = Vec::with_capacity(bytes.len());
    message(Cursor::new(bytes, 0), root, 0, &mut out)?;
    Ok(out)
}

/// One occurrence of a field.
struct FieldPart<'a> {
    field: &'static Field,
    wire: WireType,
    value: Cursor<'a>,
}

fn message(
    mut cursor: Cursor<'_>,
    schema: &'static Message,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    if depth > MAX_DEPTH {
        return Err(Reason::TooDeep);
    }
    let mut parts = Vec::new();
    while !cursor.is_at_end() {
        let key = cursor.key()?;
        let field = schema.field(key.number).filter(|field| field.fits(key.wire));
        let value = if key.wire == WireType::Bytes {
            let (length, _) = cursor.length()?;
            cursor.split(length)?
        } else {
            let value = cursor.clone();
            cursor.skip_value(key.number, key.wire, depth)?;
            value
        };
        parts.extend(field.map(|field| FieldPart { field, wire: key.wire, value }));
    }
    let alternative = parts.iter().rev().find(|part| part.field.oneof).map(|part| part.field.number);
    parts.sort_by_key(|part| part.field.number);
    for parts in parts.chunk_by(|a, b| a.field.number == b.field.number) {
        let Some(FieldPart { field, .. }) = parts.first() else { continue };
        if !field.oneof || alternative == Some(field.number) {
            occurrences(field, parts, depth, out)?;
        }
    }
    Ok(())
}

fn occurrences(
    field: &Field,
    parts: &[FieldPart<'_>],
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    let last = parts.last().map(std::slice::from_ref).unwrap_or_default();
    let kept = if field.repeat == Repeat::Once { last } else { parts };
    match field.kind {
        Kind::Message(inner) if field.repeat == Repeat::Once => {
            // A message is the sum of its pieces.
            let pieces: Vec<&[u8]> = parts.iter().map(|part| part.value.rest()).collect();
            nested(field, Cursor::new(&pieces.concat(), 0), inner, depth, out)?;
        }
        Kind::Message(inner) => {
            for part in parts {
                nested(field, part.value.clone(), inner, depth, out)?;
            }
        }
        Kind::String | Kind::Bytes => {
            for part in kept {
                push_bytes(field.number, part.value.rest(), out);
            }
        }
        Kind::Int32 | Kind::Enum(_) | Kind::Int64 | Kind::Uint64 | Kind::Float | Kind::Double => {
            let mut packed = Vec::new();
            for part in kept {
                numbers(field, part, if field.repeat == Repeat::Packed { &mut packed } else { out })?;
            }
            if !packed.is_empty() {
                push_bytes(field.number, &packed, out);
            }
        }
    }
    Ok(())
}

fn nested(
    field: &Field,
    value: Cursor<'_>,
    inner: &'static Message,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    let mut content = Vec::new();
    message(value, inner, depth + 1, &mut content)?;
    push_bytes(field.number, &content, out);
    Ok(())
}

/// The numbers of one occurrence, with a key each unless the list is packed.
fn numbers(field: &Field, part: &FieldPart<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
    let mut value = part.value.clone();
    loop {
        if part.wire == WireType::Bytes && value.is_at_end() {
            return Ok(());
        }
        if field.repeat != Repeat::Packed {
            encode_varint(u64::from(field.number << 3) | field.kind.wire() as u64, out);
        }
        let size = match field.kind.wire() {
            WireType::Fixed32 => 4,
            WireType::Fixed64 => 8,
            WireType::Varint | WireType::Bytes | WireType::StartGroup | WireType::EndGroup => 0,
        };
        if size > 0 {
            let entry = value.rest().get(..size).ok_or(Reason::Truncated)?;
            out.extend_from_slice(entry);
            value.skip(size)?;
        } else {
            let number = value.varint()?.value;
            encode_varint(if field.kind.is_narrow() { i64::from(number as i32) as u64 } else { number }, out);
        }
        if part.wire != WireType::Bytes {
            return Ok(());
        }
    }
}

pub(crate) fn push_bytes(number: u32, value: &[u8], out: &mut Vec<u8>) {
    encode_varint(u64::from(number << 3) | WireType::Bytes as u64, out);
    encode_varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::super::table::{ATTRIBUTE_PROTO, MODEL_PROTO, TENSOR_PROTO, TYPE_PROTO};
    use super::*;

    #[test]
    fn lists_are_packed_and_unpacked() {
        let tensor =
            [&[0x28, 1, 0x0a, 2, 3, 4, 0x28, 0x80, 0x01, 0x2a, 2, 5, 6][..], &[0x4d, 0, 0, 0, 0]].concat();
        assert_eq!(
            canonical(&tensor, &TENSOR_PROTO).unwrap(),
            [0x08, 3, 0x08, 4, 0x2a, 5, 1, 0x80, 0x01, 5, 6]
        );
        let floats = [0x3a, 8, 0, 0, 128, 63, 0, 0, 0, 64];
        assert_eq!(canonical(&floats, &ATTRIBUTE_PROTO).unwrap(), [0x3d, 0, 0, 128, 63, 0x3d, 0, 0, 0, 64]);
    }

    #[test]
    fn the_last_one_counts() {
        let two = [0x0a, 0, 0x32, 1, b'I', 0x3a, 2, 0x12, 0];
        assert_eq!(canonical(&two, &TYPE_PROTO).unwrap(), [0x32, 1, b'I', 0x3a, 2, 0x12, 0]);
        let data_types = [0x10, 1, 0x10, 0xff, 0xff, 0xff, 0xff, 0x0f];
        let minus_one = [0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(canonical(&data_types, &TENSOR_PROTO).unwrap(), minus_one);
    }

    #[test]
    fn messages_merge() {
        let model = [0x3a, 3, 0x12, 1, b'a', 0x08, 10, 0x3a, 5, 0x12, 1, b'b', 0x0a, 0];
        assert_eq!(canonical(&model, &MODEL_PROTO).unwrap(), [0x08, 10, 0x3a, 5, 0x0a, 0, 0x12, 1, b'b']);
    }
}
