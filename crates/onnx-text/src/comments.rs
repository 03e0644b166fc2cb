//! Keeps the comments of a text for another text of the same model.
//!
//! ```text
//! # adds one                          belongs to the statement below
//! y = Add(x, one)  # elementwise      belongs to the statement before it
//! # the end                           belongs to the end of the graph
//! ```
//!
//! A model cannot store comments, so they would be lost when a program reads a text, changes the model and prints it. They are
//! kept beside the model under stable keys: the origin of a node (its place in the text), the name of a value or function.
//! [`raise_with`](crate::raise_with) restores them before the same items, wherever these are; comments of removed nodes are
//! dropped.

use crate::ast::{File, Function, Graph, List, Node, ValueInfo};
use crate::lower::spelled_name;
use crate::parse::Syntax;
use crate::visible::visible;
use onnx_ir::diag::Span;
use std::collections::HashMap;

/// A graph or function that has values and nodes of its own.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Scope {
    /// The main graph.
    Main,
    /// A function: `domain.name:overload`.
    Function(String),
    /// A graph of a node, which stood here, counted among the graphs of the node.
    Nested(u32, u32),
}

/// Which list of a graph has a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Role {
    Input,
    Output,
    /// Initializers and declarations.
    Stored,
}

/// The item that a comment belongs to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Anchor {
    /// The header of the model.
    Header,
    /// A main graph or a function, from its first word.
    Begin(Scope),
    /// A value of a list.
    Value(Scope, Role, String),
    /// The node that stood here.
    Node(u32),
    /// The closing brace of a graph or function.
    End(Scope),
    /// The end of the file.
    Tail,
}

impl Scope {
    fn moved(self, shift: u32) -> Option<Scope> {
        match self {
            Scope::Nested(node, graph) => Some(Scope::Nested(node.checked_add(shift)?, graph)),
            Scope::Main | Scope::Function(_) => Some(self),
        }
    }
}

impl Anchor {
    /// The same item in another text, `shift` bytes further on. `None`: its comments are about a text that no longer exists.
    fn moved(self, shift: u32, is_new: &impl Fn(&str) -> bool) -> Option<Anchor> {
        match self {
            Anchor::Value(Scope::Nested(node, graph), role, name) => {
                Some(Anchor::Value(Scope::Nested(node, graph).moved(shift)?, role, name))
            }
            Anchor::Value(Scope::Main, role, name) => {
                is_new(&name).then_some(Anchor::Value(Scope::Main, role, name))
            }
            Anchor::Node(node) => Some(Anchor::Node(node.checked_add(shift)?)),
            Anchor::Begin(Scope::Main) | Anchor::End(Scope::Main) | Anchor::Header | Anchor::Tail => None,
            Anchor::Begin(scope) => Some(Anchor::Begin(scope.moved(shift)?)),
            Anchor::End(scope) => Some(Anchor::End(scope.moved(shift)?)),
            Anchor::Value(Scope::Function(_), ..) => Some(self),
        }
    }
}

/// The comments of one thing.
#[derive(Clone, Default, Debug)]
pub(crate) struct Attached {
    /// Comments before it, on lines of their own.
    pub(crate) before: Vec<String>,
    /// The comment after it, on its last line.
    pub(crate) behind: Option<String>,
}

/// The comments of a text, by item.
#[derive(Clone, Default, Debug)]
pub struct Comments {
    items: HashMap<Anchor, Attached>,
    /// The first place after all texts that the comments are from.
    end: u32,
}

impl Comments {
    /// The comments of a text that was parsed.
    pub fn of(source: &str, syntax: &Syntax<File>) -> Comments {
        let end = u32::try_from(source.len()).unwrap_or(u32::MAX);
        if syntax.comments.is_empty() {
            return Comments { items: HashMap::new(), end };
        }
        let mut places = Places { source, list: Vec::new() };
        places.file(&syntax.tree);
        places.list.sort_by_key(|place| place.span.start);
        let mut found: HashMap<Anchor, Attached> = HashMap::new();
        for &comment in &syntax.comments {
            let text = spelled(source, comment);
            let (anchor, is_behind) = places.of(comment);
            let attached = found.entry(anchor).or_default();
            match attached.behind {
                None if is_behind => attached.behind = Some(text),
                _ => attached.before.push(text),
            }
        }
        Comments { items: found, end }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The comments on the lines before the node with this origin, each with its `#`.
    pub fn before_node(&self, origin: u32) -> &[String] {
        self.items.get(&Anchor::Node(origin)).map_or(&[], |attached| &attached.before)
    }

    /// Replaces the comments on the lines before the node with this origin: one for each line of a text.
    pub fn set_before_node(&mut self, origin: u32, text: &str) {
        let lines = text.lines().map(|line| format!("# {}", visible(line)).trim_end().to_owned());
        self.items.entry(Anchor::Node(origin)).or_default().before = lines.collect();
    }

    /// An origin that no node of the texts has, for a node that is not in one.
    pub fn fresh_origin(&mut self) -> u32 {
        let origin = self.end;
        self.end = origin.saturating_add(1);
        origin
    }

    /// Adds the comments of another text, as if it stood after this one. Returns the distance by which the origins of its nodes
    /// must be increased.
    ///
    /// Comments on the whole text are left out, and those of values and functions for which `is_new` is false: they would be
    /// attached to other values of the same name.
    pub fn append(&mut self, other: Comments, is_new: impl Fn(&str) -> bool) -> u32 {
        let shift = self.end;
        for (anchor, attached) in other.items {
            if let Some(anchor) = anchor.moved(shift, &is_new) {
                self.items.entry(anchor).or_insert(attached);
            }
        }
        self.end = shift.saturating_add(other.end);
        shift
    }

    /// The comments of an item. They are returned once: the first copy of a copied node gets them.
    pub(crate) fn take(&mut self, anchor: &Anchor) -> Attached {
        self.items.remove(anchor).unwrap_or_default()
    }
}

/// A comment that is valid in any text: in an annotated one, `##` and `#@` start annotations.
fn spelled(source: &str, comment: Span) -> String {
    let text = source[comment.range()].trim_end();
    if text.starts_with("##") || text.starts_with("#@") { format!("# {text}") } else { text.to_owned() }
}

/// The name of a function as a key.
pub(crate) fn function_key(domain: &str, name: &str, overload: &str) -> String {
    format!("{domain}.{name}:{overload}")
}

/// A thing that can have comments.
struct AnchorPlace {
    span: Span,
    /// The item that may have a comment after it.
    anchor: Anchor,
}

struct Places<'s> {
    source: &'s str,
    /// Ordered by start.
    list: Vec<AnchorPlace>,
}

