//! Lines and columns of byte offsets.

/// The line starts of a text. Built once per text; lookups take logarithmic time for lines of any length.
#[derive(Clone, Debug)]
pub struct LineIndex {
    /// The first byte of each line.
    starts: Vec<u32>,
    /// Characters before each block of [`BLOCK`] bytes; empty for a text of ASCII alone.
    characters: Vec<u32>,
}

/// A line and a column, both from 1; the column in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// Bytes between two places with a known number of preceding characters.
const BLOCK: usize = 4096;

impl LineIndex {
    /// Reads every byte once.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', bytes).map(|at| short(at + 1)));
        let mut characters = Vec::new();
        if !text.is_ascii() {
            let mut before = 0;
            for block in bytes.chunks(BLOCK) {
                characters.push(before);
                before += count(block);
            }
            characters.push(before);
        }
        LineIndex { starts: starts.collect(), characters }
    }

    /// The number of lines; at least one.
    pub fn len(&self) -> u32 {
        short(self.starts.len())
    }

    /// Never: an empty text has one line.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The line (from 0) that a byte is in.
    pub(crate) fn line(&self, offset: u32) -> u32 {
        short(self.starts.partition_point(|&start| start <= offset).saturating_sub(1))
    }

    /// The bytes of a line (from 0), without its line break.
    pub(crate) fn range(&self, text: &str, line: u32) -> std::ops::Range<usize> {
        let at = |line: usize| self.starts.get(line).map_or(text.len(), |&start| start as usize);
        let (start, mut end) = (at(line as usize), at(line as usize + 1));
        let is_break = |end: usize, byte| end > start && text.as_bytes().get(end - 1) == Some(&byte);
        if is_break(end, b'\n') {
            end -= 1;
            if is_break(end, b'\r') {
                end -= 1;
            }
        }
        start..end
    }

    /// Line and column of a byte of the text that the index was made of.
    pub fn position(&self, text: &str, offset: u32) -> Position {
        let offset = offset.min(short(text.len()));
        let line = self.line(offset);
        let start = self.starts[line as usize];
        let before = self.characters_before(text, offset) - self.characters_before(text, start);
        Position { line: line + 1, column: before + 1 }
    }

    fn characters_before(&self, text: &str, offset: u32) -> u32 {
        let block = offset as usize / BLOCK;
        match self.characters.get(block) {
            Some(&before) => before + count(&text.as_bytes()[block * BLOCK..offset as usize]),
            None => offset,
        }
    }
}

/// Characters that begin in these bytes.
fn count(bytes: &[u8]) -> u32 {
    short(bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count())
}

fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, offset: usize) -> (u32, u32) {
        let position = LineIndex::new(text).position(text, short(offset));
        (position.line, position.column)
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(at("", 0), (1, 1));
        assert_eq!(at("ab\ncd", 3), (2, 1));
        assert_eq!(at("ab\n", 3), (2, 1));
        assert_eq!(at("äö x\nü=", 5), (1, 4));
        assert_eq!(at("äö x\nü=", 9), (2, 2));
        assert_eq!(at("ab", 99), (1, 3));
    }

    #[test]
    fn long_lines_with_few_characters_beyond_ascii() {
        let text = format!("x\nä{}ö{}", "a".repeat(3 * BLOCK), "b".repeat(5000));
        let index = LineIndex::new(&text);
        for offset in (2..text.len()).filter(|&offset| text.is_char_boundary(offset)) {
            let column = short(text[2..offset].chars().count() + 1);
            assert_eq!(index.position(&text, short(offset)), Position { line: 2, column }, "{offset}");
        }
    }

    #[test]
    fn lines_are_without_their_break() {
        let text = "a\r\nb\n\nc";
        let index = LineIndex::new(text);
        let lines: Vec<_> = (0..index.len()).map(|line| &text[index.range(text, line)]).collect();
        assert_eq!(lines, ["a", "b", "", "c"]);
    }
}
