//! Prints long lists of literals: as many per line as fit.
//!
//! ```text
//! float[1000] w = {
//!     0.1, 0.2, …
//!     0.9, 1
//! }
//! ```
//!
//! Literals come from the source with their spelling, or from stored bytes ([`stored`](super::stored)).

use super::INDENT;
use super::line::{Gap, Printer};
use super::list::{BRACES, Brackets, Layout, ListStyle, SQUARE, whole};
use super::rows;
use onnx_ir::diag::Span;

pub(super) const PACKED: Brackets = ["{{", "}}"];

/// The brackets of `{1, 2}`, `{{1, 2}}` or `[1, 2]`, and the text between them.
fn parts(spelling: &str) -> (Brackets, &str) {
    for brackets @ [open, close] in [PACKED, BRACES, SQUARE] {
        if let Some(list) = spelling.strip_prefix(open).and_then(|s| s.strip_suffix(close)) {
            return (brackets, list);
        }
    }
    (["", ""], spelling)
}

/// The number of elements of a list.
fn count(list: &str) -> usize {
    memchr::memchr_iter(b',', list.as_bytes()).count() + 1
}

/// The elements of a list, as they are spelled.
fn spelled(list: &str) -> impl Iterator<Item = &str> {
    // Byte by byte: pattern searches are slower for short numbers.
    let bytes = list.as_bytes();
    let mut from = Some(0);
    std::iter::from_fn(move || {
        let mut start = from?;
        let mut end = start;
        while bytes.get(end).is_some_and(|&b| b != b',') {
            end += 1;
        }
        from = (end < bytes.len()).then_some(end + 1);
        while start < end && is_space(bytes[start]) {
            start += 1;
        }
        while start < end && is_space(bytes[end - 1]) {
            end -= 1;
        }
        list.get(start..end)
    })
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0b' | b'\x0c')
}

/// Whether a list of numbers exceeds `width` characters in canonical form.
pub(super) fn is_longer(spelling: &str, width: usize) -> bool {
    if spelling.len() <= width / 2 {
        return false;
    }
    let mut length = 0;
    for byte in spelling.bytes() {
        length += match byte {
            b',' => 2,
            byte => usize::from(!is_space(byte)),
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
        if let Some(row) = self.row_of(span) {
            self.in_rows(brackets, span, spelled(list), row);
        } else if is_longer(spelling, self.width) {
            self.long(brackets, span, count(list), spelled(list));
        } else {
            let items: smallvec::SmallVec<[&str; 32]> = spelled(list).collect();
            self.items(brackets, &items, whole(span), ListStyle::Fill, Layout::Auto, |p, text| p.put(text));
        }
    }

    /// The length of the rows that were set by hand in a list of numbers.
    pub(super) fn row_of(&self, span: Span) -> Option<usize> {
        rows::of_numbers(parts(self.slice(span)).1, self.width).filter(|_| !self.rigid)
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
}

/// A sink for literals.
pub(super) trait Literals {
    fn push(&mut self, text: &str);

    /// The first `length` bytes of `text`, copied with a fixed size.
    fn push_short(&mut self, text: [u8; 4], length: usize);
}

/// Writes literals line by line, through a block: a call of the allocator or of `memcpy` for each would take longer than
/// to make the literal.
pub(super) struct Filler<'p, 'a> {
    printer: &'p mut Printer<'a>,
    /// Literals, each followed by a comma and a space.
    block: [u8; BLOCK],
    /// The used part of the block.
    used: usize,
    /// Characters of the line so far; beyond any width at first, so that the first literal begins a line.
    column: usize,
    width: usize,
    indent: usize,
    /// The number of remaining literals.
    left: usize,
}

const BLOCK: usize = 4096;
/// The longest literal that is copied in two steps.
const SHORT: usize = 32;
/// The indentation of most lines.
const SPACES: [u8; 32] = [b' '; 32];
/// The most bytes of a short literal.
const SLOT: usize = SHORT + 2;

impl<'p, 'a> Filler<'p, 'a> {
    pub(super) fn new(printer: &'p mut Printer<'a>, brackets: Brackets, at: u32, count: usize) -> Self {
        printer.put_at(at, brackets[0]);
        printer.finish_line();
        // In an annotation everything is on one line.
        let (column, width, indent) = match printer.rigid {
            true => (0, usize::MAX, 0),
            false => (usize::MAX, printer.width, printer.around() + INDENT),
        };
        Filler { printer, block: [0; BLOCK], used: 0, column, width, indent, left: count }
    }

    /// Makes room for a literal of this length, on a new line if it does not fit with its comma.
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
    pub(super) fn push_any(&mut self, text: &str) {
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
        // Overwrites the space after the last comma.
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

    pub(super) fn close(mut self, brackets: Brackets) {
        // Flushes the rest.
        self.empty(2);
        let (printer, indent) = (self.printer, self.indent);
        if !printer.rigid {
            printer.text.push('\n');
            printer.start_line(indent - INDENT);
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
pub(super) struct Few {
    pub(super) text: String,
    pub(super) ends: smallvec::SmallVec<[usize; 32]>,
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
