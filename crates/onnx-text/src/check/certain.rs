//! Keeps a fix certain only where everything around it was understood.
//!
//! A mistake is recognized by how it looks, and looks differ where a text is of another language:
//!
//! ```text
//! y = If(c) { a = Relu(x) } else { b = Neg(x) }      `<…>` would be right for attributes, but these are none
//! ```
//!
//! So a fix is not certain if the parser makes nothing of something else in its lines, before the fixes or after them, or if there is any
//! other mistake between its edits.

use super::{apply_fixes, is_damaging, is_of_reading};
use onnx_ir::diag::{Diagnostic, Edit, Fix, Place, Span};

/// One fix can bring up the next mistake of a line; lines with more are not understood.
const MAX_ROUNDS: usize = 4;

/// Makes the fixes uncertain that are within something that was not understood. `read` has the findings of reading a text.
pub(super) fn keep_certain(source: &str, found: &mut [Diagnostic], read: impl Fn(&str) -> Vec<Diagnostic>) {
    rounds(source, found, &read, MAX_ROUNDS);
}

/// The same for a text with some fixes. Returns the lines in which something is not understood, now or after more fixes.
fn rounds(
    source: &str,
    found: &mut [Diagnostic],
    read: &impl Fn(&str) -> Vec<Diagnostic>,
    left: usize,
) -> Vec<usize> {
    if !found.iter().any(|d| is_of_reading(d) && d.is_error()) {
        return Vec::new();
    }
    let lines = Lines::of(source);
    let mut open = open_lines(found, &lines);
    let between: Vec<u32> = found.iter().filter(|d| is_open(d)).filter_map(start).collect();
    // The next mistakes of the lines show when the first ones are gone. Without line ends in edits, lines stay where they are.
    let is_in_lines = |edit: &Edit| {
        let old = source.get(edit.span.range()).unwrap_or_default();
        !old.contains('\n') && !edit.text.contains('\n')
    };
    let of_reading = found.iter().filter(|d| is_of_reading(d)).filter_map(|d| safe(d));
    let edits = of_reading.filter(|fix| fix.edits.iter().all(is_in_lines)).map(|fix| &fix.edits[..]);
    let (changed, count) = apply_fixes::apply(source, edits);
    if count > 0 && left > 0 {
        let mut after = read(&changed);
        open.extend(rounds(&changed, &mut after, read, left - 1));
    }
    open.sort_unstable();
    for fix in found.iter_mut().flat_map(|d| &mut d.fixes).filter(|fix| fix.safe) {
        let Some(Span { start, end }) = whole(fix) else { continue };
        let (first, last) = (lines.at(start), lines.at(end));
        let next = open.partition_point(|&line| line < first);
        let is_understood = open.get(next).is_none_or(|&line| line > last);
        fix.safe = is_understood && !between.iter().any(|&at| start < at && at < end);
    }
    open
}

fn safe(diagnostic: &Diagnostic) -> Option<&Fix> {
    diagnostic.fixes.iter().find(|fix| fix.safe && !fix.edits.is_empty())
}

/// Whether it is a mistake that the parser made nothing of: it has no fix, certain or not.
fn is_open(diagnostic: &Diagnostic) -> bool {
    diagnostic.is_error() && is_of_reading(diagnostic) && diagnostic.fixes.is_empty()
}

/// The lines in which something was not understood.
fn open_lines(found: &[Diagnostic], lines: &Lines) -> Vec<usize> {
    let damaging = found.iter().filter(|d| is_open(d) && is_damaging(d));
    damaging.filter_map(start).map(|at| lines.at(at)).collect()
}

fn start(diagnostic: &Diagnostic) -> Option<u32> {
    match diagnostic.primary.place {
        Place::Source(span) => Some(span.start),
        Place::Entity(_) | Place::Nowhere => None,
    }
}

/// From the first edit to the last.
fn whole(fix: &Fix) -> Option<Span> {
    let (first, last) = (fix.edits.first()?, fix.edits.last()?);
    Some(Span::new(first.span.start, last.span.end))
}

/// The line ends of a text.
struct Lines(Vec<u32>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(text.match_indices('\n').map(|(at, _)| u32::try_from(at).unwrap_or(u32::MAX)).collect())
    }

    /// The line of an offset, counted from 0.
    fn at(&self, offset: u32) -> usize {
        self.0.partition_point(|&end| end < offset)
    }
}
