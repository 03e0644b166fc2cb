//! Reads keys, varints and lengths within bounds.

use super::MAX_DEPTH;
use bytes::Bytes;
use onnx_ir::list::Chunk;

/// The wire type: the low three bits of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum WireType {
    /// Seven bits a byte, the lowest first.
    Varint = 0,
    /// Eight bytes.
    Fixed64 = 1,
    /// A varint length, and as many bytes.
    Bytes = 2,
    /// Fields up to the matching `EndGroup`; this format has no such field.
    StartGroup = 3,
    /// The end of a group.
    EndGroup = 4,
    /// Four bytes.
    Fixed32 = 5,
}

impl WireType {
    /// In words, for messages.
    pub fn name(self) -> &'static str {
        match self {
            WireType::Varint => "varint",
            WireType::Fixed64 => "8 bytes",
            WireType::Bytes => "bytes with a length",
            WireType::StartGroup => "start of a group",
            WireType::EndGroup => "end of a group",
            WireType::Fixed32 => "4 bytes",
        }
    }
}

/// Why bytes are not a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A value is longer than its message: the file is truncated or corrupt.
    Truncated,
    /// A varint of more than 64 bits.
    LongVarint,
    /// A key with field number 0, a number above 2^29 - 1, or an undefined wire type.
    BadKey,
    /// The end of a group that did not start, or that has another number.
    StrayEndGroup,
    /// More than [`MAX_DEPTH`] messages inside each other.
    TooDeep,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Reason::Truncated => "a field is longer than its message",
            Reason::LongVarint => "a varint has more than 64 bits",
            Reason::BadKey => "invalid field tag",
            Reason::StrayEndGroup => "end of a group without a start",
            Reason::TooDeep => "messages are nested more than 100 levels deep",
        })
    }
}

/// A position in the bytes of a message.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    /// Everything up to the end of the message; positions are offsets in the file.
    bytes: &'a [u8],
    pub(crate) at: usize,
}

/// A varint and whether it is as short as it can be.
pub(crate) struct Varint {
    pub(crate) value: u64,
    pub(crate) shortest: bool,
}

/// The key of a field.
///
/// The small fields come first: in a `Result`, an error then overlaps one of them and not a part of the number, which would be
/// stored whole and loaded in parts, and the resulting stalls would take half of a walk's time.
#[repr(C)]
pub(crate) struct Key {
    pub(crate) shortest: bool,
    pub(crate) wire: WireType,
    pub(crate) number: u32,
}

/// A varint of at most three bytes, as short as it can be, and how many bytes it has.
#[inline]
fn short_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let bits = |byte: u8, place: u32| u64::from(byte & 0x7f) << (7 * place);
    match *bytes {
        [a @ ..0x80, ..] => Some((bits(a, 0), 1)),
        [a, b @ 1..0x80, ..] => Some((bits(a, 0) | bits(b, 1), 2)),
        [a, b, c @ 1..0x80, ..] if b >= 0x80 => Some((bits(a, 0) | bits(b, 1) | bits(c, 2), 3)),
        _ => None,
    }
}

/// The numbers of four fields of this key, if the eight bytes are such fields of a byte each.
#[inline]
fn four_varints(word: u64, key: u8) -> Option<[i64; 4]> {
    const ONES: u64 = 0x0001_0001_0001_0001;
    let number = |i: u32| (word >> (16 * i + 8) & 0x7f) as i64;
    let is_so = word & (0x80ff * ONES) == u64::from(key) * ONES;
    is_so.then(|| [number(0), number(1), number(2), number(3)])
}

/// The payload bits of three bytes of a varint.
#[inline]
fn joined(digits: u64) -> u64 {
    digits & 0x7f | digits >> 1 & 0x3f80 | digits >> 2 & 0x1f_c000
}

/// The number of the field of this key with which the word begins, and its size, if it has at most three bytes, as short
/// as it can be.
#[inline]
fn one_varint(word: u64, key: u8) -> Option<(i64, usize)> {
    let digits = word >> 8;
    let ends = !digits & 0x80_8080;
    if word as u8 != key || ends == 0 {
        return None;
    }
    let size = ends.trailing_zeros() / 8 + 1;
    let digits = digits & (ends ^ (ends - 1));
    let value = joined(digits);
    // Written without a branch on the size, which would be mispredicted.
    let is_shortest = (value >> (7 * size - 7) | ends & 0x80) != 0;
    is_shortest.then_some((value as i64, size as usize))
}