impl Places<'_> {
    fn add(&mut self, span: Span, anchor: Anchor) {
        self.list.push(AnchorPlace { span, anchor });
    }

    fn text(&self, name: Span) -> String {
        spelled_name(&self.source[name.range()])
    }

    fn file(&mut self, file: &File) {
        if let Some(header) = &file.header {
            self.add(Span::at(header.span.start), Anchor::Header);
        }
        if let Some(graph) = &file.graph {
            self.add(Span::at(graph.span.start), Anchor::Begin(Scope::Main));
            self.graph(graph, &Scope::Main);
        }
        for function in &file.functions {
            self.function(function);
        }
    }

    fn function(&mut self, function: &Function) {
        let field = |key: &str| {
            let fields = function.header.iter().flat_map(|header| &header.items);
            let found = fields.into_iter().find(|field| self.source[field.key.range()] == *key);
            found.map(|field| self.text(field.value.span())).unwrap_or_default()
        };
        let key = function_key(&field("domain"), &self.text(function.name), &field("overload"));
        let scope = Scope::Function(key);
        self.add(Span::at(function.span.start), Anchor::Begin(scope.clone()));
        self.values(&function.inputs, &scope, Role::Input);
        self.values(&function.outputs, &scope, Role::Output);
        function.values.iter().for_each(|list| self.values(list, &scope, Role::Stored));
        self.body(&function.body, function.body_span, scope);
    }

    fn graph(&mut self, graph: &Graph, scope: &Scope) {
        graph.inputs.iter().for_each(|list| self.values(list, scope, Role::Input));
        self.values(&graph.outputs, scope, Role::Output);
        graph.values.iter().for_each(|list| self.values(list, scope, Role::Stored));
        self.body(&graph.body, graph.body_span, scope.clone());
    }

    fn values(&mut self, list: &List<ValueInfo>, scope: &Scope, role: Role) {
        for value in &list.items {
            let name = self.text(value.name);
            self.add(value.span, Anchor::Value(scope.clone(), role, name));
        }
    }

    fn body(&mut self, nodes: &[Node], span: Span, scope: Scope) {
        for node in nodes {
            self.add(node.span, Anchor::Node(node.span.start));
            for (i, graph) in (0..).zip(node.all_subgraphs()) {
                self.graph(graph, &Scope::Nested(node.span.start, i));
            }
        }
        self.add(Span::at(span.end.saturating_sub(1)), Anchor::End(scope));
    }

    /// The item of a comment, and whether the comment is after it.
    fn of(&self, comment: Span) -> (Anchor, bool) {
        let next = self.list.partition_point(|place| place.span.start < comment.start);
        // The last to end of the items that start on the line or enclose others; few items start between the two.
        let line = self.source[..comment.start as usize].rfind('\n').map_or(0, |at| at + 1);
        let is_behind = |place: &&AnchorPlace| {
            let end = place.span.end as usize;
            place.span.start < place.span.end
                && (line..=comment.start as usize).contains(&end)
                && self.source[end..comment.start as usize].trim_matches([' ', '\t', ',']).is_empty()
        };
        let before = self.list[..next].iter().rev().take(MAX_CONSIDERED);
        if let Some(place) = before.clone().filter(is_behind).max_by_key(|place| place.span.end) {
            return (place.anchor.clone(), true);
        }
        let holds = |place: &&AnchorPlace| place.span.end > comment.start;
        let holder = before.clone().find(holds);
        match (self.list.get(next), holder) {
            (Some(place), Some(holder)) if place.span.start >= holder.span.end => {
                (holder.anchor.clone(), false)
            }
            (None, Some(holder)) => (holder.anchor.clone(), false),
            (Some(place), _) => (place.anchor.clone(), false),
            (None, None) => (Anchor::Tail, false),
        }
    }
}

/// The most items that are considered for one comment, to bound the time in long nodes.
const MAX_CONSIDERED: usize = 256;
