//! The walker: one pass over keys and lengths, without allocation.

use super::MAX_DEPTH;
use super::canonical::is_misread;
use super::cursor::{Cursor, Key, Reason, Varint, WireType};
use super::schema::{Field, Kind, Message, NUMBERS, Repeat};
use std::fmt;
use std::ops::Range;

/// A part of a message that rewriting would change.
pub struct Anomaly<'a> {
    /// The message that has the field.
    pub path: Path<'a>,
    /// The field's number.
    pub number: u32,
    /// The field's name, if the format has a field of this number.
    pub field: Option<&'static str>,
    /// The wire type.
    pub wire: WireType,
    /// The bytes of the field, from its key to the end of its value.
    pub range: Range<usize>,
    /// The kind of anomaly.
    pub kind: AnomalyKind,
}

/// How much to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ScanDepth {
    /// Keys and lengths.
    Structure,
    /// Also the integers in packed lists.
    Numbers,
}

/// The kinds of [`Anomaly`]. All but the first two decode correctly, but standard encoders write them differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AnomalyKind {
    /// The message has no field of this number.
    Unknown,
    /// The message has this field, but with another wire type: decoders take it for unknown.
    WrongType,
    /// A field with a lower number follows one with a higher number.
    OutOfOrder,
    /// A field that is there once occurs again: messages merge, the last of other values counts.
    Again,
    /// Another alternative of the same set came before; the last one counts.
    OtherAlternative,
    /// Entries with a key each, where the format packs them.
    Unpacked,
    /// Packed entries, where the format has a key for each.
    Packed,
    /// Packed entries in more than one piece.
    Pieces,
    /// A packed list without entries.
    EmptyPacked,
    /// A number in more bytes than necessary, or with more than 32 bits in a 32-bit field.
    LongNumber,
}

/// The path from the root to a message: `graph.node[3].attribute[0]`.
#[derive(Clone, Copy)]
pub struct Path<'a>(&'a [PathStep]);

#[derive(Clone, Copy)]
struct PathStep {
    field: &'static Field,
    index: u32,
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            f.write_str(if at > 0 { "." } else { "" })?;
            f.write_str(step.field.name)?;
            if step.field.repeat != Repeat::Once {
                write!(f, "[{}]", step.index)?;
            }
        }
        Ok(())
    }
}

impl Path<'_> {
    /// Whether it is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

/// Bytes that are not a message of the format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// The message that cannot be read, such as `graph.node[3]`; empty for the root.
    pub path: String,
    /// The byte offset of the field that cannot be read.
    pub offset: usize,
    /// The reason.
    pub reason: Reason,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed protobuf at byte {}", self.offset)?;
        if !self.path.is_empty() {
            write!(f, ", in `{}`", self.path)?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl std::error::Error for Malformed {}

/// Walks over one message of the given kind and reports unusual encodings, in the order of the bytes.
///
/// The time is linear in the number of fields. Stops at the first place that cannot be read.
pub(crate) fn walk(
    bytes: &[u8],
    root: &'static Message,
    scan: ScanDepth,
    found: &mut dyn FnMut(Anomaly<'_>),
) -> Result<(), Malformed> {
    let start = PathStep { field: &ROOT, index: 0 };
    let mut walker = Walker { path: [start; MAX_DEPTH], depth: 0, scan, stopped_at: None, found };
    walker.message(Cursor::new(bytes, 0), root).map_err(|reason| Malformed {
        path: walker.path().to_string(),
        offset: walker.stopped_at.unwrap_or(0),
        reason,
    })
}

/// The announced length of a message whose last field is truncated; `None` if none is.
pub(crate) fn announced(bytes: &[u8]) -> Option<usize> {
    let mut cursor = Cursor::new(bytes, 0);
    while !cursor.is_at_end() {
        let key = cursor.key().ok()?;
        if key.wire == WireType::Bytes {
            let (length, _) = cursor.length().ok()?;
            if length > cursor.rest().len() {
                return cursor.at.checked_add(length);
            }
            cursor.skip(length).ok()?;
        } else {
            cursor.skip_value(key.number, key.wire, 0).ok()?;
        }
    }
    None
}

/// Whether a message that lies inside `depth` others has nothing unusual that a reader has to know of.
pub(crate) fn is_plain(bytes: &[u8], schema: &'static Message, depth: usize) -> bool {
    let start = PathStep { field: &ROOT, index: 0 };
    let mut is_plain = true;
    let mut found = |finding: Anomaly<'_>| {
        is_plain &= !matches!(finding.kind, AnomalyKind::Unknown | AnomalyKind::WrongType)
            && !is_misread(finding.kind);
    };
    let scan = ScanDepth::Structure;
    let mut walker = Walker { path: [start; MAX_DEPTH], depth, scan, stopped_at: None, found: &mut found };
    let walked = walker.message(Cursor::new(bytes, 0), schema);
    walked.is_ok() && is_plain
}

/// Fills the unused part of the path.
static ROOT: Field = Field::new(0, "", Kind::Bytes);

struct Walker<'f> {
    path: [PathStep; MAX_DEPTH],
    depth: usize,
    scan: ScanDepth,
    /// Where the field begins that cannot be read.
    stopped_at: Option<usize>,
    found: &'f mut dyn FnMut(Anomaly<'_>),
}

