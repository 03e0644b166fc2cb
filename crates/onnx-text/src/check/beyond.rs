//! Parts of a text that the reference parser rejects: extended syntax, and spellings that only this parser accepts
//! (`grammar/extended.md`, `grammar/deviations.md`).
//!
//! ```text
//! // a comment                        always reported: nothing needs it
//! y = Relu <> (x)                     likewise
//! y = "aten::relu"(x)                 only for the profile `reference`: a model may need it
//! ```
//!
//! Conformance tests compare this with the reference parser, over the texts of the suite and the corpus.

use super::Checked;
use crate::ast::{
    self, Attr, AttrValue, Data, Dim, Element, Field, FieldValue, Function, Graph, List, Node, Scalar,
    ScalarKind, Type, TypeArg, ValueInfo,
};
use crate::lower::dim_expression;
use crate::narrow::Narrow;
use onnx_ir::ElemType;
use onnx_ir::diag::{Diagnostic, Edit, Span, code};
use std::collections::HashMap;

/// Which constructs are reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Readers {
    /// Those that no model needs.
    #[default]
    Ours,
    /// All that the reference parser rejects.
    Reference,
}

/// The constructs of a text that the reference parser rejects, in the order of the text.
pub(super) fn find(source: &str, checked: &Checked, readers: Readers) -> Vec<Diagnostic> {
    let all = readers == Readers::Reference;
    let mut walk = Walk { source, all, expressions: Vec::new(), unquoted: Vec::new(), found: Vec::new() };
    let syntax = &checked.syntax;
    walk.comments(&syntax.comments);
    walk.file(&syntax.tree);
    let expressions = std::mem::take(&mut walk.expressions);
    walk.found.extend(rejected_expressions(source, checked, &expressions));
    walk.found.extend(std::mem::take(&mut walk.unquoted).into_iter().map(|at| without_quotes(source, at)));
    crate::parse::sort(&mut walk.found);
    walk.found
}

struct Walk<'s> {
    source: &'s str,
    all: bool,
    /// Statements with expressions.
    expressions: Vec<Span>,
    /// Numbers of external data and expressions in dimensions, both without quotes.
    unquoted: Vec<Span>,
    found: Vec<Diagnostic>,
}

/// The statements with expressions; numbers of external data and expressions in dimensions, both without quotes.
#[cfg(feature = "print")]
pub(crate) fn sugar(source: &str, tree: &ast::File) -> (Vec<Span>, Vec<Span>) {
    let mut walk =
        Walk { source, all: true, expressions: Vec::new(), unquoted: Vec::new(), found: Vec::new() };
    walk.file(tree);
    (walk.expressions, walk.unquoted)
}

/// `"offset": 4096`, `float[P+S]`: quoted for the reference.
fn without_quotes(source: &str, at: Span) -> Diagnostic {
    let spelled = &source[at.range()];
    let is_number = spelled.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let what = if is_number { "a number in external data" } else { "an expression in a dimension" };
    let text = format!("\"{}\"", dim_expression(spelled));
    let message = format!("the reference parser rejects {what}");
    let mut finding = Diagnostic::new(&code::BEYOND_REFERENCE, at, message)
        .label(if is_number { "expected a string" } else { "expected a name or a string" })
        .fix("quote it", vec![Edit { span: at, text }], true);
    finding.deny();
    finding
}

/// Reports expressions. They differ from extended syntax: no model needs them, and they are replaced without a loss.
fn rejected_expressions(source: &str, checked: &Checked, statements: &[Span]) -> Vec<Diagnostic> {
    let mut edits: HashMap<u32, Vec<Edit>> = HashMap::new();
    #[cfg(feature = "print")]
    if !statements.is_empty() {
        let expanded = super::expand::expand(source, checked);
        let starts = expanded.iter().map(|expansion| expansion.statement.start);
        edits.extend(starts.zip(super::expand::compatible_edits(&expanded)));
    }
    #[cfg(not(feature = "print"))]
    let _ = checked;
    let finding = |&statement: &Span| {
        let edit = edits.remove(&statement.start);
        // A comment inside would be lost.
        let is_safe = !source[statement.range()].contains(['#', '\n']);
        let mut finding =
            Diagnostic::new(&code::BEYOND_REFERENCE, statement, "the reference parser rejects expressions")
                .label("an operand, a sign, an attribute or a type that is not plain syntax")
                .maybe_fix("write a statement for each node", edit, is_safe);
        finding.deny();
        finding
    };
    statements.iter().map(finding).collect()
}

