//! Prints stored elements as the reference parser reads them: numbers for numeric types, unsigned bit patterns for small floats,
//! pairs for complex numbers.
//!
//! Elements of packed types are in double braces, which the reference rejects: it would store them unpacked.

use super::line::Printer;
use super::list::{BRACES, Layout, ListStyle, whole};
use super::numbers::{Few, Filler, Literals, PACKED};
use crate::ast::{ELIDED, Stored};
use crate::narrow::{Narrow, Texts};
use onnx_ir::{ElemType, Field};

impl Printer<'_> {
    /// Stored elements.
    pub(super) fn stored(&mut self, stored: &Stored, is_long: bool) {
        let elements = Elements::of(stored);
        let brackets = if elements.is_packed() { PACKED } else { BRACES };
        if let Some(dims) = &stored.ends_of {
            return self.ends(brackets, stored, &elements.lines_of_ends(dims));
        }
        let count = shown(stored);
        let elided = count < elements.count();
        if is_long {
            let mut filler = Filler::new(self, brackets, stored.at.start, count + usize::from(elided));
            elements.each(count, &mut filler);
            if elided {
                filler.push_any(ELIDED);
            }
            filler.close(brackets);
        } else {
            let mut few = Few::default();
            elements.each(count, &mut few);
            if elided {
                few.push(ELIDED);
            }
            let mut from = 0;
            self.items(brackets, &few.ends, whole(stored.at), ListStyle::Fill, Layout::Auto, |p, &end| {
                p.put(&few.text[from..end]);
                from = end;
            });
        }
    }
}

/// The number of stored elements that are printed.
pub(super) fn shown(stored: &Stored) -> usize {
    let elements = Elements::of(stored);
    let limit = stored.elide_after.map_or(usize::MAX, |n| n.saturating_mul(elements.numbers));
    elements.count().min(limit)
}

/// Stored elements as numbers.
#[derive(Clone, Copy)]
pub(super) struct Elements<'s> {
    elem: ElemType,
    field: Field,
    bytes: &'s [u8],
    /// The values of narrow floats; `None`: their bit patterns.
    values: Option<Narrow>,
    /// The expected number of elements.
    wanted: usize,
    /// Numbers of one element: two for complex ones.
    pub(super) numbers: usize,
}

impl<'s> Elements<'s> {
    fn of(stored: &'s Stored) -> Self {
        let numbers = match stored.elem {
            ElemType::COMPLEX64 | ElemType::COMPLEX128 => 2,
            _ => 1,
        };
        let wanted = stored.count;
        let values = Narrow::of(stored.elem).filter(|_| stored.as_values);
        Elements { elem: stored.elem, field: stored.field, bytes: &stored.bytes, values, wanted, numbers }
    }

    /// Bits of an element of a packed type.
    fn packed_bits(&self) -> Option<usize> {
        match self.elem.bits() {
            Some(bits @ (2 | 4 | 6)) => Some(bits as usize),
            Some(_) | None => None,
        }
    }

    fn is_packed(&self) -> bool {
        // The reference stores elements of six bits one to an entry too.
        matches!(self.packed_bits(), Some(2 | 4))
    }

    /// The number of stored numbers, which an invalid tensor may have too few of.
    fn count(&self) -> usize {
        let stored = match (self.packed_bits(), self.field) {
            (Some(bits), Field::Raw) => self.bytes.len().saturating_mul(8) / bits,
            (Some(bits), _) => (self.bytes.len() / 4).saturating_mul(8 / bits),
            (None, Field::Raw) => self.bytes.len() / self.number_size(),
            (None, field) => self.bytes.len() / field.entry_size().max(1),
        };
        stored.min(self.wanted.saturating_mul(self.numbers))
    }

    /// Bytes of a number in `raw_data`.
    fn number_size(&self) -> usize {
        (self.elem.bits().unwrap_or(8) as usize / 8 / self.numbers).max(1)
    }

    /// Writes the literal of one number.
    pub(super) fn one(&self, i: usize, out: &mut impl Literals) {
        let Some(bits) = self.packed_bits() else {
            let size = if self.field == Field::Raw { self.number_size() } else { self.field.entry_size() };
            let bytes = self.bytes.get(i.saturating_mul(size)..).unwrap_or_default();
            return Elements { bytes, ..*self }.each(1, out);
        };
        let value = self.packed(bits, i);
        match self.values {
            Some(narrow) => out.push(&narrow.text(value.into())),
            None => out.push(itoa::Buffer::new().format(self.signed(bits, value))),
        }
    }

    /// Writes the literals of the first `count` numbers.
    fn each(&self, count: usize, out: &mut impl Literals) {
        use ElemType as E;
        if let Some(narrow) = Narrow::of(self.elem) {
            if self.values.is_some() {
                let mut texts = Texts::new(narrow, count);
                return self.patterns(count).for_each(|bits| texts.with(bits, |text| out.push(text)));
            }
            // Leading zeros mark bit patterns.
            if narrow.look_like_values(self.patterns(count)) {
                let digits = narrow.digits();
                return self.patterns(count).for_each(|bits| out.push(&format!("{bits:0digits$}")));
            }
        }
        if let Some(bits) = self.packed_bits() {
            return self.each_packed(bits, count, out);
        }
        match self.field {
            Field::Float => self.each_float(count, f32::from_le_bytes, out),
            Field::Double => self.each_float(count, f64::from_le_bytes, out),
            Field::Int32 => self.each_int(count, i32::from_le_bytes, out),
            Field::Int64 => self.each_int(count, i64::from_le_bytes, out),
            Field::Uint64 => self.each_int(count, u64::from_le_bytes, out),
            Field::String => {}
            Field::Raw => match self.elem {
                E::FLOAT | E::COMPLEX64 => self.each_float(count, f32::from_le_bytes, out),
                E::DOUBLE | E::COMPLEX128 => self.each_float(count, f64::from_le_bytes, out),
                E::INT8 => self.each_byte(count, |byte| byte.cast_signed().into(), out),
                E::INT16 => self.each_int(count, i16::from_le_bytes, out),
                E::INT32 => self.each_int(count, i32::from_le_bytes, out),
                E::INT64 => self.each_int(count, i64::from_le_bytes, out),
                E::UINT32 => self.each_int(count, u32::from_le_bytes, out),
                E::UINT64 => self.each_int(count, u64::from_le_bytes, out),
                // Unsigned integers and bit patterns.
                _ if self.number_size() == 2 => self.each_int(count, u16::from_le_bytes, out),
                _ => self.each_byte(count, i16::from, out),
            },
        }
    }