/// The fields of a message so far.
struct Seen {
    /// By field number, how often.
    counts: [u32; NUMBERS],
    highest: u32,
    /// The number of the alternative, 0 for none.
    alternative: u32,
}

/// A field whose value has been stepped over.
struct Occurrence<'a> {
    field: &'static Field,
    key: Key,
    start: usize,
    end: usize,
    value: Cursor<'a>,
    /// How often the field was there before.
    index: u32,
    numbers_are_usual: bool,
}

impl Walker<'_> {
    fn path(&self) -> Path<'_> {
        Path(self.path.get(..self.depth).unwrap_or_default())
    }

    fn message(&mut self, mut cursor: Cursor<'_>, message: &'static Message) -> Result<(), Reason> {
        let mut seen = Seen { counts: [0; NUMBERS], highest: 0, alternative: 0 };
        while !cursor.is_at_end() {
            let start = cursor.at;
            self.field(&mut cursor, message, &mut seen).inspect_err(|_| {
                // The innermost message comes here first.
                self.stopped_at.get_or_insert(start);
            })?;
        }
        Ok(())
    }

    fn field(
        &mut self,
        cursor: &mut Cursor<'_>,
        message: &'static Message,
        seen: &mut Seen,
    ) -> Result<(), Reason> {
        let start = cursor.at;
        let key = cursor.key()?;
        let field = message.field(key.number);
        let Some(field) = field.filter(|field| field.fits(key.wire)) else {
            cursor.skip_value(key.number, key.wire, self.depth)?;
            let kind = if field.is_some() { AnomalyKind::WrongType } else { AnomalyKind::Unknown };
            self.report(&key, field, start..cursor.at, kind);
            return Ok(());
        };
        let wire = key.wire;
        let (value, mut usual) = value(cursor, field, wire)?;
        if self.scan == ScanDepth::Numbers && key.wire == WireType::Bytes {
            usual &= numbers_are_usual(field, value.rest())?;
        }
        let count = seen.counts.get_mut(field.number as usize);
        let index = count.map_or(0, |count| std::mem::replace(count, count.saturating_add(1)));

        let is_next = field.number > seen.highest || (index > 0 && field.number == seen.highest);
        let has_one_form = !field.kind.is_number()
            || (field.repeat == Repeat::Once || key.wire != WireType::Bytes)
                && field.repeat != Repeat::Packed;
        let is_plain = key.shortest && usual && is_next && has_one_form && !field.oneof;
        let is_repeated = index > 0 && field.repeat == Repeat::Once;
        let occurrence =
            Occurrence { field, key, start, end: cursor.at, value, index, numbers_are_usual: usual };
        if !is_plain || is_repeated {
            self.look_closer(&occurrence, seen);
        }
        seen.highest = seen.highest.max(field.number);

        let Kind::Message(inner) = field.kind else {
            // More of the same list.
            if is_plain
                && field.repeat == Repeat::Each
                && let Some(count) = seen.counts.get_mut(field.number as usize)
                && let Ok(key @ ..0x80) = u8::try_from(field.number << 3 | wire as u32)
            {
                let run = u32::try_from(cursor.skip_run(key, wire)).unwrap_or(u32::MAX);
                *count = count.saturating_add(run);
            }
            return Ok(());
        };
        let step = self.path.get_mut(self.depth).ok_or(Reason::TooDeep)?;
        *step = PathStep { field, index };
        self.depth += 1;
        self.message(occurrence.value, inner)?;
        self.depth -= 1;
        Ok(())
    }

    /// Reports what is unusual about a field.
    fn look_closer(&mut self, occurrence: &Occurrence<'_>, seen: &mut Seen) {
        let Occurrence { field, ref key, start, end, ref value, index, numbers_are_usual } = *occurrence;
        let mut unusual = |yes: bool, kind: AnomalyKind| {
            if yes {
                self.report(key, Some(field), start..end, kind);
            }
        };
        unusual(!key.shortest || !numbers_are_usual, AnomalyKind::LongNumber);
        unusual(field.number < seen.highest, AnomalyKind::OutOfOrder);
        unusual(index > 0 && field.repeat == Repeat::Once, AnomalyKind::Again);
        if field.oneof {
            unusual(![0, field.number].contains(&seen.alternative), AnomalyKind::OtherAlternative);
            seen.alternative = field.number;
        }
        if field.kind.is_number() {
            let is_packed = key.wire == WireType::Bytes;
            unusual(is_packed && field.repeat == Repeat::Each, AnomalyKind::Packed);
            unusual(!is_packed && field.repeat == Repeat::Packed, AnomalyKind::Unpacked);
            unusual(is_packed && index > 0, AnomalyKind::Pieces);
            unusual(is_packed && value.is_at_end(), AnomalyKind::EmptyPacked);
        }
    }

    fn report(&mut self, key: &Key, field: Option<&'static Field>, range: Range<usize>, kind: AnomalyKind) {
        let path = Path(self.path.get(..self.depth).unwrap_or_default());
        let field = field.map(|field| field.name);
        (self.found)(Anomaly { path, number: key.number, field, wire: key.wire, range, kind });
    }
}

