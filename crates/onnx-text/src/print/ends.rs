//! Abbreviated tensors: only the ends of each axis are printed, as in NumPy, a line per row.
//!
//! ```text
//! float[100,200] y = {
//!     0, 1, 2, …, 197, 198, 199,
//!     200, 201, 202, …, 397, 398, 399,
//!     …,
//!     19800, 19801, 19802, …, 19997, 19998, 19999
//! }
//! ```

use super::INDENT;
use super::line::{Gap, Printer};
use super::list::Brackets;
use super::numbers::Few;
use super::stored::Elements;
use crate::ast::{ELIDED, Stored};

/// The number of elements printed at each end of an axis.
pub(crate) const ENDS: usize = 3;
/// Rows that are printed at most: a tensor may have many short axes.
const ROWS: usize = 100;

impl Printer<'_> {
    pub(super) fn ends(&mut self, brackets: Brackets, stored: &Stored, lines: &[String]) {
        self.put_at(stored.at.start, brackets[0]);
        self.finish_line();
        let indent = " ".repeat(self.indent + INDENT);
        for (i, line) in lines.iter().enumerate() {
            let comma = if i + 1 < lines.len() { "," } else { "" };
            self.put_lines(&format!("\n{indent}{line}{comma}"));
        }
        self.text.push('\n');
        self.start_line(self.indent);
        self.gap = Gap::None;
        self.put(brackets[1]);
    }
}

/// The printed positions of an axis; `None` for the gap.
fn positions(extent: usize) -> impl Iterator<Item = Option<usize>> {
    let is_cut = extent > 2 * ENDS;
    let first = if is_cut { ENDS } else { extent };
    let last = if is_cut { extent - ENDS } else { extent };
    (0..first).map(Some).chain(is_cut.then_some(None)).chain((last..extent).map(Some))
}

impl Elements<'_> {
    /// The rows of a tensor of this shape.
    pub(super) fn lines_of_ends(&self, dims: &[usize]) -> Vec<String> {
        let mut lines = Vec::new();
        self.rows(dims, 0, &mut lines);
        lines
    }

    /// The rows of the part of a tensor that begins with element `first`.
    fn rows(&self, dims: &[usize], first: usize, lines: &mut Vec<String>) {
        let Some((&extent, inner)) = dims.split_first() else { return };
        if inner.is_empty() {
            lines.push(self.row(extent, first));
            return;
        }
        let size = inner.iter().fold(1usize, |size, &extent| size.saturating_mul(extent));
        for position in positions(extent) {
            match position {
                _ if lines.len() > ROWS => return,
                Some(_) if lines.len() == ROWS => lines.push(ELIDED.to_owned()),
                Some(i) => self.rows(inner, first.saturating_add(i.saturating_mul(size)), lines),
                None => lines.push(ELIDED.to_owned()),
            }
        }
    }

    fn row(&self, extent: usize, first: usize) -> String {
        let numbers = |i: usize| {
            let mut few = Few::default();
            for number in 0..self.numbers {
                self.one((first + i) * self.numbers + number, &mut few);
                if number + 1 < self.numbers {
                    few.text.push_str(", ");
                }
            }
            few.text
        };
        let texts: Vec<String> = positions(extent).map(|i| i.map_or(ELIDED.to_owned(), numbers)).collect();
        texts.join(", ")
    }
}
