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
            filler.push(text);
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
            elements.each(count, |text| filler.push(text));
            if elided {
                filler.push("…");
            }
            filler.close(brackets);
        } else {
            let mut texts = String::new();
            let mut ends = smallvec::SmallVec::<[usize; 32]>::new();
            elements.each(count, |text| {
                texts.push_str(text);
                ends.push(texts.len());
            });
            if elided {
                texts.push('…');
                ends.push(texts.len());
            }
            let mut from = 0;
            self.items(brackets, &ends, whole(stored.at), Style::Fill, Fit::IfItDoes, |p, &end| {
                p.put(&texts[from..end]);
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

/// Writes literals line by line, through a block: a call of the allocator's or `memcpy` for each would take longer than
/// to make the literal.
struct Filler<'p, 'a> {
    printer: &'p mut Printer<'a>,
    block: [u8; BLOCK],
    /// How much of the block is used.
    used: usize,
    /// Characters of the line so far.
    column: usize,
    width: usize,
    /// What separates lines: a comma, a line break, spaces.
    indent: usize,
    left: usize,
}

const BLOCK: usize = 4096;
/// The longest literal that is copied in two steps.
const SHORT: usize = 32;

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

    #[inline]
    fn push(&mut self, text: &str) {
        self.left = self.left.saturating_sub(1);
        let comma = usize::from(self.left > 0);
        let length = if text.len() <= SHORT { text.len() } else { text.chars().count() };
        if self.column.saturating_add(1 + length + comma) > self.width {
            self.new_line();
        } else if self.column > self.indent {
            self.block[self.used] = b' ';
            self.used += 1;
            self.column += 1;
        }
        if text.len() > SHORT {
            self.long_literal(text);
        } else {
            if self.used + SHORT + 4 > BLOCK {
                self.empty();
            }
            copy(text.as_bytes(), &mut self.block[self.used..]);
            self.used += text.len();
        }
        self.block[self.used] = b',';
        self.used += comma;
        self.column += length + comma;
    }

    #[inline(never)]
    fn new_line(&mut self) {
        self.empty();
        self.printer.text.push('\n');
        self.printer.start_line(self.indent);
        self.column = self.indent;
    }

    #[cold]
    fn long_literal(&mut self, text: &str) {
        self.empty();
        self.printer.text.push_str(text);
    }

    /// Hands the block on.
    fn empty(&mut self) {
        // A literal is never split between blocks.
        let text = std::str::from_utf8(&self.block[..self.used]);
        self.printer.text.push_str(text.expect("the block holds whole literals"));
        self.used = 0;
    }

    fn close(mut self, brackets: Brackets) {
        self.empty();
        let printer = self.printer;
        if !printer.rigid {
            printer.text.push('\n');
            printer.start_line(printer.indent);
        }
        printer.gap = Gap::None;
        printer.put(brackets[1]);
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

    /// Calls `f` with the literal of each of the first `count` numbers.
    fn each(&self, count: usize, f: impl FnMut(&str)) {
        use ElemType as E;
        if let Some(bits) = self.packed_bits() {
            return self.each_packed(bits, count, f);
        }
        match self.field {
            Field::Float => self.each_float(count, f32::from_le_bytes, f),
            Field::Double => self.each_float(count, f64::from_le_bytes, f),
            Field::Int32 => self.each_int(count, i32::from_le_bytes, f),
            Field::Int64 => self.each_int(count, i64::from_le_bytes, f),
            Field::Uint64 => self.each_int(count, u64::from_le_bytes, f),
            Field::String => {}
            Field::Raw => match self.elem {
                E::FLOAT | E::COMPLEX64 => self.each_float(count, f32::from_le_bytes, f),
                E::DOUBLE | E::COMPLEX128 => self.each_float(count, f64::from_le_bytes, f),
                E::INT8 => self.each_int(count, i8::from_le_bytes, f),
                E::INT16 => self.each_int(count, i16::from_le_bytes, f),
                E::INT32 => self.each_int(count, i32::from_le_bytes, f),
                E::INT64 => self.each_int(count, i64::from_le_bytes, f),
                E::UINT32 => self.each_int(count, u32::from_le_bytes, f),
                E::UINT64 => self.each_int(count, u64::from_le_bytes, f),
                // Unsigned integers and bit patterns.
                _ if self.number_size() == 2 => self.each_int(count, u16::from_le_bytes, f),
                _ => self.each_int(count, u8::from_le_bytes, f),
            },
        }
    }

    fn each_int<I: itoa::Integer, const N: usize>(
        &self,
        count: usize,
        read: fn([u8; N]) -> I,
        mut f: impl FnMut(&str),
    ) {
        let mut buffer = itoa::Buffer::new();
        for bytes in self.bytes.as_chunks::<N>().0.iter().take(count) {
            f(buffer.format(read(*bytes)));
        }
    }

    fn each_float<F: Float, const N: usize>(
        &self,
        count: usize,
        read: fn([u8; N]) -> F,
        mut f: impl FnMut(&str),
    ) {
        let mut buffer = zmij::Buffer::new();
        for bytes in self.bytes.as_chunks::<N>().0.iter().take(count) {
            f(float(read(*bytes), &mut buffer));
        }
    }

    /// Elements of 2, 4 or 6 bits: low bits first in `raw_data`; in `int32_data` as many to an entry as fit its lowest
    /// byte.
    fn each_packed(&self, bits: usize, count: usize, mut f: impl FnMut(&str)) {
        let signed = matches!(self.elem, ElemType::INT2 | ElemType::INT4);
        let mut buffer = itoa::Buffer::new();
        for i in 0..count {
            let (at, shift) = match self.field {
                Field::Raw => (i * bits / 8, i * bits % 8),
                _ => (i / (8 / bits) * 4, i % (8 / bits) * bits),
            };
            let byte = |at: usize| u16::from(self.bytes.get(at).copied().unwrap_or(0));
            // Six bits may begin in one byte and end in the next.
            let next = if self.field == Field::Raw { byte(at + 1) } else { 0 };
            let value = ((byte(at) | next << 8) >> shift) & ((1 << bits) - 1);
            let value =
                if signed && value >> (bits - 1) == 1 { value as i16 - (1 << bits) } else { value as i16 };
            f(buffer.format(value));
        }
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
