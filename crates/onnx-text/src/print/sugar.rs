//! Expressions. Only what is in brackets may be broken into lines.

use super::line::Printer;
use super::list::{Layout, ListStyle, PARENS, SQUARE};
use crate::ast::{Attr, Node, Operand, Subscript, Sugar, SugarForm};
use crate::literal::number_ranges;
use onnx_ir::diag::Span;

/// An item between the parentheses of a call.
enum Argument<'n> {
    Operand(usize),
    Attr(&'n Attr),
}

impl Printer<'_> {
    /// A node with its sugar, without results and name.
    pub(super) fn expression(&mut self, node: &Node, sugar: &Sugar) {
        if sugar.is_parenthesized {
            self.put("(");
        }
        match sugar.form {
            SugarForm::Call => self.call(node),
            SugarForm::Infix | SugarForm::Unequal => {
                self.operand(node, 0);
                self.space();
                self.put_span(node.op);
                self.space();
                self.operand(node, 1);
            }
            SugarForm::Prefix => {
                self.put_span(node.op);
                self.operand(node, 0);
            }
            SugarForm::Subscript => {
                self.operand(node, 0);
                self.subscripts(node, sugar);
            }
        }
        if sugar.is_parenthesized {
            self.put(")");
        }
    }

    /// `<attributes> (operands, attributes)`
    pub(super) fn arguments(&mut self, node: &Node) {
        let is_named = node.has_named_attributes();
        let attrs = node.attrs.as_ref();
        if let Some(attrs) = attrs.filter(|attrs| attrs.span.start < node.inputs_span.start) {
            self.space();
            self.attributes(attrs);
            self.space();
        }
        let mut items: Vec<Argument<'_>> = (0..node.inputs.len()).map(Argument::Operand).collect();
        let named = attrs.filter(|_| is_named).map_or(&[][..], |attrs| &attrs.items);
        items.extend(named.iter().map(Argument::Attr));
        let layout =
            Layout::broken_if(named.iter().any(|attr| self.breaks(attr)) || self.operands_break(node));
        let count = items.len();
        let mut i = 0;
        self.items(PARENS, &items, node.inputs_span, ListStyle::Lines, layout, |p, item| {
            i += 1;
            match item {
                Argument::Operand(operand) => {
                    p.operand(node, *operand);
                    if i == count && node.inputs[*operand].is_empty() {
                        p.put(",");
                    }
                }
                Argument::Attr(attr) => p.attr(attr),
            }
        });
        if let Some(attrs) = attrs.filter(|attrs| !is_named && attrs.span.start > node.inputs_span.start) {
            self.space();
            self.attributes(attrs);
        }
    }

    /// Whether an operand that is an expression certainly needs more than one line.
    fn operands_break(&self, node: &Node) -> bool {
        node.nested().any(|inner| self.expression_breaks(inner))
    }

    fn expression_breaks(&self, node: &Node) -> bool {
        let mut attrs = node.attrs.iter().flat_map(|attrs| &attrs.items);
        attrs.any(|attr| self.breaks(attr)) || self.operands_break(node)
    }

    fn operand(&mut self, node: &Node, i: usize) {
        let Some(&span) = node.inputs.get(i) else { return };
        match node.sugar.as_ref().and_then(|sugar| sugar.operands.get(i)) {
            None | Some(Operand::Name) => self.put_span(span),
            Some(Operand::Literal) => self.literal(span),
            Some(Operand::Node(inner)) => {
                self.begin(inner.span.start);
                match &inner.sugar {
                    None => self.call(inner),
                    Some(sugar) => self.expression(inner, sugar),
                }
            }
        }
    }

    /// `2`, `[4, 2]`
    fn literal(&mut self, span: Span) {
        let text = self.slice(span);
        if !text.starts_with('[') {
            return self.put_span(span);
        }
        let offset = |at: usize| span.start.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
        let numbers: Vec<Span> = number_ranges(text)
            .into_iter()
            .map(|range| Span::new(offset(range.start), offset(range.end)))
            .collect();
        self.items(SQUARE, &numbers, span, ListStyle::Fill, Layout::Auto, |p, number| p.put_span(*number));
    }

    /// `[0, 1:3]`
    fn subscripts(&mut self, node: &Node, sugar: &Sugar) {
        let mut indices = 1..node.inputs.len();
        let nested = |operand: &Operand| match operand {
            Operand::Node(inner) => self.expression_breaks(inner),
            Operand::Name | Operand::Literal => false,
        };
        // The first operand is before the brackets.
        let layout = Layout::broken_if(sugar.operands.iter().skip(1).any(nested));
        self.items(
            SQUARE,
            &sugar.subscripts,
            node.inputs_span,
            ListStyle::Fill,
            layout,
            |p, item| match item {
                Subscript::Index(_) => indices.next().into_iter().for_each(|i| p.operand(node, i)),
                Subscript::Range(range) => {
                    p.begin(range.span.start);
                    range.start.iter().for_each(|start| p.put_span(*start));
                    p.put(":");
                    range.end.iter().for_each(|end| p.put_span(*end));
                    if let Some(step) = range.step {
                        p.put(":");
                        p.put_span(step);
                    }
                }
            },
        );
    }
}
