//! The current line: text, the breaks between it, and the comments that fall into it.

use super::wrap::{Break, Piece, wrap};
use super::{FormatOptions, INDENT};
use crate::lex::ANNOTATED;
use onnx_ir::diag::Span;
use std::fmt;

/// Text is handed on when this much of it has gathered.
const CHUNK: usize = 1 << 16;

/// The gap between the last text and the next. It is resolved when the next text arrives, because a comment may come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gap {
    /// Nothing.
    None,
    /// A space.
    Space,
    /// A place where the line may be broken.
    Soft(Break),
    /// A line break.
    Hard(Blank),
    /// A line break in the middle of something, after a comment: what follows is indented.
    Odd,
}

/// Whether a line break has a blank line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Blank {
    /// Never.
    No,
    /// If the source has one there.
    Keep,
    /// Always.
    Yes,
}

/// Writes one line after the other.
pub(super) struct Printer<'a> {
    pub(super) source: &'a str,
    /// Pending comments.
    comments: &'a [Span],
    /// The start of the first of them; `u32::MAX` if there is none.
    next_comment: u32,
    pub(super) width: usize,
    /// The destination of full chunks; `None` keeps everything.
    out: Option<&'a mut dyn fmt::Write>,
    result: fmt::Result,
    /// The text, or the part of it since the last chunk.
    pub(super) text: String,
    /// Whether there was a chunk.
    handed_on: bool,
    /// The start of the line in `text`.
    line: usize,
    /// Its own indentation.
    line_indent: usize,
    /// The possible breaks of the line.
    pieces: Vec<Piece>,
    /// The indentation of the next line.
    pub(super) indent: usize,
    pub(super) gap: Gap,
    /// Whether the line ends with a comment.
    commented: bool,
    /// Inside an annotation, which must stay on one line.
    pub(super) rigid: bool,
    /// Whether `##` at the start of a line is an annotation.
    pub(super) annotated: bool,
    /// Memory for [`wrap`].
    flat: String,
}

impl<'a> Printer<'a> {
    pub(super) fn new(
        source: &'a str,
        comments: &'a [Span],
        options: &FormatOptions,
        out: Option<&'a mut dyn fmt::Write>,
    ) -> Self {
        Printer {
            source,
            comments,
            next_comment: comments.first().map_or(u32::MAX, |c| c.start),
            width: options.width,
            out,
            result: Ok(()),
            text: String::new(),
            handed_on: false,
            line: 0,
            line_indent: 0,
            pieces: Vec::new(),
            indent: 0,
            gap: Gap::None,
            commented: false,
            rigid: false,
            annotated: false,
            flat: String::new(),
        }
    }

    pub(super) fn reserve(&mut self, bytes: usize) {
        self.text.reserve(bytes);
    }

    /// Writes the rest: comments, and the line break at the end of the last line.
    pub(super) fn finish(&mut self) {
        self.gap = Gap::Hard(Blank::Keep);
        self.flush(u32::MAX);
        self.finish_line();
        if self.has_begun() {
            self.text.push('\n');
        }
        self.hand_on();
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    pub(super) fn result(self) -> fmt::Result {
        self.result
    }

    pub(super) fn has_begun(&self) -> bool {
        self.handed_on || !self.text.is_empty()
    }

    // ---- text ----

    /// Text that is not in the source: punctuation, keywords, numbers.
    #[inline]
    pub(super) fn put(&mut self, text: &str) {
        if self.gap != Gap::None {
            self.close_gap(None);
        }
        self.text.push_str(text);
    }

    /// Writes text for a construct at `start` of the source, after the comments before it.
    #[inline]
    pub(super) fn put_at(&mut self, start: u32, text: &str) {
        if self.next_comment < start {
            self.flush(start);
        }
        if self.gap != Gap::None {
            self.close_gap(Some(start));
        }
        self.text.push_str(text);
    }

    /// Begins something at `start` of the source.
    pub(super) fn begin(&mut self, start: u32) {
        self.put_at(start, "");
    }

    /// Writes a slice of the source. An omitted name has no place of its own: comments around it go with what follows.
    #[inline]
    pub(super) fn put_span(&mut self, span: Span) {
        if span.is_empty() {
            self.put("");
        } else {
            self.put_at(span.start, self.slice(span));
        }
    }

    pub(super) fn slice(&self, span: Span) -> &'a str {
        self.source.get(span.range()).unwrap_or_default()
    }

    /// A space without a possible break.
    #[inline]
    pub(super) fn space(&mut self) {
        self.gap = Gap::Space;
    }

    /// The beginning or end of something that breaks as a whole.
    pub(super) fn piece(&mut self, kind: Break) {
        // A line of 4 GiB stays as it is.
        if let Ok(at) = u32::try_from(self.text.len() - self.line)
            && !self.rigid
        {
            self.pieces.push(Piece { at, kind });
        }
    }

    fn close_gap(&mut self, at: Option<u32>) {
        match std::mem::replace(&mut self.gap, Gap::None) {
            Gap::None => {}
            Gap::Space => self.text.push(' '),
            Gap::Soft(kind) => {
                self.piece(kind);
                self.text.push_str(kind.flat());
            }
            Gap::Hard(_) | Gap::Odd if self.rigid => self.text.push(' '),
            Gap::Hard(blank) => self.new_line(blank, at, self.indent),
            Gap::Odd => self.new_line(Blank::No, at, self.indent + INDENT),
        }
    }

    // ---- lines ----

