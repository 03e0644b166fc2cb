//! Long lists of the tree, walked once: a text may have as many findings as its lists have entries.

use super::SourceMap;
use crate::lower::literals::{Escapes, unquote};
use crate::render::LineIndex;
use onnx_ir::diag::Span;
use onnx_ir::{BodyId, FunctionId, GraphId, NodeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Cached results. They contain only places, so maps of the same tree and model can share them.
#[derive(Debug, Default)]
pub(super) struct Index {
    lists: Mutex<HashMap<Key, Arc<[Span]>>>,
    statements: Mutex<HashMap<BodyId, Statements>>,
    /// The index of a graph among those of its owner.
    graphs: Mutex<HashMap<(BodyId, GraphId), u32>>,
    bodies: OnceLock<HashMap<BodyId, Root>>,
    lines: OnceLock<LineIndex>,
}

/// The nodes of a body with the starts of their statements, in this order and that of their ids.
type Statements = Arc<[(u32, NodeId)]>;

/// The context of a body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Root {
    Function(FunctionId),
    Initialization(u32),
    Algorithm(u32),
}

/// A list: the entries of a kind in what begins at a place.
pub(super) type Key = (Kind, u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Kind {
    /// The attributes of a node, as the model has them; the empty place for one that is not in the tree.
    Attrs,
    /// The attributes of a function, with or without default.
    Formals(bool),
    Dense,
    Sparse,
    ValueInfos,
    /// The graphs in a node's attributes.
    Subgraphs,
    /// The results whose statements state the types of value infos; an empty place for other value infos.
    TypedResults,
    /// The keys of the fields of this name.
    Fields(&'static str),
    /// The values of the fields of this name in annotations.
    Notes(&'static str),
    /// The elements of the lists of fields with this name.
    Elements(&'static str),
}

impl Index {
    /// Entry `i` of a list, which `entries` walks if it must.
    pub(super) fn entry<I: Iterator<Item = Span>>(
        &self,
        key: Key,
        i: u32,
        entries: impl FnOnce() -> I,
    ) -> Option<Span> {
        let known = locked(&self.lists).get(&key).map(Arc::clone);
        let list = match known {
            Some(list) => list,
            None => {
                let list: Arc<[Span]> = entries().collect();
                locked(&self.lists).insert(key, Arc::clone(&list));
                list
            }
        };
        list.get(i as usize).copied()
    }

    /// The start of the line with this byte.
    pub(super) fn line_start(&self, source: &str, at: u32) -> usize {
        let lines = self.lines(source);
        lines.range(source, lines.line(at)).start
    }

    /// The end of the line with this byte, without the line feed.
    pub(super) fn line_end(&self, source: &str, at: u32) -> usize {
        let lines = self.lines(source);
        let next = lines.line(at) + 1;
        if next < lines.len() { lines.range(source, next).start - 1 } else { source.len() }
    }

    fn lines(&self, source: &str) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(source))
    }
}

/// A cache; one that a panic has left is as good.
fn locked<T>(cache: &Mutex<T>) -> MutexGuard<'_, T> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Up to this many attributes of a node are searched linearly.
const FEW: usize = 8;

impl SourceMap<'_> {
    /// The context of a body other than that of the main graph.
    pub(super) fn owner(&self, body: BodyId) -> Option<Root> {
        let bodies = self.index.bodies.get_or_init(|| {
            let mut bodies = HashMap::new();
            for (id, function) in self.model.functions.iter() {
                bodies.entry(function.body).or_insert(Root::Function(id));
            }
            for (i, info) in (0..).zip(&self.model.training) {
                if let Some(body) = info.initialization {
                    bodies.entry(body).or_insert(Root::Initialization(i));
                }
                if let Some(body) = info.algorithm {
                    bodies.entry(body).or_insert(Root::Algorithm(i));
                }
            }
            bodies
        });
        bodies.get(&body).copied()
    }

    /// The nodes of a model that a statement stands for, in the order of their ids. Those of literals were made after all others, so that
    /// the nodes of a body are not in the order of their statements.
    pub(super) fn of_statement(&self, body: BodyId, start: u32) -> impl Iterator<Item = NodeId> + use<> {
        let nodes = self.statements(body);
        let first = nodes.partition_point(|&(origin, _)| origin < start);
        (first..)
            .map_while(move |i| nodes.get(i).filter(|(origin, _)| *origin == start).map(|(_, node)| *node))
    }

    fn statements(&self, body: BodyId) -> Statements {
        if let Some(nodes) = locked(&self.index.statements).get(&body) {
            return Arc::clone(nodes);
        }
        let mut nodes: Vec<(u32, NodeId)> = Vec::new();
        if let Some(body) = self.model.bodies.get(body) {
            nodes.extend(body.nodes.ids().map(|node| (body.origins[node].0, node)));
        }
        // A stable sort of what is nearly sorted.
        nodes.sort_by_key(|&(origin, _)| origin);
        let nodes: Arc<[(u32, NodeId)]> = nodes.into();
        locked(&self.index.statements).insert(body, Arc::clone(&nodes));
        nodes
    }

    /// The place of a graph among those of the node that owns it.
    pub(super) fn graph_position(&self, body: BodyId, graph: GraphId) -> Option<u32> {
        if let Some(&position) = locked(&self.index.graphs).get(&(body, graph)) {
            return Some(position);
        }
        let body_of = self.model.bodies.get(body)?;
        let owner = body_of.graphs.get(graph)?.owner?;
        let mut graphs = locked(&self.index.graphs);
        for (position, sibling) in (0..).zip(body_of.subgraphs(owner)) {
            graphs.entry((body, sibling)).or_insert(position);
        }
        graphs.get(&(body, graph)).copied()
    }

    /// The place of an attribute. The tree may have more than the model, where one could not be lowered: they are paired
    /// by name.
    pub(super) fn attr_span(&self, body: BodyId, node: NodeId, i: u32) -> Option<Span> {
        let tree = &self.node(body, node)?.attrs.as_ref()?.items;
        let attrs = &self.model.bodies.get(body)?.nodes.get(node)?.attrs;
        let spans = || {
            let mut named: HashMap<_, Vec<Span>> = HashMap::new();
            for attr in tree.iter().rev() {
                named.entry(unquote(self.text(attr.name), Escapes::Literal)).or_default().push(attr.span);
            }
            let mut nameless = tree.iter().map(|attr| attr.span);
            attrs.iter().map(move |attr| {
                let span = match attr.name {
                    Some(name) => named.get_mut(self.model.names.bytes(name)).and_then(Vec::pop),
                    None => nameless.next(),
                };
                span.unwrap_or_default()
            })
        };
        let start = tree.first()?.span.start;
        let span = if tree.len() <= FEW {
            spans().nth(i as usize)
        } else {
            self.index.entry((Kind::Attrs, start), i, spans)
        };
        span.filter(|&span| span != Span::default())
    }
}
