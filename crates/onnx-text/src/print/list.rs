//! Lists: flat if they fit, else one item a line, or filled.

use super::INDENT;
use super::line::{Blank, Gap, Printer};
use super::wrap::Break;
use crate::ast::{List, Name, Type};
use onnx_ir::diag::Span;

/// The layout of the items of a broken list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ListStyle {
    /// One a line.
    Lines,
    /// As many to a line as fit.
    Fill,
    /// This many a line.
    Rows(usize),
}

/// Layout of a list: whether it may be on one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// If it fits and contains no comment.
    Auto,
    /// Never.
    Broken,
}

impl Layout {
    pub(super) fn broken_if(broken: bool) -> Layout {
        if broken { Layout::Broken } else { Layout::Auto }
    }
}

/// A pair of brackets.
pub(super) type Brackets = [&'static str; 2];
pub(super) const PARENS: Brackets = ["(", ")"];
pub(super) const SQUARE: Brackets = ["[", "]"];
pub(super) const ANGLE: Brackets = ["<", ">"];
pub(super) const BRACES: Brackets = ["{", "}"];

/// The span of a list that cannot contain comments: pending ones come after it.
pub(super) fn whole(span: Span) -> Span {
    Span { start: span.start, end: 0 }
}

impl Printer<'_> {
    /// `open item, item close`
    pub(super) fn list<T>(
        &mut self,
        brackets: Brackets,
        list: &List<T>,
        style: ListStyle,
        layout: Layout,
        item: impl FnMut(&mut Self, &T),
    ) {
        self.items(brackets, &list.items, list.span, style, layout, item);
    }

    /// `open item, item close` at `span` of the source.
    pub(super) fn items<T>(
        &mut self,
        [open, close]: Brackets,
        items: &[T],
        span: Span,
        style: ListStyle,
        layout: Layout,
        mut item: impl FnMut(&mut Self, &T),
    ) {
        self.put_at(span.start, open);
        let has_comments = self.has_comment_before(span.end);
        let broken = !self.rigid && (layout == Layout::Broken || has_comments);
        if items.is_empty() && !broken {
            self.put(close);
            return;
        }
        let outer = self.indent;
        if broken && !has_comments {
            self.indent = self.around();
        }
        // Around comments, rows would not stay.
        let style = if has_comments && matches!(style, ListStyle::Rows(_)) { ListStyle::Fill } else { style };
        self.indent += INDENT;
        if broken {
            self.gap = Gap::Hard(Blank::No);
        } else {
            self.piece(Break::Open);
            self.gap = Gap::Soft(Break::Empty);
        }
        let between = |i: usize| match (style, broken) {
            (ListStyle::Rows(row), true) if i.is_multiple_of(row) => Gap::Hard(Blank::No),
            (ListStyle::Rows(_), true) => Gap::Space,
            (ListStyle::Fill | ListStyle::Rows(_), _) => Gap::Soft(Break::Fill),
            (ListStyle::Lines, true) => Gap::Hard(Blank::Keep),
            (ListStyle::Lines, false) => Gap::Soft(Break::Space),
        };
        for (i, it) in items.iter().enumerate() {
            if i > 0 {
                self.put(",");
                self.gap = between(i);
            }
            item(self, it);
        }
        if broken {
            if !items.is_empty() {
                self.gap = Gap::Hard(Blank::Keep);
            }
            if self.has_comment_before(span.end) {
                self.flush(span.end);
            }
            self.indent -= INDENT;
            self.gap = Gap::Hard(Blank::No);
            self.put(close);
            self.indent = outer;
        } else {
            self.indent -= INDENT;
            self.piece(Break::Dedent);
            self.gap = Gap::Soft(Break::Empty);
            self.put(close);
            self.piece(Break::Close);
        }
    }

    /// Names that may be omitted: a final omitted name needs a comma after it, because a final comma is dropped.
    pub(super) fn operands(&mut self, names: &[Name], span: Span) {
        let count = names.len();
        let mut i = 0;
        self.items(PARENS, names, span, ListStyle::Lines, Layout::Auto, |p, name| {
            p.put_span(*name);
            i += 1;
            if i == count && name.is_empty() {
                p.put(",");
            }
        });
    }

    /// `a, , c` without brackets.
    pub(super) fn results(&mut self, names: &[Name]) {
        self.typed_results(names, &[]);
    }

    /// `float[N] a, , c` without brackets.
    pub(super) fn typed_results(&mut self, names: &[Name], types: &[Option<Type>]) {
        let Some((first, rest)) = names.split_first() else { return };
        let mut types = types.iter();
        let mut result = |p: &mut Self, name: Name| {
            if let Some(Some(ty)) = types.next() {
                p.ty(ty);
                p.space();
            }
            p.put_span(name);
        };
        result(self, *first);
        if !rest.is_empty() {
            self.indent += INDENT;
            self.piece(Break::Open);
            for name in rest {
                self.put(",");
                self.gap = Gap::Soft(Break::Fill);
                result(self, *name);
            }
            self.piece(Break::Dedent);
            self.piece(Break::Close);
            self.indent -= INDENT;
        }
        if names.last().is_some_and(|n| n.is_empty()) {
            self.put(",");
        }
    }
}
