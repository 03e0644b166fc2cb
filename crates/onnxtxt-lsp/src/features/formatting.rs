//! Formatting: of the document, of a range, and of the line that was ended.

use crate::document::Snapshot;
use gen_lsp_types::{Position, Range, TextEdit};
use onnx_text::FormatOptions;
use onnxtxt::ir::diag::Span;
use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};
use std::ops;
use std::time::{Duration, Instant};

/// The edits that format the document.
///
/// # Errors
///
/// The text has syntax errors: its parts could get lost.
pub(crate) fn document(snapshot: &Snapshot) -> Result<Option<Vec<TextEdit>>, String> {
    let new = formatted(snapshot)?;
    Ok(Some(line_edits(snapshot, &new)))
}

/// The edits of the lines in a range.
///
/// # Errors
///
/// The text has syntax errors.
pub(crate) fn range(snapshot: &Snapshot, range: Range) -> Result<Option<Vec<TextEdit>>, String> {
    let new = formatted(snapshot)?;
    let is_inside = |edit: &TextEdit| edit.range.start < range.end && range.start < edit.range.end;
    let is_at = |edit: &TextEdit| range.start <= edit.range.start && edit.range.end <= range.end;
    Ok(Some(line_edits(snapshot, &new).into_iter().filter(|edit| is_inside(edit) || is_at(edit)).collect()))
}

/// After a line break, the indentation of the new line; after a closing brace, the edits of what it closes. The cursor stays where it is.
pub(crate) fn on_type(snapshot: &Snapshot, position: Position) -> Option<Vec<TextEdit>> {
    let text = snapshot.text();
    let line = position.line;
    let typed = snapshot.offset(position);
    let is_break = text[..typed as usize].trim_end_matches([' ', '\t']).ends_with(['\n', '\r']);
    if is_break {
        return indented(snapshot, line);
    }
    let edits = document(snapshot).ok().flatten()?;
    Some(edits.into_iter().filter(|edit| edit.range.end <= position && edit.range.end.line == line).collect())
}

/// The indentation of a new line: that of the body that it is in.
fn indented(snapshot: &Snapshot, line: u32) -> Option<Vec<TextEdit>> {
    let start = snapshot.lines().start(snapshot.text(), line);
    let end = snapshot.lines().end(snapshot.text(), line);
    let content = snapshot.slice(Span::new(start, end));
    let old = content.len() - content.trim_start_matches([' ', '\t']).len();
    let depth = depth(snapshot, start);
    let closes = usize::from(content.trim_start().starts_with(['}', ')', '>', ']']));
    let new = " ".repeat(INDENT * depth.saturating_sub(closes));
    if content[..old] == new {
        return None;
    }
    let span = Span::new(start, start + u32::try_from(old).ok()?);
    Some(vec![TextEdit { range: snapshot.range(span), new_text: new }])
}

/// Spaces of a level, as the formatter has them.
const INDENT: usize = 4;