    /// The indentation of the line in which a list begins: deeper than that of others after a comment in the middle of something.
    pub(super) fn around(&self) -> usize {
        self.indent.max(self.line_indent)
    }

    /// Text that is laid out already, up to the end of a line or to somewhere in one.
    pub(super) fn put_lines(&mut self, text: &str) {
        if self.text.len() >= CHUNK {
            self.hand_on();
        }
        self.text.push_str(text);
    }

    fn new_line(&mut self, blank: Blank, at: Option<u32>, indent: usize) {
        self.finish_line();
        if self.has_begun() {
            let blank = match blank {
                Blank::No => false,
                Blank::Keep => at.is_some_and(|at| self.breaks_before(at) > 1),
                Blank::Yes => true,
            };
            self.text.push_str(if blank { "\n\n" } else { "\n" });
        }
        self.start_line(indent);
    }

    /// Starts a line, right after a line break.
    pub(super) fn start_line(&mut self, indent: usize) {
        if self.text.len() >= CHUNK {
            self.hand_on();
        }
        self.line = self.text.len();
        self.line_indent = indent;
        self.commented = false;
        push_spaces(&mut self.text, indent);
    }

    /// Lays out the line if it is too long.
    pub(super) fn finish_line(&mut self) {
        let too_long = self.text.len() - self.line > self.width && !self.pieces.is_empty();
        if too_long && self.text[self.line..].chars().nth(self.width).is_some() {
            self.flat.clear();
            self.flat.push_str(&self.text[self.line..]);
            self.text.truncate(self.line);
            wrap(&self.flat, &self.pieces, self.line_indent, self.width, &mut self.text);
        }
        self.pieces.clear();
    }

    fn hand_on(&mut self) {
        if let Some(out) = &mut self.out {
            self.handed_on |= !self.text.is_empty();
            if self.result.is_ok() {
                self.result = out.write_str(&self.text);
            }
            self.text.clear();
            self.line = 0;
        }
    }

    // ---- comments ----

    /// Whether a comment comes before byte `end` of the source.
    pub(super) fn has_comment_before(&self, end: u32) -> bool {
        self.next_comment < end
    }

    /// Whether there is a comment in `span` of the source.
    pub(super) fn has_comment_in(&self, span: Span) -> bool {
        self.has_comment_before(span.end)
            && self.comments.iter().take_while(|c| c.start < span.end).any(|c| c.start >= span.start)
    }

    /// Writes the comments that begin before byte `end` of the source.
    #[cold]
    pub(super) fn flush(&mut self, end: u32) {
        while let Some((&comment, rest)) = self.comments.split_first() {
            if comment.start >= end || self.rigid {
                break;
            }
            let text = self.slice(comment);
            let own_line = self.breaks_before(comment.start) > 0 || !self.has_begun();
            let behind = self.behind_comment();
            let nothing_before = self.text.len() == self.line + self.line_indent;
            if own_line || self.commented || nothing_before {
                // At the start of a line it would document what follows: it waits for text to follow.
                if self.annotated && text.starts_with("##") && end != u32::MAX {
                    break;
                }
                self.comment_line(comment, text);
                self.gap = if behind == Gap::Odd { behind } else { Gap::Hard(Blank::Keep) };
            } else {
                self.finish_line();
                self.text.push_str("  ");
                self.text.push_str(text);
                self.gap = behind;
            }
            self.commented = true;
            self.comments = rest;
            self.next_comment = rest.first().map_or(u32::MAX, |c| c.start);
        }
    }

    /// A comment on a line of its own.
    fn comment_line(&mut self, comment: Span, text: &str) {
        let marker = ANNOTATED.trim_end_matches(|c: char| c.is_ascii_digit());
        if !self.has_begun() && !self.annotated && text.starts_with(marker) {
            // In the first line it would turn the comments of the file into annotations.
            self.text.push('\n');
            self.start_line(self.indent);
        } else if self.has_begun() {
            match self.gap {
                Gap::Hard(blank) => self.new_line(blank, Some(comment.start), self.indent),
                Gap::None | Gap::Space | Gap::Odd => {
                    self.new_line(Blank::No, None, self.indent + INDENT);
                }
                Gap::Soft(_) => self.new_line(Blank::Keep, Some(comment.start), self.indent),
            }
        }
        self.text.push_str(text);
    }

    /// The gap after the next comment.
    fn behind_comment(&self) -> Gap {
        match self.gap {
            Gap::None if !self.has_begun() => Gap::Hard(Blank::Keep),
            Gap::None | Gap::Space | Gap::Odd => Gap::Odd,
            Gap::Soft(_) => Gap::Hard(Blank::Keep),
            Gap::Hard(blank) => Gap::Hard(blank),
        }
    }

    /// A `##` line, which no comment can follow.
    pub(super) fn close_line(&mut self) {
        self.commented = true;
    }

    /// The number of line breaks in the white space before byte `at`; the start of the source counts as one.
    fn breaks_before(&self, at: u32) -> usize {
        let before = self.source.as_bytes().get(..at as usize).unwrap_or_default();
        let mut breaks = 0;
        for byte in before.iter().rev() {
            match byte {
                b'\n' => breaks += 1,
                b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c' => {}
                _ => return breaks,
            }
        }
        breaks + 1
    }
}

fn push_spaces(text: &mut String, mut count: usize) {
    const SPACES: &str = "                                ";
    while count > SPACES.len() {
        text.push_str(SPACES);
        count -= SPACES.len();
    }
    text.push_str(&SPACES[..count]);
}
