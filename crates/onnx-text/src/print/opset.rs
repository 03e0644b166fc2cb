//! Operator sets in files of their own.

use super::INDENT;
use super::line::{Blank, Gap, Printer};
use super::list::{ANGLE, BRACES, Layout, ListStyle, PARENS};
use crate::ast::{
    AttrParam, Formal, FormalCount, List, Operator, OperatorSet, OpsetItem, Signature, Variable, WhereClause,
};
use onnx_ir::diag::Span;

impl Printer<'_> {
    pub(super) fn operator_set(&mut self, set: &OperatorSet, annotated: Option<Span>) {
        self.first_line(annotated);
        self.notes(&set.notes);
        self.put_span(set.keyword);
        self.space();
        self.header(&set.header);
        for item in &set.items {
            self.gap = Gap::Hard(Blank::Yes);
            match item {
                OpsetItem::Operator(operator) => self.operator(operator),
                OpsetItem::Function(function) => self.function(function),
            }
        }
    }

    /// `<since_version: 2> operator name signature <values> { nodes }`
    pub(super) fn operator(&mut self, operator: &Operator) {
        self.notes(&operator.notes);
        if let Some(header) = &operator.header {
            self.header(header);
            self.gap = Gap::Hard(Blank::No);
        }
        self.put_span(operator.keyword);
        self.space();
        self.put_span(operator.name);
        if let Some(signature) = &operator.signature {
            self.signature(signature);
        }
        if let Some(values) = &operator.values {
            self.gap = Gap::Hard(Blank::No);
            self.values_of(values);
        }
        if let Some(body) = &operator.body {
            self.gap = Gap::Hard(Blank::No);
            self.body(&body.nodes, body.span);
        }
    }

    fn signature(&mut self, signature: &Signature) {
        if let Some(attrs) = &signature.attrs {
            self.space();
            let layout = Layout::broken_if(attrs.items.iter().any(|a| self.breaks(&a.attr)));
            self.list(ANGLE, attrs, ListStyle::Lines, layout, Self::attr_param);
        }
        self.space();
        self.formals(&signature.inputs);
        self.space();
        self.put("=>");
        self.space();
        self.formals(&signature.outputs);
        if let Some(clause) = &signature.variables {
            self.where_clause(clause);
        }
    }

    /// `name: type? = default`
    fn attr_param(&mut self, param: &AttrParam) {
        let attr = &param.attr;
        self.notes(&attr.notes);
        self.put_span(attr.name);
        if let Some(ty) = attr.ty {
            self.put(":");
            self.space();
            self.put_span(ty);
        }
        if let Some(mark) = param.optional {
            self.put_at(mark.start, "?");
        }
        if let Some(value) = &attr.value {
            self.space();
            self.put("=");
            self.space();
            self.attr_value(value);
        }
    }

    fn formals(&mut self, formals: &List<Formal>) {
        let layout = Layout::broken_if(formals.items.iter().any(|f| !f.notes.is_empty()));
        self.list(PARENS, formals, ListStyle::Lines, layout, Self::formal);
    }

    /// `each T...0 name`
    fn formal(&mut self, formal: &Formal) {
        self.notes(&formal.notes);
        self.begin(formal.span.start);
        if let Some(each) = formal.each {
            self.put_span(each);
            self.space();
        }
        self.ty(&formal.ty);
        match formal.count {
            FormalCount::One => {}
            FormalCount::Optional(mark) => self.put_at(mark.start, "?"),
            FormalCount::Variadic(dots, min) => {
                self.put_at(dots.start, "...");
                if let Some(min) = min {
                    self.put_span(min);
                }
            }
        }
        if let Some(name) = formal.name {
            self.space();
            self.put_span(name);
        }
    }

    /// `where T: {float}`, on a line of its own; of several variables each has one.
    fn where_clause(&mut self, clause: &WhereClause) {
        self.gap = Gap::Hard(Blank::No);
        self.put_span(clause.keyword);
        self.space();
        let [only] = &clause.variables[..] else {
            self.indent += INDENT;
            for (i, variable) in clause.variables.iter().enumerate() {
                if i > 0 {
                    self.put(",");
                }
                self.gap = Gap::Hard(Blank::No);
                self.variable(variable);
            }
            self.indent -= INDENT;
            return;
        };
        self.indent += if only.notes.is_empty() { 0 } else { INDENT };
        self.variable(only);
        self.indent -= if only.notes.is_empty() { 0 } else { INDENT };
    }

    /// `T: {float, double}`
    fn variable(&mut self, variable: &Variable) {
        self.notes(&variable.notes);
        self.put_span(variable.name);
        self.put(":");
        self.space();
        self.list(BRACES, &variable.types, ListStyle::Fill, Layout::Auto, Self::ty);
    }
}
