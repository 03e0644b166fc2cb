//! Lines of a text, and positions in the encoding that client and server agreed on.
//!
//! A line ends with `\n`, `\r\n` or `\r`. Columns are bytes, UTF-16 units or characters. A text of ASCII needs no table of columns;
//! for others, the units before each block of bytes are counted, so that a position in a line of any length takes constant time.

use super::Replaced;
use gen_lsp_types::{Position, PositionEncodingKind};

/// The unit of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// The default of clients.
    #[default]
    Utf16,
    /// Characters.
    Utf32,
}

impl Encoding {
    /// The best of those that a client has: bytes need no conversion.
    pub(crate) fn of(offered: Option<&[PositionEncodingKind]>) -> Encoding {
        let has = |kind: &PositionEncodingKind| offered.is_some_and(|offered| offered.contains(kind));
        if has(&PositionEncodingKind::UTF8) {
            Encoding::Utf8
        } else if has(&PositionEncodingKind::UTF32) && !has(&PositionEncodingKind::UTF16) {
            Encoding::Utf32
        } else {
            Encoding::Utf16
        }
    }

    pub(crate) fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
            Encoding::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    fn units(self, text: &str) -> usize {
        match self {
            Encoding::Utf8 => text.len(),
            Encoding::Utf16 => text.chars().map(char::len_utf16).sum(),
            Encoding::Utf32 => text.chars().count(),
        }
    }

    /// The units of a character.
    pub(crate) fn width(self, c: char) -> usize {
        match self {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
            Encoding::Utf32 => 1,
        }
    }
}

/// Bytes between places with a known number of units before them.
const BLOCK: usize = 4096;

/// The lines of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineTable {
    encoding: Encoding,
    /// The first byte of each line; the first line begins at 0.
    starts: Vec<u32>,
    /// The units before the character at or after each block of bytes; empty if units are bytes.
    units: Vec<u32>,
}

impl LineTable {
    /// Reads every byte once.
    #[must_use]
    pub fn new(text: &str, encoding: Encoding) -> Self {
        let mut starts = vec![0];
        starts.extend(line_starts(text, 0, text.len()));
        LineTable { encoding, starts, units: units(text, encoding) }
    }

    /// The unit of columns.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The number of lines; at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Follows a change: `text` is the new one. Only the lines around the change are read again.
    pub(crate) fn replace(&mut self, text: &str, replaced: Replaced) {
        let Replaced { start, old_end, new_end } = replaced;
        // Whether a line begins at a byte depends on that byte and the one before: `\r` and `\n` may have become one line break.
        let first = self.starts.partition_point(|&at| (at as usize) < start.max(1));
        let last = self.starts.partition_point(|&at| at as usize <= old_end).max(first);
        for at in &mut self.starts[last..] {
            *at = short(*at as usize - old_end + new_end);
        }
        let fresh = line_starts(text, start.saturating_sub(1), new_end);
        let fresh: Vec<u32> = fresh.filter(|&at| at as usize >= start.max(1)).collect();
        self.starts.splice(first..last, fresh);
        if !self.units.is_empty() || !text[start..new_end].is_ascii() {
            self.units = units(text, self.encoding);
        }
    }

    /// The line of a byte, from 0.
    #[must_use]
    pub fn line(&self, offset: u32) -> u32 {
        short(self.starts.partition_point(|&start| start <= offset)).saturating_sub(1)
    }

    /// The first byte of a line; the end of the text for a line after the last.
    #[must_use]
    pub fn start(&self, text: &str, line: u32) -> u32 {
        self.starts.get(line as usize).copied().unwrap_or_else(|| short(text.len()))
    }

    /// The end of a line without its line break.
    #[must_use]
    pub fn end(&self, text: &str, line: u32) -> u32 {
        let (start, end) =
            (self.start(text, line) as usize, self.start(text, line.saturating_add(1)) as usize);
        let content = text.get(start..end).unwrap_or_default();
        let content = content.strip_suffix('\n').unwrap_or(content);
        short(start + content.strip_suffix('\r').unwrap_or(content).len())
    }

    /// The position of a byte; of the character that it is in.
    #[must_use]
    pub fn position(&self, text: &str, offset: u32) -> Position {
        let offset = text.floor_char_boundary((offset as usize).min(text.len()));
        let line = self.line(short(offset));
        let start = self.starts[line as usize] as usize;
        let column = self.units_before(text, offset) - self.units_before(text, start);
        Position { line, character: short(column) }
    }