/// Whether the integers of a packed list are as standard encoders write them.
fn numbers_are_usual(field: &Field, packed: &[u8]) -> Result<bool, Reason> {
    let mut usual = true;
    if field.kind.wire() == WireType::Varint {
        let mut cursor = Cursor::new(packed, 0);
        while !cursor.is_at_end() {
            usual &= is_usual(&cursor.varint()?, field);
        }
    }
    Ok(usual)
}

/// Whether a standard encoder would write this number so.
fn is_usual(varint: &Varint, field: &Field) -> bool {
    let fits_32 = i32::try_from(varint.value as i64).is_ok();
    varint.shortest && (fits_32 || !field.kind.is_narrow())
}

/// Steps over the value: a cursor at its start (for what has a length), and whether its numbers are as standard
/// encoders write them.
fn value<'a>(cursor: &mut Cursor<'a>, field: &Field, wire: WireType) -> Result<(Cursor<'a>, bool), Reason> {
    let mut usual = true;
    let value = match wire {
        WireType::Bytes => {
            let (length, shortest) = cursor.length()?;
            usual = shortest;
            cursor.split(length)?
        }
        WireType::Varint => {
            usual = is_usual(&cursor.varint()?, field);
            cursor.clone()
        }
        WireType::Fixed32 | WireType::Fixed64 | WireType::StartGroup | WireType::EndGroup => {
            cursor.skip_value(field.number, wire, 0)?;
            cursor.clone()
        }
    };
    Ok((value, usual))
}

#[cfg(test)]
mod tests {
    use super::super::table::{MODEL_PROTO, TENSOR_PROTO, TYPE_PROTO};
    use super::*;

    fn findings(bytes: &[u8], root: &'static Message) -> Result<Vec<String>, Malformed> {
        let mut all = Vec::new();
        walk(bytes, root, ScanDepth::Numbers, &mut |f| {
            let name = f.field.map_or_else(|| f.number.to_string(), str::to_owned);
            all.push(format!("{} {name} {:?} {:?}", f.path, f.kind, f.range));
        })?;
        Ok(all)
    }