/// The numbers of two fields with this key, if the word starts with two such fields with `SIZE` bytes after each key.
#[inline]
fn two_varints<const SIZE: u32>(word: u64, key: u8) -> Option<[i64; 2]> {
    let ends = 0x80_8080 >> (24 - 8 * SIZE);
    let number = |field: u64| {
        let digits = field >> 8;
        let value = joined(digits) & ((1 << (7 * SIZE)) - 1);
        let is_so = field as u8 == key && digits & ends == ends >> 8 && value >> (7 * SIZE - 7) != 0;
        is_so.then_some(value as i64)
    };
    Some([number(word)?, number(word >> (8 + 8 * SIZE))?])
}

/// The number of fields that are read singly after a size changed.
const UNEVEN: u32 = 32;

/// Passes the numbers of consecutive short fields with the same key to `take`: an array of four and how many are valid. `take`
/// returns whether there is room for four more.
///
/// Consecutive numbers mostly have the same size. If they do, several are read at once: the branch is predicted, and no number
/// waits for the one before it. Otherwise it would be mispredicted for each number, so the check is skipped for a while.
#[inline]
fn varints(rest: &mut &[u8], key: u8, mut take: impl FnMut([i64; 4], usize) -> bool) {
    let mut uneven = 0;
    while let Some((word, _)) = rest.split_first_chunk() {
        let word = u64::from_le_bytes(*word);
        let (numbers, count, size) = if uneven > 0 {
            uneven -= 1;
            let Some((one, size)) = one_varint(word, key) else { return };
            ([one, 0, 0, 0], 1, 1 + size)
        } else if let Some(four) = four_varints(word, key) {
            (four, 4, 8)
        } else if let Some([a, b]) = two_varints::<2>(word, key) {
            ([a, b, 0, 0], 2, 6)
        } else if let Some([a, b]) = two_varints::<3>(word, key) {
            ([a, b, 0, 0], 2, 8)
        } else if let Some((one, size)) = one_varint(word, key) {
            uneven = UNEVEN;
            ([one, 0, 0, 0], 1, 1 + size)
        } else {
            return;
        };
        *rest = &rest[size..];
        if !take(numbers, count) {
            return;
        }
    }
    // The last bytes of all.
    while let [first, after @ ..] = rest
        && *first == key
        && let Some((value, size)) = short_varint(after)
    {
        *rest = &after[size..];
        if !take([value as i64, 0, 0, 0], 1) {
            return;
        }
    }
}

/// The numbers of consecutive short fields with the same key, as long as the chunk has room.
pub(crate) fn varint_run<'a>(rest: &mut &'a [u8], key: u8, chunk: &mut Chunk<'a, i64>) -> usize {
    let mut filled = 0;
    varints(rest, key, |numbers, count| {
        if let Some(room) = chunk[filled..].first_chunk_mut() {
            *room = numbers;
        }
        filled += count;
        filled + 4 <= chunk.len()
    });
    filled
}

/// Reads a run of numbers of four bytes, like [`varint_run`].
pub(crate) fn fixed32_run<'a>(rest: &mut &'a [u8], key: u8, chunk: &mut Chunk<'a, f32>) -> usize {
    let mut filled = 0;
    for ([first, number @ ..], room) in rest.as_chunks::<5>().0.iter().zip(chunk) {
        if *first != key {
            break;
        }
        *room = f32::from_le_bytes(*number);
        filled += 1;
    }
    *rest = &rest[5 * filled..];
    filled
}

/// Reads a run of short strings, like [`varint_run`].
pub(crate) fn bytes_run<'a>(rest: &mut &'a [u8], key: u8, chunk: &mut Chunk<'a, Bytes>) -> usize {
    let mut filled = 0;
    while let [first, length @ ..0x80, after @ ..] = rest
        && *first == key
        && let Some(room) = chunk.get_mut(filled)
        && let Some((value, after)) = after.split_at_checked(usize::from(*length))
    {
        *room = value;
        filled += 1;
        *rest = after;
    }
    filled
}

