//! Annotations, and the `key: value` fields that they share with headers.

use super::line::{Blank, Gap, Printer};
use super::list::{ANGLE, BRACES, Layout, ListStyle, SQUARE};
use crate::ast::{Element, Field, FieldValue, List, NoteLine, Notes};
use onnx_ir::diag::Span;

impl Printer<'_> {
    /// `##` and `#@` lines, in the order of the source.
    #[inline]
    pub(super) fn notes(&mut self, notes: &Notes) {
        if !notes.is_empty() {
            self.note_lines(notes);
        }
    }

    fn note_lines(&mut self, notes: &Notes) {
        debug_assert!(!self.rigid, "an annotation holds no annotations");
        let (mut docs, mut lines) = (notes.docs(), notes.lines());
        if !matches!(self.gap, Gap::Hard(_)) && self.has_begun() {
            self.gap = Gap::Hard(Blank::No);
        }
        loop {
            match (docs.split_first(), lines.split_first()) {
                (Some((doc, rest)), line) if line.is_none_or(|(l, _)| doc.start < l.span.start) => {
                    self.put_span(*doc);
                    self.close_line();
                    docs = rest;
                }
                (_, Some((line, rest))) => {
                    self.note_line(line);
                    lines = rest;
                }
                (_, None) => return,
            }
            self.gap = Gap::Hard(Blank::No);
        }
    }

    /// `#@ key: value, key: value`
    fn note_line(&mut self, line: &NoteLine) {
        self.put_at(line.span.start, "#@");
        self.rigid = true;
        for (i, field) in line.fields.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            self.space();
            self.field(field);
        }
        self.rigid = false;
    }

    /// `<ir_version: 10, …>`
    pub(super) fn header(&mut self, fields: &List<Field>) {
        let layout = Layout::broken_if(fields.items.iter().any(|f| holds_graph(&f.value)));
        self.list(ANGLE, fields, ListStyle::Lines, layout, Self::field);
    }

    fn field(&mut self, field: &Field) {
        self.put_span(field.key);
        self.put(":");
        self.space();
        self.field_value(&field.value);
    }

    fn field_value(&mut self, value: &FieldValue) {
        match value {
            FieldValue::Int(s) | FieldValue::Float(s) | FieldValue::String(s) | FieldValue::Word(s) => {
                self.put_span(*s);
            }
            FieldValue::Shared(s) => self.words(*s),
            FieldValue::List(list) => self.elements(list),
            FieldValue::Record(record) => self.record(record),
            FieldValue::Graph(graph) => self.subgraph(graph),
        }
    }

    /// `["key": value, …]`
    pub(super) fn elements(&mut self, list: &List<Element>) {
        let layout = Layout::broken_if(list.items.iter().any(element_holds_graph));
        self.list(SQUARE, list, ListStyle::Lines, layout, |p, element| {
            if let Some(key) = &element.key {
                p.field_value(key);
                p.put(":");
                p.space();
            }
            p.field_value(&element.value);
        });
    }

    /// `{key: value, …}`
    pub(super) fn record(&mut self, record: &List<Field>) {
        let layout = Layout::broken_if(record.items.iter().any(|f| holds_graph(&f.value)));
        self.list(BRACES, record, ListStyle::Lines, layout, Self::field);
    }

    /// Something of several tokens with one span, as `com.acme` or `elem_type(99)`: without the space between them.
    #[inline]
    pub(super) fn words(&mut self, span: Span) {
        if self.slice(span).bytes().any(|b| b <= b' ') {
            for token in crate::lex::lex(self.slice(span)).tokens {
                self.put_span(Span::new(span.start + token.span.start, span.start + token.span.end));
            }
        } else {
            self.put_span(span);
        }
    }
}

fn holds_graph(value: &FieldValue) -> bool {
    match value {
        FieldValue::Int(_)
        | FieldValue::Float(_)
        | FieldValue::String(_)
        | FieldValue::Word(_)
        | FieldValue::Shared(_) => false,
        FieldValue::List(list) => list.items.iter().any(element_holds_graph),
        FieldValue::Record(record) => record.items.iter().any(|f| holds_graph(&f.value)),
        FieldValue::Graph(_) => true,
    }
}

fn element_holds_graph(element: &Element) -> bool {
    element.key.as_ref().is_some_and(holds_graph) || holds_graph(&element.value)
}
