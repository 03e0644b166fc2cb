//! Selects the part of a text that a finding shows: a few lines around its labels, and parts of long lines.
//!
//! A text may have 50 MB, or a line of 20 MB; the output is always small. Control characters and line breaks are replaced by
//! visible characters.

use super::SourceText;
use crate::visible::is_active;
use onnx_ir::diag::Span;
use std::ops::Range;

/// Labels that are closer than this many lines share a window.
const NEAR: u32 = 6;
/// A label of more lines than this is shown at its first line only.
const TALL: u32 = 12;

/// Some lines of a text, with places in it.
#[derive(Debug)]
pub(super) struct Window {
    /// The lines, each with a line break.
    pub(super) text: String,
    /// Line of the source (from 0) that is the first one here.
    pub(super) first_line: u32,
    /// The given spans in this window, with their ranges, in the order of the text.
    pub(super) marks: Vec<(usize, Range<usize>)>,
}

/// Windows that have all spans in them, the one of the first span first. Lines are cut to `width` characters.
pub(super) fn windows(source: &SourceText<'_>, spans: &[Span], width: usize) -> Vec<Window> {
    let mut marks: Vec<Mark> =
        (0..).zip(spans).map(|(index, &span)| Mark::new(source, index, span)).collect();
    marks.sort_by_key(|mark| (mark.lines.start, mark.span.start, mark.index));
    let mut groups: Vec<Vec<Mark>> = Vec::new();
    let mut end = 0;
    for mark in marks {
        match groups.last_mut() {
            Some(group) if mark.lines.start <= end + NEAR => {
                end = end.max(mark.lines.end);
                group.push(mark);
            }
            _ => {
                end = mark.lines.end;
                groups.push(vec![mark]);
            }
        }
    }
    groups.sort_by_key(|group| group.iter().map(|mark| mark.index).min());
    groups.iter().map(|group| window(source, group, width)).collect()
}

struct Mark {
    index: usize,
    span: Span,
    /// First and last line, from 0.
    lines: Range<u32>,
}

impl Mark {
    fn new(source: &SourceText<'_>, index: usize, span: Span) -> Mark {
        let first = source.lines.line(span.start);
        let last = source.lines.line(span.end.saturating_sub(1).max(span.start));
        if last - first <= TALL {
            return Mark { index, span, lines: first..last };
        }
        let end = source.lines.range(source.text, first).end;
        let end = u32::try_from(end).unwrap_or(u32::MAX).max(span.start);
        Mark { index, span: Span::new(span.start, end), lines: first..first }
    }
}

fn window(source: &SourceText<'_>, group: &[Mark], width: usize) -> Window {
    let first_line = group.first().map_or(0, |mark| mark.lines.start);
    let last_line = group.iter().map(|mark| mark.lines.end).max().unwrap_or(first_line);
    let mut text = String::new();
    let mut marks: Vec<(usize, Range<usize>)> =
        group.iter().map(|mark| (mark.index, usize::MAX..usize::MAX)).collect();
    for line in first_line..=last_line {
        let range = source.lines.range(source.text, line);
        // The first span is the primary one; its line is cut around it.
        let focus = group
            .iter()
            .filter(|mark| mark.lines.contains(&line) || mark.lines.end == line || mark.lines.start == line)
            .min_by_key(|mark| mark.index)
            .map_or(range.start, |mark| (mark.span.start as usize).clamp(range.start, range.end));
        let cut = cut(source.text, range.clone(), focus, width);
        let base = text.len() + if cut.start > range.start { ELLIPSIS.len() } else { 0 };
        let place = |at: u32| {
            let at = (at as usize).clamp(cut.start, cut.end);
            base + source.text[cut.start..at].chars().map(|c| visible(c).len_utf8()).sum::<usize>()
        };
        for (mark, (_, found)) in group.iter().zip(&mut marks) {
            if mark.lines.start == line {
                *found = place(mark.span.start)..place(mark.span.start);
            }
            if mark.lines.end == line {
                found.end = place(mark.span.end).max(found.start);
            }
        }
        if cut.start > range.start {
            text.push_str(ELLIPSIS);
        }
        text.extend(source.text[cut.clone()].chars().map(visible));
        if cut.end < range.end {
            text.push_str(ELLIPSIS);
        }
        text.push('\n');
    }
    Window { text, first_line, marks }
}

const ELLIPSIS: &str = "…";

/// The part of a line around `focus` that has at most `width` characters.
fn cut(text: &str, line: Range<usize>, focus: usize, width: usize) -> Range<usize> {
    if text[line.clone()].char_indices().nth(width).is_none() {
        return line;
    }
    let before = text[line.start..focus].char_indices().rev().take(width / 3).last();
    let start = before.map_or(focus, |(at, _)| line.start + at);
    match text[start..line.end].char_indices().nth(width) {
        Some((length, _)) => start..start + length,
        // Near the end of the line there is room for more text before it.
        None => {
            let before = text[line.clone()].char_indices().rev().take(width).last();
            before.map_or(line.start, |(at, _)| line.start + at)..line.end
        }
    }
}

/// The character itself, or one that shows it.
fn visible(c: char) -> char {
    match c {
        '\t' => c,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\u{7f}' => '\u{2421}',
        '\u{feff}' => char::REPLACEMENT_CHARACTER,
        _ if is_active(c) => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::super::SourceKind;
    use super::*;

    fn shown(text: &str, spans: &[(usize, usize)], width: usize) -> Vec<(String, Vec<String>)> {
        let spans: Vec<_> = spans.iter().map(|&(start, end)| Span::new(start as u32, end as u32)).collect();
        windows(&SourceText::new("m", text, SourceKind::Text), &spans, width)
            .into_iter()
            .map(|window| {
                let marked = window.marks.iter().map(|(_, range)| window.text[range.clone()].to_owned());
                (window.text.clone(), marked.collect())
            })
            .collect()
    }

    #[test]
    fn near_labels_share_a_window_and_the_first_span_comes_first() {
        let text = "a\n".repeat(30);
        let windows = windows(
            &SourceText::new("m", &text, SourceKind::Text),
            &[Span::new(40, 41), Span::new(0, 1), Span::new(44, 45)],
            80,
        );
        let lines: Vec<_> = windows.iter().map(|window| (window.first_line, window.marks.len())).collect();
        assert_eq!(lines, [(20, 2), (0, 1)]);
    }

    #[test]
    fn long_lines_are_cut_around_the_label() {
        let text = format!("{}HERE{}", "ä".repeat(1_000), "b".repeat(1_000));
        let shown = shown(&text, &[(2_000, 2_004)], 30);
        assert_eq!(shown[0].0, format!("…{}HERE{}…\n", "ä".repeat(10), "b".repeat(16)));
        assert_eq!(shown[0].1, ["HERE"]);
    }

    #[test]
    fn the_end_of_a_long_line_is_shown() {
        let text = format!("{}END", "a".repeat(100));
        let shown = shown(&text, &[(103, 103)], 10);
        assert_eq!(shown[0].0, "…aaaaaaaEND\n");
    }

    #[test]
    fn terminals_obey_nothing_that_is_shown() {
        assert_eq!(shown("a\x1b[31mb", &[(6, 7)], 80)[0], ("a␛[31mb\n".to_owned(), vec!["b".to_owned()]));
    }
}
