//! Value infos, types and tensor data.

use super::line::Printer;
use super::list::{BRACES, Layout, ListStyle};
use super::numbers;
use super::stored::shown;
use crate::ast::{Data, Dim, List, Scalar, Type, TypeArg, ValueInfo};
use crate::lower::dim_expression;
use onnx_ir::diag::Span;

impl Printer<'_> {
    /// `float[N] x = {…}`
    pub(super) fn value_info(&mut self, value: &ValueInfo) {
        self.notes(&value.notes);
        self.begin(value.span.start);
        if let Some(ty) = &value.ty {
            self.ty(ty);
            if !value.name.is_empty() {
                self.space();
            }
        }
        self.put_span(value.name);
        if let Some(data) = &value.data {
            self.space();
            self.put("=");
            self.space();
            self.data(data);
        }
    }

    // ---- types: never broken, but by comments ----

    pub(super) fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Tensor { elem, dims } => {
                self.words(*elem);
                if let Some(dims) = dims {
                    self.dims(dims);
                }
            }
            Type::Call { head, args } => {
                self.put_span(*head);
                self.put_at(args.span.start, "(");
                for (i, arg) in args.items.iter().enumerate() {
                    if i > 0 {
                        self.put(",");
                        self.space();
                    }
                    match arg {
                        TypeArg::Type(ty) => self.ty(ty),
                        TypeArg::Name(name) => self.words(*name),
                    }
                }
                // A final comma is dropped by readers.
                if matches!(args.items.last(), Some(TypeArg::Name(name)) if name.is_empty()) {
                    self.put(",");
                }
                self.put_at(args.span.end, ")");
            }
            Type::Unset(span) => self.put_at(span.start, "?"),
        }
    }

    /// `[2,N,?]`
    pub(super) fn dims(&mut self, dims: &List<Dim>) {
        self.put_at(dims.span.start, "[");
        let has_comments = self.has_comment_in(dims.span);
        for (i, dim) in dims.items.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            match dim {
                Dim::Unknown(span) => self.put_at(span.start, "?"),
                // Dimensions that are one token contain no comments: pending ones come after it.
                Dim::Int(span) if !has_comments => self.put(self.slice(*span)),
                Dim::Int(span) | Dim::Param(span) => self.put_span(*span),
                Dim::Expr(span) => {
                    let text = dim_expression(self.slice(*span));
                    self.put_at(span.start, &text);
                }
            }
        }
        self.put_at(if has_comments { dims.span.end } else { 0 }, "]");
    }

    // ---- data ----

    pub(super) fn data(&mut self, data: &Data) {
        match data {
            Data::Numbers(span) => self.numbers(*span),
            Data::Elements(list) => self.literals(list),
            Data::External(entries) => self.elements(entries),
            Data::Record(fields) => self.record(fields),
            Data::Sparse(parts) => self.attrs(BRACES, parts),
            Data::Stored(stored) => self.stored(stored, self.is_long(data)),
        }
    }

    fn literals(&mut self, list: &List<Scalar>) {
        let put = |p: &mut Self, scalar: &Scalar| p.put_span(scalar.span);
        if let Some(row) = self.row_of_elements(list) {
            self.list(BRACES, list, ListStyle::Rows(row), Layout::Broken, put);
        } else if self.are_too_many(list.items.len()) && !self.has_comment_before(list.span.end) {
            let source = self.source;
            let texts = list.items.iter().map(|s| source.get(s.span.range()).unwrap_or_default());
            self.long(BRACES, list.span, list.items.len(), texts);
        } else {
            self.list(BRACES, list, ListStyle::Fill, Layout::Auto, put);
        }
    }

    /// Whether data do not fit on a line in any case.
    pub(super) fn is_long(&self, data: &Data) -> bool {
        match data {
            Data::Numbers(span) => self.is_longer(*span),
            Data::Elements(list) => {
                self.are_too_many(list.items.len()) || self.row_of_elements(list).is_some()
            }
            Data::External(_) | Data::Record(_) => false,
            Data::Sparse(parts) => parts.items.iter().any(|a| self.breaks(a)),
            Data::Stored(stored) => self.are_too_many(shown(stored)),
        }
    }

    /// The length of the rows that were set by hand.
    fn row_of_elements(&self, list: &List<Scalar>) -> Option<usize> {
        self.rows(list.items.iter().map(|scalar| scalar.span))
    }

    /// Whether numbers of the source do not fit on a line in any case, or have rows.
    pub(super) fn is_longer(&self, numbers: Span) -> bool {
        numbers::is_longer(self.slice(numbers), self.width) || self.row_of(numbers).is_some()
    }

    /// Whether this many literals cannot fit on a line: each needs a character, a comma and a space.
    pub(super) fn are_too_many(&self, count: usize) -> bool {
        count.saturating_mul(3) > self.width
    }
}
