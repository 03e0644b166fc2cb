//! Rows of numbers that were set by hand: a list whose lines have equally many elements keeps its lines. The last may have fewer.
//!
//! ```text
//! float[2,3] w = {
//!     1, 0, 0,
//!     0, 1, 0
//! }
//! ```

use super::INDENT;
use super::line::{Blank, Gap, Printer};
use super::list::Brackets;
use onnx_ir::diag::Span;

/// Counts the elements of lines, from the first to the last.
struct Lines {
    width: usize,
    /// The elements of the first line.
    row: Option<usize>,
    /// Those of this line so far, and its length in canonical form.
    here: usize,
    length: usize,
}

impl Lines {
    fn new(width: usize) -> Lines {
        Lines { width, row: None, here: 0, length: 0 }
    }

    /// Adds an element; `breaks` if it begins a line. Returns whether there may be rows yet.
    fn add(&mut self, length: usize, breaks: bool) -> bool {
        if breaks && self.here > 0 {
            if *self.row.get_or_insert(self.here) != self.here {
                return false;
            }
            (self.here, self.length) = (0, 0);
        }
        self.here += 1;
        // A comma and a space.
        self.length += length + 2;
        self.row.is_none_or(|row| self.here <= row) && self.length <= self.width
    }

    fn finish(self) -> Option<usize> {
        self.row
    }
}

/// The length of the rows in a list of plain numbers, if it has rows.
pub(super) fn of_numbers(list: &str, width: usize) -> Option<usize> {
    memchr::memchr(b'\n', list.as_bytes())?;
    let mut lines = Lines::new(width);
    let (mut breaks, mut breaks_next, mut length) = (false, false, 0);
    for byte in list.bytes() {
        match byte {
            b',' => {
                if !lines.add(length, breaks) {
                    return None;
                }
                (breaks, breaks_next, length) = (breaks_next, false, 0);
            }
            // A break after an element and before its comma is one before the next element.
            b'\n' if length == 0 => breaks = true,
            b'\n' => breaks_next = true,
            b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c' => {}
            _ => length += 1,
        }
    }
    lines.add(length, breaks).then(|| lines.finish()).flatten()
}

impl Printer<'_> {
    /// The length of the rows of literals, if they have rows.
    pub(super) fn rows(&self, literals: impl Iterator<Item = Span>) -> Option<usize> {
        let mut lines = Lines::new(self.width);
        let mut end = None;
        for literal in literals {
            let gap = end.and_then(|end: u32| self.source.get(end as usize..literal.start as usize));
            // A list is filled around comments.
            if gap.is_some_and(|gap| gap.contains(['#', '/'])) {
                return None;
            }
            let breaks = gap.is_some_and(|gap| gap.contains('\n'));
            if !lines.add(self.slice(literal).chars().count(), breaks) {
                return None;
            }
            end = Some(literal.end);
        }
        lines.finish().filter(|_| !self.rigid)
    }

    /// A list without comments, a row a line.
    pub(super) fn in_rows<'t>(
        &mut self,
        brackets: Brackets,
        span: Span,
        texts: impl Iterator<Item = &'t str>,
        row: usize,
    ) {
        self.put_at(span.start, brackets[0]);
        let outer = self.indent;
        self.indent = self.around() + INDENT;
        for (i, text) in texts.enumerate() {
            if i > 0 {
                self.put(",");
            }
            self.gap = if i.is_multiple_of(row) { Gap::Hard(Blank::No) } else { Gap::Space };
            self.put(text);
        }
        self.indent -= INDENT;
        self.gap = Gap::Hard(Blank::No);
        self.put(brackets[1]);
        self.indent = outer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_equally_many_numbers_are_rows() {
        let rows = |list| of_numbers(list, 20);
        assert_eq!(rows("\n1, 2,\n3, 4\n"), Some(2));
        assert_eq!(rows("1, 2,\n3, 4"), Some(2));
        assert_eq!(rows("1, 2\n, 3, 4"), Some(2));
        assert_eq!(rows("1, 2,\n\n3, 4,\n5"), Some(2));
        assert_eq!(rows("\n1, 2, 3\n"), None);
        assert_eq!(rows("1, 2,\n3, 4, 5"), None);
        assert_eq!(rows("1, 2,\n3,\n4, 5"), None);
        assert_eq!(rows("1000000, 2000000, 3000000,\n4, 5, 6"), None);
    }
}
