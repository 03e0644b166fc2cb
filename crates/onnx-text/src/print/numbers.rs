//! Long lists of literals, written straight into the output: as many to a line as fit.
//!
//! ```text
//! float[1000] w = {
//!     0.1, 0.2, …
//!     0.9, 1
//! }
//! ```
//!
//! Literals come from the source as spelled there, or from stored bytes in the form that the reference parser reads:
//! numbers for numeric types, bit patterns (unsigned) for small floats, pairs for complex numbers. Elements of packed
//! types stand in double braces, which the reference refuses: it would store them unpacked.

use super::INDENT;
use super::line::{Gap, Printer};
use super::list::{BRACES, Brackets, Fit, SQUARE, Style, whole};
use crate::ast::Stored;
use onnx_ir::diag::Span;
use onnx_ir::{ElemType, Field};

const PACKED: Brackets = ["{{", "}}"];

// ---- literals of the source ----

/// The brackets of `{1, 2}`, `{{1, 2}}` or `[1, 2]`, and what is between them.
fn parts(spelling: &str) -> (Brackets, &str) {
    for brackets @ [open, close] in [PACKED, BRACES, SQUARE] {
        if let Some(list) = spelling.strip_prefix(open).and_then(|s| s.strip_suffix(close)) {
            return (brackets, list);
        }
    }
    (["", ""], spelling)
}

/// How many elements a list has.
fn count(list: &str) -> usize {
    memchr::memchr_iter(b',', list.as_bytes()).count() + 1
}

/// The elements of a list, as they are spelled.
fn spelled(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(|text| text.trim_matches(is_space))
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// Whether a list of numbers takes more than `width` characters in canonical form.
pub(super) fn is_longer(spelling: &str, width: usize) -> bool {
    if spelling.len() <= width / 2 {
        return false;
    }
    let mut length = 0;
    for byte in spelling.bytes() {
        length += match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b'\x0b' | b'\x0c' => 0,
            b',' => 2,
            _ => 1,
        };
        if length > width {
            return true;
        }
    }
    false
}

impl Printer<'_> {
    /// A list of numbers that is one token.
    pub(super) fn numbers(&mut self, span: Span) {
        let spelling = self.slice(span);
        let (brackets, list) = parts(spelling);
        if is_longer(spelling, self.width) {
            self.long(brackets, span, count(list), spelled(list));
        } else {
            let items: smallvec::SmallVec<[&str; 32]> = spelled(list).collect();
            self.items(brackets, &items, whole(span), Style::Fill, Fit::IfItDoes, |p, text| p.put(text));
        }
    }

    /// Literals that do not fit on a line.
    pub(super) fn long<'t>(
        &mut self,
        brackets: Brackets,
        span: Span,
        count: usize,
        texts: impl Iterator<Item = &'t str>,
    ) {
        let mut filler = Filler::new(self, brackets, span.start, count);
        for text in texts {
            if text.is_ascii() {
                filler.push(text);
            } else {
                filler.push_any(text);
            }
        }
        filler.close(brackets);
    }

    /// Stored elements.
    pub(super) fn stored(&mut self, stored: &Stored, is_long: bool) {
        let elements = Elements::of(stored);
        let brackets = if elements.is_packed() { PACKED } else { BRACES };
        let count = shown(stored);
        let elided = count < elements.count();
        if is_long {
            let mut filler = Filler::new(self, brackets, stored.at.start, count + usize::from(elided));
            elements.each(count, &mut filler);
            if elided {
                filler.push_any("…");
            }
            filler.close(brackets);
        } else {
            let mut few = Few::default();
            elements.each(count, &mut few);
            if elided {
                few.push("…");
            }
            let mut from = 0;
            self.items(brackets, &few.ends, whole(stored.at), Style::Fill, Fit::IfItDoes, |p, &end| {
                p.put(&few.text[from..end]);
                from = end;
            });
        }
    }
}