    /// A field with a length; all lengths here are short.
    fn bytes(number: u8, value: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, value.len() as u8];
        out.extend(value);
        out
    }

    #[test]
    fn says_where_unknown_fields_are() {
        let attribute = bytes(5, &[0x08, 1]); // name as varint
        let node = [bytes(4, b"Relu"), bytes(15, b"?")].concat();
        let graph = [bytes(1, &[]), bytes(1, &node), bytes(1, &attribute)].concat();
        let model = [vec![0x08, 10], bytes(7, &graph), vec![0xfb, 0x3f, 0x08, 1, 0xfc, 0x3f]].concat();
        assert_eq!(
            findings(&model, &MODEL_PROTO).unwrap(),
            [
                "graph.node[1] 15 Unknown 14..17",
                "graph.node[2].attribute[0] name WrongType 21..23",
                " 1023 Unknown 23..29",
            ]
        );
    }

    #[test]
    fn says_what_standard_encoders_write_otherwise() {
        let tensor = [
            vec![0x10, 0x81, 0x00],                   // data_type in two bytes
            bytes(1, &[2, 3]),                        // dims, packed and late
            vec![0x28, 1],                            // int32_data, unpacked
            bytes(5, &[1]),                           // and again in another piece
            bytes(4, &[]),                            // float_data, nothing
            vec![0x10, 0xff, 0xff, 0xff, 0xff, 0x0f], // data_type, not sign-extended
            vec![0x70, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], // data_location = -1
        ]
        .concat();
        assert_eq!(
            findings(&tensor, &TENSOR_PROTO).unwrap(),
            [
                " data_type LongNumber 0..3",
                " dims OutOfOrder 3..7",
                " dims Packed 3..7",
                " int32_data Unpacked 7..9",
                " int32_data Pieces 9..12",
                " float_data OutOfOrder 12..14",
                " float_data EmptyPacked 12..14",
                " data_type LongNumber 14..20",
                " data_type OutOfOrder 14..20",
                " data_type Again 14..20",
            ]
        );
        let two_types = [bytes(1, &[]), bytes(6, b"IMAGE"), bytes(7, &[])].concat();
        assert_eq!(findings(&two_types, &TYPE_PROTO).unwrap(), [" opaque_type OtherAlternative 9..11"]);
    }

    #[test]
    fn long_lists_are_looked_at_to_their_end() {
        let ints = |list: &[&[u8]]| list.iter().flat_map(|int| [&[0x40], *int].concat()).collect::<Vec<u8>>();
        let attribute = ints(&[&[1], &[0x80, 1], &[0xff, 0xff, 3], &[0x81, 0], &[2], &[0xff, 0xff, 0xff, 1]]);
        let model = bytes(7, &bytes(1, &bytes(5, &attribute)));
        let at = 6 + 2 + 3 + 4;
        let expected = format!("graph.node[0].attribute[0] ints LongNumber {at}..{}", at + 3);
        assert_eq!(findings(&model, &MODEL_PROTO).unwrap(), [expected]);
        let cut = bytes(7, &bytes(1, &bytes(5, &attribute[..attribute.len() - 1])));
        assert_eq!(findings(&cut, &MODEL_PROTO).unwrap_err().reason, Reason::Truncated);
        let strings =
            [bytes(9, b"a"), bytes(9, b""), vec![0x4a, 0x81, 0, b'b'], vec![0x4a, 2, b'c']].concat();
        let model = bytes(7, &bytes(1, &bytes(5, &strings)));
        assert_eq!(findings(&model, &MODEL_PROTO).unwrap_err().offset, 6 + 3 + 2 + 4);
    }

    #[test]
    fn says_where_it_breaks() {
        let graph = [bytes(2, b"g"), bytes(1, &[0x0a, 9, b'x'])].concat();
        let model = [vec![0x08, 10], bytes(7, &graph)].concat();
        let error = findings(&model, &MODEL_PROTO).unwrap_err();
        assert_eq!(
            error.to_string(),
            "malformed protobuf at byte 9, in `graph.node[0]`: a field is longer than its message"
        );
        assert_eq!(findings(&model[..3], &MODEL_PROTO).unwrap_err().offset, 2);
    }

    #[test]
    fn a_file_that_is_cut_off_says_how_long_it_was() {
        let model = [vec![0x08, 10], bytes(7, &bytes(2, &[b'g'; 100]))].concat();
        assert_eq!(announced(&model), None);
        for length in [5, 20, model.len() - 1] {
            assert_eq!(announced(&model[..length]), Some(model.len()), "{length}");
        }
        // Inside of it, another value is too long.
        assert_eq!(announced(&bytes(7, &[0x0a, 9, b'x'])), None);
    }

    #[test]
    fn nesting_ends_at_the_limit() {
        // Sequence types, each the element of the next: two messages a level.
        let nested = |levels: usize| {
            let mut inner = Vec::new();
            for _ in 0..levels {
                for number in [1_u8, 4] {
                    let mut outer = vec![number << 3 | 2];
                    prost::encoding::encode_varint(inner.len() as u64, &mut outer);
                    outer.append(&mut inner);
                    inner = outer;
                }
            }
            inner
        };
        assert_eq!(findings(&nested(50), &TYPE_PROTO).unwrap(), [""; 0]);
        assert_eq!(findings(&nested(51), &TYPE_PROTO).unwrap_err().reason, Reason::TooDeep);
        assert_eq!(findings(&nested(10_000), &TYPE_PROTO).unwrap_err().reason, Reason::TooDeep);
    }
}