/// How many braces are open at a byte.
fn depth(snapshot: &Snapshot, at: u32) -> usize {
    let mut depth = 0usize;
    for token in snapshot.tokens().iter().take_while(|token| token.span.start < at) {
        match (token.class, snapshot.slice(token.span)) {
            (onnx_text::TokenClass::Punctuation, "{") => depth += 1,
            (onnx_text::TokenClass::Punctuation, "}") => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    depth
}

fn formatted(snapshot: &Snapshot) -> Result<String, String> {
    let options = FormatOptions { width: snapshot.settings().line_width };
    let parsed = snapshot.file().formatted(&options);
    let found = parsed.into_result().map_err(|found| {
        let first = found.iter().find(|found| found.is_error());
        first
            .map_or_else(|| "the text has errors".to_owned(), |error| format!("the text has errors: {error}"))
    })?;
    found.ok_or_else(|| "nothing could be read".to_owned())
}

/// The edits from the text to a new one, line by line: an editor keeps its marks in what stays.
pub(super) fn line_edits(snapshot: &Snapshot, new: &str) -> Vec<TextEdit> {
    let old = snapshot.text();
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) = (lines(old).collect(), lines(new).collect());
    let changes = respaced(&old_lines, &new_lines).unwrap_or_else(|| {
        let deadline = Some(Instant::now() + MAX_TIME);
        let changes = capture_diff_slices_deadline(Algorithm::Patience, &old_lines, &new_lines, deadline);
        let changes = changes.into_iter().filter(|change| change.tag() != DiffTag::Equal);
        changes.map(|change| (change.old_range(), change.new_range())).collect()
    });
    let mut starts = vec![0];
    starts.extend(old_lines.iter().scan(0, |at, line| {
        *at += line.len();
        Some(*at)
    }));
    let offset = |line: usize| u32::try_from(starts[line]).unwrap_or(u32::MAX);
    let mut edits = Vec::new();
    for (before, after) in changes {
        let span = Span::new(offset(before.start), offset(before.end));
        edits.push(TextEdit { range: snapshot.range(span), new_text: new_lines[after].concat() });
    }
    edits
}

/// Lines, and those that replace them.
type Change = (ops::Range<usize>, ops::Range<usize>);

/// The lines that change if nothing but spaces and line breaks does, in linear time; `None` if more does.
fn respaced(old: &[&str], new: &[&str]) -> Option<Vec<Change>> {
    let count = |line: &&str| letters(std::slice::from_ref(line)).count();
    let is_blank = |line: Option<&&str>| line.is_some_and(|line| count(line) == 0);
    let mut changes: Vec<Change> = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        let (first, second) = (i, j);
        if old.get(i).is_some_and(|line| new.get(j) == Some(line)) {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        if is_blank(new.get(j)) {
            j += 1;
        } else if is_blank(old.get(i)) {
            i += 1;
        } else {
            // Lines of each, until both have as many letters.
            let (mut before, mut after) = (count(old.get(i)?), count(new.get(j)?));
            (i, j) = (i + 1, j + 1);
            while before != after {
                if before < after {
                    before += count(old.get(i)?);
                    i += 1;
                } else {
                    after += count(new.get(j)?);
                    j += 1;
                }
            }
        }
        if !letters(&old[first..i]).eq(letters(&new[second..j])) {
            return None;
        }
        match changes.last_mut() {
            Some((before, after)) if before.end == first && after.end == second => {
                (before.end, after.end) = (i, j);
            }
            _ => changes.push((first..i, second..j)),
        }
    }
    Some(changes)
}

/// The bytes of lines without white space.
fn letters(lines: &[&str]) -> impl Iterator<Item = u8> {
    lines.iter().flat_map(|line| line.bytes()).filter(|byte| !byte.is_ascii_whitespace())
}

/// Time for finding what stays; after it, larger parts are replaced.
const MAX_TIME: Duration = Duration::from_millis(200);

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::{at_cursor, edited, snapshot};

    const MESSY: &str = "<ir_version:10, opset_import: [\"\":21]>\ng (float[N] x) => (float[N] y)\n{\n   t=Abs(x)\n   y = Neg( t )\n}\n";

    #[test]
    fn documents_are_formatted_by_small_edits() {
        let snapshot = snapshot(MESSY);
        let edits = document(&snapshot).unwrap().unwrap();
        let new = edited(&snapshot, &edits);
        assert_eq!(new, formatted(&snapshot).unwrap());
        assert!(edits.iter().all(|edit| edit.new_text.lines().count() <= 6), "{edits:?}");
        assert!(document(&crate::features::testing::snapshot(&new)).unwrap().unwrap().is_empty());
    }

    /// Lines that stay are not replaced, whatever the others become: joined, broken, indented, blank or not.
    #[test]
    fn lines_that_are_spaced_anew_are_aligned_by_their_words() {
        for (old, new, count) in [
            ("a b\nc\nd\n", "a  b\nc\nd\n", 1),
            ("a b\nkept\nc d\n", "a\nb\nkept\nc  d\n", 2),
            ("a\nb\nkept\n", "a b\nkept\n", 1),
            ("a b\n\nkept\n", "a  b\n\nkept\n", 1),
            ("a\n\n\nkept\n", "a\nkept\n", 1),
            ("a\nkept\n", "a\n\nkept\n", 1),
            ("\n\n", "", 1),
            ("", "\n", 1),
            ("a", "a\n", 1),
            ("kept\n", "kept\n", 0),
        ] {
            let [before, after] = [old, new].map(|text| lines(text).collect::<Vec<_>>());
            let changes = respaced(&before, &after).unwrap();
            assert_eq!(changes.len(), count, "{old:?} {new:?}: {changes:?}");
            let (mut text, mut at) = (String::new(), 0);
            for (from, to) in &changes {
                text += &before[at..from.start].concat();
                text += &after[to.clone()].concat();
                at = from.end;
            }
            assert_eq!(text + &before[at..].concat(), new);
            let kept =
                |line: usize| before[line] == "kept\n" && changes.iter().any(|(it, _)| it.contains(&line));
            assert!(!(0..before.len()).any(kept), "{old:?} {new:?}: {changes:?}");
        }
        assert_eq!(respaced(&["a\n", "b\n"], &["a\n", "c\n"]), None);
        assert_eq!(respaced(&["a\n"], &["a\n", "b\n"]), None);
    }

    #[test]
    fn a_range_changes_nothing_else() {
        let snapshot = snapshot(&MESSY.replace(
            "<ir_version:10, opset_import: [\"\":21]>",
            "<ir_version: 10, opset_import: [\"\": 21]>",
        ));
        let line =
            |line| Range { start: Position { line, character: 0 }, end: Position { line, character: 99 } };
        let edits = range(&snapshot, line(3)).unwrap().unwrap();
        let new = edited(&snapshot, &edits);
        assert!(new.contains("t = Abs(x)") || new.contains("t = Abs (x)"), "{new}");
    }

    #[test]
    fn broken_text_is_refused() {
        let error = document(&snapshot("g (")).unwrap_err();
        assert!(error.starts_with("the text has errors: error[E"), "{error}");
    }

    #[test]
    fn other_kinds_of_text_are_formatted() {
        for text in [
            "float[2]   {1,2}",
            "y   = Abs(x)",
            "operator_set   <ir_version: 10, domain: \"d\", opset_version: 1>",
        ] {
            let edits = document(&snapshot(text)).unwrap().unwrap();
            assert!(!edits.is_empty(), "{text}");
        }
    }

    #[test]
    fn new_lines_are_indented() {
        let (snapshot, cursor) = at_cursor("g (float[N] x) => (float[N] y)\n{\n$0\n}\n");
        let edits = on_type(&snapshot, cursor).unwrap();
        assert_eq!(edits[0].new_text, "    ");
    }
}
