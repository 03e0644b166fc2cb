//! Files, graphs, functions and their bodies: everything that is made of lines.

use super::INDENT;
use super::line::{Blank, Gap, Printer};
use super::list::{ANGLE, Layout, ListStyle, PARENS};
use crate::ast::{File, Function, Graph, List, Node, ValueInfo};
use onnx_ir::diag::Span;

/// The context of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    /// In a file: its parts begin lines.
    Top,
    /// In something: its parts follow each other.
    Nested,
}

impl Level {
    /// The gap before the values and before the body.
    fn gap(self) -> Gap {
        match self {
            Level::Top => Gap::Hard(Blank::No),
            Level::Nested => Gap::Space,
        }
    }
}

impl Printer<'_> {
    /// The line that declares annotations.
    pub(super) fn first_line(&mut self, annotated: Option<Span>) {
        if let Some(line) = annotated {
            self.annotated = true;
            let line = self.slice(line).trim_end();
            self.put(line);
            self.gap = Gap::Hard(Blank::Keep);
        }
    }

    pub(super) fn file(&mut self, file: &File, annotated: Option<Span>) {
        self.first_line(annotated);
        self.notes(&file.notes);
        if let Some(header) = &file.header {
            self.header(header);
            self.gap = Gap::Hard(Blank::Keep);
        }
        let mut items = 0;
        if let Some(graph) = &file.graph {
            self.graph(graph);
            items += 1;
        }
        for function in &file.functions {
            if items > 0 {
                self.gap = Gap::Hard(Blank::Yes);
            }
            self.function(function);
            items += 1;
        }
    }

    /// A graph of a file.
    pub(super) fn graph(&mut self, graph: &Graph) {
        self.graph_at(graph, Level::Top);
    }

    /// A graph in an attribute or in a field.
    pub(super) fn subgraph(&mut self, graph: &Graph) {
        // Annotations need lines of their own, apart from the context of the graph.
        let indent = if graph.notes.is_empty() { 0 } else { INDENT };
        self.indent += indent;
        self.graph_at(graph, Level::Nested);
        self.indent -= indent;
    }

    fn graph_at(&mut self, graph: &Graph, level: Level) {
        self.notes(&graph.notes);
        self.put_span(graph.name);
        if let Some(inputs) = &graph.inputs {
            self.space();
            self.value_infos(inputs);
        }
        self.signature_end(&graph.outputs, graph.values.as_ref(), level);
        self.body(&graph.body, graph.body_span);
    }

    pub(super) fn function(&mut self, function: &Function) {
        self.notes(&function.notes);
        if let Some(header) = &function.header {
            self.header(header);
            self.gap = Gap::Hard(Blank::No);
        }
        self.put_span(function.name);
        if let Some(attrs) = &function.attrs {
            self.space();
            self.attributes(attrs);
        }
        self.space();
        self.value_infos(&function.inputs);
        self.signature_end(&function.outputs, function.values.as_ref(), Level::Top);
        self.body(&function.body, function.body_span);
    }

    /// `=> (outputs) <values>`
    fn signature_end(&mut self, outputs: &List<ValueInfo>, values: Option<&List<ValueInfo>>, level: Level) {
        self.space();
        self.put("=>");
        self.space();
        self.value_infos(outputs);
        if let Some(values) = values {
            self.gap = level.gap();
            self.values_of(values);
        }
        self.gap = level.gap();
    }

    /// `<float[N] t, …>`, before a body
    pub(super) fn values_of(&mut self, values: &List<ValueInfo>) {
        let layout = Layout::broken_if(
            values.items.len() > 1 || values.items.iter().any(|v| self.value_info_breaks(v)),
        );
        self.list(ANGLE, values, ListStyle::Lines, layout, Self::value_info);
    }

    /// `(float[N] x, …)`
    fn value_infos(&mut self, list: &List<ValueInfo>) {
        let layout = Layout::broken_if(list.items.iter().any(|v| self.value_info_breaks(v)));
        self.list(PARENS, list, ListStyle::Lines, layout, Self::value_info);
    }

    /// `{ nodes }`
    pub(super) fn body(&mut self, nodes: &[Node], span: Span) {
        self.put_at(span.start, "{");
        if !nodes.is_empty() || self.has_comment_before(span.end) {
            self.indent += INDENT;
            self.gap = Gap::Hard(Blank::No);
            for node in nodes {
                self.node(node);
                self.gap = Gap::Hard(Blank::Keep);
            }
            if self.has_comment_before(span.end) {
                self.flush(span.end);
            }
            self.indent -= INDENT;
            self.gap = Gap::Hard(Blank::No);
        }
        self.put("}");
    }

    /// Whether a value info certainly needs more than one line.
    fn value_info_breaks(&self, value: &ValueInfo) -> bool {
        !value.notes.is_empty() || value.data.as_ref().is_some_and(|d| self.is_long(d))
    }
}