/// Where a name stands, and whether the reference accepts it in quotes there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Accepted,
    Rejected,
}

impl<'s> Walk<'s> {
    fn text(&self, span: Span) -> &'s str {
        &self.source[span.range()]
    }

    fn warn(&mut self, at: Span, what: &str, label: &str) -> Diagnostic {
        let message = format!("the reference parser rejects {what}");
        Diagnostic::new(&code::BEYOND_REFERENCE, at, message).label(label)
    }

    /// Reports extended syntax, which a model may need.
    fn extended(&mut self, at: Span, what: &str) {
        if self.all {
            let finding = self.warn(at, what, "extended syntax");
            self.found.push(finding);
        }
    }

    /// `// …`: one finding for all of them.
    fn comments(&mut self, comments: &[Span]) {
        let slashes: Vec<Span> =
            comments.iter().copied().filter(|at| self.text(*at).starts_with("//")).collect();
        let Some(first) = slashes.first() else { return };
        let mark = |at: &Span| {
            // `#@` may begin an annotation, `#!` a directive of a test.
            let text = if self.text(*at)[2..].starts_with(['@', '#', '!']) { "# " } else { "#" };
            Edit { span: Span::new(at.start, at.start + 2), text: text.to_owned() }
        };
        let edits = slashes.iter().map(mark).collect();
        let finding = self
            .warn(
                Span::new(first.start, first.start + 2),
                "comments that begin with `//`",
                "`#` begins a comment",
            )
            .fix("write `#`", edits, true);
        self.found.push(finding);
    }

    /// `<>`, which nothing needs.
    fn empty<T>(&mut self, list: Option<&List<T>>, what: &str) {
        if let Some(list) = list.filter(|list| list.items.is_empty() && !list.span.is_empty()) {
            let finding = self.warn(list.span, what, "an empty list");
            // A comment inside would be lost.
            let edits = vec![Edit { span: list.span, text: String::new() }];
            let is_bare = !self.text(list.span).contains(['#', '/']);
            self.found.push(finding.maybe_fix("remove it", is_bare.then_some(edits), true));
        }
    }

    fn file(&mut self, file: &ast::File) {
        if self.source.starts_with('\u{feff}') {
            self.extended(Span::new(0, 3), "a byte order mark");
        }
        self.empty(file.header.as_ref(), "an empty header");
        for field in file.header.iter().flat_map(|header| &header.items) {
            self.field(field);
        }
        if let Some(graph) = &file.graph {
            self.graph(graph, Quotes::Accepted);
        }
        for function in &file.functions {
            self.function(function);
        }
    }

    fn field(&mut self, field: &Field) {
        match &field.value {
            FieldValue::Record(record) => {
                self.extended(field.key.to(record.span), "a record in a header");
                self.expressions_of(&field.value);
            }
            FieldValue::Graph(graph) => {
                self.extended(graph.span, "a graph in a header");
                self.expressions_of(&field.value);
            }
            value => self.field_value(value),
        }
    }

    /// The expressions of graphs in a header: all else in them is reported with these.
    fn expressions_of(&mut self, value: &FieldValue) {
        let found = self.found.len();
        value.graphs().into_iter().for_each(|graph| self.graph(graph, Quotes::Accepted));
        self.found.truncate(found);
    }

    fn field_value(&mut self, value: &FieldValue) {
        match value {
            FieldValue::Int(_) => {}
            FieldValue::String(at) => self.string(*at),
            FieldValue::Float(at) | FieldValue::Word(at) | FieldValue::Shared(at) => {
                self.extended(*at, &format!("the value `{}`", crate::lex::shown(self.text(*at))));
            }
            FieldValue::List(list) => self.elements(list),
            FieldValue::Record(record) => self.extended(record.span, "a record"),
            FieldValue::Graph(graph) => self.extended(graph.span, "a graph"),
        }
    }

    fn elements(&mut self, list: &List<Element>) {
        for Element { key, value } in &list.items {
            key.iter().for_each(|key| self.field_value(key));
            self.field_value(value);
        }
    }

    /// Byte strings.
    fn string(&mut self, at: Span) {
        if self.text(at).starts_with("b\"") {
            self.extended(at, "a byte string");
        }
    }

    fn name(&mut self, at: Span, what: &str, quotes: Quotes) {
        if self.text(at).starts_with("b\"") {
            self.string(at);
        } else if quotes == Quotes::Rejected && self.text(at).starts_with('"') {
            self.extended(at, &format!("a quoted {what}"));
        }
    }

    fn graph(&mut self, graph: &Graph, quotes: Quotes) {
        self.name(graph.name, "name of a graph in an attribute", quotes);
        let inputs = graph.inputs.iter().flat_map(|list| &list.items);
        let values = graph.values.iter().flat_map(|list| &list.items);
        inputs.chain(&graph.outputs.items).chain(values).for_each(|value| self.value_info(value));
        graph.body.iter().for_each(|node| self.node(node));
    }

    fn function(&mut self, function: &Function) {
        self.empty(function.header.as_ref(), "an empty header");
        for field in function.header.iter().flat_map(|header| &header.items) {
            self.field(field);
        }
        self.name(function.name, "name", Quotes::Accepted);
        self.empty(function.attrs.as_ref(), "empty parameters");
        for attr in function.attrs.iter().flat_map(|list| &list.items) {
            self.attr(attr, Quotes::Accepted);
        }
        let values = function.values.iter().flat_map(|list| &list.items);
        let signature = function.inputs.items.iter().chain(&function.outputs.items);
        signature.chain(values).for_each(|value| self.value_info(value));
        function.body.iter().for_each(|node| self.node(node));
    }

    fn value_info(&mut self, value: &ValueInfo) {
        match &value.ty {
            Some(ty) => self.ty(ty),
            None if is_type_word(self.text(value.name)) => {
                let name = self.text(value.name);
                self.extended(
                    value.name,
                    &format!("a value without a type that is named `{name}`, like one"),
                );
            }
            None => {}
        }
        self.name(value.name, "name", Quotes::Accepted);
        value.data.iter().for_each(|data| self.data(data, value.ty.as_ref()));
    }

    fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Unset(at) => self.extended(*at, "the type `?`"),
            Type::Tensor { elem, dims } => {
                if self.text(*elem).starts_with("elem_type") {
                    self.extended(*elem, "an element type by number");
                }
                for dim in dims.iter().flat_map(|dims| &dims.items) {
                    match dim {
                        Dim::Param(name) => self.name(*name, "dimension", Quotes::Accepted),
                        Dim::Expr(at) if self.all => self.unquoted.push(*at),
                        Dim::Expr(_) | Dim::Int(_) | Dim::Unknown(_) => {}
                    }
                }
            }
            Type::Call { head, args } => self.call(*head, args, ty.span()),
        }
    }

    fn call(&mut self, head: Span, args: &List<TypeArg>, span: Span) {
        if self.text(head) == "elem_type" {
            return self.extended(span, "an element type by number");
        }
        if args.items.is_empty() && self.text(head) != "opaque" {
            return self.extended(span, "a type without its inner type");
        }
        for arg in &args.items {
            match arg {
                TypeArg::Type(ty) => self.ty(ty),
                TypeArg::Name(at) if at.is_empty() => self.extended(span, "an empty part of a type"),
                TypeArg::Name(at) => self.name(*at, "part of an opaque type", Quotes::Rejected),
            }
        }
        // Of the two parts of a map, both must be there.
        if self.text(head) == "map" && args.items.len() < 2 {
            self.extended(span, "a map type without its value type");
        }
    }

    fn data(&mut self, data: &Data, ty: Option<&Type>) {
        match data {
            Data::Numbers(at) => {
                let text = self.text(*at);
                if text.starts_with("{{") {
                    self.extended(*at, "double braces");
                } else if self.is_narrow(ty) && text.contains(['.', 'e', 'E']) {
                    self.extended(*at, "values of a narrow float, which are bit patterns there");
                }
            }
            Data::Elements(list) => {
                for scalar in &list.items {
                    self.element(*scalar, ty);
                }
            }
            Data::External(list) => {
                let numbers = list.items.iter().filter_map(|element| match element.value {
                    FieldValue::Int(at) if self.all => Some(at),
                    _ => None,
                });
                self.unquoted.extend(numbers);
                self.elements(list);
            }
            Data::Record(record) => self.extended(record.span, "a tensor record"),
            Data::Sparse(parts) => self.extended(parts.span, "a sparse tensor"),
            Data::Stored(_) => {}
        }
    }

    fn element(&mut self, scalar: Scalar, ty: Option<&Type>) {
        let is_value = matches!(scalar.kind, ScalarKind::Float | ScalarKind::Special);
        if is_value && self.is_narrow(ty) {
            self.extended(scalar.span, "the value of a narrow float, which is a bit pattern there");
        }
        self.string(scalar.span);
    }

    /// Whether elements of a type are bit patterns for the reference.
    fn is_narrow(&self, ty: Option<&Type>) -> bool {
        let Some(Type::Tensor { elem, .. }) = ty else { return false };
        ElemType::from_name(self.text(*elem)).is_some_and(|elem| Narrow::of(elem).is_some())
    }

    fn node(&mut self, node: &Node) {
        if node.sugar.is_some() {
            if self.all {
                self.expressions.push(node.span);
            }
            return;
        }
        node.name.iter().for_each(|name| self.name(*name, "name", Quotes::Accepted));
        for name in node.outputs.iter().chain(&node.inputs) {
            self.name(*name, "name", Quotes::Accepted);
        }
        node.domain.iter().for_each(|domain| self.name(*domain, "domain", Quotes::Rejected));
        self.name(node.op, "operator", Quotes::Rejected);
        node.overload.iter().for_each(|overload| self.name(*overload, "overload", Quotes::Rejected));
        self.empty(node.attrs.as_ref(), "empty attributes");
        for attr in node.attrs.iter().flat_map(|list| &list.items) {
            self.attr(attr, Quotes::Rejected);
        }
    }

    fn attr(&mut self, attr: &Attr, quotes: Quotes) {
        self.name(attr.name, "name of an attribute", quotes);
        attr.value.iter().for_each(|value| self.attr_value(value));
    }

    fn attr_value(&mut self, value: &AttrValue) {
        match value {
            AttrValue::Scalar(scalar) => self.string(scalar.span),
            AttrValue::Ints(_) => {}
            AttrValue::Reference(name) => self.name(*name, "reference", Quotes::Accepted),
            AttrValue::Graph(graph) => {
                let name = self.text(graph.name);
                if is_type_word(name) || is_number_word(name) {
                    self.extended(graph.name, &format!("a graph in an attribute that is named `{name}`"));
                }
                self.graph(graph, Quotes::Rejected);
            }
            AttrValue::Tensor(tensor) => {
                self.ty(&tensor.ty);
                tensor.name.iter().for_each(|name| {
                    self.name(*name, "name of a tensor in an attribute", Quotes::Rejected);
                });
                self.data(&tensor.data, Some(&tensor.ty));
            }
            AttrValue::Type(ty) => self.ty(ty),
            AttrValue::Sparse(sparse) => self.extended(sparse.span, "a sparse tensor"),
            AttrValue::List(list) => list.items.iter().for_each(|item| self.attr_value(&item.value)),
            AttrValue::Braced(list) if list.items.is_empty() => {}
            AttrValue::Braced(list) => self.extended(list.span, "a list in braces"),
            AttrValue::Record(record) => self.extended(record.span, "an attribute record"),
        }
    }
}

/// Whether the reference reads a word as the name of a type.
fn is_type_word(word: &str) -> bool {
    ElemType::from_name(word).is_some()
        || matches!(word, "seq" | "map" | "optional" | "sparse_tensor" | "opaque")
}

/// Whether the reference reads a word in an attribute as a number.
fn is_number_word(word: &str) -> bool {
    ["inf", "infinity", "nan"].iter().any(|number| word.eq_ignore_ascii_case(number))
}
