//! Parts of the text that can be folded: bodies, long lists, weights, runs of comments.

use crate::document::Snapshot;
use gen_lsp_types::{FoldingRange, FoldingRangeKind};
use onnx_text::TokenClass;
use onnxtxt::ir::diag::Span;

/// Every part of more than one line, in the order of the text.
pub(crate) fn folding_ranges(snapshot: &Snapshot) -> Vec<FoldingRange> {
    let mut ranges = brackets(snapshot);
    ranges.extend(comments(snapshot));
    ranges.sort_by_key(|range| (range.start_line, std::cmp::Reverse(range.end_line)));
    // Most editors fold the first range of a line.
    ranges.dedup_by_key(|range| (range.start_line, range.end_line));
    ranges
}

/// The content of brackets. Weights are collapsed to a few characters.
fn brackets(snapshot: &Snapshot) -> Vec<FoldingRange> {
    let mut ranges = Vec::new();
    let mut open = Vec::new();
    for token in snapshot.tokens() {
        match token.class {
            TokenClass::Numbers => {
                let range = folded(snapshot, token.span);
                ranges.extend(
                    range.map(|range| FoldingRange { collapsed_text: Some("…".to_owned()), ..range }),
                );
            }
            TokenClass::Punctuation => match snapshot.slice(token.span) {
                "{" | "(" | "[" | "<" => open.push(token.span),
                "}" | ")" | "]" | ">" => {
                    if let Some(start) = open.pop() {
                        ranges.extend(folded(snapshot, start.to(token.span)));
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
    ranges
}

fn folded(snapshot: &Snapshot, span: Span) -> Option<FoldingRange> {
    let (start, end) = (snapshot.position(span.start), snapshot.position(span.end));
    // The line of the closing bracket stays visible.
    let last = end.line.checked_sub(1)?;
    (last > start.line).then(|| FoldingRange {
        start_line: start.line,
        end_line: last,
        ..FoldingRange::default()
    })
}

/// Comments on several lines in a row.
fn comments(snapshot: &Snapshot) -> Vec<FoldingRange> {
    let mut ranges: Vec<FoldingRange> = Vec::new();
    let mut run: Option<(u32, u32)> = None;
    let mut end = |run: Option<(u32, u32)>| {
        if let Some((start_line, end_line)) = run.filter(|(start, end)| start < end) {
            let kind = Some(FoldingRangeKind::Comment);
            ranges.push(FoldingRange { start_line, end_line, kind, ..FoldingRange::default() });
        }
    };
    for &span in snapshot.comments() {
        let line = snapshot.lines().line(span.start);
        match &mut run {
            Some((_, last)) if *last + 1 == line => *last = line,
            _ => {
                end(run);
                run = Some((line, line));
            }
        }
    }
    end(run);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::snapshot;

    #[test]
    fn bodies_weights_and_comments_are_folded() {
        let text = "# one\n# two\n<ir_version: 10>\ng (x) => (y)\n<\n  float[4] w = {1,\n   2,\n   3, 4}\n>\n{\n  y = Abs(x)\n  # alone\n}\n";
        let ranges = folding_ranges(&snapshot(text));
        let lines: Vec<_> = ranges.iter().map(|range| (range.start_line, range.end_line)).collect();
        assert_eq!(lines, [(0, 1), (4, 7), (5, 6), (9, 11)]);
        assert_eq!(ranges[0].kind, Some(FoldingRangeKind::Comment));
        assert_eq!(ranges[2].collapsed_text.as_deref(), Some("…"));
    }

    #[test]
    fn brackets_that_are_not_closed_are_no_ranges() {
        assert!(folding_ranges(&snapshot("g (\n\n\n{")).is_empty());
        assert!(folding_ranges(&snapshot("}\n)\n\n>")).is_empty());
    }
}