/// How many numbers of stored elements are printed.
pub(super) fn shown(stored: &Stored) -> usize {
    let elements = Elements::of(stored);
    let limit = stored.elide_after.map_or(usize::MAX, |n| n.saturating_mul(elements.numbers));
    elements.count().min(limit)
}

/// Takes literals one after the other.
trait Literals {
    fn push(&mut self, text: &str);

    /// The first `length` bytes of `text`, which are copied without a look at their number.
    fn push_short(&mut self, text: [u8; 4], length: usize);
}

/// Writes literals line by line, through a block: a call of the allocator or of `memcpy` for each would take longer than
/// to make the literal.
struct Filler<'p, 'a> {
    printer: &'p mut Printer<'a>,
    /// Literals, each with a comma and a space behind it.
    block: [u8; BLOCK],
    /// How much of the block is used.
    used: usize,
    /// Characters of the line so far; beyond any width at first, so that the first literal begins a line.
    column: usize,
    width: usize,
    indent: usize,
    /// How many literals are still to come.
    left: usize,
}

const BLOCK: usize = 4096;
/// The longest literal that is copied in two steps.
const SHORT: usize = 32;
/// What most lines begin with.
const SPACES: [u8; 32] = [b' '; 32];
/// What a short literal takes at most.
const SLOT: usize = SHORT + 2;

impl<'p, 'a> Filler<'p, 'a> {
    fn new(printer: &'p mut Printer<'a>, brackets: Brackets, at: u32, count: usize) -> Self {
        printer.put_at(at, brackets[0]);
        printer.finish_line();
        // In an annotation everything is on one line.
        let (column, width, indent) = match printer.rigid {
            true => (0, usize::MAX, 0),
            false => (usize::MAX, printer.width, printer.indent + INDENT),
        };
        Filler { printer, block: [0; BLOCK], used: 0, column, width, indent, left: count }
    }

    /// Makes room for a literal of so many characters, on a new line if it does not fit together with its comma.
    #[inline]
    fn room(&mut self, length: usize) -> &mut [u8; SLOT] {
        self.left = self.left.saturating_sub(1);
        let comma = usize::from(self.left > 0);
        let end = self.column.saturating_add(length + comma);
        if end > self.width {
            self.new_line();
        }
        self.column += length + 2;
        if self.used + SLOT > BLOCK {
            self.empty(2);
        }
        self.block[self.used..].first_chunk_mut().expect("there is room now")
    }

    /// A literal of any length.
    #[cold]
    fn push_any(&mut self, text: &str) {
        self.room(text.chars().count());
        self.empty(0);
        self.printer.put_lines(text);
        self.block[..2].copy_from_slice(b", ");
        self.used = 2;
    }

    #[inline(never)]
    fn new_line(&mut self) {
        if self.used + 1 + self.indent.max(SPACES.len()) > BLOCK {
            self.empty(2);
        }
        // Over the space behind the last comma.
        let at = if self.column == usize::MAX { 0 } else { self.used - 1 };
        self.block[at] = b'\n';
        self.used = BLOCK.min(at + 1 + self.indent);
        self.block[at + 1..][..SPACES.len()].copy_from_slice(&SPACES);
        if self.indent > SPACES.len() {
            self.block[at + 1..self.used].fill(b' ');
        }
        self.column = self.indent;
    }

    /// Hands the block on, but for `keep` bytes: the comma and the space at its end, which may have to go.
    fn empty(&mut self, keep: usize) {
        let keep = self.used.min(keep);
        let full = self.used - keep;
        let text = std::str::from_utf8(&self.block[..full]);
        self.printer.put_lines(text.expect("the block holds whole literals"));
        self.block.copy_within(full..self.used, 0);
        self.used = keep;
    }

    fn close(mut self, brackets: Brackets) {
        // What is kept goes.
        self.empty(2);
        let printer = self.printer;
        if !printer.rigid {
            printer.text.push('\n');
            printer.start_line(printer.indent);
        }
        printer.gap = Gap::None;
        printer.put(brackets[1]);
    }
}

