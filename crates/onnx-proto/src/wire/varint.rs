//! Packed integer lists: varints on the wire, little-endian entries in memory.

use super::cursor::{Cursor, Reason};
use prost::encoding::encoded_len_varint;

/// The entries of a packed `int32` list, and whether a standard encoder would write them so.
pub(crate) fn decode_int32(packed: &[u8]) -> Result<(Vec<i32>, bool), Reason> {
    decode(packed, |wire| wire as i32, |entry| i64::from(entry) as u64)
}

/// The entries of a packed `int64` list, and whether a standard encoder would write them so.
pub(crate) fn decode_int64(packed: &[u8]) -> Result<(Vec<i64>, bool), Reason> {
    decode(packed, |wire| wire as i64, |entry| entry as u64)
}

/// The entries of a packed `uint64` list, and whether a standard encoder would write them so.
pub(crate) fn decode_uint64(packed: &[u8]) -> Result<(Vec<u64>, bool), Reason> {
    decode(packed, |wire| wire, |entry| entry)
}

/// The varints of `int32` entries given as little-endian bytes. An incomplete last entry is ignored.
pub(crate) fn encode_int32(entries: &[u8]) -> Vec<u8> {
    encode(entries, |entry| i64::from(i32::from_le_bytes(entry)) as u64)
}

/// The varints of `int64` or `uint64` entries given as little-endian bytes. An incomplete last entry is ignored.
pub(crate) fn encode_int64(entries: &[u8]) -> Vec<u8> {
    encode(entries, u64::from_le_bytes)
}

fn decode<T: Copy>(
    packed: &[u8],
    narrow: fn(u64) -> T,
    widen: fn(T) -> u64,
) -> Result<(Vec<T>, bool), Reason> {
    // Every entry ends with a byte below 0x80, so memory stays in proportion to the input.
    let count = packed.iter().filter(|&&byte| byte < 0x80).count();
    let mut entries = Vec::with_capacity(count);
    let mut cursor = Cursor::new(packed, 0);
    let mut usual = true;
    while !cursor.is_at_end() {
        let varint = cursor.varint()?;
        let entry = narrow(varint.value);
        usual &= varint.shortest && widen(entry) == varint.value;
        entries.push(entry);
    }
    Ok((entries, usual))
}

/// Entries that are encoded at a time.
const CHUNK: usize = 32;
/// The bytes of the longest varint.
const LONGEST: usize = 10;

fn encode<const SIZE: usize>(entries: &[u8], widen: fn([u8; SIZE]) -> u64) -> Vec<u8> {
    let (entries, _) = entries.as_chunks::<SIZE>();
    let mut out = Vec::with_capacity(entries.iter().map(|&entry| encoded_len_varint(widen(entry))).sum());
    let mut buffer = [0u8; CHUNK * LONGEST];
    for chunk in entries.chunks(CHUNK) {
        let mut at = 0;
        for &entry in chunk {
            let value = widen(entry);
            // There is always room: the buffer has the longest varint for each entry of a chunk.
            let Some(place) = buffer.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<LONGEST>) else {
                break;
            };
            at += if value < 1 << 28 {
                // Up to four groups of seven bits at once: a loop over them is mispredicted once per entry.
                let length = encoded_len_varint(value);
                let [a, b, c, d, ..] = place;
                [*a, *b, *c, *d] = four_groups(value as u32, length).to_le_bytes();
                length
            } else {
                one_by_one(value, place)
            };
        }
        out.extend_from_slice(buffer.get(..at).unwrap_or_default());
    }
    out
}

/// Writes a varint; returns its length.
#[inline]
fn one_by_one(value: u64, place: &mut [u8; LONGEST]) -> usize {
    let mut rest = value;
    let mut length = 0;
    for byte in place {
        length += 1;
        if rest < 0x80 {
            *byte = rest as u8;
            break;
        }
        *byte = rest as u8 | 0x80;
        rest >>= 7;
    }
    length
}

/// The bytes of a varint of up to four bytes, the first one in the low byte.
#[inline]
fn four_groups(value: u32, length: usize) -> u32 {
    let groups =
        value & 0x7f | (value & 0x3f80) << 1 | (value & 0x001f_c000) << 2 | (value & 0x0fe0_0000) << 3;
    // The high bit of each byte but the last.
    let continues = 0x8080_8080 & ((1u32 << (8 * (length - 1))) - 1);
    groups | continues
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::encoding::encode_varint;

    #[test]
    fn lists_come_back() {
        let ints = [0, 1, -1, 127, 128, i32::MAX, i32::MIN];
        let packed = encode_int32(bytemuck::cast_slice(&ints));
        assert_eq!(packed.len(), 1 + 1 + 10 + 1 + 2 + 5 + 10);
        assert_eq!(decode_int32(&packed), Ok((ints.to_vec(), true)));

        let ints = [0, -1, i64::MAX, i64::MIN];
        assert_eq!(decode_int64(&encode_int64(bytemuck::cast_slice(&ints))), Ok((ints.to_vec(), true)));
        let ints: Vec<i64> = (0..64)
            .flat_map(|bit| [(1i64 << bit).wrapping_sub(1), 1 << bit, (1i64 << bit).wrapping_neg()])
            .collect();
        let packed = encode_int64(bytemuck::cast_slice(&ints));
        let mut one_by_one = Vec::new();
        ints.iter().for_each(|&int| encode_varint(int as u64, &mut one_by_one));
        assert_eq!(packed, one_by_one);
        assert_eq!(decode_int64(&packed), Ok((ints, true)));
        let ints = [0, u64::MAX, 1 << 35];
        assert_eq!(decode_uint64(&encode_int64(bytemuck::cast_slice(&ints))), Ok((ints.to_vec(), true)));
    }

    #[test]
    fn unusual_lists_are_noticed() {
        assert_eq!(decode_int32(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok((vec![-1], false)));
        assert_eq!(decode_int64(&[5, 0x80, 0]), Ok((vec![5, 0], false)));
        assert_eq!(decode_int64(&[5, 0x80]), Err(Reason::Truncated));
    }
}