impl<'a> Cursor<'a> {
    /// Reads `bytes` from `at` to their end.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor { bytes, at }
    }

    #[inline]
    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// A cursor for the next `length` bytes; this one advances past them.
    #[inline]
    pub(crate) fn split(&mut self, length: usize) -> Result<Cursor<'a>, Reason> {
        let start = self.at;
        self.skip(length)?;
        let bytes = self.bytes.get(..self.at).ok_or(Reason::Truncated)?;
        Ok(Cursor { bytes, at: start })
    }

    /// The next `length` bytes; the cursor advances past them.
    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Reason> {
        let (taken, _) = self.rest().split_at_checked(length).ok_or(Reason::Truncated)?;
        self.at += length;
        Ok(taken)
    }

    #[inline]
    pub(crate) fn skip(&mut self, length: usize) -> Result<(), Reason> {
        let end = self.at.checked_add(length).ok_or(Reason::Truncated)?;
        if end > self.bytes.len() {
            return Err(Reason::Truncated);
        }
        self.at = end;
        Ok(())
    }

    /// The unread bytes.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<Varint, Reason> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(Varint { value: u64::from(byte), shortest: true })
            }
            // Keys from 16 and lengths from 128 on have two bytes.
            Some(&low) => match self.bytes.get(self.at + 1) {
                Some(&high @ 1..0x80) => {
                    self.at += 2;
                    Ok(Varint { value: u64::from(high) << 7 | u64::from(low & 0x7f), shortest: true })
                }
                _ => self.long_varint(),
            },
            None => Err(Reason::Truncated),
        }
    }

    #[cold]
    fn long_varint(&mut self) -> Result<Varint, Reason> {
        let mut value = 0;
        for (shift, &byte) in (0..).step_by(7).zip(self.rest().iter().take(10)) {
            value |= u64::from(byte & 0x7f) << shift;
            if shift == 63 && byte > 1 {
                return Err(Reason::LongVarint);
            }
            if byte < 0x80 {
                self.at += shift / 7 + 1;
                return Ok(Varint { value, shortest: byte != 0 || shift == 0 });
            }
        }
        Err(if self.rest().len() < 10 { Reason::Truncated } else { Reason::LongVarint })
    }

    /// Skips consecutive occurrences of a field in standard encoding, as long as numbers and lengths are short; returns how many.
    /// Lists of a hundred thousand numbers have a key for each.
    ///
    /// `key` is the one-byte key of the field.
    pub(crate) fn skip_run(&mut self, key: u8, wire: WireType) -> usize {
        let mut rest = self.rest();
        let mut count = 0;
        match wire {
            WireType::Varint => varints(&mut rest, key, |_, more| {
                count += more;
                true
            }),
            WireType::Fixed32 => {
                count = rest.as_chunks::<5>().0.iter().take_while(|field| field[0] == key).count();
                rest = &rest[5 * count..];
            }
            WireType::Fixed64 => {
                count = rest.as_chunks::<9>().0.iter().take_while(|field| field[0] == key).count();
                rest = &rest[9 * count..];
            }
            WireType::Bytes => {
                while let [first, length @ ..0x80, after @ ..] = rest
                    && *first == key
                    && let Some(after) = after.get(usize::from(*length)..)
                {
                    rest = after;
                    count += 1;
                }
            }
            WireType::StartGroup | WireType::EndGroup => {}
        }
        self.at = self.bytes.len() - rest.len();
        count
    }

    /// A length, with whether it is written as short as it can be.
    #[inline]
    pub(crate) fn length(&mut self) -> Result<(usize, bool), Reason> {
        let varint = self.varint()?;
        Ok((usize::try_from(varint.value).map_err(|_| Reason::Truncated)?, varint.shortest))
    }

    #[inline]
    pub(crate) fn key(&mut self) -> Result<Key, Reason> {
        let Varint { value, shortest } = self.varint()?;
        let number = u32::try_from(value).map_err(|_| Reason::BadKey)? >> 3;
        let wire = match value & 7 {
            0 => WireType::Varint,
            1 => WireType::Fixed64,
            2 => WireType::Bytes,
            3 => WireType::StartGroup,
            4 => WireType::EndGroup,
            5 => WireType::Fixed32,
            _ => return Err(Reason::BadKey),
        };
        if number == 0 {
            return Err(Reason::BadKey);
        }
        Ok(Key { number, wire, shortest })
    }

    /// Steps over the value of a field that has this key, inside `depth` messages and groups.
    pub(crate) fn skip_value(&mut self, number: u32, wire: WireType, depth: usize) -> Result<(), Reason> {
        match wire {
            WireType::Varint => self.varint().map(|_| ()),
            WireType::Fixed64 => self.skip(8),
            WireType::Fixed32 => self.skip(4),
            WireType::Bytes => {
                let (length, _) = self.length()?;
                self.skip(length)
            }
            WireType::StartGroup if depth >= MAX_DEPTH => Err(Reason::TooDeep),
            WireType::StartGroup => loop {
                let key = self.key()?;
                if key.wire == WireType::EndGroup {
                    return if key.number == number { Ok(()) } else { Err(Reason::StrayEndGroup) };
                }
                self.skip_value(key.number, key.wire, depth + 1)?;
            },
            WireType::EndGroup => Err(Reason::StrayEndGroup),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::list::CHUNK;

    fn read(bytes: &[u8]) -> Result<(u64, bool, usize), Reason> {
        let mut cursor = Cursor::new(bytes, 0);
        cursor.varint().map(|v| (v.value, v.shortest, cursor.at))
    }

    #[test]
    fn varints() {
        assert_eq!(read(&[0]), Ok((0, true, 1)));
        assert_eq!(read(&[0xac, 0x02, 7]), Ok((300, true, 2)));
        assert_eq!(read(&[0x80, 0x00]), Ok((0, false, 2)));
        let mut ones = [0xff; 10];
        ones[9] = 1;
        assert_eq!(read(&ones), Ok((u64::MAX, true, 10)));
        ones[9] = 2;
        assert_eq!(read(&ones), Err(Reason::LongVarint));
        assert_eq!(read(&[0xff; 11]), Err(Reason::LongVarint));
        assert_eq!(read(&[0xff; 9]), Err(Reason::Truncated));
        assert_eq!(read(&[]), Err(Reason::Truncated));
    }

    #[test]
    fn runs_of_numbers_are_read_as_one_by_one() {
        let numbers =
            [0, 1, 127, 128, 300, 16_383, 16_384, 2_097_151, 2_097_152, 5, 6, 7, 8, 9, 200, 201, 202];
        let longer = |byte: u8| vec![8, byte | 0x80, 0];
        let push = |mut number: u64, bytes: &mut Vec<u8>| {
            bytes.push(8);
            while number >= 0x80 {
                bytes.push(number as u8 | 0x80);
                number >>= 7;
            }
            bytes.push(number as u8);
        };
        for start in 0..numbers.len() {
            for odd in [Vec::new(), longer(3), vec![8, 3, 10, 0], vec![8], vec![8, 0x80]] {
                let mut bytes = Vec::new();
                numbers[start..].iter().for_each(|&number| push(number, &mut bytes));
                bytes.extend_from_slice(&odd);
                let (mut one, mut expected) = (Cursor::new(&bytes, 0), Vec::new());
                while let [8, after @ ..] = one.rest()
                    && let Some((value, size)) = short_varint(after)
                {
                    expected.push(value as i64);
                    one.at += 1 + size;
                }
                let (mut rest, mut found, mut chunk) = (&bytes[..], Vec::new(), [0; CHUNK]);
                loop {
                    let filled = varint_run(&mut rest, 8, &mut chunk);
                    found.extend_from_slice(&chunk[..filled]);
                    if filled == 0 {
                        break;
                    }
                }
                assert_eq!((found, rest), (expected, one.rest()), "{bytes:?}");
            }
        }
    }

    #[test]
    fn keys() {
        let key = |bytes: &[u8]| Cursor::new(bytes, 0).key().map(|k| (k.number, k.wire));
        assert_eq!(key(&[0x0a]), Ok((1, WireType::Bytes)));
        assert_eq!(key(&[0x02]), Err(Reason::BadKey));
        assert_eq!(key(&[0x0f]), Err(Reason::BadKey));
        assert_eq!(key(&[0xff, 0xff, 0xff, 0xff, 0x1f]), Err(Reason::BadKey));
    }

    #[test]
    fn groups_nest_to_a_limit() {
        // 98 { 99: 1 }, and the same closed by another number.
        let group = [0x93, 0x06, 0x98, 0x06, 0x01, 0x94, 0x06];
        let skip = |number| Cursor::new(&group, 2).skip_value(number, WireType::StartGroup, 0);
        assert_eq!((skip(98), skip(97)), (Ok(()), Err(Reason::StrayEndGroup)));
        let deep = [0x0b; 100_000];
        assert_eq!(Cursor::new(&deep, 1).skip_value(1, WireType::StartGroup, 0), Err(Reason::TooDeep));
    }
}