    fn each_int<I: itoa::Integer, const N: usize>(
        &self,
        count: usize,
        read: fn([u8; N]) -> I,
        out: &mut impl Literals,
    ) {
        let mut buffer = itoa::Buffer::new();
        for bytes in self.bytes.as_chunks::<N>().0.iter().take(count) {
            out.push(buffer.format(read(*bytes)));
        }
    }

    fn each_byte(&self, count: usize, value: fn(u8) -> i16, out: &mut impl Literals) {
        let literals = Short::all(value);
        for &byte in self.bytes.iter().take(count) {
            let Short { text, length } = literals[usize::from(byte)];
            out.push_short(text, length.into());
        }
    }

    fn each_float<F: Float, const N: usize>(
        &self,
        count: usize,
        read: fn([u8; N]) -> F,
        out: &mut impl Literals,
    ) {
        let mut buffer = zmij::Buffer::new();
        for bytes in self.bytes.as_chunks::<N>().0.iter().take(count) {
            out.push(float(read(*bytes), &mut buffer));
        }
    }

    /// Sign-extends a value of `bits` bits.
    fn signed(&self, bits: usize, value: u16) -> i16 {
        let is_signed = matches!(self.elem, ElemType::INT2 | ElemType::INT4);
        let value = value.cast_signed();
        if is_signed && value >> (bits - 1) == 1 { value - (1 << bits) } else { value }
    }

    /// The bits of an element of 2, 4 or 6 of them.
    fn packed(&self, bits: usize, i: usize) -> u16 {
        let (at, shift) = match self.field {
            Field::Raw => (i * bits / 8, i * bits % 8),
            _ => (i / (8 / bits) * 4, i % (8 / bits) * bits),
        };
        let byte = |at: usize| u16::from(self.bytes.get(at).copied().unwrap_or(0));
        // Six bits may begin in one byte and end in the next.
        let next = if self.field == Field::Raw { byte(at + 1) } else { 0 };
        ((byte(at) | next << 8) >> shift) & ((1 << bits) - 1)
    }

    /// The bit patterns of the first `count` elements, which have 16 bits at most.
    fn patterns(&self, count: usize) -> impl Iterator<Item = u32> + '_ {
        let packed = self.packed_bits();
        let size = if self.field == Field::Raw { self.number_size() } else { self.field.entry_size() };
        (0..count).map(move |i| match packed {
            Some(bits) => self.packed(bits, i).into(),
            None => {
                let low = |at: usize| u32::from(self.bytes.get(i * size + at).copied().unwrap_or(0));
                if size > 1 { low(0) | low(1) << 8 } else { low(0) }
            }
        })
    }

    /// Elements of 2, 4 or 6 bits: low bits first in `raw_data`; in `int32_data` as many to an entry as fit its lowest
    /// byte.
    fn each_packed(&self, bits: usize, count: usize, out: &mut impl Literals) {
        let literals = Short::all(|value| self.signed(bits, value.into()));
        for i in 0..count {
            let value = self.packed(bits, i);
            let Short { text, length } = literals[usize::from(value)];
            out.push_short(text, length.into());
        }
    }
}

/// The literal of a byte.
#[derive(Clone, Copy, Default)]
struct Short {
    text: [u8; 4],
    length: u8,
}

impl Short {
    /// The literals of all bytes.
    fn all(value: impl Fn(u8) -> i16) -> [Short; 256] {
        let mut buffer = itoa::Buffer::new();
        std::array::from_fn(|byte| {
            let spelling = buffer.format(value(byte as u8)).as_bytes();
            let mut text = [0; 4];
            text[..spelling.len()].copy_from_slice(spelling);
            Short { text, length: spelling.len() as u8 }
        })
    }
}

/// A float that `zmij` can write.
trait Float: zmij::Float + Copy {
    /// The word for a number that is not finite.
    fn word(self) -> Option<&'static str>;
}

macro_rules! float {
    ($($ty:ty)*) => {$(
        impl Float for $ty {
            #[inline]
            fn word(self) -> Option<&'static str> {
                if self.is_finite() {
                    return None;
                }
                Some(match (self.is_nan(), self.is_sign_negative()) {
                    (true, false) => "nan",
                    (true, true) => "-nan",
                    (false, false) => "inf",
                    (false, true) => "-inf",
                })
            }
        }
    )*};
}
float!(f32 f64);

/// The shortest literal that reads back as the same float.
#[inline]
fn float<F: Float>(value: F, buffer: &mut zmij::Buffer) -> &str {
    if let Some(word) = value.word() {
        return word;
    }
    let text = buffer.format_finite(value);
    match text.as_bytes() {
        // As an integer it would lose its sign in a reader that parses integers first.
        b"-0.0" => text,
        [integer @ .., b'.', b'0'] => &text[..integer.len()],
        _ => text,
    }
}
