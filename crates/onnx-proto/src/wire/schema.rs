//! The walker's table of fields by number.

use super::WireType;

/// A message of the format.
#[derive(Debug)]
pub(crate) struct Message {
    /// Its name without the package, such as `TypeProto.Tensor`.
    pub(crate) name: &'static str,
    pub(crate) fields: &'static [Field],
    /// By field number, one plus the position in `fields`.
    by_number: [u8; NUMBERS],
}

/// A field of a message.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) repeat: Repeat,
    /// One of several alternatives (a message has at most one such set).
    pub(crate) oneof: bool,
}

/// The encoding of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Varint of at most 32 bits, sign-extended to 64.
    Int32,
    /// The same, and the numbers have names.
    Enum(&'static Enum),
    /// Varint of 64 bits.
    Int64,
    /// Varint of 64 bits, without sign.
    Uint64,
    /// 4 bytes.
    Float,
    /// 8 bytes.
    Double,
    /// Bytes that should be UTF-8.
    String,
    Bytes,
    Message(&'static Message),
}

/// An enum: its values' numbers and names.
#[derive(Debug)]
pub(crate) struct Enum {
    pub(crate) name: &'static str,
    pub(crate) values: &'static [(i32, &'static str)],
}

impl Enum {
    pub(super) const fn new(name: &'static str, values: &'static [(i32, &'static str)]) -> Enum {
        Enum { name, values }
    }
}

impl Kind {
    /// The wire type of a single value of this kind.
    pub(crate) fn wire(self) -> WireType {
        match self {
            Kind::Int32 | Kind::Enum(_) | Kind::Int64 | Kind::Uint64 => WireType::Varint,
            Kind::Float => WireType::Fixed32,
            Kind::Double => WireType::Fixed64,
            Kind::String | Kind::Bytes | Kind::Message(_) => WireType::Bytes,
        }
    }

    /// Whether values are numbers, which may be packed.
    pub(crate) fn is_number(self) -> bool {
        self.wire() != WireType::Bytes
    }

    /// Whether the value has 32 bits, also in a longer varint.
    pub(crate) fn is_narrow(self) -> bool {
        matches!(self, Kind::Int32 | Kind::Enum(_))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Repeat {
    Once,
    /// One key per entry.
    Each,
    /// One key for all entries.
    Packed,
}

/// No field has this number or a higher one; the generator sees to it.
pub(crate) const NUMBERS: usize = 32;

impl Message {
    pub(super) const fn new(name: &'static str, fields: &'static [Field]) -> Message {
        let mut by_number = [0; NUMBERS];
        let mut at = 0;
        while at < fields.len() {
            by_number[fields[at].number as usize] = at as u8 + 1;
            at += 1;
        }
        Message { name, fields, by_number }
    }

    pub(crate) fn field(&self, number: u32) -> Option<&'static Field> {
        let at = *self.by_number.get(usize::try_from(number).ok()?)?;
        self.fields.get(usize::from(at).checked_sub(1)?)
    }
}

impl Field {
    /// Whether a value of this field may be delimited so. Numbers in a list may be packed or not.
    pub(crate) fn fits(&self, wire: WireType) -> bool {
        wire == self.kind.wire() || (wire == WireType::Bytes && self.repeat != Repeat::Once)
    }

    pub(super) const fn new(number: u32, name: &'static str, kind: Kind) -> Field {
        Field { number, name, kind, repeat: Repeat::Once, oneof: false }
    }

    pub(super) const fn repeated(self) -> Field {
        Field { repeat: Repeat::Each, ..self }
    }

    pub(super) const fn packed(self) -> Field {
        Field { repeat: Repeat::Packed, ..self }
    }

    pub(super) const fn oneof(self) -> Field {
        Field { oneof: true, ..self }
    }
}
