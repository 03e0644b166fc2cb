//! Tables for people: columns as wide as their widest cell, numbers at the right.

/// A table with a head.
pub(crate) struct Table {
    heads: Vec<String>,
    /// Whether a column is text, at the left.
    is_text: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Heads of columns; those that begin with `<` are of text, which is at the left.
    pub(crate) fn new<'h>(heads: impl IntoIterator<Item = &'h str>) -> Table {
        let heads: Vec<&str> = heads.into_iter().collect();
        let is_text = heads.iter().map(|head| head.starts_with('<')).collect();
        let heads = heads.iter().map(|head| head.trim_start_matches('<').to_owned()).collect();
        Table { heads, is_text, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table, each line indented by two.
    pub(crate) fn text(&self) -> String {
        let width = |i: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(i));
            cells.chain([&self.heads[i]]).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.heads.len()).map(width).collect();
        let mut out = String::new();
        for row in std::iter::once(&self.heads).chain(&self.rows) {
            let mut line = String::from(" ");
            for ((cell, width), is_text) in row.iter().zip(&widths).zip(&self.is_text) {
                let space = " ".repeat(width.saturating_sub(cell.chars().count()));
                line += if *is_text { " " } else { &space };
                line += if *is_text { "" } else { " " };
                line += cell;
                line += if *is_text { &space } else { "" };
                line += " ";
            }
            out += line.trim_end();
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn numbers_are_at_the_right() {
        let mut table = Table::new(["<name", "bytes"]);
        table.row(["a".to_owned(), "7".to_owned()]);
        table.row(["long".to_owned(), "1,000".to_owned()]);
        assert_eq!(table.text(), "  name  bytes\n  a         7\n  long  1,000\n");
    }
}
