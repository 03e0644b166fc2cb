//! Nodes and attributes.

use super::line::Printer;
use super::list::{ANGLE, BRACES, Layout, ListStyle, SQUARE};
use crate::ast::{Attr, AttrElement, AttrValue, Data, List, Node, SparseLiteral, TensorLiteral};
use crate::lower::literals::special;

impl Printer<'_> {
    /// `[name] outputs = domain.op:overload <attributes> (inputs)`
    pub(super) fn node(&mut self, node: &Node) {
        self.notes(&node.notes);
        self.begin(node.span.start);
        if let Some(name) = node.name {
            self.put("[");
            self.put_span(name);
            self.put("]");
            self.space();
        }
        match node.sugar.as_deref().filter(|sugar| !sugar.types.is_empty()) {
            None => self.results(&node.outputs),
            Some(sugar) => self.typed_results(&node.outputs, &sugar.types),
        }
        if !node.outputs.is_empty() {
            self.space();
        }
        self.put("=");
        self.space();
        match &node.sugar {
            None => self.call(node),
            Some(sugar) => self.expression(node, sugar),
        }
    }

    /// `domain.op:overload <attributes> (inputs)`
    pub(super) fn call(&mut self, node: &Node) {
        if let Some(domain) = node.domain {
            self.words(domain);
            self.put(".");
        }
        self.put_span(node.op);
        if let Some(overload) = node.overload {
            self.put(":");
            self.put_span(overload);
        }
        match &node.attrs {
            _ if node.sugar.is_some() => self.arguments(node),
            None => self.operands(&node.inputs, node.inputs_span),
            Some(attrs) if attrs.span.start < node.inputs_span.start => {
                self.space();
                self.attributes(attrs);
                self.space();
                self.operands(&node.inputs, node.inputs_span);
            }
            Some(attrs) => {
                self.operands(&node.inputs, node.inputs_span);
                self.space();
                self.attributes(attrs);
            }
        }
    }

    /// `<name = value, …>`
    pub(super) fn attributes(&mut self, attrs: &List<Attr>) {
        self.attrs(ANGLE, attrs);
    }

    pub(super) fn attrs(&mut self, brackets: [&'static str; 2], attrs: &List<Attr>) {
        let layout = Layout::broken_if(attrs.items.iter().any(|a| self.breaks(a)));
        self.list(brackets, attrs, ListStyle::Lines, layout, Self::attr);
    }

    /// `name: type = value`
    pub(super) fn attr(&mut self, attr: &Attr) {
        self.notes(&attr.notes);
        self.put_span(attr.name);
        if let Some(ty) = attr.ty {
            self.put(":");
            self.space();
            self.put_span(ty);
        }
        if let Some(value) = &attr.value {
            self.space();
            self.put("=");
            self.space();
            self.attr_value(value);
        }
    }

    pub(super) fn attr_value(&mut self, value: &AttrValue) {
        match value {
            AttrValue::Scalar(scalar) => self.put_span(scalar.span),
            AttrValue::Reference(name) => {
                self.put("@");
                self.put_span(*name);
            }
            AttrValue::Graph(graph) => self.subgraph(graph),
            AttrValue::Tensor(tensor) => self.tensor(tensor),
            AttrValue::Type(ty) => self.ty(ty),
            AttrValue::Ints(span) => self.numbers(*span),
            AttrValue::Sparse(sparse) => self.sparse(sparse),
            AttrValue::List(list) => self.attr_elements(SQUARE, list),
            AttrValue::Braced(list) => self.attr_elements(BRACES, list),
            AttrValue::Record(parts) => {
                self.put("attribute");
                self.space();
                self.attrs(BRACES, parts);
            }
        }
    }

    fn attr_elements(&mut self, brackets: [&'static str; 2], list: &List<AttrElement>) {
        let items = &list.items;
        if !items.iter().all(|e| self.is_literal(e)) {
            let layout = Layout::broken_if(items.iter().any(|e| self.element_breaks(e)));
            self.list(brackets, list, ListStyle::Lines, layout, |p, element| {
                p.notes(&element.notes);
                p.attr_value(&element.value);
            });
        } else if let Some(row) = self.row_of_literals(list) {
            let put = |p: &mut Self, e: &AttrElement| p.put_span(e.value.span());
            self.list(brackets, list, ListStyle::Rows(row), Layout::Broken, put);
        } else if self.are_too_many(items.len()) && !self.has_comment_before(list.span.end) {
            let source = self.source;
            let texts = items.iter().map(|e| source.get(e.value.span().range()).unwrap_or_default());
            self.long(brackets, list.span, items.len(), texts);
        } else {
            self.list(brackets, list, ListStyle::Fill, Layout::Auto, |p, e| p.put_span(e.value.span()));
        }
    }

    /// `float[2] name {1, 2}`
    fn tensor(&mut self, tensor: &TensorLiteral) {
        self.ty(&tensor.ty);
        self.space();
        if let Some(name) = tensor.name {
            self.put_span(name);
            self.space();
        }
        // Without `=`, what begins like a list of dimensions or of parts would be read as one.
        if tensor.name.is_none()
            && matches!(tensor.data, Data::External(_) | Data::Record(_) | Data::Sparse(_))
        {
            self.put("=");
            self.space();
        }
        self.data(&tensor.data);
    }

    /// `sparse [3,4] {values = …, indices = …}`
    pub(super) fn sparse(&mut self, sparse: &SparseLiteral) {
        self.put_at(sparse.span.start, "sparse");
        self.space();
        if !sparse.dims.span.is_empty() {
            self.dims(&sparse.dims);
            self.space();
        }
        self.attrs(BRACES, &sparse.parts);
    }
}

impl Printer<'_> {
    /// A number or string. `inf` and `nan` have been parsed as types.
    fn is_literal(&self, element: &AttrElement) -> bool {
        let value = &element.value;
        let is_number = matches!(value, AttrValue::Scalar(_))
            || matches!(value, AttrValue::Type(ty) if special(self.slice(ty.span())).is_some());
        is_number && element.notes.is_empty()
    }

    /// Whether an attribute certainly needs more than one line.
    pub(super) fn breaks(&self, attr: &Attr) -> bool {
        !attr.notes.is_empty() || attr.value.as_ref().is_some_and(|v| self.value_breaks(v))
    }

    /// The length of the rows that were set by hand in a list of literals.
    fn row_of_literals(&self, list: &List<AttrElement>) -> Option<usize> {
        let is_literals = list.items.iter().all(|e| self.is_literal(e));
        self.rows(list.items.iter().map(|e| e.value.span())).filter(|_| is_literals)
    }

    fn element_breaks(&self, element: &AttrElement) -> bool {
        !element.notes.is_empty() || self.value_breaks(&element.value)
    }

    fn value_breaks(&self, value: &AttrValue) -> bool {
        match value {
            AttrValue::Scalar(_) | AttrValue::Reference(_) | AttrValue::Type(_) => false,
            AttrValue::Graph(_) => true,
            AttrValue::Ints(span) => self.is_longer(*span),
            AttrValue::Tensor(tensor) => self.is_long(&tensor.data),
            AttrValue::Sparse(sparse) => sparse.parts.items.iter().any(|a| self.breaks(a)),
            AttrValue::List(list) | AttrValue::Braced(list) => {
                self.are_too_many(list.items.len())
                    || list.items.iter().any(|e| self.element_breaks(e))
                    || self.row_of_literals(list).is_some()
            }
            AttrValue::Record(parts) => parts.items.iter().any(|a| self.breaks(a)),
        }
    }
}