impl Literals for Filler<'_, '_> {
    #[inline]
    fn push(&mut self, text: &str) {
        let length = text.len();
        if length > SHORT {
            return self.push_any(text);
        }
        let slot = self.room(length);
        copy(text.as_bytes(), slot);
        slot[length] = b',';
        slot[length + 1] = b' ';
        self.used += length + 2;
    }

    #[inline]
    fn push_short(&mut self, text: [u8; 4], length: usize) {
        let slot = self.room(length);
        slot[..4].copy_from_slice(&text);
        slot[length] = b',';
        slot[length + 1] = b' ';
        self.used += length + 2;
    }
}

/// A few literals, kept.
#[derive(Default)]
struct Few {
    text: String,
    ends: smallvec::SmallVec<[usize; 32]>,
}

impl Literals for Few {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    fn push_short(&mut self, text: [u8; 4], length: usize) {
        self.text.extend(text[..length].iter().map(|&b| char::from(b)));
        self.ends.push(self.text.len());
    }
}

/// Copies at most [`SHORT`] bytes to the front of `to`, which is at least as long.
#[inline]
fn copy(from: &[u8], to: &mut [u8]) {
    macro_rules! halves {
        ($size:literal) => {{
            // The two may overlap; together they are all of it.
            to[..$size].copy_from_slice(&from[..$size]);
            let last = from.len() - $size;
            to[last..last + $size].copy_from_slice(&from[last..]);
        }};
    }
    match from.len() {
        16.. => halves!(16),
        8.. => halves!(8),
        4.. => halves!(4),
        2.. => halves!(2),
        1 => to[0] = from[0],
        0 => {}
    }
}

// ---- stored elements ----

/// Stored elements as numbers.
struct Elements<'s> {
    elem: ElemType,
    field: Field,
    bytes: &'s [u8],
    /// How many elements there should be.
    wanted: usize,
    /// Numbers of one element: two for complex ones.
    numbers: usize,
}

impl<'s> Elements<'s> {
    fn of(stored: &'s Stored) -> Self {
        let numbers = match stored.elem {
            ElemType::COMPLEX64 | ElemType::COMPLEX128 => 2,
            _ => 1,
        };
        let wanted = stored.count;
        Elements { elem: stored.elem, field: stored.field, bytes: &stored.bytes, wanted, numbers }
    }

    /// Bits of an element of a packed type.
    fn packed_bits(&self) -> Option<usize> {
        match self.elem.bits() {
            Some(bits @ (2 | 4 | 6)) => Some(bits as usize),
            Some(_) | None => None,
        }
    }

    fn is_packed(&self) -> bool {
        self.packed_bits().is_some()
    }

    /// How many numbers there are, which in a broken tensor may be fewer than it should have.
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

    /// Writes the literals of the first `count` numbers.
    fn each(&self, count: usize, out: &mut impl Literals) {
        use ElemType as E;
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

    /// Elements of 2, 4 or 6 bits: low bits first in `raw_data`; in `int32_data` as many to an entry as fit its lowest
    /// byte.
    fn each_packed(&self, bits: usize, count: usize, out: &mut impl Literals) {
        let signed = matches!(self.elem, ElemType::INT2 | ElemType::INT4);
        let literals = Short::all(|value| {
            let value = i16::from(value);
            if signed && value >> (bits - 1) == 1 { value - (1 << bits) } else { value }
        });
        for i in 0..count {
            let (at, shift) = match self.field {
                Field::Raw => (i * bits / 8, i * bits % 8),
                _ => (i / (8 / bits) * 4, i % (8 / bits) * bits),
            };
            let byte = |at: usize| u16::from(self.bytes.get(at).copied().unwrap_or(0));
            // Six bits may begin in one byte and end in the next.
            let next = if self.field == Field::Raw { byte(at + 1) } else { 0 };
            let value = ((byte(at) | next << 8) >> shift) & ((1 << bits) - 1);
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
    /// The word for what is no number.
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
    match text.strip_suffix(".0") {
        // The integer would lose its sign in a reader that takes it for an integer first.
        Some("-0") | None => text,
        Some(integer) => integer,
    }
}
