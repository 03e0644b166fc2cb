//! Fields straight into the output: for messages that are too many to become structs first.

use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

/// A string, bytes, or a message that is encoded already.
#[inline]
pub(super) fn bytes(number: u32, value: &[u8], out: &mut Vec<u8>) {
    match (number, value.len()) {
        // A byte each for key and length: most are so.
        (1..16, 0..0x80) => out.extend_from_slice(&[(number << 3) as u8 | 2, value.len() as u8]),
        _ => {
            encode_key(number, WireType::LengthDelimited, out);
            encode_varint(value.len() as u64, out);
        }
    }
    out.extend_from_slice(value);
}

/// An integer or enum; a negative `i32` is widened to 64 bits, as all encoders do.
#[inline]
pub(super) fn int(number: u32, value: i64, out: &mut Vec<u8>) {
    encode_key(number, WireType::Varint, out);
    encode_varint(value as u64, out);
}

#[inline]
pub(super) fn float(number: u32, value: f32, out: &mut Vec<u8>) {
    encode_key(number, WireType::ThirtyTwoBit, out);
    out.extend_from_slice(&value.to_le_bytes());
}

/// A message with this content.
#[inline]
pub(super) fn message(number: u32, out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    let open = Open::begin(number, 0, out);
    content(out);
    open.close(0, out);
}

/// A message whose length is not known yet: there is a gap for it.
pub(super) struct Open {
    /// Where the content begins.
    start: usize,
    gap: usize,
}

impl Open {
    /// Begins a message. With a length near to the real one, the gap fits and nothing has to be moved.
    #[inline]
    pub(super) fn begin(number: u32, expected: usize, out: &mut Vec<u8>) -> Open {
        encode_key(number, WireType::LengthDelimited, out);
        let gap = encoded_len_varint(expected as u64);
        out.resize(out.len() + gap, 0);
        Open { start: out.len(), gap }
    }

    /// Fills in the length, which counts what has been written and as many bytes as are still to come.
    #[inline]
    pub(super) fn close(self, to_come: usize, out: &mut Vec<u8>) {
        let Open { start, gap } = self;
        let length = (out.len() - start + to_come) as u64;
        let requested = encoded_len_varint(length);
        if requested != gap {
            let end = out.len();
            out.resize(end.max(end - gap + requested), 0);
            out.copy_within(start..end, start - gap + requested);
            out.truncate(end - gap + requested);
        }
        if let Some(mut place) = out.get_mut(start - gap..start - gap + requested) {
            encode_varint(length, &mut place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_fit_whatever_was_expected() {
        for length in [0, 1, 127, 128, 300, 20_000] {
            for expected in [0, 200, 30_000] {
                let content = vec![7; length];
                let mut out = vec![1, 2, 3];
                let open = Open::begin(5, expected, &mut out);
                out.extend_from_slice(&content);
                open.close(0, &mut out);

                let mut usual = vec![1, 2, 3];
                bytes(5, &content, &mut usual);
                assert!(out == usual, "{length} bytes, expected {expected}");
            }
        }
    }

    #[test]
    fn what_is_to_come_counts() {
        let mut out = Vec::new();
        Open::begin(1, 0, &mut out).close(300, &mut out);
        assert_eq!(out, [0x0a, 0xac, 0x02]);
    }
}
