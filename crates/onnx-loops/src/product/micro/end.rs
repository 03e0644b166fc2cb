//! Epilogues of a tile, whose accumulators are in the first-level cache.
//!
//! ```text
//! out[row, column] =
//!     min(max((total - less[column]) * scale[column] + bias[column] + of_rows[row] + other[row, column], least), most)
//! ```

use crate::epilogue::Line;

/// Where the results of a block of accumulators go, and how they are computed.
pub(crate) struct End<'e> {
    pub(crate) out: &'e mut [f32],
    /// The distance between rows of results.
    pub(crate) stride: usize,
    /// Integers that are taken away from those of each column, if accumulators are integers.
    pub(crate) less: Option<&'e [i32]>,
    /// `None` if results are the accumulators.
    pub(crate) line: Option<Line<'e>>,
}

impl End<'_> {
    /// From a row and a column on; `None` if there are none.
    pub(crate) fn from(&mut self, row: usize, column: usize) -> Option<End<'_>> {
        let first = row * self.stride + column;
        let line = match self.line {
            None => None,
            Some(line) => {
                let other = match line.other {
                    None => None,
                    Some(other) => Some(other.get(first..)?),
                };
                let (scale, bias) = (line.scale.get(column..)?, line.bias.get(column..)?);
                let of_rows = match line.of_rows {
                    None => None,
                    Some(of_rows) => Some(of_rows.get(row..)?),
                };
                Some(Line { scale, bias, of_rows, other, ..line })
            }
        };
        let less = match self.less {
            None => None,
            Some(less) => Some(less.get(column..)?),
        };
        Some(End { out: self.out.get_mut(first..)?, stride: self.stride, less, line })
    }

    /// Whether so many rows and columns are all there.
    #[inline(always)]
    pub(super) fn has(&self, rows: usize, columns: usize) -> bool {
        let count = (rows - 1).saturating_mul(self.stride).saturating_add(columns);
        let line = self.line.is_none_or(|line| {
            let other = line.other.is_none_or(|other| other.len() >= count);
            let of_rows = line.of_rows.is_none_or(|of_rows| of_rows.len() >= rows);
            line.scale.len() >= columns && line.bias.len() >= columns && of_rows && other
        });
        self.out.len() >= count && self.less.is_none_or(|less| less.len() >= columns) && line
    }
}