    /// The byte at a position; the end of its line if the line is shorter, and the end of the text if it has fewer lines.
    #[must_use]
    pub fn offset(&self, text: &str, position: Position) -> u32 {
        let (start, end) = (self.start(text, position.line) as usize, self.end(text, position.line) as usize);
        let column = position.character as usize;
        if self.units.is_empty() {
            return short(text.floor_char_boundary(start.saturating_add(column).min(end)));
        }
        let wanted = self.units_before(text, start).saturating_add(column);
        // The last block that begins before the wanted unit, and then character by character.
        let block = self.units.partition_point(|&before| before as usize <= wanted).saturating_sub(1);
        let mut at = text.ceil_char_boundary((block * BLOCK).min(text.len())).max(start);
        let mut units = self.units_before(text, at);
        for c in text[at..end.max(at)].chars() {
            let width = self.encoding.width(c);
            if units + width > wanted {
                break;
            }
            units += width;
            at += c.len_utf8();
        }
        short(at.min(end))
    }

    /// The units before a character boundary.
    fn units_before(&self, text: &str, offset: usize) -> usize {
        if self.units.is_empty() {
            return offset;
        }
        let block = (offset / BLOCK).min(self.units.len() - 1);
        let from = text.ceil_char_boundary(block * BLOCK).min(text.len());
        if from > offset {
            // The boundary is in the character that spans the start of the block.
            return self.units[block] as usize - self.encoding.units(&text[offset..from]);
        }
        self.units[block] as usize + self.encoding.units(&text[from..offset])
    }
}

/// The starts of lines after line breaks that begin in a part of the text.
fn line_starts(text: &str, from: usize, to: usize) -> impl Iterator<Item = u32> + '_ {
    let bytes = text.as_bytes();
    let breaks = bytes[from..to].iter().enumerate().filter(|&(_, &byte)| byte == b'\n' || byte == b'\r');
    breaks.filter_map(move |(i, &byte)| {
        let at = from + i;
        let is_first_half = byte == b'\r' && bytes.get(at + 1) == Some(&b'\n');
        (!is_first_half).then(|| short(at + 1))
    })
}

fn units(text: &str, encoding: Encoding) -> Vec<u32> {
    if encoding == Encoding::Utf8 || text.is_ascii() {
        return Vec::new();
    }
    let mut units = Vec::with_capacity(text.len() / BLOCK + 1);
    let (mut before, mut at) = (0, 0);
    for block in (0..=text.len()).step_by(BLOCK) {
        let boundary = text.ceil_char_boundary(block);
        before += encoding.units(&text[at..boundary]);
        at = boundary;
        units.push(short(before));
    }
    units
}

pub(crate) fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn columns_are_counted_in_the_agreed_unit() {
        let text = "aä😀b\r\nc\rd\n";
        for (encoding, column) in [(Encoding::Utf8, 7), (Encoding::Utf16, 4), (Encoding::Utf32, 3)] {
            let lines = LineTable::new(text, encoding);
            let b = short(text.find('b').unwrap());
            assert_eq!(lines.position(text, b), at(0, column), "{encoding:?}");
            assert_eq!(lines.offset(text, at(0, column)), b);
            assert_eq!(lines.offset(text, at(0, 99)), b + 1, "a column after the end is the end");
            assert_eq!(lines.offset(text, at(99, 0)), short(text.len()));
            assert_eq!(lines.position(text, short(text.find('d').unwrap())), at(2, 0));
            assert_eq!(lines.count(), 4);
        }
        // The half of a surrogate pair is the whole.
        assert_eq!(LineTable::new(text, Encoding::Utf16).offset(text, at(0, 3)), 3);
    }

    #[test]
    fn positions_in_long_lines_are_exact() {
        let text = format!("{}😀{}\nä{}", "a".repeat(BLOCK - 2), "ö".repeat(BLOCK), "c".repeat(10));
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            let lines = LineTable::new(&text, encoding);
            for (offset, _) in
                text.char_indices().step_by(7).chain(text.char_indices().skip(BLOCK - 6).take(12))
            {
                let position = lines.position(&text, short(offset));
                assert_eq!(lines.offset(&text, position), short(offset), "{encoding:?} {offset}");
                let before = text[..offset].rfind('\n').map_or(0, |at| at + 1);
                assert_eq!(position.character, short(encoding.units(&text[before..offset])));
            }
        }
    }

    /// Every change of a small text by a small text, against a fresh table.
    #[test]
    fn changed_tables_equal_fresh_ones() {
        let texts = ["", "a", "\r", "\n", "\r\n", "x\ny", "\n\n", "\r\r", "ä\r\nb\n", "a\rb\r\nc\nd"];
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            for old in texts {
                for new in texts {
                    for start in (0..=old.len()).filter(|&at| old.is_char_boundary(at)) {
                        for end in (start..=old.len()).filter(|&at| old.is_char_boundary(at)) {
                            let mut text = old.to_owned();
                            let mut lines = LineTable::new(&text, encoding);
                            text.replace_range(start..end, new);
                            lines
                                .replace(&text, Replaced { start, old_end: end, new_end: start + new.len() });
                            assert_eq!(
                                lines,
                                LineTable::new(&text, encoding),
                                "{old:?} {start}..{end} {new:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}
